"""What is looked at holds in every clone, and differs where something else would be applied."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.bundle.check import check_before_init
from hereya_tf.bundle.identity import backend_settings, new_salt, package_files, read_lock_file
from hereya_tf.bundle.manifest import VariableDigests, digest, encode_manifest
from hereya_tf.engine import EngineName
from hereya_tf.errors import PlanMismatch
from hereya_tf.package.declarations import (
    read_attribute_texts,
    read_module_sources,
)
from hereya_tf.package.lock_file import read_lock_selections
from hereya_tf.workspace import BackendKind, GeneratedBackend
from tests.bundles import MANIFEST, SALT, binary, look
from tests.conftest import MakePackage

SECRET = "hunter2-hunter2"
VARIABLES = """
variable "text" { type = string }
variable "number" { type = number }
variable "flag" { type = bool }
variable "list" { type = list(string) }
variable "anything" { type = any }
variable "bare" {}
variable "once" {
  type      = string
  ephemeral = true
}
"""


def files(directory: Path, *, tofu: bool = False) -> Mapping[str, str]:
    return package_files(directory, tofu=tofu, salt=SALT)


def content(text: str | bytes) -> str:
    return digest(SALT, "file", text)


def write(root: Path, texts: Mapping[str, str | bytes]) -> Path:
    for name, text in texts.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


MONOREPO = {
    "apps/web/main.tf": 'module "net" { source = "../../modules/net" }\nmodule "own" {\n  source = "./own"\n}\n',
    "apps/web/README.md": "no configuration",
    "apps/web/terraform.tfstate": "{}",
    "apps/web/terraform.tfvars": "",
    "apps/web/.terraform/modules/x/main.tf": "",
    "apps/web/zz_hereya_tf_override.tf": "ours",
    "apps/web/own/own.tf.json": '{"module": {"up": {"source": "../../../modules/net/sub"}}}',
    "apps/web/unused/main.tf": "",
    "modules/net/main.tf": 'module "registry" { source = "hashicorp/x/y" }\nmodule "sub" { source = "./sub" }\n',
    "modules/net/sub/main.tf": 'module "back" { source = "../../net" }\n',
    "modules/other/main.tf": "",
}  # fmt: skip
REACHED = {
    "main.tf": "apps/web/main.tf",
    "own/own.tf.json": "apps/web/own/own.tf.json",
    "../../modules/net/main.tf": "modules/net/main.tf",
    "../../modules/net/sub/main.tf": "modules/net/sub/main.tf",
}


def test_the_configuration_is_that_of_all_local_modules_each_once(tmp_path: Path) -> None:
    write(tmp_path, MONOREPO)

    assert files(tmp_path / "apps/web") == {
        name: content(MONOREPO[original]) for name, original in REACHED.items()
    }


def test_a_clone_somewhere_else_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = look(write(tmp_path / "one", MONOREPO) / "apps/web")
    monkeypatch.setenv("HOME", str(tmp_path / "other-home"))
    clone = shutil.copytree(tmp_path / "one", tmp_path / "a/much/deeper/ünïcödé place")
    linked = tmp_path / "link"
    linked.symlink_to(clone)
    monkeypatch.chdir(clone / "apps")

    assert [look(clone / "apps/web"), look(linked / "apps/web"), look(Path("web"))] == [first] * 3


@pytest.mark.parametrize("name", REACHED)
def test_a_change_anywhere_in_it_is_a_difference(tmp_path: Path, name: str) -> None:
    package = write(tmp_path, MONOREPO) / "apps/web"
    then = look(package)
    with (package / name).open("ab") as file:
        file.write(b"\n")

    with pytest.raises(PlanMismatch, match="is not what it was") as caught:
        check_before_init(MANIFEST._replace(identity=then), look(package))
    assert f"`{name}`" in str(caught.value)


@pytest.mark.parametrize("name", sorted(set(MONOREPO) - set(REACHED.values())))
def test_nothing_else_is(tmp_path: Path, name: str) -> None:
    package = write(tmp_path, MONOREPO) / "apps/web"
    then = files(package)
    (tmp_path / name).write_text("something else")

    assert files(package) == then


def test_line_ends_are_a_difference(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"main.tf": 'locals {\n  a = "b"\n}\n'})
    other = write(tmp_path / "other", {"main.tf": 'locals {\r\n  a = "b"\r\n}\r\n'})

    assert files(one).keys() == files(other).keys()
    assert files(one) != files(other)


def test_names_may_be_anything(tmp_path: Path) -> None:
    write(tmp_path, {"ünï 名.tf": 'module "m" { source = "./módulo" }', "módulo/ä.tf": "# x"})
    odd = os.fsdecode(b"\xff.tf")
    (tmp_path / odd).write_bytes(b"")

    found = files(tmp_path)

    assert found.keys() == {"ünï 名.tf", "módulo/ä.tf", odd}
    assert encode_manifest(MANIFEST._replace(identity=MANIFEST.identity._replace(files=found))).isascii()


def test_the_engine_decides_which_files_count(tmp_path: Path) -> None:
    write(tmp_path, {"a.tf": "1", "a.tofu": "2", "b.tf": "3"})

    assert files(tmp_path).keys() == {"a.tf", "b.tf"}
    assert files(tmp_path, tofu=True).keys() == {"a.tofu", "b.tf"}


def test_an_override_decides_where_a_module_is(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a_override.tf": 'module "m" { source = "./two" }',
            "main.tf": 'module "m" { source = "./one" }',
            "one/x.tf": "",
            "two/x.tf": "",
        },
    )

    assert files(tmp_path).keys() == {"main.tf", "a_override.tf", "two/x.tf"}


def test_links_are_followed_and_named_by_where_they_stand(tmp_path: Path) -> None:
    write(tmp_path / "far/away", {"net/main.tf": 'module "b" { source = "../b" }', "b/main.tf": "far"})
    write(tmp_path / "elsewhere", {"file.tf": "linked"})
    package = write(
        tmp_path / "p", {"main.tf": 'module "n" { source = "./net" }\nmodule "b" { source = "./b" }'}
    )
    write(package, {"b/main.tf": "near"})
    (package / "net").symlink_to(tmp_path / "far/away/net")
    (package / "more.tf").symlink_to(tmp_path / "elsewhere/file.tf")

    found = files(package)

    # As the engine has it, `../b` begins where the link leads to; both are `b` from here.
    assert found.keys() == {"main.tf", "more.tf", "net/main.tf", "b/main.tf", "b/main.tf'"}
    assert {found["b/main.tf"], found["b/main.tf'"]} == {content("near"), content("far")}
    assert found["more.tf"] == content("linked")


def test_what_cannot_be_read_is_left_to_the_engine(tmp_path: Path) -> None:
    sources = ["./missing", "./a-file", "../..", "/absolute", "git::https://x", "./nul\\u0000"]
    calls = "\n".join(f'module "m{n}" {{ source = "{source}" }}' for n, source in enumerate(sources))
    package = write(tmp_path / "p/q", {"main.tf": calls, "a-file": ""})
    os.mkfifo(package / "pipe.tf")
    (package / "gone.tf").symlink_to("nowhere")

    assert files(package) == {"main.tf": content(calls)}


@pytest.mark.parametrize(
    ("source", "is_json", "found"),
    [
        (b'module "a" { source = "./x" }', False, {"a": "./x"}),
        (b'\xef\xbb\xbfmodule a {\n  count  = 2\n  source = "../y" # z\n}', False, {"a": "../y"}),
        (b'module "a" { source = "./${var.x}" }\nmodule "b" { version = "1" }', False, {}),
        (b'resource "module" "a" { source = "./x" }', False, {}),
        (b'{"module": [{"a": {"source": "./x"}}, {"b": [{"source": "./y"}]}]}', True, {"a": "./x", "b": "./y"}),
        (b'{"module": {"a": {"source": "./${path.x}"}, "b": {"source": 1}, "//": 3}}', True, {"b": "1"}),
        (b'{"module": 1, "other": {"a": {"source": "./x"}}}', True, {}),
        (b"nonsense", True, {}),
    ],
)  # fmt: skip
def test_the_sources_of_modules(source: bytes, is_json: bool, found: Mapping[str, str]) -> None:
    assert read_module_sources(source, is_json=is_json) == found


def test_the_selections_of_a_lock_file() -> None:
    text = b"""# comment "provider"
provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.2"
  constraints = "~> 3.0"
  hashes = ["h1:x"]
}
provider "example.com/a/b" {
  hashes = []
}
"""

    assert read_lock_selections(text) == {"registry.terraform.io/hashicorp/null": "3.2.2"}
    assert read_lock_selections(b"\x00{{{") == {}
    assert read_lock_selections(b" " * (16 * 1024 * 1024 + 1)) == {}


def test_a_package_has_a_lock_file_or_none(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": ""})
    without = look(tmp_path)
    write(tmp_path, {".terraform.lock.hcl": 'provider "a/b/c" {\n  version = "1.0.0"\n}\n'})
    first = look(tmp_path)
    write(tmp_path, {".terraform.lock.hcl": 'provider "a/b/c" {\n  version = "1.0.0"\n  hashes = ["x"]\n}\n'})

    assert (without.providers, first.providers) == (None, {"a/b/c": "1.0.0"})
    assert look(tmp_path) == first
    assert read_lock_file(tmp_path / "nowhere") is None


def test_the_engine_is_told_by_name_and_exact_version(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": ""})

    found = look(tmp_path, engine=binary(EngineName.OPENTOFU, "1.9.0-beta1"))

    assert (found.engine, found.version, found.embedded) == (EngineName.OPENTOFU, "1.9.0-beta1", False)


def test_the_state_of_a_package_is_told_by_workspace_and_backend(tmp_path: Path) -> None:
    address = {"TF_HTTP_ADDRESS": f"https://me:{SECRET}@state/a"}
    http = write(tmp_path / "http", {"main.tf": 'terraform {\n  backend "http" {}\n}\n'})
    plain = write(tmp_path / "plain", {"main.tf": ""})

    one = look(http, workspace="prod", environment=address).place
    rotated = look(http, workspace="prod", environment={"TF_HTTP_ADDRESS": "https://you:other@state/a"}).place
    elsewhere = look(http, workspace="prod", environment={"TF_HTTP_ADDRESS": "https://state/b"}).place

    assert (one.workspace, one.backend, one.location) == ("prod", "http", "")
    assert one == rotated
    assert one.variables.keys() == elsewhere.variables.keys()
    assert one != elsewhere
    assert look(plain, environment={**address, "TF_WORKSPACE": "w"}).place == one._replace(
        workspace="w", backend="local", variables={}
    )


def test_the_cloud_block_names_its_own_workspace(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": "terraform {\n  cloud {}\n}\n", ".terraform/environment": "noted-by-init"})

    assert [look(tmp_path).place, look(tmp_path, environment={"TF_WORKSPACE": "w"}).place] == [
        look(tmp_path).place._replace(workspace=name) for name in ("", "w")
    ]


def test_a_generated_backend_is_told_by_its_location(tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": 'terraform {\n  backend "http" {}\n}\n'})
    local = GeneratedBackend(BackendKind.LOCAL, "a", path="/states/a")
    s3 = GeneratedBackend(BackendKind.S3, "a/b", bucket="b", region="eu", lock_table="t")

    here = look(tmp_path, backend=local, environment={"TF_HTTP_ADDRESS": "http://x"}).place
    there = look(tmp_path, backend=s3, environment={"AWS_ENDPOINT_URL_S3": "http://x"}).place

    assert here == here._replace(workspace="a", backend="local", location="/states/a", variables={})
    assert there[:5] == ("a/b", "s3", "s3://b/a/b/terraform.tfstate", "eu", "t")
    assert there.variables.keys() == {"AWS_ENDPOINT_URL_S3"}


def saved(directory: Path, document: object) -> Mapping[str, str]:
    write(directory, {"data/terraform.tfstate": json.dumps(document)})
    return backend_settings(directory, "data", SALT)


def test_settings_are_those_that_init_has_saved(tmp_path: Path) -> None:
    def s3(**settings: Any) -> Mapping[str, str]:
        config = {"bucket": "b", "key": "k", "secret_key": None, "profile": None} | settings
        return saved(tmp_path, {"version": 3, "backend": {"type": "s3", "config": config, "hash": 1}})

    assert s3().keys() == {"bucket", "key"}
    assert s3() == s3(secret_key=SECRET, profile="apply")
    assert s3() != s3(bucket="c")


@pytest.mark.parametrize("document", [None, [], {}, {"backend": 1}, {"backend": {"type": 1, "config": []}}])
def test_without_saved_settings_there_are_none(tmp_path: Path, document: object) -> None:
    assert saved(tmp_path, document) == {}
    assert backend_settings(tmp_path, "nowhere", SALT) == {}


def variables(directory: Path, *parameters: str | Path, **more: Any) -> VariableDigests:
    return look(directory, *parameters, **more).variables


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"variables.tf": VARIABLES})


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        pytest.param("text", ["text=5", "text:=5", 'text:="5"', "TF_VAR_text=5", "env text=5"], id="text"),
        pytest.param("number", ["number=5", "number:=5", "TF_VAR_number=5", "env number=5"], id="number"),
        pytest.param("flag", ["flag=true", "flag:=true", "TF_VAR_flag=true"], id="flag"),
        pytest.param("list", ['list=["a","b"]', 'list:=["a", "b"]', 'TF_VAR_list=[ "a", "b" ]'], id="list"),
        pytest.param(
            "anything",
            ['anything={"a":1,"b":2}', 'anything:={"b": 2, "a": 1}', 'TF_VAR_anything={"b":2,"a":1}'],
            id="order of keys",
        ),
        pytest.param("bare", ["bare=x", 'bare:="x"', "TF_VAR_bare=x"], id="no type"),
    ],
)
def test_a_value_is_the_same_however_it_is_given(package: Path, name: str, ways: Sequence[str]) -> None:
    found = []
    for way in ways:
        key, _, text = way.partition("=")
        if key.startswith("TF_VAR_"):
            found.append(variables(package, environment={key: text}))
        elif key.startswith("env "):
            found.append(variables(package, env=[(key.removeprefix("env "), text)]))
        else:
            found.append(variables(package, way))

    assert found[0].named.keys() == {name}
    assert found == [found[0]] * len(ways)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("number:=9007199254740993", "number:=9007199254740992"),
        ("number=0.1", "number=0.10000000000000001"),
        ("bare=5", "bare:=5"),
        ("text=null", "text:=null"),
        ("text=a", "text=A"),
        ('list:=["a","b"]', 'list:=["b","a"]'),
        ("anything=null", 'anything:="null"'),
    ],
)
def test_another_value_is_a_difference(package: Path, one: str, other: str) -> None:
    assert variables(package, one).named.keys() == variables(package, other).named.keys()
    assert variables(package, one) != variables(package, other)


def test_the_last_word_counts(package: Path) -> None:
    assert variables(package, "text=a", "text=b", environment={"TF_VAR_text": "c"}) == variables(
        package, "text=b"
    )


def test_an_expression_that_is_not_json_is_taken_as_it_is_written(package: Path) -> None:
    one = variables(package, environment={"TF_VAR_list": '["a",]'})
    deep = variables(package, environment={"TF_VAR_list": "[" * 100_000})

    assert one == variables(package, environment={"TF_VAR_list": '["a",]'})
    assert one != variables(package, environment={"TF_VAR_list": '["b",]'})
    assert deep.named.keys() == {"list"}


def test_what_is_not_declared_is_no_variable(package: Path) -> None:
    assert variables(package, environment={"TF_VAR_nobody": "x"}, env=[("SOME", "x")]) == VariableDigests()


def test_ephemeral_variables_are_given_anew(package: Path) -> None:
    assert (
        variables(package, "once=a", environment={"TF_VAR_once": "b"}, defaults={"once": "c"})
        == VariableDigests()
    )


def test_a_default_is_told_from_what_was_given(package: Path) -> None:
    plan = variables(package, "text=given", defaults={"text": "default", "number": 5, "nobody": 1})
    apply = variables(package, defaults={"text": "default", "number": 5})

    assert plan.named.keys() == {"text"}
    assert plan.defaults.keys() == {"text", "number", "nobody"}
    assert apply == VariableDigests(defaults={name: plan.defaults[name] for name in ("text", "number")})
    assert variables(package, "text=given", defaults={"nobody": 1}).named.keys() == {"text"}


def test_variable_files_are_told_by_their_content(package: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"prod.tfvars": 'text = "a"\n'}) / "prod.tfvars"
    other = write(tmp_path / "other", {"p.tfvars": 'text = "a"\n'}) / "p.tfvars"
    changed = write(tmp_path / "changed", {"p.tfvars": 'text = "b"\n'}) / "p.tfvars"

    first, second, third = (variables(package, file).files for file in (one, other, changed))

    assert list(first.values()) == list(second.values())
    assert list(first.values()) != list(third.values())
    assert list(variables(package, tmp_path / "missing.tfvars").files) == [str(tmp_path / "missing.tfvars")]


def test_files_that_the_engine_loads_by_itself_are_told_by_name_and_content(package: Path) -> None:
    write(package, {"terraform.tfvars": "", "a.auto.tfvars.json": "{}", "b.tfvars": ""})

    assert variables(package).automatic.keys() == {"terraform.tfvars", "a.auto.tfvars.json"}


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        pytest.param("v.tfvars", ('once = "1"\ntext = "a"', '# new\ntext = "a"\nonce = "2"\n'), id="native"),
        pytest.param("v.tfvars.json", ('{"once": 1, "text": "a"}', '{"text": "a", "once": 2}'), id="json"),
    ],
)
def test_ephemeral_values_in_a_file_may_change(package: Path, name: str, texts: tuple[str, str]) -> None:
    found = []
    for text in texts:
        write(package, {name: text})
        found.append(variables(package, package / name).files)
    write(package, {name: texts[1].replace('"a"', '"b"')})

    assert found[0] == found[1] != {}
    assert variables(package, package / name).files != found[0]


@pytest.mark.parametrize(
    ("name", "text", "counts"),
    [
        pytest.param("v.tfvars", 'once = "1"', False, id="ephemeral alone"),
        pytest.param("v.tfvars", 'once = "1', True, id="broken"),
        pytest.param("v.tfvars.json", '{"once": 1', True, id="broken json"),
        pytest.param("v.tfvars.json", "[1]", True, id="no object"),
        pytest.param("v.tfvars", 'text = "a"', True, id="no ephemeral"),
    ],
)
def test_a_file_counts_for_what_else_it_sets(package: Path, name: str, text: str, counts: bool) -> None:
    write(package, {name: text})

    assert bool(variables(package, package / name).files) is counts


def test_the_texts_of_a_variable_file() -> None:
    assert read_attribute_texts(b'\xef\xbb\xbfa = "x  y" # c\nb = [1,\n 2]\n') == {
        "a": '"x  y"',
        "b": "[1,\n 2]",
    }
    assert read_attribute_texts(b'a = "') is None
    assert read_attribute_texts(b" " * (16 * 1024 * 1024 + 1)) is None


def test_no_secret_is_in_a_manifest_or_an_error(package: Path, tmp_path: Path) -> None:
    write(
        package,
        {
            "terraform.tfvars": f'text = "{SECRET}"',
            "main.tf": f'terraform {{\n  backend "pg" {{}}\n}}\n# {SECRET}',
        },
    )
    write(tmp_path, {"v.tfvars": f'bare = "{SECRET}"'})

    def found(secret: str) -> Any:
        return look(
            package,
            f"text={secret}",
            tmp_path / "v.tfvars",
            env=[("bare", secret)],
            environment={
                "TF_VAR_list": f'["{secret}"]',
                "PG_CONN_STR": f"postgres://me:{secret}@db/{secret}",
            },
            defaults={"anything": secret},
        )

    manifest = MANIFEST._replace(identity=found(SECRET))

    assert SECRET not in encode_manifest(manifest)
    other = found(f"{SECRET}-other")
    assert other != manifest.identity
    here = manifest.identity._replace(variables=other.variables)
    for candidate in (other, here, here._replace(variables=other.variables._replace(named={}))):
        with pytest.raises(PlanMismatch) as caught:
            check_before_init(manifest, candidate)
        assert SECRET not in f"{caught.value} {caught.value.hints}"


def test_every_salt_is_another() -> None:
    assert len({new_salt() for _ in range(10)}) == 10
    assert digest(new_salt(), "x") != digest(new_salt(), "x")
