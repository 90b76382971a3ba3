"""What a run may not do, whatever the package says: limits on a plan before it is applied (pure)."""

from typing import NamedTuple

POLICY_VARIABLES = "HEREYA_TF_POLICY_"
"""What the variables begin with that a policy has in its environment."""


class Limit(NamedTuple):
    """How many resources a plan may destroy; `place` is where that was said: a flag, a variable, FILE:LINE."""

    most: int
    place: str = "--max-destroy"


class Pattern(NamedTuple):
    """Addresses that are not to be lost, as `addresses.protects` understands it."""

    text: str
    place: str = "--protect"


class Policy(NamedTuple):
    """A command that judges plans: its words as a shell would split them."""

    command: str
    place: str = "--policy"


class Guards(NamedTuple):
    """What a plan must not do; `expect_no_changes` is the place that says so."""

    max_destroy: Limit | None = None
    protect: tuple[Pattern, ...] = ()
    expect_no_changes: str | None = None
    policy: Policy | None = None

    @property
    def are_set(self) -> bool:
        """Whether a plan has to be judged before anything is changed."""
        return self != NO_GUARDS

    def tightened_by(self, other: "Guards") -> "Guards":
        """These with another's limit and patterns, all that a package may add; the smaller limit holds."""
        limits = [limit for limit in (self.max_destroy, other.max_destroy) if limit is not None]
        known = {pattern.text for pattern in self.protect}
        return self._replace(
            max_destroy=min(limits, key=lambda limit: limit.most, default=None),
            protect=(*self.protect, *(each for each in other.protect if each.text not in known)),
        )


NO_GUARDS = Guards()
