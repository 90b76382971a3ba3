"""What git reports of a failure, and which failure that is (pure).

Git's trace2 names each error's template beside its text, untranslated (`fmt` of the `error` event in
Documentation/technical/api-trace2); a template is compared as a whole, so no server can put words in its mouth.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

from hereya_tf.checkouts.errors import (
    CheckoutFailed,
    NoAccess,
    PackageNotFound,
    RefusedPackage,
    Unreachable,
    as_part,
)

_NOT_FOUND = (
    "repository '%s' not found",
    "repository '%s/' not found",
    "'%s' does not appear to be a git repository",
)
_REFUSED = "Authentication failed for '%s'"
_NO_ANSWER_TO_GIVE = (
    "could not read %s%s",
    "could not read %s %s",
    "unable to read askpass response from '%s'",
)
_WEB = "unable to access '%s': %s"
_WEB_FAULTS = ("unable to access '%s' with http.pinnedPubkey configuration: %s",)
_BROKEN = ("RPC failed; %s", "%s: fetch-pack: unexpected disconnect while reading sideband packet")
_BAD_OBJECT = "fsck error"
_BAD_PATH = "invalid path '%s'"
_SSH = "Could not read from remote repository."
_ASK_OPERATOR = "give credentials for it to the operator's setting: `https://USER:PASSWORD@HOST` in its file"


class GitError(NamedTuple):
    """An error of git: its template and its text."""

    template: str
    text: str


class Report(NamedTuple):
    """What a git command reported: errors, first come first, and whether it went through ssh.

    `words` is what it, or the other side, wrote on stderr; only to be shown.
    """

    errors: tuple[GitError, ...] = ()
    is_ssh: bool = False
    words: str = ""

    @property
    def last_words(self) -> str:
        """The text that says most: git's last error, else the last line on stderr."""
        lines = [line for line in self.words.splitlines() if line.strip()]
        return self.errors[-1].text if self.errors else lines[-1] if lines else "it said nothing"


def read_report(trace: bytes, words: bytes) -> Report:
    """What the trace of a command and all its children says; lines that make no sense are left out."""
    errors: list[GitError] = []
    is_ssh = False
    for line in trace.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match event:
            case {"event": "error", "fmt": str(template), "msg": str(text)}:
                errors.append(GitError(template, text))
            case {"event": "child_start", "child_class": "transport/ssh"}:
                is_ssh = True
    return Report(tuple(errors), is_ssh, words.decode("utf-8", "replace"))


def refusal(report: Report, what: str) -> RefusedPackage | None:
    """The failure when git itself finds something that no repository may have; None when it does not."""
    templates = [error.template for error in report.errors]
    if _BAD_PATH not in templates and not any(template.startswith(_BAD_OBJECT) for template in templates):
        return None
    said = as_part(report.errors[0].text)
    return RefusedPackage(
        f"{what} is refused: git says: {said}", "whoever made the repository has to mend it"
    )


def explain(report: Report, url: str, hide: Callable[[str], str]) -> CheckoutFailed | None:
    """The failure to reach a repository that a report tells of; None when it is another one.

    `hide` takes secrets out of what others said.
    """
    if report.is_ssh and any(error.template.startswith(_SSH) for error in report.errors):
        return _of_ssh(report, url, hide)
    for template, text in report.errors:
        said = as_part(hide(text))
        if template in _NOT_FOUND:
            return _not_found(url)
        if template == _REFUSED:
            return NoAccess(f"`{url}` refuses the credentials that it was given", _ASK_OPERATOR)
        if template in _NO_ANSWER_TO_GIVE:
            return NoAccess(f"`{url}` wants credentials, and there are none for it", _ASK_OPERATOR)
        if template == _WEB:
            return _of_web(text, said, url)
        if template in _WEB_FAULTS or template in _BROKEN:
            return _unreachable(url, said)
    return None


def _of_web(text: str, said: str, url: str) -> CheckoutFailed:
    # "The requested URL returned error: 403", of libcurl.
    number = text.rpartition("error: ")[2].partition(" ")[0]
    if number in ("401", "403", "407"):
        return NoAccess(f"`{url}` answers {number}: it is not for us", _ASK_OPERATOR)
    if number in ("404", "410"):
        return _not_found(url)
    reason = f"it answers {number}" if number.isdecimal() else said.rpartition("': ")[2]
    return _unreachable(url, reason)


def _of_ssh(report: Report, url: str, hide: Callable[[str], str]) -> CheckoutFailed:
    # What ssh, or the other side, says comes before git's own paragraph.
    said = as_part(hide(report.words.partition(f"fatal: {_SSH}")[0])) or "nothing was said"
    return Unreachable(
        f"`{url}` cannot be had through ssh: {said}",
        "check the address, and that the executor's user may log in: `ssh -o BatchMode=yes -T HOST`",
    )


def _not_found(url: str) -> PackageNotFound:
    return PackageNotFound(
        f"`{url}` is not there, or not for us to see",
        "check the address; many hosts say so too when credentials are missing or may not read it",
    )


def _unreachable(url: str, reason: str) -> Unreachable:
    return Unreachable(f"`{url}` cannot be reached: {reason}", "try again; behind a proxy, set `HTTPS_PROXY`")
