"""A whole run in this process, with an engine that is only a list of answers."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pytest_subprocess import FakeProcess
from pytest_subprocess.fake_popen import FakePopen
from pytest_subprocess.process_recorder import ProcessRecorder

from hereya_tf import events
from hereya_tf.ending import Ended
from hereya_tf.engine import commands
from hereya_tf.engine.commands import EngineOptions
from hereya_tf.engine.wish import EngineWish
from hereya_tf.events import Operation
from hereya_tf.inputs.given import Given, Source
from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.places import Places
from hereya_tf.question import Question
from hereya_tf.run import Run
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.journal import Sink
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.workspace import BackendKind, GeneratedBackend, override_text
from tests.conftest import MakePackage

TOKEN = "ghp_" + "a" * 36
CONFIGURATION = 'variable "name" {\n  default = ""\n}\nvariable "list" {\n  type = list(string)\n}\n'
INIT = ("init", "-json", "-input=false", "-no-color")
APPLY = ("apply", "-json", "-auto-approve", "-input=false", "-lock-timeout=5m", "-no-color")
DESTROY = ("destroy", *APPLY[1:])
OUTPUT = ("output", "-json", "-no-color")


def line(type_: str, **fields: Any) -> str:
    stamp = "2026-11-30T02:01:57.478597Z"
    common = {"@level": "info", "@message": "", "@module": "terraform.ui", "@timestamp": stamp}
    return json.dumps({**common, **fields, "type": type_}, separators=(",", ":")) + "\n"


def hook(type_: str, action: str, address: str = "a.b") -> str:
    resource = {"addr": address, "resource": address, "resource_type": "a", "resource_name": "b"}
    return line(type_, hook={"resource": resource, "action": action, "id_key": "id", "id_value": "i-1"})


def summary(operation: str, **counts: int) -> str:
    changes = {"add": 0, "change": 0, "remove": 0, "import": 0, **counts}
    return line("change_summary", changes={**changes, "operation": operation})


def error(text: str, detail: str = "") -> str:
    diagnostic = {"severity": "error", "summary": text, "detail": detail}
    return line("diagnostic", **{"@level": "error", "@message": f"Error: {text}", "diagnostic": diagnostic})


CREATED = hook("apply_start", "create") + hook("apply_complete", "create") + summary("apply", add=1)
NO_OUTPUTS = line("outputs", outputs={})
VERSION = line("version", terraform="1.11.4", ui="1.2")


class Played(NamedTuple):
    """What a run came to."""

    ended: Ended
    events: list[Mapping[str, Any]]

    @property
    def result(self) -> Mapping[str, Any]:
        assert self.events[-1]["type"] == "result"
        return self.events[-1]

    @property
    def failure(self) -> tuple[Any, ...]:
        failure = self.result["failure"]
        return (self.result["status"], self.result["exit_code"], failure["class"], self.result["reason"])


class Stage:
    """An engine that answers as it was told, and the runs that use it."""

    def __init__(self, fp: FakeProcess, directory: Path, package: Path) -> None:
        self.fp = fp
        self.package = package
        self.places = Places(directory / "state", directory / "cache")
        self.engine = directory / "terraform"
        self.engine.write_text("")
        self.engine.chmod(0o755)
        self.version = fp.register(
            [str(self.engine), "version"], stdout="Terraform v1.11.4\non linux_amd64\n", occurrences=99
        )

    def answers(
        self,
        command: str,
        stdout: str = "",
        *,
        stderr: str = "",
        returncode: int = 0,
        looking: Callable[[FakePopen], None] | None = None,
    ) -> ProcessRecorder:
        """The next answer to `command`; `looking` is called while it runs."""
        return self.fp.register(
            [str(self.engine), command, self.fp.any()],
            stdout=stdout.encode(),
            stderr=stderr.encode(),
            returncode=returncode,
            callback=looking,
        )

    def runs(
        self,
        operation: Operation = Operation.PROVISION,
        *,
        environment: Mapping[str, str] | None = None,
        ask: Callable[[Question, Callable[..., None]], bool] | None = None,
        interrupt: Interrupt | None = None,
        **request: Any,
    ) -> Played:
        told: list[Mapping[str, Any]] = []
        run = Run(
            RunRequest(
                operation=operation,
                package=self.package,
                **{
                    "approved": ask is None,
                    "engine": EngineWish(str(self.engine)),
                    "engine_options": EngineOptions(),
                    **request,
                },
            ),
            environment=environment or {},
            places=self.places,
            interrupt=interrupt or Interrupt(),
            sinks=[Sink(lambda record, _line: told.append(record), lambda: None)],
            ask=ask,
        )
        return Played(run.execute(), told)

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """The arguments of every engine command so far, without `version`."""
        calls = [tuple(map(str, list(call)[1:])) for call in self.fp.calls]
        return [call for call in calls if call != ("version",)]


@pytest.fixture
def stage(fp: FakeProcess, tmp_path: Path, make_package: MakePackage) -> Stage:
    return Stage(fp, tmp_path, make_package({"main.tf": CONFIGURATION}))


def environment_of(recorder: ProcessRecorder) -> Mapping[str, str]:
    call = recorder.first_call
    assert call is not None
    assert call.kwargs is not None
    return dict(call.kwargs["env"])


@pytest.mark.behaviour("T1", "T2", "T11")
def test_provision_is_init_and_one_apply(stage: Stage) -> None:
    stage.answers("init", VERSION)
    outputs = {"a": {"sensitive": False, "type": "string", "value": "x"}}
    stage.answers("apply", VERSION + CREATED + line("outputs", outputs=outputs))

    played = stage.runs()

    assert stage.commands == [INIT, APPLY]
    result = played.result
    assert (result["success"], result["status"], result["exit_code"], result["reason"]) == (
        True,
        "succeeded",
        0,
        None,
    )
    assert (result["env"], result["outputs"]) == (
        {"a": "x"},
        {"a": {"type": "string", "sensitive": False, "value": "x"}},
    )
    assert result["changes"] == {"add": 1, "change": 0, "destroy": 0, "replace": 0, "import": 0, "forget": 0}
    assert result["engine"] == {"name": "terraform", "version": "1.11.4"}


def test_a_run_tells_its_story_in_order(stage: Stage) -> None:
    stage.answers("init", VERSION)
    stage.answers("apply", VERSION + CREATED + NO_OUTPUTS)

    played = stage.runs()

    assert [event["type"] for event in played.events] == [
        "run_started",
        "engine_ready",
        "lock_acquired",
        "step_started",
        "step_finished",
        "step_started",
        "resource",
        "resource",
        "step_finished",
        "result",
    ]
    assert [event["seq"] for event in played.events] == list(range(1, 11))
    assert played.events[3]["argv"] == [str(stage.engine), *INIT]
    assert {event["run"] for event in played.events} == {played.events[0]["run"]}


@pytest.mark.behaviour("T7")
def test_outputs_that_the_stream_does_not_hold_are_read(stage: Stage) -> None:
    stage.answers("init")
    sensitive = line("outputs", outputs={"a": {"sensitive": True, "type": "string"}})
    stage.answers("apply", CREATED + sensitive)
    document = {"a": {"sensitive": True, "type": "string", "value": "hunter22"}}
    stage.answers("output", f"a warning\n{json.dumps(document, indent=2)}\nmore\n")

    played = stage.runs()

    assert stage.commands == [INIT, APPLY, OUTPUT]
    assert played.result["outputs"] == {"a": {"type": "string", "sensitive": True}}
    assert played.ended.revealed.env == {"a": "hunter22"}
    assert "hunter22" not in json.dumps(played.events)


def test_an_earlier_list_of_outputs_is_not_taken_for_the_values(stage: Stage) -> None:
    planned = line("outputs", outputs={"a": {"sensitive": False, "action": "create"}})
    stage.answers("init")
    stage.answers("apply", planned + CREATED)
    stage.answers("output", '{"a": {"sensitive": false, "type": "string", "value": "x"}}')

    assert stage.runs().result["env"] == {"a": "x"}


@pytest.mark.behaviour("T1", "T3", "T9")
def test_destroy_reads_the_outputs_and_then_destroys(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("output", '{"a": {"sensitive": false, "type": "number", "value": 1.10}}')
    stage.answers("destroy", hook("apply_complete", "delete") + summary("destroy", remove=1))

    played = stage.runs(Operation.DESTROY)

    assert stage.commands == [INIT, OUTPUT, DESTROY]
    assert (played.result["success"], played.result["env"]) == (True, {"a": "1.10"})
    assert played.result["changes"]["destroy"] == 1


@pytest.mark.behaviour("F7", "T9")
def test_a_sensitive_output_is_redacted_from_what_destroy_says(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("output", '{"a": {"sensitive": true, "type": "string", "value": "hunter22"}}')
    stage.answers("destroy", "dropping hunter22\n" + summary("destroy"))

    played = stage.runs(Operation.DESTROY)

    assert "dropping [redacted]" in json.dumps(played.events)
    assert "hunter22" not in json.dumps(played.events)


@pytest.mark.behaviour("T7", "T11")
def test_an_output_that_cannot_be_read_is_a_failure(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("apply", CREATED)
    stage.answers("output", "no document\n", stderr="odd\n")

    played = stage.runs()

    assert played.failure == (
        "failed",
        1,
        "engine-error",
        "`output -json` did not print the outputs: there is no JSON document in the engine's output",
    )
    assert played.result["changes"]["add"] == 1


def test_an_output_without_a_value_does_not_end_the_run(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("apply", CREATED)
    stage.answers("output", '{"a": {"sensitive": false, "type": "string"}, "b": {"sensitive": true}}')

    result = stage.runs().result

    assert (result["success"], result["env"]) == (True, {})
    assert result["outputs"] == {
        "a": {"type": "string", "sensitive": False},
        "b": {"type": None, "sensitive": True},
    }


@pytest.mark.behaviour("T11", "F2", "F3a")
def test_an_init_that_fails_ends_the_run(stage: Stage) -> None:
    stage.answers(
        "init",
        VERSION
        + line("log", **{"@message": "Initializing..."})
        + error("Unsupported argument", "no such thing"),
        stderr="and more\n",
        returncode=1,
    )

    played = stage.runs()

    assert stage.commands == [INIT]
    assert played.failure[:3] == ("failed", 1, "invalid-configuration")
    assert "Unsupported argument" in str(played.result["reason"])
    failure = played.result["failure"]
    assert failure["stderr"] == "Error: Unsupported argument\n\nno such thing\n\nand more\n"
    assert failure["stdout"] == (
        "Terraform 1.11.4\nInitializing...\nError: Unsupported argument\n\nno such thing\n\n"
    )
    assert failure["state"] == {"saved": True, "errored_state": None, "lock": None}


@pytest.mark.behaviour("T11")
def test_an_apply_that_fails_tells_what_it_has_done(stage: Stage) -> None:
    stage.answers("init")
    stage.answers(
        "apply",
        hook("apply_start", "create")
        + hook("apply_complete", "create")
        + hook("apply_start", "create", "a.c")
        + hook("apply_errored", "create", "a.c")
        + error("creating a.c: no quota"),
        returncode=1,
    )

    played = stage.runs()

    assert played.failure[:3] == ("failed", 1, "provider-error")
    assert played.result["changes"]["add"] == 1
    assert [found["summary"] for found in played.result["failure"]["diagnostics"]] == [
        "creating a.c: no quota"
    ]
    assert not [event for event in played.events if event.get("step") == "output"]


def test_exit_code_zero_with_an_error_is_a_failure(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS + error("it did not work"))

    played = stage.runs()

    assert (played.result["success"], played.result["exit_code"]) == (False, 1)
    assert played.events[-2]["ok"] is False
    assert played.events[-2]["exit_code"] == 0


@pytest.mark.parametrize(
    "stream", ["", VERSION, hook("apply_complete", "create"), summary("plan", add=1)], ids=str.__len__
)
def test_exit_code_zero_without_a_last_word_is_a_failure(stage: Stage, stream: str) -> None:
    stage.answers("init")
    stage.answers("apply", stream)

    assert stage.runs().failure[:3] == ("failed", 1, "engine-error")


def test_an_error_on_init_with_exit_code_zero_is_a_failure(stage: Stage) -> None:
    stage.answers("init", error("it did not work"))

    assert stage.runs().result["success"] is False
    assert stage.commands == [INIT]


@pytest.mark.parametrize("returncode", [-9, -11, 2])
def test_an_engine_that_crashes_is_a_failure(stage: Stage, returncode: int) -> None:
    stage.answers("init")
    stage.answers("apply", hook("apply_start", "create"), returncode=returncode)

    played = stage.runs()

    assert (played.result["status"], played.result["exit_code"]) == ("failed", 1)
    saved = played.result["failure"]["state"]["saved"]
    assert saved is (None if returncode < 0 else True)


def test_init_is_skipped_when_nothing_has_changed_and_run_when_something_has(stage: Stage) -> None:
    for _ in range(3):
        stage.answers("init")
        stage.answers("apply", CREATED + NO_OUTPUTS)

    stage.runs()
    again = stage.runs()
    (stage.package / "more.tf").write_text("")
    stage.runs()

    assert stage.commands == [INIT, APPLY, APPLY, INIT, APPLY]
    skipped = next(event for event in again.events if event["type"] == "step_finished")
    assert (skipped["step"], skipped["ok"], skipped["skipped"], skipped["exit_code"]) == (
        "init",
        True,
        True,
        None,
    )


def test_init_is_run_again_when_it_is_asked_for_and_after_it_has_failed(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS)
    stage.runs()
    stage.answers("init", error("no network"), returncode=1)
    stage.runs(reinit=True)
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS)
    stage.runs()

    assert stage.commands == [INIT, APPLY, INIT, INIT, APPLY]


@pytest.mark.parametrize("name", ["backend-uninitialised", "plugins-missing", "module-not-installed"])
def test_an_engine_that_wants_an_init_after_all_gets_it(
    stage: Stage, fixtures_directory: Path, name: str
) -> None:
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS)
    stage.runs()
    recorded = (fixtures_directory / f"streams/terraform-1.11.4-{name}.ndjson").read_text()
    stage.answers("apply", recorded, returncode=1)
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS)

    played = stage.runs()

    assert stage.commands == [INIT, APPLY, APPLY, INIT, APPLY]
    assert played.result["success"]
    assert played.result["failure"] is None
    attempts = [(e["step"], e["attempt"]) for e in played.events if e["type"] == "step_started"]
    assert attempts == [("apply", 1), ("init", 1), ("apply", 2)]


def test_an_engine_that_wants_an_init_right_after_one_does_not_get_another(
    stage: Stage, fixtures_directory: Path
) -> None:
    recorded = (fixtures_directory / "streams/terraform-1.11.4-plugins-missing.ndjson").read_text()
    stage.answers("init")
    stage.answers("apply", recorded, returncode=1)

    assert stage.runs().result["success"] is False
    assert stage.commands == [INIT, APPLY]


@pytest.mark.behaviour("T8")
def test_the_engine_gets_a_managed_environment_and_what_the_user_adds(stage: Stage) -> None:
    stage.answers("init")
    apply = stage.answers("apply", CREATED + NO_OUTPUTS)

    stage.runs(
        environment={"PATH": "/bin", "TF_LOG": "TRACE", "HEREYA_TOKEN": "t", "COMP_LINE": "x"},
        additions=(("AWS_PROFILE", "prod"),),
    )

    assert environment_of(apply) == {
        "PATH": "/bin",
        "AWS_PROFILE": "prod",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **commands.MANAGED,
    }
    call = apply.first_call
    assert call is not None
    assert call.kwargs is not None
    assert (call.kwargs["cwd"], call.kwargs["start_new_session"]) == (stage.package, True)
    assert len(call.kwargs["pass_fds"]) == 2, "the locks outlive the runner"


@pytest.mark.behaviour("T8")
def test_values_reach_the_engine_in_a_private_file(stage: Stage) -> None:
    seen: list[tuple[object, int]] = []

    def look(_process: FakePopen) -> None:
        for argument in stage.commands[-1]:
            if argument.startswith("-var-file="):
                path = Path(argument.removeprefix("-var-file="))
                seen.append((json.loads(path.read_text()), path.stat().st_mode & 0o777))

    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS, looking=look)

    played = stage.runs(
        additions=(("list", '["env"]'), ("name", "env")),
        inputs=(Given("name", "given", True, Source.FLAG, "-p"),),
    )

    assert played.result["success"]
    assert seen == [({"list": ["env"], "name": "env"}, 0o600), ({"name": "given"}, 0o600)]
    kept = {file.name for file in stage.places.runs.glob("*/*")}
    assert kept == {"run.json", "events.ndjson"}, "values do not outlive the run"


@pytest.mark.behaviour("T13", "T9")
@pytest.mark.parametrize(
    ("operation", "returncode"),
    [(Operation.PROVISION, 0), (Operation.PROVISION, 1), (Operation.DESTROY, 0), (Operation.DESTROY, 1)],
)
def test_a_generated_backend_lives_as_long_as_the_engine_is_used(
    stage: Stage, operation: Operation, returncode: int
) -> None:
    backend = GeneratedBackend(BackendKind.LOCAL, "app", path="/states/app.tfstate")
    override = stage.package / GENERATED_OVERRIDE
    seen: list[str] = []

    def look(_process: FakePopen) -> None:
        first, owner, *rest = override.read_text().splitlines(keepends=True)
        assert f'"pid": {os.getpid()}' in owner
        seen.append("".join((first, *rest)))

    init = stage.answers("init", looking=look)
    stage.answers("output", "{}", looking=look)
    stage.answers("apply", CREATED, returncode=returncode, looking=look)
    stage.answers("destroy", summary("destroy"), returncode=returncode, looking=look)

    played = stage.runs(operation, backend=backend)

    assert played.result["success"] is (returncode == 0)
    assert set(seen) == {override_text(backend)}
    assert len(seen) == len(stage.commands)
    assert not override.exists()
    assert stage.commands[0] == (*INIT, "-reconfigure")
    environment = environment_of(init)
    assert (environment["TF_WORKSPACE"], environment["TF_DATA_DIR"]) == ("default", ".terraform/hereya/app")


@pytest.mark.parametrize(
    ("changed", "inits"),
    [({}, 1), ({"backend_config": ("bucket=b",)}, 2), ({"backend_config": ("bucket=a", "key=k")}, 2)],
)
def test_a_changed_backend_value_needs_an_init(stage: Stage, changed: dict[str, Any], inits: int) -> None:
    for _ in range(2):
        stage.answers("init")
        stage.answers("apply", CREATED + NO_OUTPUTS)

    stage.runs(backend_config=("bucket=a",))
    stage.runs(**{"backend_config": ("bucket=a",), **changed})

    assert [call[0] for call in stage.commands].count("init") == inits
    assert not any("bucket" in text for call in stage.commands for text in call), "`ps` shows arguments"


def test_a_workspace_that_does_not_exist_is_not_created(stage: Stage) -> None:
    (stage.package / "backend.tf").write_text('terraform {\n  backend "pg" {}\n}\n')
    stage.answers("init")
    listing = stage.answers("workspace", "* default\n  staging\n\n")

    played = stage.runs(workspace="prod")

    assert stage.commands == [INIT, ("workspace", "list", "-no-color")]
    assert played.failure == ("failed", 1, "workspace-unknown", "there is no workspace `prod`")
    assert played.result["failure"]["hint"] == (
        "add `--create-workspace` to create it; known are `default`, `staging`"
    )
    assert "TF_WORKSPACE" not in environment_of(listing)


def test_a_workspace_of_a_local_state_is_looked_for_in_the_package(stage: Stage) -> None:
    stage.answers("init")
    apply = stage.answers("apply", CREATED + NO_OUTPUTS)

    assert stage.runs(workspace="prod").failure[2:] == ("workspace-unknown", "there is no workspace `prod`")
    assert stage.commands == []

    (stage.package / "terraform.tfstate.d/prod").mkdir(parents=True)
    played = stage.runs(workspace="prod")

    assert (played.result["success"], played.result["workspace"]) == (True, "prod")
    assert environment_of(apply)["TF_WORKSPACE"] == "prod"


@pytest.mark.parametrize("create", [False, True], ids=["it exists", "it is created"])
def test_a_workspace_is_selected_by_its_variable(stage: Stage, create: bool) -> None:
    (stage.package / "backend.tf").write_text('terraform {\n  backend "pg" {}\n}\n')
    stage.answers("init")
    if not create:
        stage.answers("workspace", "  default\n* prod\n")
    apply = stage.answers("apply", CREATED + NO_OUTPUTS)

    played = stage.runs(workspace="prod", create_workspace=create)

    assert (played.result["success"], played.result["workspace"]) == (True, "prod")
    assert environment_of(apply)["TF_WORKSPACE"] == "prod"


def test_a_question_is_asked_about_a_plan_and_exactly_that_plan_is_applied(stage: Stage) -> None:
    questions: list[Question] = []

    def ask(question: Question, _pause: Callable[..., None]) -> bool:
        questions.append(question)
        return True

    stage.answers("init")
    stage.answers("plan", summary("plan", add=2, remove=1))
    stage.answers("apply", CREATED + NO_OUTPUTS)

    played = stage.runs(ask=ask)

    assert played.result["success"]
    planned = events.ChangeCounts(add=2, destroy=1)
    assert questions == [Question(Operation.PROVISION, stage.package, planned)]
    plan, apply = stage.commands[1:]
    (out,) = (argument.removeprefix("-out=") for argument in plan if argument.startswith("-out="))
    assert plan == ("plan", "-json", "-input=false", "-lock-timeout=5m", "-no-color", f"-out={out}")
    assert apply == ("apply", "-json", "-input=false", "-lock-timeout=5m", "-no-color", out)
    assert not Path(out).exists()


def test_a_plan_that_is_not_approved_changes_nothing(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("output", "{}")
    stage.answers("plan", summary("plan", remove=1))

    played = stage.runs(Operation.DESTROY, ask=lambda _question, _pause: False)

    assert played.failure == (
        "cancelled",
        130,
        "cancelled",
        "the plan was not approved, and nothing was changed",
    )
    assert "-destroy" in stage.commands[-1]


def test_a_plan_without_changes_is_no_question(stage: Stage) -> None:
    stage.answers("init")
    stage.answers("plan", summary("plan"))
    stage.answers("apply", summary("apply") + NO_OUTPUTS)

    def ask(_question: Question, _pause: Callable[..., None]) -> bool:
        raise AssertionError("nobody is to be asked")

    assert stage.runs(ask=ask).result["success"]


def test_a_run_that_is_to_end_before_it_has_begun_starts_nothing(stage: Stage) -> None:
    interrupt = Interrupt()
    interrupt.ask(Reason.SIGNAL, 15)

    played = stage.runs(interrupt=interrupt)

    assert played.failure == ("cancelled", 143, "cancelled", "the run was cancelled by SIGTERM")
    assert stage.commands == []


def test_a_run_that_is_cancelled_between_two_steps_starts_no_other(stage: Stage) -> None:
    interrupt = Interrupt()
    stage.answers("init", looking=lambda _process: interrupt.ask(Reason.REQUEST))

    played = stage.runs(interrupt=interrupt)

    assert played.failure == ("cancelled", 130, "cancelled", "the run was cancelled on request")
    assert stage.commands == [INIT]


@pytest.mark.behaviour("F7")
def test_no_credential_leaves_with_a_failure(stage: Stage) -> None:
    stage.answers("init")
    stage.answers(
        "apply", error(f"refused {TOKEN}", f"see https://me:{TOKEN}@host"), stderr=TOKEN, returncode=1
    )

    played = stage.runs()

    assert TOKEN not in json.dumps(played.events)
    assert TOKEN not in repr(played.ended.result)
    report = Path(str(played.ended.result.report))
    assert "refused [redacted]" in report.read_text()
    for file in stage.places.runs.glob("*/*"):
        assert TOKEN not in file.read_text(errors="replace"), file


@pytest.mark.behaviour("T11")
def test_a_fault_of_our_own_is_a_result_too(stage: Stage) -> None:
    stage.answers("init")

    def fail(_question: Question, _pause: Callable[..., None]) -> bool:
        raise ZeroDivisionError("oops")

    stage.answers("plan", summary("plan", add=1))
    played = stage.runs(ask=fail)

    assert played.failure[:3] == ("failed", 70, "internal")
    assert str(played.result["reason"]).startswith("hereya-tf itself failed at test_run.py:")
    assert str(played.result["reason"]).endswith(": ZeroDivisionError: oops")
    assert "HEREYA_TF_DEBUG=1" in played.result["failure"]["hint"]


@pytest.mark.behaviour("T15")
@pytest.mark.parametrize("explicit", [True, False])
def test_files_of_the_other_engine_are_refused_unless_this_one_was_named(
    stage: Stage, explicit: bool
) -> None:
    lock_file = 'provider "registry.opentofu.org/hashicorp/random" {\n}\n'
    (stage.package / ".terraform.lock.hcl").write_text(lock_file)
    stage.answers("init")
    stage.answers("apply", CREATED + NO_OUTPUTS)
    path = str(stage.engine.parent)

    mirror = stage.package.parent / "mirror"
    mirror.mkdir()
    wish = EngineWish(str(stage.engine) if explicit else None, mirror=str(mirror))

    played = stage.runs(engine=wish, environment={"PATH": path})

    if explicit:
        assert played.result["success"]
        return
    assert played.failure == (
        "refused",
        3,
        "engine-mismatch",
        "`.terraform.lock.hcl` was written by OpenTofu, and the engine here is Terraform 1.11.4"
        " (found on PATH)",
    )
    assert stage.commands == []


def test_an_engine_that_is_gone_when_it_is_needed_is_unavailable(
    tmp_path: Path, make_package: MakePackage
) -> None:
    engine = tmp_path / "terraform"
    engine.write_text(f"#!/bin/sh\necho Terraform v1.11.4; rm {engine}\n")
    engine.chmod(0o755)
    told: list[Mapping[str, Any]] = []
    run = Run(
        RunRequest(
            operation=Operation.PROVISION,
            package=make_package({"main.tf": ""}),
            approved=True,
            engine=EngineWish(str(engine)),
            engine_options=EngineOptions(),
        ),
        environment={"PATH": "/usr/bin:/bin"},
        places=Places(tmp_path / "state", tmp_path / "cache"),
        interrupt=Interrupt(),
        sinks=[Sink(lambda record, _line: told.append(record), lambda: None)],
        ask=None,
    )

    assert Played(run.execute(), told).failure == (
        "failed",
        5,
        "engine-unavailable",
        f"`{engine}` cannot be started: No such file or directory",
    )
