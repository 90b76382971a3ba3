"""A plan is applied to what it was made for; a refusal names one thing that differs, and what to do."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.bundle.check import check_backend_settings, check_before_init
from hereya_tf.bundle.manifest import (
    Identity,
    Manifest,
    NewerFormatError,
    StatePlace,
    VariableDigests,
    decode_manifest,
    digest,
    encode_manifest,
)
from hereya_tf.engine import EngineName
from hereya_tf.errors import FailureClass, PlanMismatch
from tests.bundles import IDENTITY, MANIFEST, SALT


def refusal(here: Identity, then: Identity = IDENTITY) -> tuple[str, tuple[str, ...]] | None:
    """The sentence and the hints, or None when the plan belongs here."""
    try:
        check_before_init(MANIFEST._replace(identity=then), here)
    except PlanMismatch as error:
        return str(error), error.hints
    return None


def test_a_refusal_has_the_exit_code_of_what_is_refused_beforehand() -> None:
    with pytest.raises(PlanMismatch) as caught:
        check_before_init(MANIFEST, IDENTITY._replace(files={}))

    assert (caught.value.failure_class, caught.value.failure_class.exit_code) == (
        FailureClass.PLAN_MISMATCH,
        3,
    )


def place(**changes: Any) -> Identity:
    return IDENTITY._replace(place=IDENTITY.place._replace(**changes))


def variables(**changes: Mapping[str, str]) -> Identity:
    return IDENTITY._replace(variables=IDENTITY.variables._replace(**changes))


def test_a_plan_belongs_to_what_it_was_made_for() -> None:
    assert refusal(IDENTITY) is None
    check_backend_settings(MANIFEST, {"address": "s1"})


def test_nothing_has_to_be_given_again() -> None:
    assert refusal(IDENTITY._replace(variables=VariableDigests(), providers=None)) is None


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        pytest.param(
            {**IDENTITY.files, "main.tf": "f2"},
            "`main.tf` is not what it was when the plan was made",
            id="changed",
        ),
        pytest.param(
            {**IDENTITY.files, "../modules/net/main.tf": "f2"},
            "`../modules/net/main.tf` is not what it was when the plan was made",
            id="module changed",
        ),
        pytest.param(
            {"main.tf": "f1"},
            "`../modules/net/main.tf` is missing here, and the plan was made with it",
            id="missing",
        ),
        pytest.param(
            {**IDENTITY.files, "x.tf": "f"}, "`x.tf` was not there when the plan was made", id="added"
        ),
    ],
)
def test_another_configuration_is_refused(files: Mapping[str, str], sentence: str) -> None:
    assert refusal(IDENTITY._replace(files=files)) == (
        sentence,
        ("check out what the plan was made from, or make a new plan",),
    )


@pytest.mark.parametrize(
    ("then", "here", "sentence", "hint"),
    [
        pytest.param(
            IDENTITY,
            IDENTITY._replace(version="1.15.5", embedded=True),
            "the plan was made with Terraform 1.11.4, and the engine here is Terraform 1.15.5",
            "use Terraform 1.11.4, or make a new plan",
            id="version",
        ),
        pytest.param(
            IDENTITY._replace(version="1.15.5", embedded=True),
            IDENTITY,
            "the plan was made with Terraform 1.15.5, and the engine here is Terraform 1.11.4",
            "use `--engine embedded`, or make a new plan",
            id="embedded",
        ),
        pytest.param(
            IDENTITY,
            IDENTITY._replace(engine=EngineName.OPENTOFU, version="1.9.0", files={}),
            "the plan was made with Terraform 1.11.4, and the engine here is OpenTofu 1.9.0",
            "use `--engine terraform`, or make a new plan",
            id="the other one, which reads other files",
        ),
        pytest.param(
            IDENTITY._replace(engine=EngineName.OPENTOFU, version="1.9.0"),
            IDENTITY,
            "the plan was made with OpenTofu 1.9.0, and the engine here is Terraform 1.11.4",
            "use `--engine tofu`, or make a new plan",
            id="tofu",
        ),
    ],
)
def test_another_engine_is_refused(then: Identity, here: Identity, sentence: str, hint: str) -> None:
    assert refusal(here, then) == (sentence, (hint,))


LOCAL = place(workspace="a", backend="local", location="/states/a", variables={})
S3 = place(
    workspace="a/b",
    backend="s3",
    location="s3://bucket/a/b/terraform.tfstate",
    region="eu-central-1",
    lock_table="locks",
    variables={},
)


@pytest.mark.parametrize(
    ("then", "here", "sentence", "hint"),
    [
        pytest.param(
            IDENTITY,
            place(workspace="default"),
            "the plan is for the workspace `prod`, and the one here is `default`",
            "use `-w prod`, or make a new plan",
            id="workspace",
        ),
        pytest.param(
            LOCAL,
            place(workspace="default", backend="local", variables={}),
            "the plan is for the state `/states/a` with the id `a`,"
            " and the package's own backend was asked for",
            "use `--state /states/a --id a`, or make a new plan",
            id="generated and own",
        ),
        pytest.param(
            IDENTITY,
            LOCAL,
            "the plan is for the package's own backend,"
            " and the state `/states/a` with the id `a` was asked for",
            "leave out the options of a generated backend, or make a new plan",
            id="own and generated",
        ),
        pytest.param(
            LOCAL,
            LOCAL._replace(place=LOCAL.place._replace(location="/states/b")),
            "the plan is for the state `/states/a` with the id `a`,"
            " and the state `/states/b` with the id `a` was asked for",
            "use `--state /states/a --id a`, or make a new plan",
            id="path",
        ),
        pytest.param(
            S3,
            S3._replace(place=S3.place._replace(region="us-east-1", lock_table="")),
            "the plan is for the state `s3://bucket/a/b/terraform.tfstate` with the id `a/b`"
            " in the region `eu-central-1` with the lock table `locks`,"
            " and the state `s3://bucket/a/b/terraform.tfstate` with the id `a/b`"
            " in the region `us-east-1` with no lock table was asked for",
            "use `--state-bucket bucket --state-region eu-central-1 --state-lock-table locks --id a/b`,"
            " or make a new plan",
            id="region",
        ),
        pytest.param(
            S3._replace(place=S3.place._replace(lock_table="")),
            S3._replace(
                place=S3.place._replace(
                    workspace="c", location="s3://bucket/c/terraform.tfstate", lock_table=""
                )
            ),
            "the plan is for the state `s3://bucket/a/b/terraform.tfstate` with the id `a/b`,"
            " and the state `s3://bucket/c/terraform.tfstate` with the id `c` was asked for",
            "use `--state-bucket bucket --state-region eu-central-1 --id a/b`, or make a new plan",
            id="id",
        ),
    ],
)
def test_another_state_is_refused(then: Identity, here: Identity, sentence: str, hint: str) -> None:
    assert refusal(here, then) == (sentence, (hint,))


@pytest.mark.parametrize("name", ["location", "region", "lock_table", "workspace"])
def test_every_part_of_a_generated_backend_counts(name: str) -> None:
    change: dict[str, Any] = {name: "s3://another"}
    here = S3._replace(place=S3.place._replace(**change))

    found = refusal(here, S3)

    assert found is not None
    assert "s3://another" in found[0]


def test_a_workspace_that_only_the_cloud_knows_is_not_compared() -> None:
    named = place(backend="cloud", variables={})
    mapped = place(backend="cloud", workspace="", variables={})

    assert (refusal(mapped, named), refusal(named, mapped)) == (None, None)


@pytest.mark.parametrize(
    ("here", "sentence", "hint"),
    [
        pytest.param(
            place(backend="local"),
            "the plan is for the backend `http`, and the one here is `local`",
            "check out what the plan was made from, or make a new plan",
            id="type",
        ),
        pytest.param(
            place(variables={"TF_HTTP_ADDRESS": "e2"}),
            "`TF_HTTP_ADDRESS`, which says where the state is, is not what it was for the plan",
            "set it as it was for the plan, or make a new plan",
            id="another",
        ),
        pytest.param(
            place(variables={}),
            "`TF_HTTP_ADDRESS`, which says where the state is, is not set here, and it was for the plan",
            "set it as it was for the plan, or make a new plan",
            id="gone",
        ),
        pytest.param(
            place(variables={**IDENTITY.place.variables, "TF_HTTP_LOCK_ADDRESS": "e3"}),
            "`TF_HTTP_LOCK_ADDRESS`, which says where the state is, is set here, and it was not for the plan",
            "set it as it was for the plan, or make a new plan",
            id="new",
        ),
    ],
)
def test_another_backend_is_refused(here: Identity, sentence: str, hint: str) -> None:
    assert refusal(here) == (sentence, (hint,))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        pytest.param({"address": "s2"}, "is not what it was for the plan", id="another"),
        pytest.param({}, "is not set here, and it was for the plan", id="gone"),
    ],
)
def test_other_backend_settings_are_refused(settings: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(PlanMismatch) as caught:
        check_backend_settings(MANIFEST, settings)

    assert (str(caught.value), caught.value.hints) == (
        f"the `http` backend's `address` {sentence}",
        ("give the same `--backend-config` as for the plan, or make a new plan",),
    )


LEAVE_OUT = "leave it out, for the plan holds its values, or make a new plan"


@pytest.mark.parametrize(
    ("here", "sentence", "hint"),
    [
        pytest.param(
            variables(named={"region": "v2"}),
            "`region` has another value here than in the plan",
            LEAVE_OUT,
            id="another value",
        ),
        pytest.param(
            variables(named={"region": "v1", "size": "d1"}),
            "`size` has a value here, and none was given for the plan",
            LEAVE_OUT,
            id="not given then",
        ),
        pytest.param(
            variables(defaults={"size": "d2"}),
            "`size` has another default here than in the plan",
            LEAVE_OUT,
            id="another default",
        ),
        pytest.param(
            variables(files={"/here/prod.tfvars": "p1", "dev.tfvars": "p2"}),
            "`dev.tfvars` is not a variable file that the plan was made with, or has changed since",
            LEAVE_OUT,
            id="another file",
        ),
        pytest.param(
            variables(automatic={"terraform.tfvars": "t2"}),
            "`terraform.tfvars`, which the engine loads by itself, has changed since the plan was made",
            "use it as it was for the plan, or make a new plan",
            id="automatic file changed",
        ),
        pytest.param(
            variables(automatic={"x.auto.tfvars": "t1"}),
            "`x.auto.tfvars`, which the engine loads by itself, was not there when the plan was made",
            "use it as it was for the plan, or make a new plan",
            id="automatic file added",
        ),
    ],
)
def test_other_variables_are_refused(here: Identity, sentence: str, hint: str) -> None:
    assert refusal(here) == (sentence, (hint,))


def test_a_default_gives_way_to_what_was_given_for_the_plan() -> None:
    then = variables(named={"size": "v9"})

    assert refusal(variables(named={}, defaults={"size": "d2", "region": "d9"}), then) is None


@pytest.mark.parametrize(
    ("here", "sentence"),
    [
        pytest.param(
            {"registry.terraform.io/hashicorp/null": "3.2.1"},
            "the provider `registry.terraform.io/hashicorp/null` has version 3.2.1 here,"
            " and has version 3.2.2 in the bundle",
            id="version",
        ),
        pytest.param(
            {},
            "the provider `registry.terraform.io/hashicorp/null` is not selected here,"
            " and has version 3.2.2 in the bundle",
            id="missing",
        ),
        pytest.param(
            {**(IDENTITY.providers or {}), "example.com/a/b": "1.0.0"},
            "the provider `example.com/a/b` has version 1.0.0 here, and is not selected in the bundle",
            id="added",
        ),
    ],
)
def test_other_providers_are_refused(here: Mapping[str, str], sentence: str) -> None:
    assert refusal(IDENTITY._replace(providers=here)) == (
        sentence,
        ("use the `.terraform.lock.hcl` that the plan was made with, or make a new plan",),
    )


def test_a_bundle_without_a_lock_file_selects_no_provider() -> None:
    found = refusal(IDENTITY, IDENTITY._replace(providers=None))

    assert found is not None
    assert found[0].startswith("the provider `registry.terraform.io/hashicorp/null` has version 3.2.2 here")


def test_of_several_differences_the_first_in_order_is_named() -> None:
    here = IDENTITY._replace(
        files={},
        version="1.0.0",
        place=StatePlace("dev", "http"),
        variables=VariableDigests(named={"region": "v2"}),
        providers={},
    )
    repairs: list[tuple[str, Any]] = [
        ("files", IDENTITY.files),
        ("version", IDENTITY.version),
        ("place", IDENTITY.place._replace(variables={})),
        ("place", IDENTITY.place),
        ("variables", IDENTITY.variables),
        ("providers", IDENTITY.providers),
    ]
    told = []
    for name, value in repairs:
        found = refusal(here)
        assert found is not None
        told.append(found[0])
        here = here._replace(**{name: value})

    assert [sentence.split("`")[1] if "`" in sentence else sentence[:22] for sentence in told] == [
        "../modules/net/main.tf",
        "the plan was made with",
        "prod",
        "TF_HTTP_ADDRESS",
        "region",
        "registry.terraform.io/hashicorp/null",
    ]
    assert refusal(here) is None


TEXTS = st.dictionaries(st.text(), st.text(), max_size=3)


@given(
    files=TEXTS,
    embedded=st.booleans(),
    destroys=st.booleans(),
    providers=st.none() | TEXTS,
    settings=TEXTS,
    state=st.builds(StatePlace, st.text(), st.text(), st.text(), st.text(), st.text(), TEXTS),
    inputs=st.builds(VariableDigests, TEXTS, TEXTS, TEXTS, TEXTS),
    engine=st.sampled_from(EngineName),
)
def test_a_manifest_is_read_as_it_was_written(
    files: Mapping[str, str],
    embedded: bool,
    destroys: bool,
    providers: Mapping[str, str] | None,
    settings: Mapping[str, str],
    state: StatePlace,
    inputs: VariableDigests,
    engine: EngineName,
) -> None:
    identity = Identity(files, engine, "1.9.0", embedded, state, inputs, providers)
    manifest = Manifest("r", "c", "t", destroys, SALT, identity, settings)

    text = encode_manifest(manifest)

    assert decode_manifest(text, SALT) == manifest
    assert text.isascii()


def test_the_salt_is_no_part_of_what_can_be_printed() -> None:
    assert SALT.decode() not in encode_manifest(MANIFEST)
    assert SALT.hex() not in encode_manifest(MANIFEST)


def test_a_newer_manifest_is_told_from_a_broken_one() -> None:
    with pytest.raises(NewerFormatError, match="7"):
        decode_manifest('{"format": 7, "anything": []}', SALT)


VALID = encode_manifest(MANIFEST)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '{"format": true}', '{"format": 0}', '{"format": "1"}', '{"format": 1}'),
        VALID.replace('"provision"', '"plan"'),
        VALID.replace('"format": 1,', '"format": 1, "more": 1,'),
        VALID.replace('"terraform"', '"pulumi"'),
        VALID.replace('"f1"', "1"),
        VALID.replace('"package": {', '"package": 1, "more": {'),
        VALID.replace('"variables": {', '"variable": {', 1),
        VALID.replace('"run": "20260101T000000Z-abcdef"', '"run": null'),
        VALID.replace('"defaults"', '"default"'),
        VALID.replace('"created"', '"run"'),
    ],
)
def test_what_is_no_manifest_is_a_value_error(text: str) -> None:
    assert text != VALID
    with pytest.raises(ValueError, match=r".+"):
        decode_manifest(text, SALT)


def test_a_digest_depends_on_the_salt_and_on_where_its_parts_end() -> None:
    made = [
        digest(b"a", "x", "y"),
        digest(b"b", "x", "y"),
        digest(b"a", "xy"),
        digest(b"a", "xy", ""),
        digest(b"a", b"x", "y"),
    ]

    assert len(set(made)) == 4
    assert made[0] == made[4]
