"""Where state and cache are, as the environment and the system say."""

import os
from collections.abc import Mapping
from pathlib import Path

from hereya_tf.places import Places


def find_places(environment: Mapping[str, str]) -> Places:
    """HEREYA_TF_STATE_DIR and HEREYA_TF_CACHE_DIR, else the system's own places for such files."""
    state = environment.get("HEREYA_TF_STATE_DIR")
    cache = environment.get("HEREYA_TF_CACHE_DIR")
    return Places(
        Path(state).absolute() if state else _default(environment, "state"),
        Path(cache).absolute() if cache else _default(environment, "cache"),
    )


def _default(environment: Mapping[str, str], kind: str) -> Path:
    if os.uname().sysname == "Linux":
        # platformdirs says the same; importing it costs 20 ms before the engine starts.
        variable, below = {
            "state": ("XDG_STATE_HOME", ".local/state"),
            "cache": ("XDG_CACHE_HOME", ".cache"),
        }[kind]
        home = environment.get(variable, "").strip()
        base = Path(home) if home and Path(home).is_absolute() else Path(os.path.expanduser("~")) / below  # noqa: PTH111 - Path.home() raises without HOME
        return base / "hereya-tf"
    import platformdirs

    find = platformdirs.user_state_path if kind == "state" else platformdirs.user_cache_path
    return find("hereya-tf", appauthor=False)
