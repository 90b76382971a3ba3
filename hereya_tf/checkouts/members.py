"""Which members of an archive are unpacked, and where (pure)."""

from hereya_tf.checkouts.errors import RefusedPackage, as_part

LONGEST_LINK = 4096
"""Bytes of a link's target."""

_LONGEST_PATH = 4096  # bytes
_LONGEST_NAME = 255  # bytes
_HINT = "whoever made the archive has to mend it"


def member_path(name: str) -> tuple[str, ...]:
    """The parts of the path that a member has below the package; none for the package itself.

    Raises RefusedPackage for a name that leads out of it, or that no file can have here.
    """
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    size = len(name.encode("utf-8", "surrogateescape"))
    if name.startswith("/") or ".." in parts:
        raise refusal(name, "its name leads out of the package")
    if "\\" in name or "\0" in name:
        raise refusal(name, "its name is none that a file may have")
    if size > _LONGEST_PATH or any(
        len(part.encode("utf-8", "surrogateescape")) > _LONGEST_NAME for part in parts
    ):
        raise refusal(name, "its name is too long")
    # Git would take it for a repository, with settings that name programs.
    if any(part.lower() == ".git" for part in parts):
        raise refusal(name, "no package brings a `.git`")
    return parts


def refusal(name: str, why: str) -> RefusedPackage:
    """The error for a member that is not unpacked."""
    return RefusedPackage(f"the archive's `{as_part(name[:200])}` is refused: {why}", _HINT)


class Names:
    """The members that were unpacked: no two of them may be the same file."""

    def __init__(self) -> None:
        self.files: set[tuple[str, ...]] = set()
        self.directories: set[tuple[str, ...]] = {()}

    def add_directory(self, path: tuple[str, ...], name: str) -> None:
        """Note a directory, and those above it; raises RefusedPackage when one of them is a file."""
        for length in range(len(path), 0, -1):
            above = path[:length]
            if above in self.directories:
                break
            if above in self.files:
                raise refusal(name, "it is a file, and a directory as well")
            self.directories.add(above)

    def add_file(self, path: tuple[str, ...], name: str) -> None:
        """Note a file or a link; raises RefusedPackage when there is one already."""
        self.add_directory(path[:-1], name)
        if path in self.files or path in self.directories:
            raise refusal(name, "the archive has it twice")
        self.files.add(path)
