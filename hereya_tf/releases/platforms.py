"""Operating systems and processors, as Go and the vendors' file names call them (pure)."""

from typing import NamedTuple

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import EngineUnavailable

_SYSTEMS = {
    "darwin": "darwin",
    "freebsd": "freebsd",
    "linux": "linux",
    "openbsd": "openbsd",
    "sunos": "solaris",
    "windows": "windows",
}
# What `uname -m` prints; no 64-bit user land is needed, the engines are linked statically.
_PROCESSORS = {
    "386": ("386", "i386", "i486", "i586", "i686", "i86pc", "x86"),
    "amd64": ("amd64", "x64", "x86_64"),
    "arm": ("arm", "armv5tel", "armv6l", "armv7", "armv7l", "armv8l"),
    "arm64": ("aarch64", "arm64"),
}
_ARCHITECTURES = {machine: name for name, machines in _PROCESSORS.items() for machine in machines}
_LONGEST_SHOWN = 40  # characters


class Platform(NamedTuple):
    """What a binary is built for, in Go's names: `linux`, `arm64`."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}"


def this_platform(system: str, machine: str) -> Platform:
    """The platform that `uname -s` and `uname -m` describe.

    Raises EngineUnavailable when no engine is built for it.
    """
    known_system = _SYSTEMS.get(system.lower())
    known_architecture = _ARCHITECTURES.get(machine.lower())
    # Solaris says `i86pc` of 64-bit processors too, and has no others any more.
    if known_system == "solaris" and known_architecture == "386":
        known_architecture = "amd64"
    if known_system is None or known_architecture is None:
        shown = f"{system[:_LONGEST_SHOWN]}/{machine[:_LONGEST_SHOWN]}"
        raise EngineUnavailable(
            f"no engine is published for `{shown}`", "name a binary that runs here with `--engine PATH`"
        )
    return Platform(known_system, known_architecture)


def fallback(engine: EngineName, version: Version, platform: Platform) -> Platform | None:
    """Another platform whose binary runs here, for a version that is not built for this one; None when it is.

    Rosetta runs amd64 on Apple's processors.
    """
    is_built = platform != Platform("darwin", "arm64") or quirks.has(Quirk.APPLE_SILICON, engine, version)
    return None if is_built else Platform("darwin", "amd64")
