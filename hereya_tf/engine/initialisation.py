"""Whether `init` is needed: what the last good one saw, and whether that still is how things are (I/O).

Skipping it after a changed `-backend-config` value would apply to the old state with exit code 0, so
everything that init reads is part of the comparison, and what it left behind as well.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from hereya_tf.engine import Binary
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.private import make_private_directory, write_private
from hereya_tf.reading import read_regular_file

_CONFIGURATION = (".tf", ".tf.json", ".tofu", ".tofu.json")


def fingerprint(
    package: Path, data_directory: str, binary: Binary, *, arguments: Sequence[str], contents: Sequence[str]
) -> str:
    """One digest of all that init depends on and all that it has made.

    `arguments` are init's own, `contents` the texts of generated files among them (their paths differ).
    """
    import hashlib

    digest = hashlib.sha256()
    data = package / data_directory

    def take(*parts: str | bytes) -> None:
        for part in parts:
            content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            digest.update(len(content).to_bytes(8, "big"))
            digest.update(content)

    take(binary.engine, str(binary.version), binary.path, str(package.resolve()), data_directory)
    take(*arguments)
    take("contents", *contents)
    take(_bytes(package / LOCK_FILE), _bytes(data / "terraform.tfstate"))
    modules = _bytes(data / "modules" / "modules.json")
    take(modules, "providers" if (data / "providers").is_dir() else "")
    for directory in (package, *_module_directories(package, modules)):
        take("directory", str(directory))
        for file in _configuration_files(directory):
            take(file.name, _bytes(file))
    return digest.hexdigest()


class InitMemory:
    """Remembers the last good init of one workspace in one data directory, in the cache."""

    def __init__(self, cache: Path, key: str) -> None:
        import hashlib

        self._file = cache / "inits" / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def holds(self, digest: str) -> bool:
        """Whether the last good init saw exactly this."""
        try:
            return self._file.read_text(encoding="utf-8") == digest
        except (OSError, UnicodeDecodeError):
            return False

    def keep(self, digest: str) -> None:
        """Remember a good init; a cache that cannot be written only costs time."""
        try:
            make_private_directory(self._file.parent)
            write_private(self._file, digest)
        except OSError:
            return

    def forget(self) -> None:
        """The next run is to init."""
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return


def _configuration_files(directory: Path) -> Iterator[Path]:
    try:
        files = sorted(directory.iterdir())
    except OSError:  # the engine will say what is wrong with it
        return
    for file in files:
        if file.name.endswith(_CONFIGURATION) and file.name != GENERATED_OVERRIDE and file.is_file():
            yield file


def _module_directories(package: Path, modules: bytes) -> Iterator[Path]:
    """The directories that init resolved modules to; a local module may change without the package."""
    try:
        entries = json.loads(modules or b"{}").get("Modules", ())
        names = sorted({str(entry["Dir"]) for entry in entries})
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return
    for name in names:
        directory = package / name
        if name not in ("", ".") and directory.is_dir():
            yield directory


def _bytes(path: Path) -> bytes:
    try:
        return read_regular_file(path)
    except OSError:
        return b""
