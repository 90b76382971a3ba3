"""What a killed run leaves behind becomes its history."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.failure.hints import hints_of
from hereya_tf.private import make_private_directory, open_private, write_private
from hereya_tf.redaction import Redactor
from hereya_tf.runs import history
from hereya_tf.runs.adoption import adopt, adopt_left_over
from hereya_tf.runs.directory import EMERGENCY_STATE, SECRETS
from hereya_tf.runs.history import RunRecord, read_log, read_record
from hereya_tf.runs.journal import Journal, Sink
from hereya_tf.states.unsaved import unsaved_of
from hereya_tf.supervision.process_table import ProcessIdentity, identify
from tests.streams import DIRECTORY

RUN = "20260101T000000Z-aaaaaaaa"
GONE = ProcessIdentity(2**22 + 1, "never")
OURSELVES = identify(os.getpid()) or ProcessIdentity(os.getpid(), "")
ENGINE = "terraform-1.11.4"
STORY = f"run `{RUN}` was killed"

STATE = {"version": 4, "serial": 3, "outputs": {"token": {"value": "s3cret-in-the-state"}}}
DUMP = json.dumps(
    {
        "@level": "info",
        "@message": "Emergency state dump",
        "@module": "terraform.ui",
        "@timestamp": "2026-01-01T00:00:00.000000Z",
        "state": STATE,
        "type": "log",
    }
)


def stream(case: str) -> str:
    return (DIRECTORY / f"{ENGINE}-{case}.ndjson").read_text(encoding="utf-8")


class Killed:
    """A run's directory as a runner that was killed leaves it."""

    def __init__(self, runs: Path, package: Path, run: str = RUN) -> None:
        self.runs = runs
        self.warnings: list[str] = []
        self.record = RunRecord(
            id=run,
            operation="provision",
            package=str(package),
            workspace="default",
            key=f"{package}#default",
            host=history.host_name(),
            process=GONE,
            started="2026-01-01T00:00:00.000Z",
            version="1.0",
            engine="terraform",
            engine_process=GONE,
            step="apply",
            attempt=1,
        )
        self.directory = runs / run
        make_private_directory(self.directory)
        history.write_record(self.directory, self.record)
        self._journal = Journal(run, Redactor(), (Sink(lambda _record, line: self.logs(line), lambda: None),))
        self.tells(
            events.RunStarted("provision", str(package), "default", self.record.key, 7, "1.0"),
            events.EngineReady("terraform", "1.11.4", "/usr/bin/terraform", "found on PATH"),
        )

    def tells(self, *told: events.Event) -> "Killed":
        """Events that the runner had written."""
        for event in told:
            self._journal.emit(event)
        return self

    def logs(self, line: str) -> None:
        """A line in its log, whatever it is."""
        with open_private(self.directory / history.EVENTS) as file:
            file.write(f"{line}\n".encode())

    def secrets(self, *secrets: str) -> "Killed":
        write_private(self.directory / SECRETS, json.dumps(secrets))
        return self

    def says(self, step: str, stdout: str = "", stderr: str = "", attempt: int = 1) -> "Killed":
        """What its engine has written, before and after."""
        for name, text in (("stdout", stdout), ("stderr", stderr)):
            (self.directory / f"{step}.{attempt}.{name}").write_text(text, encoding="utf-8")
        return self

    def adopted(self) -> "Killed":
        """Hand it to the next run, `warnings` is what that one says."""
        adopt(self.runs, self.record.id, self.warnings.append)
        return self

    @property
    def log(self) -> list[dict[str, Any]]:
        return [dict(event) for event in read_log(self.directory)]

    @property
    def result(self) -> dict[str, Any]:
        last = self.log[-1]
        assert last["type"] == "result"
        return last

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def package(tmp_path: Path) -> Path:
    directory = tmp_path / "package"
    directory.mkdir()
    return directory


@pytest.fixture
def killed(tmp_path: Path, package: Path) -> Killed:
    return Killed(tmp_path / "runs", package)


def begins(step: str, attempt: int = 1) -> events.StepStarted:
    return events.StepStarted(step, attempt, ("terraform", step, "-json"))


def ends(step: str) -> events.StepFinished:
    return events.StepFinished(step, True, 0, 1.0, False)


def types(log: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in log]


# In the middle of an apply


def test_an_engine_that_went_on_to_its_end(killed: Killed) -> None:
    killed.tells(ends("init"), begins("apply")).says("apply", stream("apply-outputs")).adopted()

    story = f"{STORY} in step apply, and its engine went on to its end"
    result = killed.result
    assert killed.warnings == [story]
    assert (result["success"], result["status"], result["exit_code"], result["reason"]) == (
        False,
        "failed",
        70,
        story,
    )
    expected = {"add": 2, "change": 0, "destroy": 0, "replace": 0, "import": 0, "forget": 0}
    assert result["changes"] == expected
    assert result["failure"]["class"] == "internal"
    assert result["failure"]["hint"] == f"look at what it did with `hereya-tf runs log {RUN}`"
    assert result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}
    record = read_record(killed.directory)
    assert record is not None
    assert record._replace(ended=None, last_sign=None) == killed.record._replace(
        status="failed", exit_code=70, reason=story, failure="internal", engine_process=None
    )
    assert (record.ended is None, record.last_sign is None) == (False, False)
    assert killed.files == ["events.ndjson", "run.json"]


def test_the_log_goes_on_where_the_runner_stopped(killed: Killed) -> None:
    killed.tells(ends("init"), begins("apply"))
    before = killed.log
    killed.says("apply", stream("apply-slow"), stderr="oh\n").adopted()
    log = killed.log

    assert log[: len(before)] == before
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert {event["run"] for event in log} == {RUN}
    resources = [(e["address"], e["status"]) for e in log if e["type"] == "resource"]
    assert resources == [(resources[0][0], status) for status in ("started", "progress", "completed")]
    assert {"type": "log", "stream": "stderr", "text": "oh"}.items() <= log[-2].items()


def test_what_the_runner_had_passed_on_already_is_not_told_twice(killed: Killed) -> None:
    lines = stream("apply-slow")
    killed.tells(
        begins("apply"),
        events.ChangeEvent("terraform_data.slow", "create", None),
        events.ResourceEvent("terraform_data.slow", "create", "started", None, None),
    )
    killed.says("apply", lines).adopted()

    assert types(killed.log).count("change") == 1
    assert killed.result["changes"]["add"] == 1


def test_an_engine_that_died_as_well(killed: Killed) -> None:
    text = "\n".join(stream("apply-slow").splitlines()[:5])
    killed.tells(begins("apply")).says("apply", text + '\n{"@level":"inf').adopted()

    assert killed.warnings == [
        f"{STORY} in step apply, and its engine ended without finishing; `hereya-tf recover` tells what it has left"
    ]
    # It was creating something: whether that is in the state, nobody knows.
    assert killed.result["failure"]["state"]["saved"] is None
    assert killed.result["changes"]["add"] == 0


def test_an_engine_that_failed(killed: Killed) -> None:
    killed.tells(begins("apply")).says(
        "apply", stream("apply-provisioner-failed"), stderr="words\n"
    ).adopted()

    failure = killed.result["failure"]
    (diagnostic,) = failure["diagnostics"]
    assert (diagnostic["severity"], diagnostic["class"]) == ("error", "provisioner-failed")
    assert failure["stderr"].endswith("\nwords\n")
    assert diagnostic["summary"] in failure["stderr"]
    assert killed.result["changes"]["add"] == 1


def test_the_error_of_a_failed_delete_has_the_class_that_it_had_live(killed: Killed) -> None:
    killed.tells(begins("destroy")).says("destroy", stream("lab-delete-failed")).adopted()

    (told,) = killed.result["failure"]["diagnostics"]
    (event,) = (event for event in killed.log if event["type"] == "diagnostic")
    assert (told["class"], event["class"]) == ("provider-error", "provider-error")


@pytest.mark.parametrize(
    ("step", "case", "add_change_destroy_replace"),
    [
        pytest.param("apply", "apply-replace-create-first", (1, 0, 1, 1), id="replace"),
        pytest.param("apply", "apply-no-changes", (0, 0, 0, 0), id="nothing"),
        pytest.param("destroy", "destroy", (0, 0, 3, 0), id="destroy"),
    ],
)
def test_changes_are_those_that_were_made(
    killed: Killed, step: str, case: str, add_change_destroy_replace: tuple[int, ...]
) -> None:
    killed.tells(begins(step)).says(step, stream(case)).adopted()

    made = killed.result["changes"]
    assert tuple(made[name] for name in ("add", "change", "destroy", "replace")) == add_change_destroy_replace


# The state


def test_an_emergency_state_is_kept_byte_for_byte_for_the_user_alone(killed: Killed) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow") + DUMP + "\n").adopted()

    file = killed.directory / EMERGENCY_STATE
    assert json.loads(file.read_text()) == STATE
    assert file.stat().st_mode & 0o777 == 0o600
    result = killed.result
    assert result["failure"]["state"] == {"saved": False, "errored_state": str(file), "lock": None}
    hints = "\n".join(hints_of(FailureClass.STATE_NOT_SAVED, "terraform"))
    assert result["failure"]["hint"] == hints.replace("state push errored.tfstate", f"state push {file}")
    assert unsaved(killed) == [(RUN, str(file), 3, "")]
    assert killed.warnings == [
        f"{STORY} in step apply, and its engine went on to its end;"
        f" the state could not be saved, and the only complete copy is `{file}`"
    ]
    # It is named in the log, and nothing of it is shown.
    log = (killed.directory / history.EVENTS).read_text()
    assert "Emergency state dump" in log
    assert "s3cret-in-the-state" not in log
    assert killed.files == ["emergency.tfstate", "events.ndjson", "run.json"]


def test_a_real_emergency(killed: Killed) -> None:
    killed.tells(begins("apply")).says("apply", stream("disk-full")).adopted()

    state = json.loads((killed.directory / EMERGENCY_STATE).read_text())
    assert (state["version"], len(state["resources"])) == (4, 1)
    summaries = [diagnostic["summary"] for diagnostic in killed.result["failure"]["diagnostics"]]
    assert "Failed to persist state to backend" in summaries


def unsaved(killed: Killed) -> list[tuple[str, str, int | None, str]]:
    """What the next run of the workspace is told: run, file, serial and lineage."""
    found = unsaved_of(killed.runs.parent, killed.record.key)
    return [(each.run, each.file, each.serial, each.lineage) for each in found]


def test_a_state_that_the_engine_left_in_the_package_goes_to_the_run_and_is_noted(
    killed: Killed, package: Path
) -> None:
    killed.tells(begins("apply")).says("apply", stream("http-save-failed"))
    (package / "errored.tfstate").write_text('{"version": 4, "serial": 7, "lineage": "b"}')
    killed.adopted()

    state, kept = killed.result["failure"]["state"], killed.directory / "errored-1.tfstate"
    assert (state["saved"], state["errored_state"]) == (False, str(kept))
    assert json.loads(kept.read_text())["serial"] == 7
    assert killed.warnings[0].endswith(f"the only complete copy is `{kept}`")
    assert list(package.iterdir()) == []
    assert unsaved(killed) == [(RUN, str(kept), 7, "b")]
    assert killed.record.operation == "provision"


def test_what_a_run_had_on_its_way_when_it_was_killed_arrives(killed: Killed, package: Path) -> None:
    killed.tells(begins("apply"), ends("apply"))
    (package / "errored.tfstate").write_text('{"version": 4, "serial": 7}')
    # It has a second name already, and no note.
    (killed.directory / "errored-1.tfstate").hardlink_to(package / "errored.tfstate")
    killed.adopted()

    kept = killed.directory / "errored-1.tfstate"
    assert killed.result["failure"]["state"]["errored_state"] == str(kept)
    assert killed.files == ["errored-1.tfstate", "events.ndjson", "run.json"]
    assert list(package.iterdir()) == []
    assert unsaved(killed) == [(RUN, str(kept), 7, "")]


def test_what_the_command_of_a_killed_tf_left_is_noted_as_well(killed: Killed, package: Path) -> None:
    killed.tells(begins("tf"))
    (package / "errored.tfstate").write_text('{"version": 4, "serial": 7}')
    killed.adopted()

    kept = killed.directory / "errored-1.tfstate"
    assert unsaved(killed) == [(RUN, str(kept), 7, "")]
    assert killed.warnings == [
        f"{STORY} in step tf; the state could not be saved, and the only complete copy is `{kept}`"
    ]


def test_a_state_that_was_not_saved_is_said_to_be_so_even_without_a_copy(killed: Killed) -> None:
    killed.tells(begins("apply")).says("apply", stream("http-save-failed")).adopted()

    state = killed.result["failure"]["state"]
    assert (state["saved"], state["errored_state"]) == (False, None)


def test_an_older_errored_state_is_not_taken_for_this_ones(killed: Killed, package: Path) -> None:
    (package / "errored.tfstate").write_text("{}")
    os.utime(package / "errored.tfstate", (1767225600.0, 1767225600.0))
    killed.tells(begins("apply")).says("apply", stream("apply-no-changes")).adopted()

    assert killed.result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}


# Other steps


@pytest.mark.parametrize(
    ("step", "case"), [("init", "init"), ("plan", "plan-create"), ("apply", "plan-create")]
)
def test_before_anything_was_changed(killed: Killed, step: str, case: str) -> None:
    killed.tells(begins(step)).says(step, stream(case)).adopted()

    assert killed.warnings[0].startswith(f"{STORY} in step {step}")
    assert set(killed.result["changes"].values()) == {0}
    assert killed.result["failure"]["state"]["saved"] is True


def test_while_outputs_were_read_the_changes_are_those_of_the_apply_before(killed: Killed) -> None:
    killed.tells(
        begins("apply"),
        events.ChangeEvent("a.replaced", "replace", "cannot_update"),
        events.ChangeEvent("a.new", "create", None),
        events.ResourceEvent("a.replaced", "delete", "completed", 1.0, None),
        events.ResourceEvent("a.replaced", "create", "started", None, None),
        events.ResourceEvent("a.replaced", "create", "completed", 1.0, "1"),
        events.ResourceEvent("a.new", "create", "completed", 1.0, "2"),
        events.ResourceEvent("a.old", "update", "completed", 1.0, "3"),
        events.ResourceEvent("a.old", "refresh", "completed", None, "3"),
        events.ResourceEvent("a.bad", "create", "failed", 1.0, None),
        ends("apply"),
        begins("output"),
    )
    killed.says("output", '{"token": {"sensitive": true, "type": "string", "value": "hunter22"}}').adopted()

    assert killed.warnings == [f"{STORY} in step output"]
    expected = {"add": 2, "change": 1, "destroy": 1, "replace": 1, "import": 0, "forget": 0}
    assert killed.result["changes"] == expected
    # A document of values is nobody's to see.
    assert "hunter22" not in (killed.directory / history.EVENTS).read_text()


@pytest.mark.parametrize(
    "told",
    [
        pytest.param((), id="before-any-step"),
        pytest.param((begins("init"), ends("init")), id="between-two-steps"),
        pytest.param((events.StepFinished("init", True, None, 0.0, True),), id="after-a-skipped-one"),
    ],
)
def test_while_no_engine_was_at_work(killed: Killed, told: tuple[events.Event, ...]) -> None:
    killed.tells(*told).adopted()

    assert killed.warnings == [f"{STORY} while no engine of it was at work"]
    assert types(killed.log)[-1] == "result"
    assert killed.files == ["events.ndjson", "run.json"]


def test_the_second_attempt_is_looked_for_under_its_number(killed: Killed) -> None:
    killed.tells(begins("apply"), ends("apply"), begins("apply", 2))
    killed.says("apply", stream("apply-provisioner-failed")).says("apply", stream("apply-slow"), attempt=2)
    killed.adopted()

    assert killed.result["failure"]["diagnostics"] == []
    assert killed.result["changes"]["add"] == 1


# Secrets


@pytest.mark.behaviour("F7")
def test_what_the_dead_run_knew_to_be_secret_stays_so(killed: Killed) -> None:
    secret = "correct-horse-battery"
    hidden = stream("apply-slow").replace("terraform_data.slow: Creating...", f"Creating {secret}")
    message = {"@level": "warn", "@message": f"the password is {secret}", "type": "log"}
    killed.secrets(secret).tells(begins("apply"))
    killed.says(
        "apply",
        f"{hidden}{json.dumps(message)}\nplain {secret}\n",
        stderr=f"panic: {secret}\nAuthorization: Bearer abcdefghijklmnopqrstuvwxyz\n",
    ).adopted()

    left = "".join(path.read_text() for path in killed.directory.iterdir())
    assert secret not in left
    assert "abcdefghijklmnopqrstuvwxyz" not in left
    assert "panic: [redacted]" in left
    assert SECRETS not in killed.files


def test_what_stands_on_several_lines_is_recognised_as_one(killed: Killed) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA\n" * 20 + "-----END RSA PRIVATE KEY-----\n"
    killed.tells(begins("apply")).says("apply", stream("apply-slow"), stderr=f"key:\n{key}after\n").adopted()

    left = "".join(path.read_text() for path in killed.directory.iterdir())
    assert "MIIEowIBAAKCAQEA" not in left
    assert "after" in left


# Whatever is found


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"process": OURSELVES}, id="lives"),
        pytest.param({"status": "succeeded"}, id="has-ended"),
        pytest.param({"host": "elsewhere"}, id="elsewhere"),
    ],
)
def test_a_run_that_lives_or_has_ended_is_left_alone(killed: Killed, changed: dict[str, Any]) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow"))
    history.write_record(killed.directory, killed.record._replace(**changed))
    before = {path.name: path.read_bytes() for path in killed.directory.iterdir()}
    killed.adopted()

    assert killed.warnings == []
    assert {path.name: path.read_bytes() for path in killed.directory.iterdir()} == before


def test_no_run_is_nothing_to_adopt(tmp_path: Path) -> None:
    adopt(tmp_path / "runs", "20260101T000000Z-aaaaaaaa", pytest.fail)

    assert not (tmp_path / "runs").exists()


def test_adopted_once_is_adopted(killed: Killed) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow")).adopted()
    before = {path.name: path.read_bytes() for path in killed.directory.iterdir()}
    killed.adopted()

    assert len(killed.warnings) == 1
    assert {path.name: path.read_bytes() for path in killed.directory.iterdir()} == before


def test_who_is_killed_while_adopting_is_followed_by_another(
    killed: Killed, tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is complete, the record does not say so yet, the raw files are there."""
    straight = Killed(tmp_path / "straight", package)
    for run in (killed, straight):
        run.tells(begins("apply")).says("apply", stream("apply-slow") + DUMP + "\n")

    class KilledNow(BaseException):
        pass

    def die(_directory: Path, _record: RunRecord) -> None:
        raise KilledNow

    with monkeypatch.context() as patched:
        patched.setattr(history, "write_record", die)
        with pytest.raises(KilledNow):
            killed.adopted()
    killed.adopted()
    straight.adopted()

    assert types(killed.log) == types(straight.log)
    assert killed.files == straight.files


def pipe_in_place_of(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


GARBAGE: list[tuple[str, Callable[[Killed], object]]] = [
    ("log-is-bytes", lambda run: (run.directory / history.EVENTS).write_bytes(b"\xff\x00{}\n[")),
    ("log-is-gone", lambda run: (run.directory / history.EVENTS).unlink()),
    ("log-is-cut-off", lambda run: run.logs('{"v":1,"seq":9,"type":"step_st')),
    ("step-without-a-name", lambda run: run.logs('{"ts":"x","type":"step_started"}')),
    (
        "step-of-a-newer-version",
        lambda run: run.logs('{"ts":"x","type":"step_started","step":"dance","attempt":1}'),
    ),
    (
        "attempt-is-no-number",
        lambda run: run.logs('{"ts":"x","type":"step_started","step":"apply","attempt":[]}'),
    ),
    ("secrets-are-none", lambda run: (run.directory / SECRETS).write_text("null")),
    ("secrets-are-numbers", lambda run: (run.directory / SECRETS).write_text('[1, null, {"a": 2}]')),
    ("secrets-are-cut-off", lambda run: (run.directory / SECRETS).write_text('["a')),
    ("raw-is-bytes", lambda run: (run.directory / "apply.1.stdout").write_bytes(b"\xff\xfe\x00\n{{{\n" * 99)),
    ("raw-is-json-of-something", lambda run: run.says("apply", '[1]\n{"type":7}\nnull\n{"type":"log"}\n')),
    ("raw-is-gone", lambda run: (run.directory / "apply.1.stdout").unlink()),
    ("raw-is-a-pipe", lambda run: pipe_in_place_of(run.directory / "apply.1.stdout")),
    ("secrets-are-a-pipe", lambda run: pipe_in_place_of(run.directory / SECRETS)),
    ("a-directory-among-it", lambda run: (run.directory / "directory").mkdir()),
]


@pytest.mark.parametrize("spoil", [spoil for _, spoil in GARBAGE], ids=[name for name, _ in GARBAGE])
def test_garbage_does_not_stop_the_next_run(killed: Killed, spoil: Callable[[Killed], object]) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow"))
    spoil(killed)
    killed.adopted()

    assert len(killed.warnings) == 1
    assert killed.result["status"] == "failed"
    record = read_record(killed.directory)
    assert record is not None
    assert record.status == "failed"
    assert not [name for name in killed.files if name.startswith(("apply", "secrets"))]


def test_a_log_that_cannot_be_written_is_told_and_not_raised(killed: Killed) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow"))
    (killed.directory / f".{history.EVENTS}.{os.getpid()}").mkdir()  # where the new one is written first
    killed.adopted()

    assert killed.warnings == [f"{STORY}, and its log cannot be completed: Is a directory"]
    # All of it is there for the next one.
    assert "apply.1.stdout" in killed.files


def test_a_fault_of_ours_does_not_keep_the_next_run_from_the_package(
    killed: Killed, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed.tells(begins("apply")).says("apply", stream("apply-slow"))
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: float("nan"))
        killed.adopted()

    (warning,) = killed.warnings
    assert warning.startswith(f"{STORY}, and its log cannot be completed: ValueError: ")


# Whose they are


def test_dead_runs_on_the_same_package_or_workspace_are_adopted_and_no_others(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    packages = {name: tmp_path / name for name in ("ours", "shared", "others")}
    same = Killed(runs, packages["ours"], "20260101T000001Z-aa")
    shared = Killed(runs, packages["shared"], "20260101T000002Z-bb")
    other = Killed(runs, packages["others"], "20260101T000003Z-cc")
    holder = Killed(runs, packages["others"], "20260101T000004Z-dd")
    ours = same.record._replace(id="20260101T000005Z-ee", key="k")
    history.write_record(shared.directory, shared.record._replace(key="k"))
    (runs / ours.id).mkdir()
    history.write_record(runs / ours.id, ours)
    warnings: list[str] = []

    adopt_left_over(runs, [holder.record.id, same.record.id], ours, warnings.append)

    statuses = {record.id: record.status for record in history.list_runs(runs)}
    assert statuses == {
        same.record.id: "failed",
        shared.record.id: "failed",
        other.record.id: None,
        holder.record.id: "failed",
        ours.id: None,
    }
    assert len(warnings) == 3


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("step", ["output", "show", "state", "validate", "workspace"])
def test_a_document_is_not_told(killed: Killed, step: str) -> None:
    killed.tells(begins(step)).says(step, '{"planned_values": "no-known-secret"}\n').adopted()

    assert killed.warnings == [f"{STORY} in step {step}"]
    assert "no-known-secret" not in (killed.directory / history.EVENTS).read_text()
    assert killed.files == [history.EVENTS, history.RECORD]
