"""Which of the executor's variables its jobs get (pure)."""

from collections.abc import Mapping

_OURS = "HEREYA_TF_"
_HANDED_DOWN = frozenset((f"{_OURS}STATE_DIR", f"{_OURS}CACHE_DIR", f"{_OURS}ENGINE_KEYS"))
_TOKEN = "HEREYA_TOKEN"  # noqa: S105 - a name


def job_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """All but the executor's token and its own settings, which would be options of every run."""
    return {
        name: value
        for name, value in environment.items()
        if name != _TOKEN and (not name.startswith(_OURS) or name in _HANDED_DOWN)
    }
