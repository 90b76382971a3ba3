"""Which engine wrote the files of a package, and the refusal to let the other one touch them (I/O)."""

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hereya_tf.engine import Binary, EngineName
from hereya_tf.errors import EngineMismatch

LOCK_FILE = ".terraform.lock.hcl"

_CHUNK = 1 << 20
# A provider address has a few hundred bytes at most: enough to find one that a chunk's end cuts.
_OVERLAP = 1024
_LARGEST_LOCK_FILE = 4 << 20
_LARGEST_STATE = 256 << 20

_STRING_OR_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_PROVIDER_BLOCK = re.compile(rb'^[ \t]*provider[ \t]*"([^"/\n]+)/', re.MULTILINE)
# As JSON has it: `"provider": "module.a.provider[\"registry.opentofu.org/…`. In a string value the quotes
# around the key would be escaped, so no attribute can be taken for it.
_PROVIDER_ADDRESS = re.compile(rb'"provider":\s*"(?:module\.[^"\\]*\.)?provider\[\\"([^"/\\]+)/')


def evidence(
    package_directory: Path, explicit_hosts: frozenset[str], state_file: Path | None
) -> Mapping[EngineName, str]:
    """The engine that the lock file or the local state was written by, and the file that says so.

    Each engine completes provider names with its own registry. A host in `explicit_hosts`, which the
    configuration itself names, says nothing; when both registries occur, nothing does.
    """
    state = _chunks(state_file, _CHUNK, _LARGEST_STATE) if state_file else ()
    return _writer(
        explicit_hosts,
        (_lock_file_hosts(package_directory / LOCK_FILE), LOCK_FILE),
        (_state_hosts(state), str(state_file)),
    )


def check_mismatch(binary: Binary, found: Mapping[EngineName, str], explicit: bool) -> None:
    """Raise EngineMismatch when `found` (see `evidence`) names the other engine, unless asked for by name."""
    if not explicit:
        _refuse_other(binary, {writer: f"`{file}`" for writer, file in found.items()})


def check_state(binary: Binary, state: str, explicit_hosts: frozenset[str], *, backend: str) -> None:
    """Raise EngineMismatch when the other engine wrote the `state` of a backend, as `state pull` prints it.

    `explicit_hosts` see `evidence`; OpenTofu prints the provider names that Terraform wrote, and only later, in
    memory, makes them its own (`tofumigrate`).
    """
    pieces = (state[at : at + _CHUNK].encode() for at in range(0, len(state), _CHUNK))
    place = f"the state in the `{backend}` backend"
    _refuse_other(binary, _writer(explicit_hosts, (_state_hosts(pieces), place)))


def _writer(
    explicit_hosts: frozenset[str], *sources: tuple[Iterator[bytes], str]
) -> Mapping[EngineName, str]:
    """The engine whose registry is among the hosts of the sources, and the name of the source."""
    registries = {
        engine.registry.encode(): engine for engine in EngineName if engine.registry not in explicit_hosts
    }
    found: dict[EngineName, str] = {}
    for hosts, name in sources:
        for host in hosts:
            if host in registries:
                found.setdefault(registries[host], name)
            if len(found) > 1:
                return {}
    return found


def _refuse_other(binary: Binary, found: Mapping[EngineName, str]) -> None:
    if not found or binary.engine in found:
        return
    ((writer, place),) = found.items()
    raise EngineMismatch(
        f"{place} was written by {writer.title}, and the engine here is {binary.engine.title}"
        f" {binary.version} ({binary.chosen_by})",
        f"install {writer.title}, or name it: `--engine {writer.executable}`",
        f"to go over to {binary.engine.title} on purpose: `--engine {binary.engine.executable}`",
    )


def _lock_file_hosts(file: Path) -> Iterator[bytes]:
    text = next(_chunks(file, _LARGEST_LOCK_FILE, _LARGEST_LOCK_FILE), b"")
    code = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0].startswith(b'"') else b" ", text)
    return (match[1] for match in _PROVIDER_BLOCK.finditer(code))


def _state_hosts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    tail = b""
    for chunk in chunks:
        window = tail + chunk
        yield from (match[1] for match in _PROVIDER_ADDRESS.finditer(window))
        tail = window[-_OVERLAP:]


def _chunks(file: Path, size: int, limit: int) -> Iterator[bytes]:
    # Regular files only: to open a named pipe would be to wait for ever.
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return
        with file.open("rb", buffering=0) as opened:
            for _ in range(limit // size):
                chunk = opened.read(size)
                if not chunk:
                    return
                yield chunk
    except (OSError, ValueError):
        return
