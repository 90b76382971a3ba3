"""From what happened in a run to its result, and the report of a failure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hereya_tf import events
from hereya_tf.ending import Facts, conclude
from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions, Step
from hereya_tf.errors import BadInput, Cancelled, FailureClass, HereyaError, ShellCommandError, TimedOut
from hereya_tf.events import Operation
from hereya_tf.operations import Execution
from hereya_tf.operations.assignment import Assignment
from hereya_tf.redaction import MASK, Redactor
from hereya_tf.report.story import Story
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.runs.journal import Journal
from hereya_tf.steps import Context, StepOutcome
from hereya_tf.stream.message_types import Diagnostic, Phase, Range, ResourceHook, Snippet
from hereya_tf.stream.outputs import Output
from hereya_tf.stream.summary import Summary
from hereya_tf.supervision.interrupt import Interrupt
from hereya_tf.supervision.process import Exit
from hereya_tf.workspace import Workspace

TOKEN = "ghp_" + "a" * 36
BINARY = Binary(EngineName.OPENTOFU, Version(1, 9), ("tofu",), "/bin/tofu", "--engine")
UNTOUCHED = events.StateInfo(True, None, None)
BEGINNING: tuple[events.Event, ...] = (
    events.RunStarted("provision", "/package", "default", "key", 1, "0.4.0"),
    events.EngineReady("opentofu", "1.9.0", "/bin/tofu", "--engine"),
)
STORY = Story.of(
    events.record_of(event, sequence=sequence, seconds=1_700_000_000.25 + sequence, run="run-1")
    for sequence, event in enumerate(BEGINNING)
)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[RunDirectory]:
    made = RunDirectory(tmp_path / "runs", "run-1", pytest.fail)
    yield made
    made.close()


def facts(tmp_path: Path, error: HereyaError | None = None, **known: Any) -> Facts:
    return Facts(
        **{
            "operation": Operation.PROVISION,
            "package": tmp_path,
            "workspace": "default",
            "binary": BINARY,
            "execution": None,
            "error": error,
            "waited": 0.12345,
            "engine_seconds": 0.5,
            "total": 2.00049,
            "story": STORY,
            "reproduce": "cd /here && hereya-tf provision",
            **known,
        }
    )


def _unasked(_salt: bytes) -> NoReturn:
    raise AssertionError("nothing is planned here")


def execution(directory: RunDirectory, tmp_path: Path) -> Execution:
    context = Context(
        binary=BINARY,
        package=tmp_path,
        environment={},
        interrupt=Interrupt(),
        grace=60,
        journal=Journal("run-1", Redactor(), ()),
        directory=directory,
        lock_descriptors=(),
        engine_messages=False,
        on_start=lambda _step, _attempt, _process: None,
    )
    assignment = Assignment(
        operation=Operation.PROVISION,
        workspace=Workspace("default", "key", None, None, ".terraform"),
        doubtful_workspace=None,
        create_workspace=False,
        options=EngineOptions(),
        init_options=InitOptions(),
        plan_options=PlanOptions(),
        backend_files=(),
        backend_contents=(),
        backend_settings=None,
        variable_files=(),
        variable_contents=(),
        ephemeral_files=(),
        reinit=False,
        cache=tmp_path,
        ask=None,
        wants_difference=False,
        wants_plan_document=False,
        identify=_unasked,
        bundle=None,
        bundle_to_write=None,
    )
    return Execution(context, assignment)


def step(*messages: Any, code: int | None = 1, insisted: bool = False, **said: str) -> StepOutcome:
    summary = Summary()
    for message in messages:
        summary.add(message)
    return StepOutcome(
        step=Step.APPLY,
        command="tofu apply",
        exit=Exit(code, None if code is not None else 9, 1.5, insisted),
        ok=False,
        summary=summary,
        document="",
        stdout=said.get("stdout", ""),
        stderr=said.get("stderr", ""),
        diagnosis=None,
    )


def created(address: str) -> tuple[ResourceHook, ResourceHook]:
    return (ResourceHook(Phase.STARTED, address, "create"), ResourceHook(Phase.COMPLETED, address, "create"))


def test_a_success(directory: RunDirectory, tmp_path: Path) -> None:
    performed = execution(directory, tmp_path)
    performed.acted = step(*created("a.b"), code=0)
    performed.outputs = {"a": Output(False, "string", "x"), "b": Output(True, "string", "hunter22")}
    performed.seconds.update({Step.INIT: 0.25, Step.APPLY: 1.0004, Step.OUTPUT: 0.1})

    ended = conclude(facts(tmp_path, execution=performed), directory, Redactor(), reveal=False)

    assert ended.result == events.Result(
        success=True,
        status="succeeded",
        reason=None,
        exit_code=0,
        operation="provision",
        package=str(tmp_path),
        workspace="default",
        engine=events.EngineInfo("opentofu", "1.9.0"),
        env={"a": "x"},
        outputs={
            "a": {"type": "string", "sensitive": False, "value": "x"},
            "b": {"type": "string", "sensitive": True},
        },
        changes=events.ChangeCounts(add=1),
        drift=None,
        failure=None,
        timings=events.Timings(
            wait=0.123, engine=0.5, init=0.25, plan=None, apply=1.0, output=0.1, total=2.0
        ),
        report=None,
    )
    assert ended.revealed.env == {"a": "x", "b": "hunter22"}
    assert ended.withheld == ("b",)
    assert (ended.report.success, ended.report.reproduce) == (True, "cd /here && hereya-tf provision")
    assert ended.report.result == events.record_of(ended.result, sequence=0, seconds=0.0, run="")
    assert not (directory.path / "report.txt").exists()
    assert conclude(facts(tmp_path, execution=performed), directory, Redactor(), reveal=True).withheld == ()


def test_outputs_that_are_left_out_without_being_sensitive_are_in_the_report(
    directory: RunDirectory, tmp_path: Path
) -> None:
    performed = execution(directory, tmp_path)
    performed.outputs = {"a": Output(False, "string", TOKEN), "b": Output(True, "string", "hunter22")}
    story, told = Story.of(()), []

    def warn(sentence: str) -> None:
        told.append(sentence)
        event = events.DiagnosticEvent("warning", None, sentence, "", None, None, None)
        story.add(events.record_of(event, sequence=1, seconds=0.0, run="run-1"))

    ended = conclude(
        facts(tmp_path, execution=performed, story=story), directory, Redactor(), reveal=False, warn=warn
    )

    assert told == [
        "output `a` is left out: its value holds a credential; `--result-file` has it, `--show-sensitive` shows it"
    ]
    assert [warning["summary"] for warning in ended.report.warnings] == told
    conclude(facts(tmp_path, execution=performed), directory, Redactor(), reveal=True, warn=pytest.fail)


def test_a_destroy_is_what_took_the_time_of_a_destroy(directory: RunDirectory, tmp_path: Path) -> None:
    performed = execution(directory, tmp_path)
    performed.seconds[Step.DESTROY] = 3.0

    ended = conclude(facts(tmp_path, execution=performed), directory, Redactor(), reveal=False)

    assert ended.result.timings.apply == 3.0


def test_a_refusal_before_there_was_an_engine(directory: RunDirectory, tmp_path: Path) -> None:
    error = BadInput("there is no such file", "check the path", "or leave it out")

    ended = conclude(
        facts(tmp_path, error, binary=None, waited=None, engine_seconds=None),
        directory,
        Redactor(),
        reveal=False,
    )

    result = ended.result
    assert (result.success, result.status, result.exit_code, result.reason, result.engine) == (
        False,
        "refused",
        3,
        "there is no such file",
        None,
    )
    assert result.failure == events.FailureInfo(
        "bad-input", "check the path\nor leave it out", (), "", "", UNTOUCHED
    )
    assert result.timings == events.Timings(None, None, None, None, None, None, 2.0)


def test_a_failure_has_a_private_report(directory: RunDirectory, tmp_path: Path) -> None:
    ended = conclude(facts(tmp_path, BadInput("no", "do")), directory, Redactor(), reveal=False)

    assert ended.result.report == str(directory.path / "report.txt")
    report = Path(ended.result.report)
    assert report.stat().st_mode & 0o777 == 0o600
    assert report.read_text() == (
        "provision of /package, workspace default, was refused after 2.0s\n"
        "run run-1, from 2023-11-14T22:13:20.250Z to 2023-11-14T22:13:21.250Z, hereya-tf 0.4.0\n"
        "engine: opentofu 1.9.0 at /bin/tofu (--engine)\n"
        "\n"
        "error: no\n"
        "class: bad-input (exit code 3)\n"
        "state: as it was before: no resource was touched\n"
        "hint: do\n"
        "reproduce: cd /here && hereya-tf provision\n"
    )
    assert ended.report.result == {
        **events.record_of(ended.result, sequence=0, seconds=0.0, run=""),
        "report": str(report),
    }


def test_the_report_is_text_whatever_files_are_called(directory: RunDirectory, tmp_path: Path) -> None:
    ended = conclude(
        facts(tmp_path, BadInput("there is no `\udcff`", "do")), directory, Redactor(), reveal=False
    )

    assert "error: there is no `\\udcff`\n" in Path(str(ended.result.report)).read_bytes().decode("utf-8")


def test_a_report_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the directory should be")
    warnings: list[str] = []
    directory = RunDirectory(tmp_path / "runs", "run-1", warnings.append)

    ended = conclude(facts(tmp_path, BadInput("no", "do")), directory, Redactor(), reveal=False)

    assert (ended.result.report, len(warnings)) == (None, 1)


@pytest.mark.behaviour("F7")
def test_no_part_of_a_failure_holds_a_credential(directory: RunDirectory, tmp_path: Path) -> None:
    redactor = Redactor(("hunter22",))
    place = Range("main.tf", 1, 1, 1, 9)
    snippet = Snippet(None, f'token = "{TOKEN}"', 1, 0, 1, (("var.a", 'is "hunter22"'),))
    performed = execution(directory, tmp_path)
    performed.failed = step(Diagnostic("error", f"no {TOKEN}", "hunter22", "a.b", place, snippet))
    error = ShellCommandError(f"no {TOKEN}", "a hint", command="tofu", exit_code=1)

    ended = conclude(facts(tmp_path, error, execution=performed), directory, redactor, reveal=True)

    assert (TOKEN in repr(ended), "hunter22" in repr(ended)) == (False, False)
    failure = ended.result.failure
    assert failure is not None
    assert failure.diagnostics == (
        events.DiagnosticEvent(
            severity="error",
            class_=FailureClass.PROVIDER_ERROR,
            summary=f"no {MASK}",
            detail=MASK,
            address="a.b",
            range=events.RangeInfo("main.tf", 1, 1, 1, 9),
            snippet=events.SnippetInfo(None, f'token = "{MASK}"', 1, (("var.a", f'is "{MASK}"'),), 0, 1),
        ),
    )
    assert TOKEN not in Path(str(ended.result.report)).read_text()


@pytest.mark.behaviour("F3a")
def test_a_failure_carries_what_the_failed_step_said(directory: RunDirectory, tmp_path: Path) -> None:
    performed = execution(directory, tmp_path)
    performed.acted = performed.failed = step(*created("a.b"), stdout="creating\n", stderr="Error: no\n")
    error = ShellCommandError("no", command="tofu", exit_code=1, failure_class=FailureClass.PROVIDER_ERROR)

    result = conclude(facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False).result

    assert result.failure is not None
    assert (result.failure.stdout, result.failure.stderr, result.changes.add) == (
        "creating\n",
        "Error: no\n",
        1,
    )
    assert "--- stderr ---\nError: no\n" in Path(str(result.report)).read_text()


@pytest.mark.parametrize(
    ("acted", "hint", "saved"),
    [
        pytest.param(None, None, True, id="nothing was begun"),
        pytest.param(
            step(*created("a.b")),
            "run it again: what was in flight and did not get ready is replaced then",
            True,
            id="ended by itself",
        ),
        pytest.param(step(*created("a.b"), insisted=True), None, None, id="interrupted twice"),
        pytest.param(step(*created("a.b"), code=None), None, None, id="killed"),
    ],
)
def test_what_an_interrupt_has_cost(
    directory: RunDirectory, tmp_path: Path, acted: StepOutcome | None, hint: str | None, saved: bool | None
) -> None:
    performed = execution(directory, tmp_path)
    performed.acted = acted
    error = Cancelled("the run was cancelled by SIGTERM", exit_code=143)

    result = conclude(facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False).result

    assert (result.status, result.exit_code) == ("cancelled", 143)
    assert result.failure is not None
    assert (result.failure.class_, result.failure.hint, result.failure.state.saved) == (
        "cancelled",
        hint,
        saved,
    )


def test_a_time_limit_keeps_its_own_hint(directory: RunDirectory, tmp_path: Path) -> None:
    performed = execution(directory, tmp_path)
    performed.acted = step(*created("a.b"))

    result = conclude(
        facts(tmp_path, TimedOut("too long", "raise it"), execution=performed),
        directory,
        Redactor(),
        reveal=False,
    ).result

    assert result.failure is not None
    assert (result.status, result.exit_code, result.failure.hint) == ("timed_out", 124, "raise it")


def test_a_state_that_could_only_be_printed_is_in_a_file_of_the_run(
    directory: RunDirectory, tmp_path: Path
) -> None:
    performed = execution(directory, tmp_path)
    performed.acted = performed.failed = step()
    directory.keep_emergency_state('{"version": 4}')
    error = ShellCommandError("no", command="tofu", exit_code=1, failure_class=FailureClass.STATE_NOT_SAVED)

    result = conclude(facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False).result

    assert result.failure is not None
    state = result.failure.state
    assert (state.saved, Path(str(state.errored_state)).read_text()) == (False, '{"version": 4}')
    assert f"the only complete copy is `{state.errored_state}`" in Path(str(result.report)).read_text()


def test_a_state_that_the_engine_has_left_in_the_package_is_named_where_it_is_now(
    directory: RunDirectory, tmp_path: Path
) -> None:
    performed = execution(directory, tmp_path)
    with performed.keeper.watching():
        performed.acted = performed.failed = step()
        (tmp_path / "errored.tfstate").write_text("{}")
    error = ShellCommandError("no", command="tofu", exit_code=1, failure_class=FailureClass.STATE_NOT_SAVED)

    result = conclude(facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False).result

    assert result.failure is not None
    kept = directory.path / "errored-1.tfstate"
    assert result.failure.state == events.StateInfo(False, str(kept), None)
    assert result.failure.hint is not None
    assert "`hereya-tf recover`" in result.failure.hint
    assert f"`hereya-tf tf -- state push {kept}`" in result.failure.hint


def test_the_error_of_a_failed_delete_has_the_class_of_its_event(
    directory: RunDirectory, tmp_path: Path
) -> None:
    performed = execution(directory, tmp_path)
    performed.failed = step(
        ResourceHook(Phase.FAILED, "a.b", "delete"), Diagnostic("error", "It is not empty")
    )
    error = ShellCommandError("no", command="tofu", exit_code=1, failure_class=FailureClass.PROVIDER_ERROR)

    failure = conclude(
        facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False
    ).result.failure

    assert failure is not None
    assert [each.class_ for each in failure.diagnostics] == [FailureClass.PROVIDER_ERROR]


def test_init_s_umbrella_is_not_among_the_causes(directory: RunDirectory, tmp_path: Path) -> None:
    umbrella = Diagnostic("error", "OpenTofu encountered problems during initialization, including problems")
    performed = execution(directory, tmp_path)
    performed.failed = step(umbrella, Diagnostic("error", "Unclosed configuration block"))
    error = ShellCommandError("no", command="tofu", exit_code=1)

    failure = conclude(
        facts(tmp_path, error, execution=performed), directory, Redactor(), reveal=False
    ).result.failure

    assert failure is not None
    assert [each.summary for each in failure.diagnostics] == ["Unclosed configuration block"]


def test_a_hint_names_this_run_and_the_place_of_its_state(directory: RunDirectory, tmp_path: Path) -> None:
    error = BadInput("no", "see `hereya-tf runs log last`", "take it along: `hereya-tf init --migrate-state`")
    command = "cd / && hereya-tf provision --backend-config path=a.tfstate"

    failure = conclude(
        facts(tmp_path, error, reproduce=command), directory, Redactor(), reveal=False
    ).result.failure

    assert failure is not None
    assert failure.hint == (
        "see `hereya-tf runs log run-1`\n"
        "take it along: `hereya-tf init --backend-config path=a.tfstate --migrate-state`"
    )


def test_without_a_history_a_hint_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the directory should be")
    directory = RunDirectory(tmp_path / "runs", "run-1", lambda _warning: None)
    error = BadInput("no", "see `hereya-tf runs log last`")

    failure = conclude(facts(tmp_path, error), directory, Redactor(), reveal=False).result.failure

    assert failure is not None
    assert failure.hint == "see `hereya-tf runs log last`"
