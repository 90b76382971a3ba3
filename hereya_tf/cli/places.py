"""Where state, cache and the user's configuration are, as the environment and the system say."""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hereya_tf.errors import BadConfig, BadInput
from hereya_tf.places import Places


def find_places(environment: Mapping[str, str]) -> Places:
    """HEREYA_TF_STATE_DIR and HEREYA_TF_CACHE_DIR, else the system's own places for such files."""
    state = environment.get("HEREYA_TF_STATE_DIR")
    cache = environment.get("HEREYA_TF_CACHE_DIR")
    return Places(
        _absolute(state) if state else _default(environment, "state"),
        _absolute(cache) if cache else _default(environment, "cache"),
    )


def find_config(environment: Mapping[str, str]) -> Path | None:
    """The user's `config.toml`, if there is one; raises BadConfig when HEREYA_TF_CONFIG_DIR cannot hold one."""
    named = environment.get("HEREYA_TF_CONFIG_DIR")
    directory = _absolute(named) if named else _default_config(environment)
    if directory is None:
        return None
    file = directory / "config.toml"
    try:
        file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        if not named:  # a home that is another user's
            return None
        raise BadConfig(
            f"`HEREYA_TF_CONFIG_DIR` is `{named}`, and cannot be looked into: {error.strerror}",
            "point it to the directory that holds `config.toml`",
        ) from error
    return file


def _default_config(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("XDG_CONFIG_HOME", "").strip()
    if home and Path(home).is_absolute():
        return Path(home) / "hereya-tf"
    if os.uname().sysname != "Linux":
        import platformdirs

        return platformdirs.user_config_path("hereya-tf", appauthor=False)
    known = _known_home()
    return known / ".config/hereya-tf" if known is not None else None


def _default(environment: Mapping[str, str], kind: str) -> Path:
    if os.uname().sysname == "Linux":
        # platformdirs says the same; importing it costs 20 ms before the engine starts.
        variable, below = {
            "state": ("XDG_STATE_HOME", ".local/state"),
            "cache": ("XDG_CACHE_HOME", ".cache"),
        }[kind]
        home = environment.get(variable, "").strip()
        base = Path(home) if home and Path(home).is_absolute() else _home() / below
        return base / "hereya-tf"
    import platformdirs

    find = platformdirs.user_state_path if kind == "state" else platformdirs.user_cache_path
    return find("hereya-tf", appauthor=False)


def _home() -> Path:
    """The user's home; without one a private directory that all runs of this user find, wherever they start."""
    home = _known_home()
    if home is not None:
        return home
    import tempfile

    return _made_home(Path(tempfile.gettempdir()))


def _known_home() -> Path | None:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises without HOME
    if home.is_absolute():
        return home
    import pwd

    # A relative HOME, or a user whom the system does not know: below the working directory each caller would
    # have locks of its own.
    with contextlib.suppress(KeyError):
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return home if home.is_absolute() else None


def _made_home(temporary: Path) -> Path:
    home = temporary / f"hereya-tf-home-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700)
    status = home.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise BadInput(
            f"there is no home directory, and `{home}` is not a private directory of this user",
            "point `HEREYA_TF_STATE_DIR` and `HEREYA_TF_CACHE_DIR` to directories that you can write to",
        )
    return home


def _absolute(path: str) -> Path:
    try:
        return Path(path).absolute()
    except FileNotFoundError as error:
        raise BadInput(
            f"`{path}` is relative to a working directory that does not exist any more",
            "change to one that does, or use an absolute path",
        ) from error
