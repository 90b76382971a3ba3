"""Every option by flag and by its variable, and the order in which values were given."""

import json
from pathlib import Path

import click
import pytest

from hereya_tf.cli.engine_options import wish_of
from hereya_tf.cli.guard_options import guards_of
from hereya_tf.cli.operations import provision
from hereya_tf.cli.options import ordered_inputs
from hereya_tf.cli.requests import build_request
from hereya_tf.engine.commands import EngineOptions
from hereya_tf.engine.wish import EngineWish
from hereya_tf.errors import BadInput
from hereya_tf.events import Operation
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.values import VariableFile
from hereya_tf.run_request import RunRequest
from hereya_tf.workspace import BackendKind, GeneratedBackend
from tests.option_samples import MATRIX, SAMPLES

DEFAULTS = {
    "timeout": None,
    "idle_timeout": None,
    "wait": 1800.0,
    "no_wait": False,
    "lock_timeout": 300.0,
    "grace": 60.0,
    "retries": 0,
    "refresh": True,
    "color": "auto",
    "ci": "auto",
    "parallelism": None,
    "history_age": 7_776_000.0,
    "history_count": 1000,
    "history_bytes": 1_000_000_000,
}


HONOURED = [name for name in SAMPLES if MATRIX[name, Operation.PROVISION]]


def variable_of(name: str) -> str:
    return f"HEREYA_TF_{name.removeprefix('no-' if name == 'no-refresh' else '').replace('-', '_').upper()}"


def parsed(*arguments: str, command: click.Command = provision) -> click.Context:
    return command.make_context("provision", list(arguments))


def request_of(*arguments: str) -> RunRequest:
    context = parsed(*arguments)
    inputs = ordered_inputs(context, ("param", "param_file", "var_file"))
    options = {
        **context.params,
        "engine_wish": wish_of(context, context.params),
        "guards": guards_of(context, context.params),
    }
    return build_request(Operation.PROVISION, options, inputs)


def refused(*arguments: str) -> tuple[str, tuple[str, ...]]:
    refusal = request_of(*arguments).refusal
    assert isinstance(refusal, BadInput)
    return str(refusal), refusal.hints


@pytest.mark.parametrize("name", HONOURED)
def test_a_flag_wins_over_the_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, key, value, _ = SAMPLES[name]
    other = {"color": "always", "ci": "none", "parallelism": "9"}.get(name, "7")
    monkeypatch.setenv(variable_of(name), other if given else "0")
    arguments = [argument for text in given for argument in (f"--{name}", text)] or [f"--{name}"]

    assert parsed(*arguments).params[key] == value


@pytest.mark.parametrize("name", HONOURED)
def test_an_empty_variable_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parsed().params
    monkeypatch.setenv(variable_of(name), "")

    assert parsed().params == expected


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
        *("--target", "a.b", "--replace", "a.d", "--no-refresh", "--reinit", "--no-wait"),
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
        engine=EngineWish("tofu"),
        engine_options=EngineOptions(
            lock_timeout=60.0,
            parallelism=2,
            targets=("a.b",),
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
            ("`--var-file /nowhere.tfvars` is not a file", ("it was looked for as `/nowhere.tfvars`",)),
            id="variable file",
        ),
        pytest.param(
            ("--backend-config", "/nowhere.tfbackend"),
            (
                "`--backend-config /nowhere.tfbackend` is neither NAME=VALUE nor a file",
                ("it was looked for as `/nowhere.tfbackend`",),
            ),
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
