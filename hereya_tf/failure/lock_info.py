"""What an engine tells of a state lock: its block of `NAME: VALUE` lines, and how old the lock is (pure)."""

from collections.abc import Iterator

from hereya_tf.failure.sentence import beginning
from hereya_tf.stream.message_types import Diagnostic

INFO = "Lock Info:"
"""What stands between the error message and the lock's data."""

_FIELDS = ("ID", "Path", "Operation", "Who", "Version", "Created", "Info")
_OWN_ID = "already locked: ID="


def lock_sentence(diagnostic: Diagnostic) -> str:
    """Why the lock cannot be had, who holds it and since when, as far as that is known."""
    message, held, block = diagnostic.detail.partition(INFO)
    cause = beginning(message).removeprefix("Error message: ")
    holder = dict(_fields(block)) if held else {}
    known = _OWN_ID not in cause or f"ID={holder.get('ID')}" in cause
    by = f", held by `{holder['Who']}`" if known and "Who" in holder else ""
    since = f" since {holder['Created']}" if by and "Created" in holder else ""
    return f"{beginning(diagnostic.summary)}: {cause}{by}{since}"


def read_lock(detail: str) -> dict[str, str]:
    """ID, Path, Operation, Who, Version, Created, Info of a held lock, as far as they are known.

    Terraform before 1.15 prints its own ID and data for a lock held on an `http` backend (measured on
    1.11.4): there only the ID in the error message is true.
    """
    message, _, block = detail.partition(INFO)
    holder = dict(_fields(block))
    _, found, named = message.partition(_OWN_ID)
    identity = named.split()[0] if found and named.split() else None
    if identity is not None and holder.get("ID") != identity:
        return {"ID": identity}
    return holder


def shows_own_lock(detail: str) -> bool:
    """Whether the data under the error message are not those of the lock's holder."""
    _, held, block = detail.partition(INFO)
    return bool(held) and read_lock(detail).get("ID") != dict(_fields(block)).get("ID")


def age_of(created: str, now: float) -> float | None:
    """Seconds between a lock's `Created` and `now` (seconds since 1970); None for what is no time.

    Engines write Go's `2026-11-30 01:57:28.123456789 +0000 UTC`, their lock records RFC 3339. A clock that
    is ahead of ours makes no lock younger than new.
    """
    from datetime import datetime

    day, *rest = created.split()[:3] if created.strip() else ("",)
    text = f"{day}T{rest[0]}{rest[1]}" if len(rest) == 2 else created.strip()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return None
        return max(0.0, now - moment.timestamp())
    except (ValueError, OverflowError):
        return None


def _fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines()[1:]:
        name, colon, value = line.strip().partition(":")
        if not colon or name not in _FIELDS:
            return
        if value.strip():
            yield name, value.strip()
