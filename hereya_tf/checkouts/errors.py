"""What can go wrong when a package is fetched, one class per thing a user can act on (pure)."""

from hereya_tf.errors import FailureClass, HereyaError, NoRoom

_LONGEST_WORDS = 300  # characters


class CheckoutFailed(HereyaError):
    """A package could not be had from where it is."""

    failure_class = FailureClass.MODULE_UNAVAILABLE


class Unreachable(CheckoutFailed):
    """The place where a package is gives no answer, or not to its end."""


class PackageNotFound(CheckoutFailed):
    """There is no such repository or archive, as far as we may see."""

    failure_class = FailureClass.BAD_PACKAGE


class UnknownCommit(CheckoutFailed):
    """The repository is there, and does not have the commit."""

    failure_class = FailureClass.BAD_PACKAGE


class RefusedPackage(CheckoutFailed):
    """What came as a package is not what was asked for, is too large, or would leave its directory."""

    failure_class = FailureClass.BAD_PACKAGE


class NoAccess(CheckoutFailed):
    """The place where a package is wants other credentials."""

    failure_class = FailureClass.CREDENTIALS


class GitUnusable(CheckoutFailed):
    """There is no git here, or one that is too old."""

    failure_class = FailureClass.BAD_CONFIG


class CheckoutTimedOut(CheckoutFailed):
    """A git command took longer than it may."""

    failure_class = FailureClass.TIMED_OUT


def no_room_for_package(place: object) -> NoRoom:
    """The error for a disk that is full; `place` is a directory on it."""
    return NoRoom(f"there is no room for the package in `{place}`", "make room on that disk: `df -h`")


def as_part(words: str) -> str:
    """What somebody else said, as part of a sentence: one line of printable characters, not too long."""
    line = " ".join(words.split()).rstrip(".").replace("`", "'")
    if len(line) > _LONGEST_WORDS:
        line = f"{line[:_LONGEST_WORDS]}…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)
