"""Every option with every operation: honoured, or refused with exit code 64; never dropped where it matters."""

from pathlib import Path

import click
import pytest

from hereya_tf.cli import group
from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.honours import ENGINE_STEPS, HONOURED
from hereya_tf.cli.operations import package_and_bundle, package_and_name
from hereya_tf.cli.option_table import ROWS
from hereya_tf.cli.option_types import GroupedOption
from hereya_tf.cli.options import RunCommand
from hereya_tf.errors import BadConfig
from hereya_tf.events import Operation
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine
from tests.option_samples import ARGUMENTS, MATRIX, SAMPLES

SHAPING = ("target", "exclude", "replace", "no-refresh")
EVERY = pytest.mark.parametrize(
    ("name", "operation"), MATRIX, ids=[f"{operation} {name}" for name, operation in MATRIX]
)


def command_of(operation: Operation) -> RunCommand:
    command = group.get_command(click.Context(group), operation)
    assert isinstance(command, RunCommand)
    return command


def parsed(operation: Operation, *arguments: str) -> click.Context:
    words = [*arguments, *ARGUMENTS.get(operation, ())]
    return command_of(operation).make_context(operation, words)


def option_of(operation: Operation, name: str) -> GroupedOption:
    options = command_of(operation).get_params(click.Context(command_of(operation)))
    found = [each for each in options if f"--{name}" in (*each.opts, *each.secondary_opts)]
    assert len(found) == 1
    assert isinstance(found[0], GroupedOption)
    return found[0]


def flags(name: str) -> list[str]:
    return [word for text in SAMPLES[name].given for word in (f"--{name}", text)] or [f"--{name}"]


def expectation(name: str, operation: Operation) -> tuple[str, object]:
    """The key and the value that the option comes to."""
    if (name, operation) == ("json", Operation.OUTPUT):
        return "output_format", "json"
    return SAMPLES[name].key, SAMPLES[name].value


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "config"
    directory.mkdir()
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(directory))
    return directory / "config.toml"


def test_every_option_and_operation_is_looked_at() -> None:
    names = {row.name for row in ROWS}

    assert {name.replace("no-refresh", "refresh") for name in SAMPLES} == names == set(HONOURED)
    assert set(MATRIX) == {(name, operation) for name in SAMPLES for operation in Operation}


@EVERY
def test_on_the_command_line(name: str, operation: Operation) -> None:
    if MATRIX[name, operation]:
        key, value = expectation(name, operation)

        assert parsed(operation, *flags(name)).params[key] == value
        return
    with pytest.raises(Misuse) as caught:
        parsed(operation, *flags(name))

    verb = "cannot honour" if name in SHAPING else "has no use for"
    assert caught.value.message.startswith(f"`{operation}` {verb} `--{name}`: ")
    assert len(caught.value.message.split(": ", 1)[1]) > 10
    assert len(caught.value.hints) == 1


@EVERY
def test_in_the_environment(name: str, operation: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    option = option_of(operation, name)
    truth = "0" if name == "no-refresh" else "1"
    key, value = expectation(name, operation)
    default = parsed(operation).params[key]
    monkeypatch.setenv(str(option.envvar), "\n".join(SAMPLES[name].given) or truth)

    if operation is Operation.APPLY and name in SHAPING:
        with pytest.raises(Misuse) as caught:
            parsed(operation)
        assert caught.value.message == (
            f"`apply` cannot honour `{option.envvar}`: the plan in the bundle says what changes"
        )
        return
    assert parsed(operation).params[key] == (value if MATRIX[name, operation] else default)


@EVERY
def test_in_the_users_file(name: str, operation: Operation, configure: Path) -> None:
    key, value = expectation(name, operation)
    default = parsed(operation).params[key]
    configure.write_text(f"\n# mine\n{name} = {SAMPLES[name].toml}\n")

    if operation is Operation.APPLY and name in SHAPING:
        with pytest.raises(Misuse) as caught:
            parsed(operation)
        assert caught.value.message == (
            f"`apply` cannot honour `{configure}:3`: the plan in the bundle says what changes"
        )
        return
    assert parsed(operation).params[key] == (value if MATRIX[name, operation] else default)


@EVERY
def test_the_help_shows_what_is_honoured(name: str, operation: Operation) -> None:
    command = command_of(operation)
    text = command.get_help(click.Context(command, info_name=operation, terminal_width=200))
    shown = {word.rstrip(",") for line in text.split("\n") if line.startswith("  -") for word in line.split()}
    variable = str(option_of(operation, name).envvar)

    assert (f"--{name}" in shown) is MATRIX[name, operation]
    assert (variable in text.split()) is MATRIX[name, operation]


@pytest.mark.parametrize("operation", Operation)
def test_what_is_not_honoured_need_not_even_make_sense(
    operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, sample in SAMPLES.items():
        if not MATRIX[name, operation] and sample.key in (
            *("parallelism", "lock_timeout", "idle_timeout", "output_format", "lockfile"),
        ):
            monkeypatch.setenv(option_of(operation, name).variable, "nonsense")

    assert parsed(operation).params["yes"] is False


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize("step", ["init", "plan", "apply", "destroy", "output"])
def test_an_argument_for_a_step_that_the_operation_does_not_run(operation: Operation, step: str) -> None:
    if step in ENGINE_STEPS[operation]:
        return
    arguments = ["--yes", "--engine-arg", f"{step}=-secret", *ARGUMENTS.get(operation, ())]

    with pytest.raises(Misuse) as caught:
        command_of(operation).main(arguments, standalone_mode=False)

    steps = ENGINE_STEPS[operation]
    listed = f"one of {', '.join(steps)}" if len(steps) > 1 else steps[0]
    assert caught.value.message == f"`--engine-arg {step}=…` is not STEP=ARG with {listed} as its step"


def test_the_steps_of_operations() -> None:
    assert {str(operation): " ".join(steps) for operation, steps in ENGINE_STEPS.items()} == {
        "provision": "init plan apply",
        "destroy": "init plan destroy",
        "plan": "init plan",
        "drift": "init plan",
        "apply": "init apply",
        "output": "init",
        "init": "init",
        "validate": "init",
        "tf": "init",
        "recover": "init",
    }


def test_arguments_for_other_steps_are_passed_over_when_they_are_set_for_all_commands(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": ""})
    changes = {"add": 0, "change": 0, "remove": 0, "operation": "destroy"}
    fake_engine.plays({"destroy": [{"message": {"type": "change_summary", "changes": changes}}]})
    environment = {
        "HEREYA_TF_ENGINE_ARG": "plan=-of-plan\napply=-of-apply\ninit=-of-init\ndestroy=-of-destroy"
    }

    ran = cli("destroy", package, "--yes", "--engine", fake_engine.path, env=environment)

    argv = {record["command"]: record["argv"] for record in fake_engine.records("start")}
    assert ran.exit_code == 0
    assert "-of-init" in argv["init"]
    assert "-of-destroy" in argv["destroy"]
    assert [word for words in argv.values() for word in words if word in ("-of-apply", "-of-output")] == []


def test_a_step_that_no_operation_has_is_refused_wherever_it_stands(
    cli: CommandLine, make_package: MakePackage
) -> None:
    ran = cli("validate", make_package({"main.tf": ""}), env={"HEREYA_TF_ENGINE_ARG": "aply=-x"})

    assert ran == Result(
        64,
        "",
        "error: `--engine-arg aply=…` is not STEP=ARG with init as its step\n"
        "hint: write it like `--engine-arg init=-compact-warnings`\n",
    )


@pytest.mark.parametrize(
    ("words", "variable", "expected"),
    [
        pytest.param(("x.plan",), None, (None, "x.plan"), id="a bundle"),
        pytest.param(("net", "x.plan"), None, ("net", "x.plan"), id="a package and a bundle"),
        pytest.param(("x.plan",), "env", ("env", "x.plan"), id="the variable's package"),
        pytest.param(("net", "x.plan"), "env", ("net", "x.plan"), id="the argument wins"),
    ],
)
def test_the_last_argument_of_apply_is_the_bundle(
    words: tuple[str, ...],
    variable: str | None,
    expected: tuple[str | None, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is not None:
        monkeypatch.setenv("HEREYA_TF_PACKAGE", variable)

    assert package_and_bundle(words) == expected


@pytest.mark.parametrize(
    ("words", "variable", "expected"),
    [
        pytest.param((), None, (None, None), id="nothing"),
        pytest.param((), "env", ("env", None), id="the variable's package"),
        pytest.param(("name",), None, (None, "name"), id="a name"),
        pytest.param(("name",), "env", ("env", "name"), id="a name in the variable's package"),
        pytest.param(("net",), None, ("net", None), id="a directory that is there"),
        pytest.param(("net",), "env", ("net", None), id="a directory before the variable"),
        pytest.param((".",), None, (".", None), id="this directory"),
        pytest.param(("..",), None, ("..", None), id="the one above"),
        pytest.param(("./missing",), None, ("./missing", None), id="a path to nothing"),
        pytest.param(("net", "name"), None, ("net", "name"), id="both"),
        pytest.param(("name", "net"), None, ("name", "net"), id="both, however they look"),
        pytest.param(("file",), None, (None, "file"), id="a file is no package"),
        pytest.param(("a\0b",), None, (None, "a\0b"), id="no path at all"),
    ],
)
def test_a_single_argument_of_output_is_a_package_when_it_looks_like_one(
    words: tuple[str, ...],
    variable: str | None,
    expected: tuple[str | None, str | None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()
    (tmp_path / "file").touch()
    if variable is not None:
        monkeypatch.setenv("HEREYA_TF_PACKAGE", variable)

    assert package_and_name(words) == expected


CONTRADICTIONS = [
    pytest.param("provision", "--wait 5m", "--no-wait", id="waiting"),
    pytest.param("provision", "--quiet", "--verbose", id="telling"),
    pytest.param("plan", "--target a.b", "--exclude a.c", id="choosing"),
    pytest.param("plan", "--replace a.b", "--destroy", id="destroying"),
    pytest.param("plan", "--lock-timeout 1m", "--no-state-lock", id="locking"),
    pytest.param("init", "--upgrade", "--lockfile readonly", id="lock file"),
    pytest.param("init", "--migrate-state", "--reconfigure", id="state"),
    pytest.param("output", "--json", "--format env", id="form"),
]


@pytest.mark.parametrize(("operation", "one", "other"), CONTRADICTIONS)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_a_contradiction_on_the_command_line(operation: str, one: str, other: str, turned: bool) -> None:
    arguments = [*other.split(), *one.split()] if turned else [*one.split(), *other.split()]

    with pytest.raises(Misuse) as caught:
        parsed(Operation(operation), *arguments)

    flag, opposite = one.split()[0], other.split()[0]
    sentence = caught.value.message
    assert f"`{flag}`" in sentence
    assert f"`{opposite}` exclude each other: " in sentence or f"`{flag}` exclude each other: " in sentence


@pytest.mark.parametrize(("operation", "one", "other"), CONTRADICTIONS)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_what_stands_nearer_to_the_caller_wins(
    operation: str, one: str, other: str, turned: bool, monkeypatch: pytest.MonkeyPatch, configure: Path
) -> None:
    near, far = (other, one) if turned else (one, other)
    expected = parsed(Operation(operation), *near.split()).params
    flag, _, text = far.partition(" ")
    option = option_of(Operation(operation), flag[2:])

    configure.write_text(f"{flag[2:]} = {SAMPLES[flag[2:]].toml}\n")
    over_file = parsed(Operation(operation), *near.split()).params
    monkeypatch.setenv(option.variable, text or "1")
    over_environment = parsed(Operation(operation), *near.split()).params

    assert over_file == expected
    assert over_environment == expected


@pytest.mark.parametrize(("operation", "one", "other"), CONTRADICTIONS)
def test_the_environment_wins_over_the_file(
    operation: str, one: str, other: str, monkeypatch: pytest.MonkeyPatch, configure: Path
) -> None:
    expected = parsed(Operation(operation), *one.split()).params
    flag, _, text = one.partition(" ")
    monkeypatch.setenv(option_of(Operation(operation), flag[2:]).variable, text or "1")
    configure.write_text(f"{other[2:].split()[0]} = {SAMPLES[other[2:].split()[0]].toml}\n")

    assert parsed(Operation(operation)).params == expected


def test_a_contradiction_in_the_environment_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_QUIET", "1")
    monkeypatch.setenv("HEREYA_TF_VERBOSE", "1")

    with pytest.raises(Misuse) as caught:
        parsed(Operation.PLAN)

    assert caught.value.message == (
        "`HEREYA_TF_QUIET` and `HEREYA_TF_VERBOSE` exclude each other: one says less, the other more"
    )


def test_a_contradiction_in_the_file_is_for_the_run_to_refuse(configure: Path) -> None:
    configure.write_text("verbose = true\n\nquiet = true\n")

    context = parsed(Operation.PLAN)

    refusal = context.meta["hereya_tf.refusal"]
    assert isinstance(refusal, BadConfig)
    assert str(refusal) == (
        f"`{configure}:3` and `{configure}:1` exclude each other: one says less, the other more"
    )


def test_a_flag_that_is_off_contradicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_NO_WAIT", "0")

    assert parsed(Operation.PLAN, "--wait", "7").params["wait"] == 7.0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(
            "init --migrate-state",
            "error: `--migrate-state` copies the state to another place, and needs `--yes`\n"
            "hint: add `--yes` when this run may do so\n",
            id="a state is copied without a question",
        ),
        pytest.param(
            "init --migrate-state --yes --state a.tfstate",
            "error: `--migrate-state` and `--state` exclude each other:"
            " a generated backend has only its own state\n"
            "hint: `--migrate-state` is for a backend block of the package's own\n",
            id="a generated backend has nothing to migrate",
        ),
        pytest.param(
            "init --migrate-state --yes --state-bucket b --state-region r --id x",
            "error: `--migrate-state` and `--state-bucket` exclude each other:"
            " a generated backend has only its own state\n"
            "hint: `--migrate-state` is for a backend block of the package's own\n",
            id="nor has one in a bucket",
        ),
        pytest.param(
            "output --format raw",
            "error: `--format raw` prints one output, and needs its NAME\n"
            "hint: name it: `hereya-tf output NAME --format raw`\n",
            id="raw without a name",
        ),
        pytest.param(
            "output . --format raw",
            "error: `--format raw` prints one output, and needs its NAME\n"
            "hint: name it: `hereya-tf output NAME --format raw`\n",
            id="raw of a package",
        ),
        pytest.param(
            "output name --format github",
            "error: `--format github` prints all outputs, and takes no NAME\n"
            "hint: leave the name out, or use `--format raw`\n",
            id="one output for GitHub",
        ),
        pytest.param(
            "apply",
            "error: `BUNDLE` is missing\nhint: make one: `hereya-tf plan --out BUNDLE`\n",
            id="no bundle",
        ),
        pytest.param(
            "apply a b c",
            "error: `c` is more than it takes\nhint: `hereya-tf apply --help` shows what it takes\n",
            id="a bundle too many",
        ),
        pytest.param(
            "output a b c",
            "error: `c` is more than it takes\nhint: `hereya-tf output --help` shows what it takes\n",
            id="a name too many",
        ),
        pytest.param(
            "apply x.plan --target a.b",
            "error: `apply` cannot honour `--target`: the plan in the bundle says what changes\n"
            "hint: give it to `hereya-tf plan`, which makes the bundle\n",
            id="a plan is applied whole",
        ),
        pytest.param(
            "output --parallelism 3",
            "error: `output` has no use for `--parallelism`: it changes nothing\n"
            "hint: it is an option of `provision`, `destroy`, `plan`, `apply` and `drift`\n",
            id="nothing to do at a time",
        ),
        pytest.param(
            "validate -w prod",
            "error: `validate` has no use for `--workspace`: it never touches the backend\n"
            "hint: it is an option of `provision`, `destroy`, `plan`, `apply`, `drift`, `output`, `init`,"
            " `tf` and `recover`\n",
            id="by its letter",
        ),
        pytest.param(
            "drift --no-refresh",
            "error: `drift` cannot honour `--no-refresh`: to compare the state with reality is all it does\n"
            "hint: it is an option of `provision`, `destroy` and `plan`\n",
            id="the name that was given",
        ),
        pytest.param(
            "provision --yes --out x.plan",
            "error: `provision` has no use for `--out`: it keeps no plan\nhint: it is an option of `plan`\n",
            id="an option of one command",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_touched(
    cli: CommandLine, make_package: MakePackage, tmp_path: Path, arguments: str, complaint: str
) -> None:
    package = make_package({"main.tf": ""})

    assert cli(*arguments.split(), cwd=package) == Result(64, "", complaint)
    assert not (tmp_path / "state").exists()
    assert [file.name for file in package.iterdir()] == ["main.tf"]
