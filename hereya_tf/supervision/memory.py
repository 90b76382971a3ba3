"""How often the system has ended a process of our control group because memory ran out (I/O).

The engine and all that it starts stand in our own control group, and the kernel counts what it ends there:
`oom_kill` in `memory.events` (version 2) or `memory.oom_control` (version 1, since Linux 4.13).
"""

import os
from collections.abc import Iterator
from pathlib import Path

_MEMBERSHIP = Path("/proc/self/cgroup")
_HIERARCHIES = Path("/sys/fs/cgroup")
# Both files are shorter by far; what is cut off here is not read.
_BYTES_READ = 1 << 16


def count_memory_kills(membership: Path = _MEMBERSHIP, hierarchies: Path = _HIERARCHIES) -> int | None:
    """Processes ended so far; None where nothing counts them (another system, no access, the root group)."""
    groups = _read(membership)
    for counter in _counters(groups, hierarchies) if groups is not None else ():
        text = _read(counter)
        if text is not None:
            return _count(text)
    return None


def _counters(groups: str, hierarchies: Path) -> Iterator[str]:
    """The files that may have the count, from lines of `NUMBER:CONTROLLERS:PATH`."""
    fields = [line.split(":", 2) for line in groups.splitlines()]
    paths = {controllers: path for _, controllers, path in (field for field in fields if len(field) == 3)}
    for controllers, path in paths.items():
        if "memory" in controllers.split(","):
            yield from _places(f"{hierarchies}/{controllers}", path, "memory.oom_control")
            return
    if "" in paths:
        yield from _places(str(hierarchies), paths[""], "memory.events")


def _places(hierarchy: str, path: str, name: str) -> Iterator[str]:
    yield f"{hierarchy}{path.rstrip('/')}/{name}"
    # In a container the path may be the host's, while what is mounted is the container's own group.
    yield f"{hierarchy}/{name}"


def _read(path: str | Path) -> str | None:
    # Not Path.read_text: this is done before every engine command, and takes a third of its time.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(descriptor, _BYTES_READ).decode("ascii", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _count(text: str) -> int | None:
    for line in text.splitlines():
        name, _, number = line.partition(" ")
        if name == "oom_kill" and number.isdecimal() and number.isascii():
            return int(number)
    return None
