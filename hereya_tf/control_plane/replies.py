"""What an HTTP answer of a control plane says: a JSON value, or why not (pure)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.control_plane.calls import Call
from hereya_tf.control_plane.errors import ControlPlaneError, Refused, Unauthorized, UnreadableAnswer
from hereya_tf.releases.addresses import Address, redirected
from hereya_tf.releases.answers import REDIRECTS
from hereya_tf.words import flat

# The members of an answer that tell why, in the order in which they are looked for; `title` is of RFC 9457.
_REASONS = ("reason", "error", "message", "detail", "title")
_LONGEST_REASON = 500  # characters


class Reply(NamedTuple):
    """A whole HTTP answer; `headers` has no regard for case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def read_reply(reply: Reply, call: Call, address: Address, redact: Callable[[str], str]) -> Any:
    """The JSON value of an answer of 200 to 299, None where there is no body; raises ControlPlaneError.

    `redact` takes credentials out of what the server says.
    """
    asked = str(call)
    if not 200 <= reply.status < 300:
        raise _failure(reply, asked, address, redact)
    encoding = reply.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnreadableAnswer(f"it came encoded as `{flat(encoding[:20])}`, which was not asked for", asked)
    if not reply.body.strip():
        return None
    try:
        return exact.loads(reply.body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise UnreadableAnswer("it is no JSON", asked) from None


def _failure(reply: Reply, asked: str, address: Address, redact: Callable[[str], str]) -> ControlPlaneError:
    if reply.status == 401:
        return Unauthorized(address.place)
    if reply.status in REDIRECTS:
        return _redirect(reply, asked, address)
    said = _said(reply.body)
    # What is cut is not recognised any more.
    return Refused(reply.status, flat(redact(said)[:_LONGEST_REASON]), asked)


def _redirect(reply: Reply, asked: str, address: Address) -> Refused:
    """Never followed: the token is for the address that was given."""
    try:
        to = redirected(address._replace(target="/"), reply.headers.get("location", ""))
        place = f"{to.scheme}://{to.place}"
    except ValueError:
        place = "no address"
    here = f"{address.scheme}://{address.place}"
    where = "elsewhere on the same server" if place == here else f"to `{place}`"
    hint = "let `HEREYA_CLOUD_URL` be the address it leads to, if that is the control plane"
    return Refused(reply.status, f"`{here}` redirects {where}, where the token is not sent", asked, hint)


def _said(body: bytes) -> str:
    """The server's reason, if it gives one; a page for people, of a proxy perhaps, is none."""
    try:
        value = exact.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return ""
    texts = (value.get(name) for name in _REASONS) if isinstance(value, dict) else ()
    for text in texts:
        said = text.get("message") if isinstance(text, dict) else text
        if isinstance(said, str) and said.strip():
            return said.strip()
    return ""
