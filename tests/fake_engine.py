"""The fake engine of fixtures/bin, with its scenario and its record."""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

Record = dict[str, Any]
Found = TypeVar("Found")


class FakeEngine:
    """An engine that plays what it is told; `environment` is what a process needs to start it."""

    def __init__(self, path: Path, directory: Path) -> None:
        self.path = path
        self.scenario_file = directory / "scenario.json"
        self.record_file = directory / "record.ndjson"
        self.environment = {
            "FAKE_ENGINE_SCENARIO": str(self.scenario_file),
            "FAKE_ENGINE_RECORD": str(self.record_file),
            "FAKE_ENGINE_PYTHON": sys.executable,
        }
        self.plays({})

    def plays(self, scenario: Mapping[str, Sequence[Any]]) -> None:
        """Set the actions of each command; the header of the script lists them."""
        self.scenario_file.write_text(json.dumps(scenario), encoding="utf-8")

    def records(self, event: str | None = None, **fields: Any) -> list[Record]:
        """What it has recorded so far: all, or one kind of event, with these fields."""
        if not self.record_file.exists():
            return []
        *lines, _ = self.record_file.read_text(encoding="utf-8").split("\n")
        wanted = fields if event is None else {"event": event, **fields}
        records: list[Record] = [json.loads(line) for line in lines]
        return [record for record in records if all(record.get(key) == wanted[key] for key in wanted)]

    def commands(self) -> list[str]:
        """The commands it was called with, in order, without `version`."""
        return [start["command"] for start in self.records("start") if start["command"] != "version"]

    def wait_for_record(self, event: str, *, timeout: float = 60, **fields: Any) -> Record:
        """The first record of this event with these fields; fails after `timeout` seconds."""
        return wait_for(lambda: next(iter(self.records(event, **fields)), None), timeout, f"{event} {fields}")


def wait_for(probe: Callable[[], Found | None], timeout: float = 60, what: str = "it") -> Found:
    """Poll until `probe` gives something other than None; fails after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while (found := probe()) is None:
        assert time.monotonic() < deadline, f"waited {timeout} s for {what}"
        time.sleep(0.005)
    return found
