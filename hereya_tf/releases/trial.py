"""Runs a new engine once, before it counts: whether it starts here, and is what it was signed as (I/O)."""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.commands import managed_environment
from hereya_tf.engine.identity import Identity, ask_version, read_answer
from hereya_tf.errors import EngineUnavailable, EngineUnverified
from hereya_tf.releases.platforms import Platform

Ask = Callable[[Sequence[str], Mapping[str, str], Path], str]

# Another thread or a library may just have started a process that still has the file open for writing.
_BUSY_TRIES = 50
_BUSY_SECONDS = 0.1
# What macOS says of a binary for another processor: EBADARCH, which Python has no name for.
_OTHER_PROCESSOR = (errno.ENOEXEC, 86)
_OTHER_CACHE = (
    "the file system may be mounted `noexec`: point `HEREYA_TF_CACHE_DIR` to one that programs run from"
)


def try_out(
    binary: Path,
    engine: EngineName,
    version: Version,
    *,
    platform: Platform,
    environment: Mapping[str, str],
    shown: Path,
    pause: Callable[[float], None],
    ask: Ask = ask_version,
) -> None:
    """Let a binary say its version; `shown` is where it is going to be, `pause(seconds)` waits and may raise.

    Raises EngineUnavailable when it does not run here, EngineUnverified when it is another engine or version.
    """
    title = f"{engine.title} {version}"
    try:
        answer = _answer(binary, environment, pause, ask)
    except TimeoutError as error:
        raise EngineUnavailable(
            f"{title} was tried out, and gave {error}", "try again when the machine is less busy"
        ) from error
    except OSError as error:
        raise _not_run(error, title, platform, shown) from error
    try:
        said = read_answer(answer, shown)
    except EngineUnavailable as error:
        raise EngineUnavailable(
            f"{title} was tried out, and does not say what it is", *error.hints[:1], _other_hint(platform)
        ) from error
    if said != Identity(engine, version):
        raise EngineUnverified(
            f"what was signed as {title} says that it is {said.engine.title} {said.version}",
            "whoever made the release or mirror has to mend it",
        )


def _answer(binary: Path, environment: Mapping[str, str], pause: Callable[[float], None], ask: Ask) -> str:
    clean = managed_environment(environment, additions={}, workspace=None, data_directory=None)
    # The user's settings of the engine may be wrong without the engine being so.
    quiet = {**clean, "TF_CLI_CONFIG_FILE": os.devnull}
    for _ in range(_BUSY_TRIES):
        try:
            return ask((str(binary), "version"), quiet, Path(os.sep))
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
        pause(_BUSY_SECONDS)
    return ask((str(binary), "version"), quiet, Path(os.sep))


def _not_run(error: OSError, title: str, platform: Platform, shown: Path) -> EngineUnavailable:
    said = error.strerror or str(error)
    if error.errno in _OTHER_PROCESSOR:
        return EngineUnavailable(f"{title} for `{platform}` cannot run here: {said}", _other_hint(platform))
    if error.errno == errno.EACCES:
        return EngineUnavailable(f"nothing can be run from `{shown.parent.parent}`: {said}", _OTHER_CACHE)
    return EngineUnavailable(f"{title} cannot be started: {said}", "try again")


def _other_hint(platform: Platform) -> str:
    return f"this machine may not be `{platform}`: name a binary that runs here with `--engine PATH`"
