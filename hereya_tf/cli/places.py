"""Where state and cache are, as the environment and the system say."""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hereya_tf.errors import BadInput
from hereya_tf.places import Places


def find_places(environment: Mapping[str, str]) -> Places:
    """HEREYA_TF_STATE_DIR and HEREYA_TF_CACHE_DIR, else the system's own places for such files."""
    state = environment.get("HEREYA_TF_STATE_DIR")
    cache = environment.get("HEREYA_TF_CACHE_DIR")
    return Places(
        _absolute(state) if state else _default(environment, "state"),
        _absolute(cache) if cache else _default(environment, "cache"),
    )


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
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises without HOME
    if home.is_absolute():
        return home
    import pwd
    import tempfile

    # A relative HOME, or a user whom the system does not know: below the working directory each caller would
    # have locks of its own.
    with contextlib.suppress(KeyError):
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return home if home.is_absolute() else _made_home(Path(tempfile.gettempdir()))


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
