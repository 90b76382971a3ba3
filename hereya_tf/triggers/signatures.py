"""Whether a delivery is from who it says: signatures over the raw bytes, before anything is parsed (pure)."""

import contextlib
import hashlib
import hmac
import time
from collections.abc import Iterable, Sequence
from typing import assert_never

from hereya_tf.triggers.errors import PipelineError, PipelineErrorCode
from hereya_tf.triggers.headers import Headers, find_header
from hereya_tf.triggers.providers import Provider, parse_provider
from hereya_tf.triggers.standard_webhooks import PREFIX, verify_standard_webhook

_RAW = "it covers the raw body to the byte: check that nothing has changed it on its way, and the secret"


def verify_webhook(
    provider: Provider | str,
    headers: Headers,
    body: bytes,
    secrets: str | Iterable[str | None] | None,
    *,
    now: float | None = None,
) -> None:
    """Return when `body`, as it came over the wire, is signed with one of `secrets`.

    One secret or several, of which any will do, so that one can be replaced. What says when it was signed has to be
    within five minutes of `now`, in seconds since 1970: the system's clock, unless it is given. Raises
    PipelineError: UNSUPPORTED_PROVIDER, NO_SECRET when all of them are blank or None, BAD_SIGNATURE else.
    """
    known = parse_provider(provider)
    usable = _usable(secrets)
    if not usable:
        raise PipelineError(
            PipelineErrorCode.NO_SECRET,
            "no secret is configured, and what is not signed is not accepted",
            f"set a secret for the webhook at {known.label}, and the same here",
        )
    moment = time.time() if now is None else now
    match known:
        case Provider.GITHUB:
            _verify_digest(headers, body, usable, "X-Hub-Signature-256", prefix="sha256=")
        case Provider.BITBUCKET:
            _verify_digest(headers, body, usable, "X-Hub-Signature", prefix="sha256=")
        case Provider.GITEA | Provider.FORGEJO:
            _verify_digest(headers, body, usable, _gitea_header(headers))
        case Provider.GITLAB:
            _verify_gitlab(headers, body, usable, now=moment)
        case Provider.GENERIC:
            verify_standard_webhook(headers, body, usable, now=moment)
        case _:
            assert_never(known)


def _usable(secrets: str | Iterable[str | None] | None) -> tuple[str, ...]:
    # A text is a sequence too: of its letters.
    given = (secrets,) if isinstance(secrets, str) else tuple(secrets or ())
    # With a key that is empty anybody can sign.
    return tuple(secret for secret in given if secret is not None and secret.strip())


def _verify_digest(
    headers: Headers, body: bytes, secrets: Sequence[str], name: str, *, prefix: str = ""
) -> None:
    given = _signature(headers, name).encode("utf-8", "surrogatepass")
    expected = [prefix + hmac.new(_bytes(secret), body, hashlib.sha256).hexdigest() for secret in secrets]
    # All of them, whichever fits: how long it takes says nothing.
    fitting = [hmac.compare_digest(each.encode(), given) for each in expected]
    if not any(fitting):
        raise _refused(f"the signature in `{name}` does not fit the body", _RAW)


def _gitea_header(headers: Headers) -> str:
    # Forgejo sends both; so does Gitea with X-Hub-Signature-256, for receivers that know GitHub only.
    own = find_header(headers, "X-Forgejo-Signature", code=PipelineErrorCode.BAD_SIGNATURE)
    return "X-Gitea-Signature" if own is None else "X-Forgejo-Signature"


def _verify_gitlab(headers: Headers, body: bytes, secrets: Sequence[str], *, now: float) -> None:
    # Where there is a signing token, the old token, which every proxy on the way has seen, proves nothing.
    if signing := [secret for secret in secrets if secret.strip().startswith(PREFIX)]:
        verify_standard_webhook(headers, body, signing, now=now)
        return
    spellings = _spellings(_signature(headers, "X-Gitlab-Token"))
    fitting = [hmac.compare_digest(_bytes(secret.strip()), each) for secret in secrets for each in spellings]
    if not any(fitting):
        raise _refused(
            "the token in `X-Gitlab-Token` is not the secret", "give the same secret here and at the sender"
        )


def _spellings(value: str) -> list[bytes]:
    """The bytes that a header's value may have been: servers read it as UTF-8 or, byte for byte, as Latin-1."""
    found = [value.encode("utf-8", "surrogatepass")]
    with contextlib.suppress(UnicodeEncodeError):
        found.append(value.encode("latin-1"))
    return found


def _signature(headers: Headers, name: str) -> str:
    value = find_header(headers, name, code=PipelineErrorCode.BAD_SIGNATURE)
    if value is None:
        raise _refused(
            f"the delivery has no `{name}` header", "set the secret of the webhook at the sender too"
        )
    return value


def _bytes(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogateescape")


def _refused(sentence: str, *hints: str) -> PipelineError:
    return PipelineError(PipelineErrorCode.BAD_SIGNATURE, sentence, *hints)
