"""A state as far as it has to be compared with another: lineage, serial, and what is in it (pure)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hereya_tf import exact


class StateDocument(NamedTuple):
    """A whole state. `content` is None for one that is encrypted: then serial and lineage alone can be compared."""

    lineage: str
    serial: int
    content: Mapping[str, Any] | None

    def has_content_of(self, other: "StateDocument") -> bool:
        """Whether both hold the same; an engine counts the serial on when it stores one."""
        if self.lineage != other.lineage:
            return False
        if self.content is None or other.content is None:
            return self.serial == other.serial
        return self.content == other.content

    @property
    def resources(self) -> int:
        """How many resources are in it."""
        resources = (self.content or {}).get("resources")
        return len(resources) if isinstance(resources, list) else 0


def read_state(text: str | bytes) -> StateDocument | None:
    """The state in this text; None for what is none, be it cut off or empty."""
    try:
        document = exact.loads(text if isinstance(text, str) else text.decode("utf-8"))
        lineage, serial = document["lineage"], document["serial"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    if not isinstance(lineage, str) or type(serial) is not int:
        return None
    if "encrypted_data" in document:
        return StateDocument(lineage, serial, None)
    if "version" not in document:
        return None
    content = {name: document.get(name) or None for name in ("outputs", "resources")}
    return StateDocument(lineage, serial, content)
