"""What an engine tells of a state lock: its block of `NAME: VALUE` lines, and how old the lock is (pure)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hereya_tf.failure.sentence import beginning
from hereya_tf.stream.message_types import Diagnostic

if TYPE_CHECKING:
    from datetime import datetime

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
    return f"{beginning(diagnostic.summary)}: {cause}{lock_words(holder if known else {})}"


def lock_words(holder: Mapping[str, str]) -> str:
    """`, held by WHO since CREATED`, as far as that is known."""
    by = f", held by `{holder['Who']}`" if holder.get("Who") else ""
    return by + (f" since {holder['Created']}" if by and holder.get("Created") else "")


def read_lock(detail: str) -> dict[str, str]:
    """ID, Path, Operation, Who, Version, Created, Info of a held lock, as far as they are known.

    Terraform before 1.15 prints its own ID and data for a lock held on an `http` backend (measured on
    1.11.4): there only the ID in the error message is true.
    """
    message, _, block = detail.partition(INFO)
    holder = dict(_fields(block))
    # In its form for people an engine breaks the line where the ID begins.
    _, found, named = " ".join(message.split()).partition(_OWN_ID)
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
    moment = moment_of(created)
    try:
        return None if moment is None else max(0.0, now - moment.timestamp())
    except OverflowError:
        return None


def moment_of(text: str) -> "datetime | None":
    """The moment in RFC 3339 or as Go writes it; None for what is no moment."""
    from datetime import datetime

    day, *rest = text.split()[:3] if text.strip() else ("",)
    joined = f"{day}T{rest[0]}{rest[1]}" if len(rest) == 2 else text.strip()
    try:
        moment = datetime.fromisoformat(joined)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else None


def _fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines()[1:]:
        name, colon, value = line.strip().partition(":")
        if not colon or name not in _FIELDS:
            return
        if value.strip():
            yield name, value.strip()
