"""Which failed steps are tried again, how often and after how long."""

from typing import NamedTuple

from hereya_tf.errors import FailureClass


class RetryRule(NamedTuple):
    """An error that may pass: one of this class (None: of any) that holds all of these texts.

    `source` is where somebody has written it down, as `FILE:LINE`.
    """

    failure_class: FailureClass | None
    text: tuple[str, ...] = ()
    source: str = ""


class Retries(NamedTuple):
    """How often a step is tried again; with `apply` also after something was changed, with `lock` also for a lock.

    `rules` are the user's own, beside the built-in ones.
    """

    most: int = 0
    apply: bool = False
    lock: bool = False
    rules: tuple[RetryRule, ...] = ()


NO_RETRIES = Retries()


class Situation(NamedTuple):
    """What a step had done when it failed.

    `applies_plan`: it applies a saved plan, which fits only as long as nothing is changed. `state_is_lost`: the
    engine has left a state where it does not belong.
    """

    changed: bool = False
    applies_plan: bool = False
    state_is_lost: bool = False
