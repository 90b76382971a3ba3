"""The user's own arguments that shape a plan: each is for the command that makes it, and none is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import commands
from hereya_tf.engine.commands import EngineOptions, PlanOptions, Step
from hereya_tf.engine.shaping import Parted, part

PLAN = Path("/plan.bin")


@pytest.mark.parametrize(
    ("arguments", "parted"),
    [
        pytest.param((), Parted((), ()), id="none"),
        pytest.param(("-target=a.b", "-x"), Parted(("-target=a.b",), ("-x",)), id="a target"),
        pytest.param(("--target", "a.b", "-x"), Parted(("--target", "a.b"), ("-x",)), id="two words"),
        pytest.param(("-x", "-target"), Parted(("-target",), ("-x",)), id="no value"),
        pytest.param(("-destroy", "a.b"), Parted(("-destroy",), ("a.b",)), id="a flag"),
        pytest.param(("-refresh=false",), Parted(("-refresh=false",), ()), id="a flag with a value"),
        pytest.param(
            ("-var", "a=b", "-var-file=c"),
            Parted(("-var", "a=b", "-var-file=c"), ("-var", "a=b", "-var-file=c")),
            id="variables are for both",
        ),
        pytest.param(("target=a", "-targets=a"), Parted((), ("target=a", "-targets=a")), id="others"),
        pytest.param(("---target=a",), Parted((), ("---target=a",)), id="three dashes"),
    ],
)  # fmt: skip
def test_what_shapes_a_plan(arguments: tuple[str, ...], parted: Parted) -> None:
    assert part(arguments) == parted


_words = st.sampled_from(
    ["-target", "-target=a", "-var", "-var=a=b", "-refresh-only", "-x", "y", "-", "--", "=", "--replace=z"]
)


@given(st.lists(_words))
def test_no_argument_is_lost_and_each_stays_in_its_order(arguments: list[str]) -> None:
    shaping, lasting = part(arguments)

    assert sorted(set(arguments)) == sorted({*shaping, *lasting})
    for kept in (shaping, lasting):
        rest = iter(arguments)
        assert all(argument in rest for argument in kept)


@pytest.mark.parametrize("step", [Step.APPLY, Step.DESTROY])
def test_a_plan_is_shaped_whichever_command_makes_it(step: Step) -> None:
    options = EngineOptions(
        extra={Step.PLAN: ("-target=a.a", "-only-plan"), step: ("-target=b.b", "-only-act")}
    )

    alone = commands.apply_arguments(options, step)
    plan = commands.plan_arguments(options, PlanOptions(), out=PLAN)
    applied = commands.apply_plan_arguments(options, step, plan=PLAN)

    assert alone[-3:] == ("-target=a.a", "-target=b.b", "-only-act")
    assert plan[-3:] == ("-target=a.a", "-only-plan", "-target=b.b")
    assert applied[-2:] == ("-only-act", str(PLAN))
    assert not any("target" in word for word in applied)
