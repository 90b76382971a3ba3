"""Every option by flag and by its variable, and the order in which values were given."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from hereya_tf.cli.operations import destroy, provision
from hereya_tf.cli.options import ordered_inputs
from hereya_tf.cli.requests import build_request
from hereya_tf.engine.commands import EngineOptions
from hereya_tf.errors import BadInput
from hereya_tf.events import Operation
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.values import VariableFile
from hereya_tf.run_request import RunRequest
from hereya_tf.workspace import BackendKind, GeneratedBackend

# For each option: what is given, and the value that it comes to.
VALUES: dict[str, tuple[list[str], Any]] = {
    "--yes": ([], True),
    "--param": (["a=1", "b:=[1]"], ("a=1", "b:=[1]")),
    "--param-file": (["a.json", "b c.yaml"], ("a.json", "b c.yaml")),
    "--var-file": (["a.tfvars", "b c.tfvars"], ("a.tfvars", "b c.tfvars")),
    "--env": (["A=1", "B=x y"], ("A=1", "B=x y")),
    "--env-file": ([".env", "more.env"], (".env", "more.env")),
    "--request": (["job.json"], "job.json"),
    "--workspace": (["prod"], "prod"),
    "--create-workspace": ([], True),
    "--state": (["a.tfstate"], "a.tfstate"),
    "--state-bucket": (["states"], "states"),
    "--state-region": (["eu-west-1"], "eu-west-1"),
    "--state-lock-table": (["locks"], "locks"),
    "--id": (["app/prod"], "app/prod"),
    "--backend-config": (["a=b c", "file.tfbackend"], ("a=b c", "file.tfbackend")),
    "--lock-key": (["mine"], "mine"),
    "--engine": (["tofu"], "tofu"),
    "--engine-arg": (["apply=-x", "init=-y"], ("apply=-x", "init=-y")),
    "--engine-log": (["trace.log"], "trace.log"),
    "--ignore-cli-args": ([], True),
    "--timeout": (["1h30m"], 5400.0),
    "--idle-timeout": (["90s"], 90.0),
    "--wait": (["5"], 5.0),
    "--no-wait": ([], True),
    "--lock-timeout": (["1m"], 60.0),
    "--grace": (["500ms"], 0.5),
    "--parallelism": (["3"], 3),
    "--target": (["a.b", 'a.c["x y"]'], ("a.b", 'a.c["x y"]')),
    "--exclude": (["a.b", "a.c"], ("a.b", "a.c")),
    "--replace": (["a.b", "a.c"], ("a.b", "a.c")),
    "--no-refresh": ([], False),
    "--reinit": ([], True),
    "--json": ([], True),
    "--engine-messages": ([], True),
    "--show-sensitive": ([], True),
    "--redact": (["NAME", "@file"], ("NAME", "@file")),
    "--events-file": (["events.ndjson"], "events.ndjson"),
    "--result-file": (["result.json"], "result.json"),
    "--report-file": (["a.txt", "b.json"], ("a.txt", "b.json")),
    "--quiet": ([], True),
    "--verbose": ([], True),
    "--color": (["never"], "never"),
    "--no-progress": ([], True),
}
DEFAULTS = {
    "timeout": None,
    "idle_timeout": None,
    "wait": 1800.0,
    "no_wait": False,
    "lock_timeout": 300.0,
    "grace": 60.0,
    "refresh": True,
    "color": "auto",
    "parallelism": None,
}


def parsed(*arguments: str, command: click.Command = provision) -> click.Context:
    return command.make_context("provision", list(arguments))


def option_of(name: str) -> click.Option:
    for parameter in provision.params:
        if isinstance(parameter, click.Option) and name in (*parameter.opts, *parameter.secondary_opts):
            return parameter
    raise AssertionError(name)


def request_of(*arguments: str) -> RunRequest:
    context = parsed(*arguments)
    inputs = ordered_inputs(context, ("param", "param_file", "var_file"))
    return build_request(Operation.PROVISION, {**context.params, "engine_source": "--engine"}, inputs)


def refused(*arguments: str) -> tuple[str, tuple[str, ...]]:
    refusal = request_of(*arguments).refusal
    assert isinstance(refusal, BadInput)
    return str(refusal), refusal.hints


def test_every_option_is_looked_at() -> None:
    options = {option_of(name).name for name in VALUES}

    assert options == {option.name for option in provision.params if isinstance(option, click.Option)}


@pytest.mark.parametrize("name", VALUES)
def test_an_option_by_its_flag(name: str) -> None:
    given, value = VALUES[name]
    arguments = [argument for text in given for argument in (name, text)] or [name]

    assert parsed(*arguments).params[str(option_of(name).name)] == value


@pytest.mark.parametrize("name", VALUES)
def test_an_option_by_its_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, value = VALUES[name]
    option = option_of(name)
    truth = "0" if name == "--no-refresh" else "1"
    monkeypatch.setenv(str(option.envvar), "\n".join(given) or truth)

    assert parsed().params[str(option.name)] == value


@pytest.mark.parametrize("name", VALUES)
def test_a_flag_wins_over_the_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, value = VALUES[name]
    option = option_of(name)
    other = {"--color": "always", "--parallelism": "9"}.get(name, "7")
    monkeypatch.setenv(str(option.envvar), other if given else "0")
    arguments = [argument for text in given for argument in (name, text)] or [name]

    assert parsed(*arguments).params[str(option.name)] == value


@pytest.mark.parametrize("name", VALUES)
def test_an_empty_variable_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    option = option_of(name)
    expected = parsed().params[str(option.name)]
    monkeypatch.setenv(str(option.envvar), "")

    assert parsed().params[str(option.name)] == expected


def test_what_is_not_said() -> None:
    params = parsed().params

    assert {name: params[name] for name in DEFAULTS} == DEFAULTS
    said = {name: value for name, value in params.items() if name not in DEFAULTS}
    assert {repr(value) for value in said.values()} == {"None", "False", "()"}


def test_lines_of_a_variable_that_are_empty_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_PARAM", "\na=1\n\nb= x \n")

    assert parsed().params["param"] == ("a=1", "b= x ")


def test_the_package_has_a_variable_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_PACKAGE", "net work")

    assert parsed().params["package"] == "net work"
    assert parsed("other").params["package"] == "other"


def test_destroy_takes_all_options_but_one() -> None:
    names = [
        {option.name for option in command.params if isinstance(option, click.Option)}
        for command in (provision, destroy)
    ]

    assert names[0] - names[1] == {"replaces"}
    assert names[1] <= names[0]


def test_the_order_on_the_command_line_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text('{"x": "of a file"}')
    (tmp_path / "b.tfvars").write_text("")
    monkeypatch.chdir(tmp_path)

    inputs = request_of(
        *("--var-file", "b.tfvars", "-p", "x=1", "--param-file", "a.json", "--param", "x:=2"),
        *("--var-file=b.tfvars", "-px=3"),
    ).inputs

    file = VariableFile(tmp_path / "b.tfvars")
    assert inputs == (
        file,
        Given("x", "1", True, Source.FLAG, "-p"),
        Given("x", "of a file", True, Source.FILE, "a.json"),
        Given("x", 2, False, Source.FLAG, "-p"),
        file,
        Given("x", "3", True, Source.FLAG, "-p"),
    )


def test_what_the_environment_gives_comes_before_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_PARAM", "a=env\nb=env")
    monkeypatch.setenv("HEREYA_TF_VAR_FILE", __file__)

    only_environment = ordered_inputs(parsed(), ("param", "param_file", "var_file"))
    both = ordered_inputs(parsed("--param-file", "x.json"), ("param", "param_file", "var_file"))
    replaced = ordered_inputs(parsed("-p", "a=flag"), ("param", "param_file", "var_file"))

    environment = [("param", "a=env"), ("param", "b=env"), ("var_file", __file__)]
    assert only_environment == environment
    assert both == [*environment, ("param_file", "x.json")]
    assert replaced == [("var_file", __file__), ("param", "a=flag")]


def test_a_whole_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.env").write_text("A=file\nB=file\n")
    (tmp_path / "a.tfbackend").write_text("")

    request = request_of(
        *("net", "--yes", "-e", "A=flag", "--env-file", "more.env", "--create-workspace", "--lock-key", "k"),
        *(
            "--state",
            "s.tfstate",
            "--id",
            "app",
            "--backend-config",
            "a=b",
            "--backend-config",
            "a.tfbackend",
        ),
        *("--engine", "tofu", "--engine-arg", "apply=-x=1", "--engine-arg", "apply=-y", "--parallelism", "2"),
        *("--target", "a.b", "--exclude", "a.c", "--replace", "a.d", "--no-refresh", "--reinit", "--no-wait"),
        *("--lock-timeout", "1m", "--grace", "1s", "--redact", "X", "--show-sensitive", "--engine-messages"),
        *("--ignore-cli-args", "--engine-log", "trace.log", "-w", "prod"),
    )

    assert request == RunRequest(
        operation=Operation.PROVISION,
        package=tmp_path / "net",
        approved=True,
        additions=(("A", "flag"), ("B", "file")),
        workspace="prod",
        create_workspace=True,
        backend=GeneratedBackend(BackendKind.LOCAL, "app", path=str(tmp_path / "s.tfstate")),
        backend_config=("a=b", str(tmp_path / "a.tfbackend")),
        lock_key="k",
        engine="tofu",
        engine_options=EngineOptions(
            lock_timeout=60.0,
            parallelism=2,
            targets=("a.b",),
            excludes=("a.c",),
            replaces=("a.d",),
            refresh=False,
            extra={"apply": ("-x=1", "-y")},
        ),
        engine_log=tmp_path / "trace.log",
        ignore_cli_args=True,
        reinit=True,
        wait=0.0,
        grace=1.0,
        redact=("X",),
        show_sensitive=True,
        engine_messages=True,
    )
    assert (tmp_path / "trace.log").stat().st_mode & 0o777 == 0o600, "the engine would make it readable"


def test_a_request_file_is_what_flags_win_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(
        '{"id": "app", "pkgPath": "net", "env": {"A": "request", "B": "request"},'
        ' "parameters": {"x": [1]}, "infraConfig": {"localStatePath": "s.tfstate"}, "odd": 1}'
    )

    asked = request_of("--request", "job.json", "--yes")
    overruled = request_of("other", "--request", "job.json", "--id", "mine", "-e", "A=flag", "-p", "x=2")

    assert asked == RunRequest(
        operation=Operation.PROVISION,
        package=tmp_path / "net",
        approved=True,
        inputs=(Given("x", [1], False, Source.REQUEST, "job.json"),),
        additions=(("A", "request"), ("B", "request")),
        warnings=("the request `job.json` has an unknown key `odd`, left out",),
        backend=GeneratedBackend(BackendKind.LOCAL, "app", path=str(tmp_path / "s.tfstate")),
        engine_options=EngineOptions(),
    )
    assert overruled.package == tmp_path / "other"
    assert overruled.backend is not None
    assert overruled.backend.id == "mine"
    assert dict(overruled.additions) == {"A": "flag", "B": "request"}
    assert [given.source for given in overruled.inputs if isinstance(given, Given)] == [
        Source.REQUEST,
        Source.FLAG,
    ]


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize(
    ("path", "bucket", "warnings"),
    [
        ("flag", "flag", ("`--state` wins: the bucket is not used",)),
        ("flag", "request", ("`--state` wins: the bucket is not used",)),
        ("request", "flag", ("`infraConfig.localStatePath` wins: the bucket is not used",)),
        ("request", "request", ("`infraConfig.localStatePath` wins: the bucket is not used",)),
        ("flag", None, ()),
        (None, "flag", ()),
    ],
)
def test_a_bucket_that_a_path_wins_over_is_not_left_out_silently(
    tmp_path: Path, path: str | None, bucket: str | None, warnings: tuple[str, ...]
) -> None:
    state = {"localStatePath": "s"} if path == "request" else {}
    state |= {"terraformStateBucketName": "b"} if bucket == "request" else {}
    (tmp_path / "job.json").write_text(json.dumps({"id": "app", "infraConfig": state}))
    flags = [*(("--state", "s") if path == "flag" else ())]
    flags += ["--state-bucket", "b"] if bucket == "flag" else []

    request = request_of("--request", str(tmp_path / "job.json"), "--state-region", "r", *flags)

    assert (request.refusal, request.warnings) == (None, warnings)
    assert request.backend is not None
    assert request.backend.kind is (BackendKind.LOCAL if path else BackendKind.S3)


def test_the_id_of_a_request_alone_is_only_a_name(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"id": "app"}')

    request = request_of("--request", str(tmp_path / "job.json"))

    assert (request.backend, request.refusal) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        pytest.param(
            ("--var-file", "/nowhere.tfvars"),
            ("`--var-file /nowhere.tfvars` is not a file", ("check the path",)),
            id="variable file",
        ),
        pytest.param(
            ("--backend-config", "/nowhere.tfbackend"),
            ("`--backend-config /nowhere.tfbackend` is neither NAME=VALUE nor a file", ("check the path",)),
            id="backend file",
        ),
        pytest.param(
            ("--backend-config", "a b=c"),
            ("`a b` is not the name of a backend setting", ("use `--backend-config NAME=VALUE`",)),
            id="backend setting",
        ),
        pytest.param(
            ("--engine-log", "/nowhere/trace.log"),
            (
                "`--engine-log /nowhere/trace.log` cannot be written: No such file or directory",
                ("give another path",),
            ),
            id="log",
        ),
        pytest.param(
            ("-p", "a"),
            (
                "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and there is no `=`",
                ("for an empty text write `NAME=`",),
            ),
            id="parameter",
        ),
    ],
)
def test_bad_input_is_kept_for_the_run_to_refuse(
    arguments: tuple[str, ...], refusal: tuple[str, tuple[str, ...]]
) -> None:
    assert refused(*arguments) == refusal


def test_a_refused_request_still_says_what_it_was_about(tmp_path: Path) -> None:
    request = request_of(str(tmp_path), "-w", "prod", "-p", "a")

    assert (request.package, request.workspace) == (tmp_path, "prod")
