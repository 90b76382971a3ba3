"""The table `[deploy]` of a repository's `hereya-tf.toml`."""

from decimal import Decimal
from pathlib import Path

import pytest

from hereya_tf.errors import BadConfig
from hereya_tf.inputs.deploy_table import DeployPackage, DeployTable, OutputOf
from hereya_tf.inputs.project_file import read_project_file
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine


def read(directory: Path, text: str) -> DeployTable | None:
    (directory / "hereya-tf.toml").write_text(text, encoding="utf-8")
    return read_project_file(directory).deploy


def refusal(directory: Path, text: str) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadConfig) as caught:
        read(directory, text)
    return str(caught.value), caught.value.hints


def test_everything_that_it_may_say(tmp_path: Path) -> None:
    table = read(
        tmp_path,
        """\
[deploy]
packages = [
  "network",
  { path = "./modules/data.base/", name = "db", parameters = { size = 1.50 } },
  { path = ".", app = "till", inputs = { address = "db.url", vpc = "network.vpc_id" } },
]
""",
    )

    assert table == DeployTable(
        (
            DeployPackage("network", "network"),
            DeployPackage("modules/data.base", "db", None, {"size": Decimal("1.50")}),
            DeployPackage(
                ".", ".", "till", {}, {"address": OutputOf("db", "url"), "vpc": OutputOf("network", "vpc_id")}
            ),
        )
    )
    assert table.apps == ("till",)


def test_tables_of_its_own_say_the_same(tmp_path: Path) -> None:
    table = read(
        tmp_path,
        """\
[[deploy.packages]]
path = "a.b"
[[deploy.packages]]
path = "c"
[deploy.packages.inputs]
x = "a.b.y"
""",
    )

    assert table == DeployTable(
        (DeployPackage("a.b", "a.b"), DeployPackage("c", "c", inputs={"x": OutputOf("a.b", "y")}))
    )


def test_an_app_has_its_values_from_those_before_it() -> None:
    first, second, third = (
        DeployPackage("a", "a"),
        DeployPackage("b", "b", "till"),
        DeployPackage("c", "c", "shop"),
    )
    table = DeployTable((first, second, third))

    assert table.up_to_app("till") == (first, second)
    assert table.up_to_app("b") == ()


def test_no_table_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, "max-destroy = 1") is None


WRITTEN = 'write it like `packages = ["network", { path = "web", app = "till" }]` below `[deploy]`'
NAMES = "use letters, digits, `_` and `-`, and begin with a letter or `_`"
INSIDE = "name a directory inside, relative to this file, with `/` between its parts"
ONE_LINE = "a text of at most 200 characters on one line"
OUTPUT = 'write it like `"network.vpc_id"`: a package, a dot, and its output'


WRONG = [
    pytest.param("\ndeploy = 3", "2: `deploy` is no table", WRITTEN, id="a number"),
    pytest.param("\n[[deploy]]", "2: `deploy` is no table", WRITTEN, id="a list of tables"),
    pytest.param("[deploy]", "1: `[deploy]` lists no `packages`", WRITTEN, id="nothing"),
    pytest.param("[deploy]\npackages = []", "2: `[deploy]` lists no `packages`", WRITTEN, id="an empty list"),
    pytest.param("[deploy]\npackages = 'a'", "2: `[deploy]` is no list of packages", WRITTEN, id="a text"),
    pytest.param(
        "[deploy]\npackages = ['a']\n\nregion = 'x'",
        "4: there is no key `region` in `[deploy]`", "it holds `packages`", id="another key",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence", "hint"), WRONG)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, sentence: str, hint: str) -> None:
    assert refusal(tmp_path, text) == (f"`hereya-tf.toml`, line {sentence}", (hint,))


WRONG_PACKAGES = [
    pytest.param("1", "is neither a path nor a table", WRITTEN, id="a number"),
    pytest.param("{}", "has no `path`", 'write it like `{ path = "apps/web" }`', id="no path"),
    pytest.param("''", "has no `path`", 'write it like `{ path = "apps/web" }`', id="an empty path"),
    pytest.param('"a\\nb"', "has no `path`", 'write it like `{ path = "apps/web" }`', id="two lines"),
    *(
        pytest.param(
            f"'{path}'", f"has the path `{path}`, which leads out of the repository", INSIDE, id=f"path {path}"
        )
        for path in ("/etc", "..", "a/../../b", "a\\b", "a/..")
    ),
    pytest.param("{path = 'b', apps = 'x'}", "has an unknown key `apps`", "did you mean `app`?", id="misspelt"),
    pytest.param(
        "{path = 'b', region = 'x'}", "has an unknown key `region`",
        "it has `path`, `name`, `app`, `parameters`, `inputs`", id="unknown",
    ),
    pytest.param("{path = 'b', name = 7}", "has a `name` that is no name", ONE_LINE, id="a number for a name"),
    pytest.param("{path = 'b', name = ' '}", "has a `name` that is no name", ONE_LINE, id="a blank name"),
    pytest.param('{path = "b", app = "\\u001b"}', "has a `app` that is no name", ONE_LINE, id="it steers"),
    pytest.param(
        f"{{path = 'b', app = '{'x' * 201}'}}", "has a `app` that is no name", ONE_LINE, id="an endless name"
    ),
    pytest.param(
        "'a/.'", "is a second one called `a`", "give it another `name`: its state is kept under it", id="twice"
    ),
    pytest.param(
        "{path = 'b', name = 'a'}", "is a second one called `a`",
        "give it another `name`: its state is kept under it", id="one name twice",
    ),
    pytest.param(
        "{path = 'b', app = 'till'}", "is a second one with the app `till`", "give it another `app`", id="app"
    ),
    pytest.param(
        "{path = 'b', parameters = ['x']}", "has `parameters` that are no table",
        'write it like `parameters = { size = "small" }`', id="parameters in a list",
    ),
    pytest.param(
        "{path = 'b', parameters = {at = 2020-01-01}}",
        "has a parameter `at` that is a date or a time, which an engine does not know", "put it in quotes",
        id="a date",
    ),
    pytest.param(
        "{path = 'b', parameters = {'@/etc/passwd' = 1}}",
        "has a value for `@/etc/passwd`, which cannot be a variable's name", NAMES, id="no variable",
    ),
    pytest.param(
        "{path = 'b', inputs = {'a b' = 'a.x'}}", "has a value for `a b`, which cannot be a variable's name", NAMES,
        id="no variable for an input",
    ),
    pytest.param(
        "{path = 'b', inputs = 'a.x'}", "has `inputs` that are no table",
        'write it like `inputs = { vpc = "network.vpc_id" }`', id="inputs in a text",
    ),
    *(
        pytest.param(
            f"{{path = 'b', inputs = {{v = {text}}}}}", "has an input `v` that names no output", OUTPUT,
            id=f"input {text}",
        )
        for text in ("'a'", "'.x'", "'a.'", "1", "['a.x']")
    ),
    pytest.param(
        "{path = 'b', inputs = {v = 'b.x'}}",
        "takes its input `v` from `b`, which is no package that stands before it", "before it are `a`",
        id="its own",
    ),
    pytest.param(
        "{path = 'b', parameters = {v = 1}, inputs = {v = 'a.x'}}", "has `v` in `parameters` and in `inputs`",
        "keep one of the two", id="two values",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "sentence", "hint"), WRONG_PACKAGES)
def test_what_is_wrong_with_a_package_is_named_with_its_number(
    tmp_path: Path, entry: str, sentence: str, hint: str
) -> None:
    text = f"\n[deploy]\npackages = [{{path = 'a', app = 'till'}}, {entry}]"

    assert refusal(tmp_path, text) == (f"`hereya-tf.toml`, line 3: package 2 {sentence}", (hint,))


def test_the_first_package_has_no_inputs(tmp_path: Path) -> None:
    text = "[deploy]\npackages = [{path = 'a', inputs = {v = 'b.x'}}]"

    assert refusal(tmp_path, text) == (
        "`hereya-tf.toml`, line 2: package 1 takes its input `v` from `b`,"
        " which is no package that stands before it",
        ("it is the first",),
    )


def test_a_list_that_nobody_wrote_is_not_gone_through(tmp_path: Path) -> None:
    entries = ",".join(f"'p{number}'" for number in range(60_000))

    assert refusal(tmp_path, f"[deploy]\npackages = [{entries}]") == (
        "`hereya-tf.toml`, line 2: `[deploy]` lists 60000 packages, and may list 500",
        ("make several repositories of it",),
    )


def test_a_run_of_the_package_itself_passes_it_over(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": "", "hereya-tf.toml": "[deploy]\npackages = ['missing']\n"})

    ran = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert "apply" in fake_engine.commands()
    assert "deploy" not in ran.stderr
