"""What is said of a change to a resource: its word, how dangerous it is, and why it is made (pure)."""

from typing import NamedTuple

from hereya_tf.words import flat

DRIFT = "drift"
"""The reason of a change that others have made."""


class ChangeKind(NamedTuple):
    """An action in words: to be done, done by the engine, done `by_others`.

    `rank` 0 is the most dangerous and comes first.
    """

    rank: int
    symbol: str
    word: str
    done: str
    by_others: str


_KINDS = {
    "delete": ChangeKind(0, "-", "destroy", "destroyed", "deleted"),
    "replace": ChangeKind(1, "-/+", "replace", "replaced", "replaced"),
    "forget": ChangeKind(2, ".", "forget", "forgotten", "forgotten"),
    "remove": ChangeKind(2, ".", "forget", "forgotten", "forgotten"),
    "update": ChangeKind(3, "~", "update", "updated", "changed"),
    "create": ChangeKind(4, "+", "create", "created", "created"),
    "import": ChangeKind(5, "<-", "import", "imported", "imported"),
    "move": ChangeKind(6, "->", "move", "moved", "moved"),
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


def kind_of(action: str) -> ChangeKind:
    """The words for an action; one of tomorrow may be the worst, and comes among the dangerous ones."""
    return _KINDS.get(action) or ChangeKind(2, "?", *[flat(action)] * 3)


def change_text(action: str, reason: str | None) -> tuple[str, str]:
    """The word for a change, and why it is made; what others have done has been done, and nobody says why."""
    kind = kind_of(action)
    return (kind.by_others, "") if reason == DRIFT else (kind.word, reason_text(reason))


def reason_text(reason: str | None) -> str:
    """Why a change is made, for people; empty when there is nothing to say."""
    if not reason:
        return ""
    return _REASONS.get(reason) or flat(reason.replace("_", " "))
