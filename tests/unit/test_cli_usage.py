"""A command line that makes no sense: exit code 64, a sentence and a hint on stderr, nothing touched."""

import os
from pathlib import Path

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine

HELP = {
    name: f"hint: `hereya-tf {name} --help` shows what it takes\n"
    for name in ("provision", "destroy", "lock release", "runs log", "runs list", "lock list")
}
NEEDS_YES = (
    "error: without a terminal to ask on, `{}` needs `--yes`\n"
    "hint: add `--yes` when this run may change infrastructure\n"
)


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": ""})


def untouched(fake_engine: FakeEngine, package: Path, tmp_path: Path) -> bool:
    """Whether there is no run, no lock, no cache, no start of an engine and nothing new in the package."""
    return (
        not (tmp_path / "state").exists()
        and not (tmp_path / "cache").exists()
        and fake_engine.records() == []
        and [file.name for file in package.iterdir()] == ["main.tf"]
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param("provision", NEEDS_YES.format("provision"), id="provision without --yes"),
        pytest.param("destroy", NEEDS_YES.format("destroy"), id="destroy without --yes"),
        pytest.param("provision --json", NEEDS_YES.format("provision"), id="with --json no event either"),
        pytest.param("provision --request -", NEEDS_YES.format("provision"), id="stdin holds a request"),
        pytest.param(
            "provison --yes",
            "error: there is no command `provison`\nhint: did you mean `provision`?\n",
            id="a word misspelt",
        ),
        pytest.param(
            "provision --yes --policy false --policy true",
            "error: `--policy` is given twice, and only one can be asked\n"
            "hint: write a script that asks both, and give that\n",
            id="two policies",
        ),
        pytest.param(
            "frobnicate",
            "error: there is no command `frobnicate`\nhint: `hereya-tf --help` lists the commands\n",
            id="an unknown command",
        ),
        pytest.param(
            "lock lst",
            "error: there is no command `lock lst`\nhint: did you mean `list`?\n",
            id="a word of a group misspelt",
        ),
        pytest.param(
            "runs frobnicate",
            "error: there is no command `runs frobnicate`\nhint: `hereya-tf runs --help` lists the commands\n",
            id="an unknown command of a group",
        ),
        pytest.param(
            "provision --yes --parm a=1",
            f"error: there is no option `--parm`\nhint: did you mean `--param`?\n{HELP['provision']}",
            id="an option misspelt",
        ),
        pytest.param(
            "provision --yes --zzz",
            f"error: there is no option `--zzz`\n{HELP['provision']}",
            id="an unknown option",
        ),
        pytest.param(
            "destroy --yes --replac a.b",
            f"error: there is no option `--replac`\nhint: did you mean `--redact`?\n{HELP['destroy']}",
            id="the nearest would be refused as well",
        ),
        pytest.param(
            "--frobnicate",
            "error: there is no option `--frobnicate`\nhint: `hereya-tf --help` shows what it takes\n",
            id="an unknown option before the command",
        ),
        pytest.param(
            "destroy --yes --replace a.b",
            "error: `destroy` cannot honour `--replace`: what is destroyed is not replaced\n"
            "hint: it is an option of `provision` and `plan`\n",
            id="an option that destroy cannot honour",
        ),
        pytest.param(
            "provision --yes --color red",
            f"error: `--color`: `red` is not one of `auto`, `always`, `never`\n{HELP['provision']}",
            id="a choice",
        ),
        pytest.param(
            "provision --yes --timeout 5x",
            "error: `--timeout`: `5x` is not a duration such as `90s`, `5m` or `1h30m`\n" + HELP["provision"],
            id="a duration",
        ),
        pytest.param(
            "lock release --grace soon",
            "error: `--grace`: `soon` is not a duration such as `90s`, `5m` or `1h30m`\n"
            + HELP["lock release"],
            id="a duration of another command",
        ),
        pytest.param(
            "provision --yes --parallelism 0",
            f"error: `--parallelism`: `0` is not a whole number from 1 on\n{HELP['provision']}",
            id="a number too small",
        ),
        pytest.param(
            "provision --yes --max-destroy 1000000000",
            f"error: `--max-destroy`: `1000000000` is too large: 999999999 is the most\n{HELP['provision']}",
            id="a number too large",
        ),
        pytest.param(
            "provision --yes --protect module.db[main]",
            "error: `--protect`: `module.db[main]` fits no address: a key in brackets has double quotes,"
            f" which a shell keeps only within single ones\n{HELP['provision']}",
            id="a pattern that protects nothing",
        ),
        pytest.param(
            "runs list -n many",
            f"error: `--limit`: `many` is not a whole number from 1 on\n{HELP['runs list']}",
            id="no number",
        ),
        pytest.param(
            "provision --yes --engine-arg=-x",
            "error: `--engine-arg -x` is not STEP=ARG with one of init, plan, apply as its step\n"
            "hint: write it like `--engine-arg apply=-compact-warnings`\n",
            id="an engine's argument without its step",
        ),
        pytest.param(
            "provision --yes --engine-arg output=-x",
            "error: `--engine-arg output=…` is not STEP=ARG"
            " with one of init, plan, apply as its step\n"
            "hint: write it like `--engine-arg apply=-compact-warnings`\n",
            id="an engine's argument for another step",
        ),
        pytest.param(
            "provision --yes --report-file report.pdf",
            "error: `--report-file report.pdf` has none of the endings `.txt`, `.md`, `.json`, `.xml` and `.html`\n"
            "hint: the ending says what the report is to be\n",
            id="a report of an unknown kind",
        ),
        pytest.param(
            "provision --yes a b",
            f"error: `b` is more than it takes\n{HELP['provision']}",
            id="two packages",
        ),
        pytest.param("runs log", f"error: `RUN` is missing\n{HELP['runs log']}", id="no run"),
        pytest.param(
            "provision --yes=1",
            f"error: option `--yes` does not take a value\n{HELP['provision']}",
            id="a value too much",
        ),
        pytest.param(
            "provision --yes --state",
            f"error: option `--state` requires an argument\n{HELP['provision']}",
            id="no value",
        ),
    ],
)
def test_it_is_refused_before_anything_is_touched(
    cli: CommandLine,
    fake_engine: FakeEngine,
    package: Path,
    tmp_path: Path,
    arguments: str,
    complaint: str,
) -> None:
    ran = cli(*arguments.split(), cwd=package, env={"HEREYA_TF_ENGINE": str(fake_engine.path)})

    assert ran == Result(64, "", complaint)
    assert untouched(fake_engine, package, tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("HEREYA_TF_COLOR", "red", "`red` is not one of `auto`, `always`, `never`"),
        ("HEREYA_TF_GRACE", "soon", "`soon` is not a duration such as `90s`, `5m` or `1h30m`"),
        ("HEREYA_TF_PARALLELISM", "0", "`0` is not a whole number from 1 on"),
    ],
)
def test_a_variable_is_named_when_it_is_at_fault(
    cli: CommandLine, package: Path, name: str, value: str, complaint: str
) -> None:
    assert cli("provision", package, "--yes", env={name: value}) == Result(
        64, "", f"error: `{name}`: {complaint}\n{HELP['provision']}"
    )


def test_an_open_pipe_on_stdin_is_no_terminal(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    try:
        ran = cli.start("provision", package, "--engine", fake_engine.path, stdin=reader).finish()
    finally:
        os.close(reader)
        os.close(writer)

    assert ran == Result(64, "", NEEDS_YES.format("provision"))
    assert untouched(fake_engine, package, tmp_path)


def test_a_closed_stdin_is_no_terminal(cli: CommandLine, package: Path) -> None:
    ran = cli.start("provision", package, preexec_fn=lambda: os.close(0)).finish()

    assert ran == Result(64, "", NEEDS_YES.format("provision"))


def test_nobody_to_complain_to_is_no_reason_for_another_exit_code(cli: CommandLine) -> None:
    assert cli.start("frobnicate", preexec_fn=lambda: os.close(2)).finish().exit_code == 64


@pytest.mark.parametrize(
    ("arguments", "one", "other"),
    [
        ("plan {package} --out both --result-file ./both", "--out", "--result-file"),
        ("plan {package} --plan-json both --plan-text both", "--plan-json", "--plan-text"),
        ("apply {package} both --yes --result-file both", "BUNDLE", "--result-file"),
        (
            "provision {package} --yes --report-file both.txt --report-file both.txt",
            "--report-file",
            "--report-file",
        ),
    ],
)
def test_two_options_that_name_one_file(
    cli: CommandLine,
    package: Path,
    tmp_path: Path,
    fake_engine: FakeEngine,
    arguments: str,
    one: str,
    other: str,
) -> None:
    both = tmp_path / "caller" / "both"
    both.write_bytes(b"what was there")

    ended = cli(*arguments.format(package=package).split(), "--engine", fake_engine.path)

    assert (ended.exit_code, ended.stdout) == (64, "")
    assert f"`{one}` and `{other}` name the same file" in ended.stderr
    assert both.read_bytes() == b"what was there"
    assert untouched(fake_engine, package, tmp_path)


def test_a_pipe_may_be_shared(cli: CommandLine, package: Path, fake_engine: FakeEngine) -> None:
    fake_engine.plays({"apply": scenes.applied()})

    ended = cli(
        *("provision", package, "--yes", "--json", "--engine", fake_engine.path),
        *("--events-file", "/dev/null", "--result-file", "/dev/null"),
    )

    assert ended.exit_code == 0
