"""Which directory is the cache: the user's own, or ours (I/O: reads the engine's settings)."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import EngineName
from hereya_tf.reading import read_regular_file

VARIABLE = "TF_PLUGIN_CACHE_DIR"
_MAY_BREAK_VARIABLE = "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"
_KEY = "plugin_cache_dir"
_MAY_BREAK_KEY = "plugin_cache_may_break_dependency_lock_file"
_LARGEST_FILE = 1 << 20  # bytes
_REFERENCE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class CacheWish(NamedTuple):
    """Where providers are to be kept; `may_break_lock_file`: the user lets init take what no lock file knows."""

    directory: Path
    is_ours: bool
    may_break_lock_file: bool = False


class _Setting(NamedTuple):
    directory: str = ""
    may_break_lock_file: bool = False


def find_cache(
    environment: Mapping[str, str], engine: EngineName, package: Path, ours: Path
) -> CacheWish | None:
    """The directory that the engine's environment or settings name, else `ours`.

    None where the settings name one in a way that only the engine understands: then it is the engine's alone.
    A relative path is relative to `package`, where the engine runs.
    """
    settings = _read_settings(environment, engine)
    if settings is None:
        return None
    # As `cliconfig.LoadConfig`: the environment wins, and the second setting is on when one of them says so.
    may_break = settings.may_break_lock_file or environment.get(_MAY_BREAK_VARIABLE, "") not in ("", "0")
    named = environment.get(VARIABLE) or settings.directory
    if not named:
        return CacheWish(ours, is_ours=True, may_break_lock_file=may_break)
    return CacheWish(
        Path(os.path.abspath(package / named)),  # noqa: PTH100 - resolve() would follow links
        is_ours=False,
        may_break_lock_file=may_break,
    )


def _read_settings(environment: Mapping[str, str], engine: EngineName) -> _Setting | None:
    found = _Setting()
    for file in _settings_files(environment, engine):
        try:
            source = read_regular_file(file, at_most=_LARGEST_FILE)
        except OSError:  # the engine says what is wrong with it
            continue
        # Nearly no file has it, and one that has may hold tokens besides: no more is read of it than these two.
        if _KEY.encode() not in source and _MAY_BREAK_KEY.encode() not in source:
            continue
        setting = _read(source, file.name, environment)
        if setting is None:
            return None
        found = _Setting(
            found.directory or setting.directory, found.may_break_lock_file or setting.may_break_lock_file
        )
    return found


def _settings_files(environment: Mapping[str, str], engine: EngineName) -> Iterator[Path]:
    """The files that the engine reads, the first one first: `cliconfig` of both."""
    named = environment.get("TF_CLI_CONFIG_FILE") or environment.get("TERRAFORM_CONFIG")
    if named:
        yield Path(named)
        return
    home = environment.get("HOME")
    if not home:
        return
    names = [f"{home}/.terraformrc"]
    if engine is EngineName.OPENTOFU:
        below = environment.get("XDG_CONFIG_HOME")
        names = [f"{home}/.tofurc", *names, *((f"{below}/opentofu/tofurc",) if below else ())]
    yield from [path for path in map(Path, names) if path.exists()][:1]
    try:
        more = sorted((Path(home) / ".terraform.d").iterdir())
    except OSError:
        return
    yield from (path for path in more if path.name.endswith((".tfrc", ".tfrc.json")))


def _read(source: bytes, name: str, environment: Mapping[str, str]) -> _Setting | None:
    if name.endswith(".json"):
        try:
            values = json.loads(source)
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, dict):
            return None
        directory, may_break = values.get(_KEY, ""), values.get(_MAY_BREAK_KEY, False)
    else:
        from hereya_tf.package.declarations import read_attribute_texts

        texts = read_attribute_texts(source)
        if texts is None:
            return None
        try:
            directory = json.loads(texts.get(_KEY, '""'))
            may_break = json.loads(texts.get(_MAY_BREAK_KEY, "false"))
        except ValueError:
            return None
    if not isinstance(directory, str) or not isinstance(may_break, bool):
        return None
    return _Setting(_expanded(directory, environment), may_break)


def _expanded(text: str, environment: Mapping[str, str]) -> str:
    """`os.ExpandEnv` of Go, as far as anybody uses it: a variable that is not set is nothing."""
    return _REFERENCE.sub(lambda match: environment.get(match[1] or match[2], ""), text)
