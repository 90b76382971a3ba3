"""Which engine and version a binary is, by its own word, remembered between runs (I/O)."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.commands import managed_environment
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import EngineUnavailable, EngineUnsupported
from hereya_tf.private import make_private_directory, nameless_file, write_private

# A crowded machine may need many seconds to start twenty launchers at once.
VERSION_TIMEOUT = 30.0  # seconds

_LONGEST_ANSWER = 65_536
# A launcher that never stops talking fills a disk with 500 MB a second.
_MOST_WRITTEN = 1 << 20  # bytes
_LOOK_SECONDS = 0.1
_MOST_REMEMBERED = 64
_FORMAT_VERSION = 1
# What is smaller than any engine (Terraform 1.11.4: 90 MB) is a launcher, such as those of tfenv, tenv
# and asdf: it may run another version for another directory, so its answer is not kept.
_SMALLEST_ENGINE = 20_000_000

RunVersion = Callable[[Sequence[str], Mapping[str, str], Path], str]


class Identity(NamedTuple):
    """What a binary says it is."""

    engine: EngineName
    version: Version


def ask_version(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    *,
    limit_seconds: float = VERSION_TIMEOUT,
) -> str:
    """All that `argv` prints, stdout and stderr, as text with U+FFFD for broken UTF-8.

    Raises OSError when it cannot be started, TimeoutError when it has not ended after `limit_seconds`, or says
    more than any engine does (its process group is killed then).
    """
    import subprocess

    with nameless_file() as answer:
        # A file, not a pipe: a daemon that a launcher leaves behind would keep a pipe open for ever.
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            end = time.monotonic() + limit_seconds
            while process.returncode is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_SECONDS)
                    break
                if os.fstat(answer.fileno()).st_size > _MOST_WRITTEN:
                    raise TimeoutError("an answer without an end")
                if time.monotonic() >= end:
                    raise TimeoutError(f"no answer within {limit_seconds:g} s")
        finally:
            if process.returncode is None:  # also when Ctrl-C ends the wait
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        answer.seek(0)
        return answer.read(_LONGEST_ANSWER).decode("utf-8", "replace")


def identify(
    argv: Sequence[str],
    file: Path,
    *,
    environment: Mapping[str, str],
    cache_directory: Path,
    directory: Path,
    run_version: RunVersion = ask_version,
) -> Identity:
    """Ask `argv` for its engine and version, or take the answer kept for the same, unchanged `file`.

    `directory` is where a launcher looks for the version it shall run. Raises EngineUnavailable when it
    does not answer as an engine does, EngineUnsupported when the engine is too old.
    """
    fingerprint = _fingerprint(file)
    memory = cache_directory / "engines.json"
    known = _remembered(memory) if fingerprint else {}
    identity = _from_entry(known.get(str(file)), fingerprint) if fingerprint else None
    if identity is None:
        # A real engine lists the package's providers too, so it is asked where there is no package.
        where = Path(os.sep) if fingerprint else directory
        identity = read_answer(_answer(argv, file, environment, where, run_version), file)
        if fingerprint:
            entry = {**fingerprint, "engine": identity.engine, "version": str(identity.version)}
            _remember(memory, {**known, str(file): entry})
    engine, version = identity
    if not quirks.has(Quirk.MESSAGES, engine, version):
        oldest = quirks.since(Quirk.MESSAGES, engine)
        raise EngineUnsupported(
            f"`{file}` is {engine.title} {version}, and `apply -json` needs {oldest} or newer",
            f"install a newer {engine.title}, or name another one with `--engine PATH`",
        )
    return identity


def is_launcher(file: Path) -> bool:
    """Whether a file stands in front of the engine that it runs, as far as its size and its real name tell."""
    return _fingerprint(file) is None


def read_answer(answer: str, file: Path) -> Identity:
    """Find `Terraform v1.11.4` or `OpenTofu v1.9.0` as a line of `answer`; raises EngineUnavailable.

    Not only as the first: launchers and the engine's own warnings (on stderr) may come before it.
    """
    lines = [line.strip() for line in answer.splitlines()]
    for line in lines:
        title, _, version = line.partition(" v")
        for engine in EngineName:
            if title == engine.title:
                with contextlib.suppress(ValueError):
                    return Identity(engine, Version.parse(version))
    said = next((line for line in lines if line), "")
    quoted = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in said[:200])
    raise EngineUnavailable(
        f"`{file} version` answers neither as Terraform nor as OpenTofu",
        f"it said: {quoted}" if said else "it said nothing",
        "name the engine's own binary with `--engine PATH`",
    )


def _answer(
    argv: Sequence[str],
    file: Path,
    environment: Mapping[str, str],
    directory: Path,
    run_version: RunVersion,
) -> str:
    clean = managed_environment(environment, additions={}, workspace=None, data_directory=None)
    try:
        return run_version((*argv, "version"), clean, directory)
    except TimeoutError as error:
        raise EngineUnavailable(
            f"`{file} version` gave {error}",
            "run it by hand to see what it waits for, or name another engine with `--engine PATH`",
        ) from error
    except OSError as error:
        raise EngineUnavailable(
            f"`{file}` cannot be run: {error.strerror or error}",
            "check that it is complete, and made for this system and processor",
            "name another engine with `--engine PATH`",
        ) from error


def _fingerprint(file: Path) -> dict[str, Any] | None:
    # None: do not keep the answer. A link to a tool of another name is a launcher too (mise).
    try:
        real = file.resolve()
        status = real.stat()
    except OSError:
        return None
    named = "terraform" in real.name or "tofu" in real.name
    if status.st_size < _SMALLEST_ENGINE or not named:
        return None
    return {
        "real": str(real),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "inode": status.st_ino,
    }


def _from_entry(entry: Any, fingerprint: dict[str, Any]) -> Identity | None:
    if not isinstance(entry, dict) or any(entry.get(key) != value for key, value in fingerprint.items()):
        return None
    try:
        return Identity(EngineName(entry["engine"]), Version.parse(entry["version"]))
    except (KeyError, ValueError, TypeError):
        return None


def _remembered(memory: Path) -> dict[str, Any]:
    # Whatever is wrong with the file, the engines can be asked again.
    try:
        content = json.loads(memory.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict) or content.get("v") != _FORMAT_VERSION:
        return {}
    binaries = content.get("binaries")
    return binaries if isinstance(binaries, dict) else {}


def _remember(memory: Path, binaries: dict[str, Any]) -> None:
    latest = dict(list(binaries.items())[-_MOST_REMEMBERED:])
    with contextlib.suppress(OSError):  # read-only or full: it is asked again next time
        make_private_directory(memory.parent)
        write_private(memory, json.dumps({"v": _FORMAT_VERSION, "binaries": latest}, indent=1))
