"""Saved webhook deliveries under `fixtures/webhooks`, and signatures as their senders make them."""

import base64
import hashlib
import hmac
from pathlib import Path
from typing import NamedTuple

from hereya_tf.triggers import Provider, parse_saved_headers
from tests.command_line import REPOSITORY

WEBHOOKS = REPOSITORY / "fixtures/webhooks"
# When the deliveries that say when they were signed were signed.
SIGNED_AT = 1796030102
BEFORE = hashlib.sha1(b"before").hexdigest()
MIDDLE = hashlib.sha1(b"middle").hexdigest()
AFTER = hashlib.sha1(b"after").hexdigest()
NOTHING = "0" * 40


class Saved(NamedTuple):
    """A delivery as it came."""

    provider: Provider
    headers: tuple[tuple[str, str], ...]
    body: bytes
    secret: str

    def header(self, name: str) -> str:
        return dict(self.headers)[name]

    def but(self, **headers: str | None) -> "Saved":
        """With other headers, their names with `_` for `-`; None takes one out."""
        changed = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        kept = tuple((name, value) for name, value in self.headers if name.lower() not in changed)
        added = tuple((name, value) for name, value in changed.items() if value is not None)
        return self._replace(headers=kept + added)


def files(name: str) -> tuple[Path, Path, Path]:
    """The headers, the body and the secret of `github/push`."""
    directory = (WEBHOOKS / name).parent
    return WEBHOOKS / f"{name}.headers", WEBHOOKS / f"{name}.body", directory / "secret"


def saved(name: str) -> Saved:
    """The delivery `github/push`."""
    headers, body, secret = files(name)
    return Saved(
        Provider(name.partition("/")[0].removesuffix("-signing")),
        parse_saved_headers(headers.read_text(encoding="utf-8"), str(headers)),
        body.read_bytes(),
        secret.read_text(encoding="utf-8").rstrip("\n"),
    )


def all_saved() -> list[str]:
    return sorted(str(file.relative_to(WEBHOOKS).with_suffix("")) for file in WEBHOOKS.glob("*/*.body"))


def digest(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def standard_headers(key: bytes, body: bytes, *, identity: str = "msg_1", time: str | int) -> dict[str, str]:
    """The headers of Standard Webhooks for `body`."""
    made = hmac.new(key, f"{identity}.{time}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": identity,
        "webhook-timestamp": str(time),
        "webhook-signature": f"v1,{base64.b64encode(made).decode()}",
    }
