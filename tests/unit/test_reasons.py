"""What is said of an engine that was chosen, and of one that cannot be had."""

from collections.abc import Mapping, Sequence

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.engine.demand import Demand, Era, Requirement
from hereya_tf.engine.reasons import because, explain, unavailable, unsatisfied
from hereya_tf.errors import EngineUnavailable

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
NEWEST = parse_constraint("~> 1.9", "--engine-version")
FILE = parse_constraint("1.9.0", ".terraform-version:1")
REQUIRED = Requirement(parse_constraint("< 1.12", "versions.tf:2"), frozenset({Era.TERRAFORM}))
LOCK_FILE = ".terraform.lock.hcl"
FAILURE = EngineUnavailable("nobody answers", "look at the network")


def binary(version: str = "1.11.4", path: str = "/bin/terraform", *, embedded: bool = False) -> Binary:
    return Binary(TERRAFORM, Version.parse(version), (path,), path, "found on PATH", embedded)


@pytest.mark.parametrize(
    ("place", "demand", "written_by", "said"),
    [
        pytest.param("found on PATH", Demand(), {}, "found on PATH", id="nothing"),
        pytest.param("installed", Demand(), {}, "installed", id="installed"),
        pytest.param("downloaded", Demand(), {}, "downloaded: no other is here", id="downloaded"),
        pytest.param("embedded", Demand(), {}, "embedded: no other is here", id="embedded"),
        pytest.param(
            "--engine", Demand(engine_source="--engine"), {}, "--engine", id="a file that was named"
        ),
        pytest.param(
            "downloaded",
            Demand((TERRAFORM,), "--engine"),
            {},
            "downloaded: --engine asks for Terraform",
            id="an engine that was named",
        ),
        pytest.param(
            "installed",
            Demand((TERRAFORM,), LOCK_FILE),
            {TERRAFORM: LOCK_FILE},
            f"installed: {LOCK_FILE} is Terraform's",
            id="the files",
        ),
        pytest.param(
            "embedded",
            Demand((TERRAFORM,), LOCK_FILE, (NEWEST,), (REQUIRED,)),
            {TERRAFORM: LOCK_FILE},
            f"embedded: {LOCK_FILE} is Terraform's,"
            " satisfies `~> 1.9` of --engine-version and `< 1.12` of versions.tf:2",
            id="all of it",
        ),
        pytest.param("found on PATH", Demand((), "", (FILE,)), {}, "found on PATH", id="not satisfied"),
    ],
)
def test_where_it_was_found_and_why_it_is_the_one(
    place: str, demand: Demand, written_by: Mapping[EngineName, str], said: str
) -> None:
    reason = explain(place, demand, TERRAFORM, Version(1, 11, 4), written_by=written_by)

    assert because(place, reason) == said


def test_what_a_version_does_not_heed_is_no_reason_for_it() -> None:
    demand = Demand(requirements=(REQUIRED,))

    assert explain("installed", demand, OPENTOFU, Version(1, 12, 0), written_by={}) == ""


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ((binary(),), "`~> 1.9`, but `/bin/terraform` is Terraform 1.11.4"),
        (
            (binary(), binary("1.15.5", embedded=True)),
            "`~> 1.9`, but `/bin/terraform` is Terraform 1.11.4 and the embedded engine is Terraform 1.15.5",
        ),
        (
            (binary("1.1.0", "/a"), binary("1.2.0", "/b"), binary("1.3.0", "/c")),
            "`~> 1.9`, but `/a` is Terraform 1.1.0, `/b` is Terraform 1.2.0 and `/c` is Terraform 1.3.0",
        ),
    ],
)
def test_what_does_not_satisfy_is_listed(found: Sequence[Binary], sentence: str) -> None:
    error = unsatisfied(found, Demand(constraints=(NEWEST,)), "a hint")

    assert (str(error), error.hints) == (f"`--engine-version` asks for {sentence}", ("a hint",))


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("1", ("`1` is 1.0.0 alone; what begins with it is `~> 1.0`",)),
        ("1.9", ("`1.9` is 1.9.0 alone; what begins with it is `~> 1.9.0`",)),
        ("1.9.0", ()),
        ("1.9-rc1", ()),
        ("~> 1.9", ()),
        ("latest", ()),
    ],
)
def test_what_a_short_version_means_is_explained(text: str, hints: tuple[str, ...]) -> None:
    demand = Demand(constraints=(parse_constraint(text, "VERSION"),))

    assert unsatisfied((binary(),), demand).hints == hints


@pytest.mark.parametrize(
    ("demand", "found", "sentence", "hints"),
    [
        pytest.param(
            Demand(),
            (),
            "there is no engine here, and none can be had: nobody answers",
            (),
            id="nobody has asked",
        ),
        pytest.param(
            Demand((OPENTOFU,), "hereyarc.yaml"),
            (),
            "`hereyarc.yaml` asks for OpenTofu; there is none here, and none can be had: nobody answers",
            (),
            id="an engine",
        ),
        pytest.param(
            Demand((TERRAFORM,), ".terraform-version:1", (FILE, NEWEST)),
            (),
            "`.terraform-version:1` asks for `1.9.0` and `--engine-version` asks for `~> 1.9`;"
            " there is none here, and none can be had: nobody answers",
            (),
            id="versions",
        ),
        pytest.param(
            Demand(constraints=(FILE,)),
            (binary(),),
            "`.terraform-version:1` asks for `1.9.0`, but `/bin/terraform` is Terraform 1.11.4",
            ("none can be downloaded: nobody answers",),
            id="others are here",
        ),
    ],
)
def test_what_cannot_be_had_is_told_with_what_can_be_done(
    demand: Demand, found: Sequence[Binary], sentence: str, hints: tuple[str, ...]
) -> None:
    error = unavailable(found, demand, FAILURE, [EngineUnavailable("`/x` is broken")])

    usual = (
        "look at the network",
        "or name a binary that will do: `--engine PATH`",
        "passed over: `/x` is broken",
    )
    assert (str(error), error.hints) == (sentence, (*hints, *usual))
