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
        """Whether both hold the same. An engine that stores one counts its serial on, and where there was no state
        yet gives it another lineage (measured on Terraform 1.11.4).
        """
        if self.content is None or other.content is None:
            return (self.lineage, self.serial) == (other.lineage, other.serial)
        # Two that are empty are of one state only when they say so.
        is_telling = self.lineage == other.lineage or not other.lineage or any(other.content.values())
        return is_telling and self.content == other.content

    @property
    def is_blank(self) -> bool:
        """Whether it is what an engine shows where there is no state: nothing is in it, not even a lineage."""
        return not self.lineage and self.content is not None and not any(self.content.values())

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
