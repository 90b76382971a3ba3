import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.evidence import check_mismatch, check_state, evidence
from hereya_tf.errors import EngineMismatch
from tests.engine_choice import refusal

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU


LOCK_FILE = """
# This file is maintained automatically by "{tool} init".
provider "{host}/hashicorp/null" {{
  version = "3.2.3"
  hashes = [
    "h1:abc=",
  ]
}}
"""


def state_of(host: str, *, module: str = "", **dump: object) -> str:
    resource = {"provider": f'{module}provider["{host}/hashicorp/null"]', "instances": []}
    return json.dumps({"version": 4, "resources": [resource]}, **dump)  # type: ignore[arg-type]


@pytest.mark.behaviour("T15")
@pytest.mark.parametrize("engine", list(EngineName))
def test_the_lock_file_tells_who_wrote_it(tmp_path: Path, engine: EngineName) -> None:
    (tmp_path / ".terraform.lock.hcl").write_text(
        LOCK_FILE.format(host=engine.registry, tool=engine.executable)
    )

    assert {engine: ".terraform.lock.hcl"} == evidence(tmp_path, frozenset(), None)
    assert evidence(tmp_path, frozenset({engine.registry}), None) == {}


@pytest.mark.behaviour("T15")
@pytest.mark.parametrize("engine", list(EngineName))
@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param({"indent": 2}, id="indented"),
        pytest.param({"separators": (",", ":")}, id="compact"),
        pytest.param({"module": "module.a.module.b."}, id="in a module"),
    ],
)
def test_the_state_tells_who_wrote_it(
    tmp_path: Path, engine: EngineName, spelling: Mapping[str, object]
) -> None:
    state = tmp_path / "terraform.tfstate"
    state.write_text(state_of(engine.registry, **spelling))  # type: ignore[arg-type]

    assert {engine: str(state)} == evidence(tmp_path, frozenset(), state)
    assert evidence(tmp_path, frozenset({engine.registry}), state) == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('# provider "registry.opentofu.org/a/b" {\n', id="hash"),
        pytest.param('// provider "registry.opentofu.org/a/b" {\n', id="slashes"),
        pytest.param('/*\nprovider "registry.opentofu.org/a/b" {\n*/', id="block"),
        pytest.param('/*\nprovider "registry.opentofu.org/a/b" {\n', id="block without an end"),
        pytest.param('x = "provider \\"registry.opentofu.org/a/b\\""\n', id="string"),
        pytest.param('provider "example.com/a/b" {\n}', id="another host"),
        pytest.param('\xff\x00\nprovider "terraform.io/builtin/terraform" {}', id="built in"),
        pytest.param("", id="empty"),
    ],
)
def test_a_lock_file_without_a_block_of_a_registry_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".terraform.lock.hcl").write_text(text, encoding="latin-1")

    assert evidence(tmp_path, frozenset(), None) == {}


def test_a_comment_sign_in_a_string_hides_nothing(tmp_path: Path) -> None:
    text = 'provider "example.com/a/b" {\n  x = "/* # // \\" "\n}\n\tprovider"registry.opentofu.org/a/b"{\n'
    (tmp_path / ".terraform.lock.hcl").write_text(text)

    assert evidence(tmp_path, frozenset(), None) == {OPENTOFU: ".terraform.lock.hcl"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(state_of("terraform.io/builtin"), id="built in"),
        pytest.param(
            json.dumps({"outputs": {"o": {"value": state_of(OPENTOFU.registry)}}}), id="in a string"
        ),
        pytest.param(json.dumps({"x": 'provider["registry.opentofu.org/a/b"]'}), id="another key"),
        pytest.param("", id="empty"),
        pytest.param("\0\xff" * 1000, id="garbage"),
    ],
)
def test_a_state_without_a_provider_of_a_registry_says_nothing(tmp_path: Path, text: str) -> None:
    state = tmp_path / "terraform.tfstate"
    state.write_text(text)

    assert evidence(tmp_path, frozenset(), state) == {}


def test_both_registries_say_nothing(tmp_path: Path) -> None:
    both = "".join(LOCK_FILE.format(host=engine.registry, tool="x") for engine in EngineName)
    state = tmp_path / "terraform.tfstate"
    state.write_text(state_of(OPENTOFU.registry))
    lock = tmp_path / ".terraform.lock.hcl"

    lock.write_text(both)
    assert evidence(tmp_path, frozenset(), None) == {}
    lock.write_text(LOCK_FILE.format(host=TERRAFORM.registry, tool="terraform"))
    assert evidence(tmp_path, frozenset(), state) == {}
    assert {OPENTOFU: str(state)} == evidence(tmp_path, frozenset({TERRAFORM.registry}), state)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_address_across_the_chunks_of_a_big_state_is_found(tmp_path: Path, cut: int) -> None:
    state = tmp_path / "terraform.tfstate"
    address = '"provider": "provider[\\"registry.opentofu.org/a/b\\"]"'
    state.write_text(" " * ((1 << 20) - cut) + address + " " * (1 << 20))

    assert {OPENTOFU: str(state)} == evidence(tmp_path, frozenset(), state)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".terraform.lock.hcl")
    (tmp_path / "state").mkdir()

    assert evidence(tmp_path, frozenset(), tmp_path / "state") == {}
    assert evidence(tmp_path, frozenset(), tmp_path / "missing") == {}
    assert evidence(tmp_path / "missing", frozenset(), Path("a\0b")) == {}


@pytest.mark.behaviour("T15")
def test_the_other_engines_files_are_refused_unless_the_engine_was_named() -> None:
    binary = Binary(TERRAFORM, Version(1, 11, 4), ("/t",), "/t", "found on PATH")
    found = {OPENTOFU: "terraform.tfstate"}

    with pytest.raises(EngineMismatch) as error:
        check_mismatch(binary, found, explicit=False)

    assert refusal(error) == (
        "`terraform.tfstate` was written by OpenTofu,"
        " and the engine here is Terraform 1.11.4 (found on PATH)",
        3,
        (
            "install OpenTofu, or name it: `--engine tofu`",
            "to go over to Terraform on purpose: `--engine terraform`",
        ),
    )
    check_mismatch(binary, found, explicit=True)
    check_mismatch(binary, {}, explicit=False)
    check_mismatch(binary, {TERRAFORM: "terraform.tfstate"}, explicit=False)


@pytest.mark.behaviour("T15")
def test_a_pulled_state_of_the_other_engine_is_refused_by_its_backend() -> None:
    binary = Binary(OPENTOFU, Version(1, 12, 0), ("/t",), "/t", "downloaded")

    with pytest.raises(EngineMismatch) as error:
        check_state(binary, state_of(TERRAFORM.registry, indent=2), frozenset(), backend="s3")

    assert refusal(error) == (
        "the state in the `s3` backend was written by Terraform,"
        " and the engine here is OpenTofu 1.12.0 (downloaded)",
        3,
        (
            "install Terraform, or name it: `--engine terraform`",
            "to go over to OpenTofu on purpose: `--engine tofu`",
        ),
    )


@pytest.mark.parametrize(
    ("state", "explicit"),
    [
        pytest.param("", (), id="no state"),
        pytest.param(json.dumps({"version": 4, "resources": []}), (), id="empty"),
        pytest.param(state_of(OPENTOFU.registry), (), id="its own"),
        pytest.param(state_of(OPENTOFU.registry) + state_of(TERRAFORM.registry), (), id="of both"),
        pytest.param(state_of(TERRAFORM.registry), (TERRAFORM.registry,), id="a host that is written out"),
        pytest.param(state_of("example.com"), (), id="another host"),
        pytest.param("no state at all \ufffd", (), id="garbage"),
    ],
)
def test_any_other_pulled_state_is_not(state: str, explicit: tuple[str, ...]) -> None:
    binary = Binary(OPENTOFU, Version(1, 12, 0), ("/t",), "/t", "downloaded")

    check_state(binary, state, frozenset(explicit), backend="s3")


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_address_across_the_pieces_of_a_big_pulled_state_is_found(cut: int) -> None:
    binary = Binary(TERRAFORM, Version(1, 11, 4), ("/t",), "/t", "found on PATH")
    address = '"provider": "provider[\\"registry.opentofu.org/a/b\\"]"'

    with pytest.raises(EngineMismatch):
        check_state(binary, " " * ((1 << 20) - cut) + address, frozenset(), backend="http")
