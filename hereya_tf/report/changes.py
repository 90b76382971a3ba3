"""What is said of a planned change: its word, how dangerous it is, and why it is made (pure)."""

from typing import NamedTuple

from hereya_tf.words import flat


class Kind(NamedTuple):
    """An action in words; `rank` 0 is the most dangerous and comes first."""

    rank: int
    symbol: str
    word: str
    past: str


_KINDS = {
    "delete": Kind(0, "-", "destroy", "deleted"),
    "replace": Kind(1, "-/+", "replace", "replaced"),
    "forget": Kind(2, ".", "forget", "forgotten"),
    "remove": Kind(2, ".", "forget", "forgotten"),
    "update": Kind(3, "~", "update", "changed"),
    "create": Kind(4, "+", "create", "created"),
    "import": Kind(5, "<-", "import", "imported"),
    "move": Kind(6, "->", "move", "moved"),
}
_REASONS = {
    "cannot_update": "cannot be updated in place",
    "tainted": "it is tainted",
    "requested": "asked for with --replace",
    "replace_triggered_by": "something it depends on changes",
    "delete_because_no_resource_config": "not in the configuration any more",
    "delete_because_no_module": "its module is not in the configuration any more",
    "delete_because_wrong_repetition": "its count or for_each has changed",
    "delete_because_count_index": "its index is beyond count",
    "delete_because_each_key": "its key is not in for_each any more",
    "delete_because_no_move_target": "there is nothing it could be moved to",
}


def kind_of(action: str) -> Kind:
    """The words for an action; one of tomorrow may be the worst, and comes among the dangerous ones."""
    return _KINDS.get(action) or Kind(2, "?", flat(action), flat(action))


def reason_text(reason: str | None) -> str:
    """Why a change is made, for people; empty when there is nothing to say."""
    if not reason:
        return ""
    return _REASONS.get(reason) or flat(reason.replace("_", " "))
