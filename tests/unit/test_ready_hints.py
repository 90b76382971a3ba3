"""Hints can be typed as they are: for this run, its package and the place of its state."""

import pytest

from hereya_tf.failure.ready_hints import make_ready

RUN = "20261130T101540Z-f4a24bcc"


def ready(hint: str, reproduce: str | None = None, *, run: str | None = RUN, package: str = "/here") -> str:
    (made,) = make_ready((hint,), run=run, reproduce=reproduce, package=package)
    return made


def test_the_last_run_is_this_one() -> None:
    hint = "see everything it said: `hereya-tf runs log last -v`"

    assert ready(hint) == f"see everything it said: `hereya-tf runs log {RUN} -v`"
    assert ready(hint, run=None) == hint


@pytest.mark.parametrize(
    ("words", "hint", "expected"),
    [
        ("provision", "`hereya-tf init --migrate-state --yes`", "`hereya-tf init --migrate-state --yes`"),
        (
            "provision --backend-config path=a.tfstate --backend-config 'key=x y' --param a=b",
            "`hereya-tf init --migrate-state --yes`",
            "`hereya-tf init --backend-config path=a.tfstate --backend-config 'key=x y' --migrate-state --yes`",
        ),
        ("provision . --workspace prod", "`hereya-tf plan`", "`hereya-tf plan . --workspace prod`"),
        ("provision net", "`hereya-tf plan`", "`hereya-tf plan`"),
        ("apply . a.plan", "`hereya-tf apply FILE`", "`hereya-tf apply . FILE`"),
        ("recover .", "`hereya-tf tf . -- state push -force a`", "`hereya-tf tf . -- state push -force a`"),
        (
            "tf --state s.tfstate --id web -- plan --state no",
            "first `hereya-tf tf -- state push errored.tfstate`",
            "first `hereya-tf tf --state s.tfstate --id web -- state push errored.tfstate`",
        ),
        (
            "provision --state s",
            "`hereya-tf validate`, `hereya-tf planet`",
            "`hereya-tf validate`, `hereya-tf planet`",
        ),
        (
            "provision --backend-config password=…",
            "`hereya-tf init`",
            "`hereya-tf init --backend-config 'password=…'`",
        ),
    ],
)
def test_commands_are_for_the_same_state(words: str, hint: str, expected: str) -> None:
    assert ready(hint, f"cd /here && hereya-tf {words}") == expected


def test_a_package_elsewhere_is_named() -> None:
    command = "cd '/home/maria b' && hereya-tf apply net plan.bundle"

    assert ready("`hereya-tf plan`", command, package="/home/maria b/net") == "`hereya-tf plan net`"


@pytest.mark.parametrize("odd", ["", "hereya-tf", "cd 'open"])
def test_what_is_no_such_command_changes_nothing(odd: str) -> None:
    assert ready("`hereya-tf plan`", odd) == "`hereya-tf plan`"
