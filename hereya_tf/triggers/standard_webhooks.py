"""The signature of Standard Webhooks: HMAC-SHA256 over id, time and body (pure).

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

from hereya_tf.triggers.errors import PipelineError, PipelineErrorCode
from hereya_tf.triggers.headers import Headers, find_header

PREFIX = "whsec_"
TOLERANCE = 300  # seconds
_VERSION = "v1"
_LONGEST_TIME = 12  # digits


def verify_standard_webhook(headers: Headers, body: bytes, secrets: Sequence[str], *, now: float) -> None:
    """Check `webhook-signature` against each of `secrets`; `now` in seconds since 1970.

    Raises PipelineError: BAD_SIGNATURE, also for a time that is more than 5 minutes from `now`; NO_SECRET for a
    secret that is none of this kind.
    """
    keys = [_key(secret) for secret in secrets]
    identity, time, signatures = (
        _required(headers, f"webhook-{part}") for part in ("id", "timestamp", "signature")
    )
    signed = f"{identity}.{time}.".encode("utf-8", "surrogatepass") + body
    # Once for each key: a header has room for thousands of signatures, and anybody may send one.
    expected = [hmac.new(key, signed, hashlib.sha256).digest() for key in keys]
    # All of them, whichever fits: how long it takes says nothing.
    fitting = [hmac.compare_digest(each, given) for each in expected for given in _digests(signatures)]
    if not any(fitting):
        raise _refused("no signature in `webhook-signature` fits the id, the time and the body")
    if not (time.isascii() and time.isdecimal() and len(time) <= _LONGEST_TIME):
        raise _refused("`webhook-timestamp` is no number of seconds")
    if not abs(now - int(time)) <= TOLERANCE:  # so written, a time that is no number is no way in
        raise _refused(
            f"it was signed {_apart(int(time) - now)}, and is taken within {TOLERANCE} seconds only",
            "if it has just been sent, set the clocks of both machines",
        )


def _required(headers: Headers, name: str) -> str:
    value = find_header(headers, name, code=PipelineErrorCode.BAD_SIGNATURE)
    if value is None:
        raise _refused(
            f"the delivery has no `{name}` header", "is it a delivery of that provider, and signed?"
        )
    return value


def _digests(signatures: str) -> list[bytes]:
    found = []
    for each in signatures.split():
        version, _, text = each.partition(",")
        if version == _VERSION:
            try:
                found.append(base64.b64decode(text))
            except ValueError:  # one that is broken does not spoil the others
                continue
    return found


def _key(secret: str) -> bytes:
    text = secret.strip().removeprefix(PREFIX).rstrip("=")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise PipelineError(
            PipelineErrorCode.NO_SECRET,
            f"a secret cannot be used: it is not `{PREFIX}` and base64",
            "give it as the sender shows it; `openssl rand -base64 32` makes one",
        )
    return key


def _apart(seconds: float) -> str:
    return f"{-seconds:.0f} seconds ago" if seconds < 0 else f"{seconds:.0f} seconds in the future"


def _refused(sentence: str, *hints: str) -> PipelineError:
    return PipelineError(PipelineErrorCode.BAD_SIGNATURE, sentence, *hints)
