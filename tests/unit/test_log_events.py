"""What is read back from a log: events that are whole, of this version, of older and of newer ones."""

import json
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events, exact
from hereya_tf.errors import FailureClass
from hereya_tf.report.formats import Format, render
from hereya_tf.report.story import Story
from hereya_tf.report.timeline import make_timeline
from hereya_tf.runs import history
from hereya_tf.runs.log_events import event_of
from hereya_tf.runs.retelling import report_of
from hereya_tf.supervision.process_table import ProcessIdentity
from hereya_tf.ui.plain import Detail, PlainLines
from tests.event_samples import SAMPLES
from tests.run_log import RUN, Log, error, warning


def read(event: events.Event) -> Any:
    """An event as it stands in a log."""
    record = events.record_of(event, sequence=1, seconds=1_700_000_000.25, run=RUN)
    return exact.loads(events.encode(record))


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_what_was_written(event: events.Event) -> None:
    record = events.record_of(event, sequence=1, seconds=1_700_000_000.25, run=RUN)

    assert event_of(read(event)) == json.loads(json.dumps(record))


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_a_field_that_is_missing_or_of_another_type_makes_it_none(event: events.Event) -> None:
    record = read(event)
    for name in record:
        if name in ("v", "seq"):  # nobody asks for them
            continue
        if name not in type(event)._field_defaults:
            assert event_of({key: value for key, value in record.items() if key != name}) is None, name
        if name != "message":  # an engine's own may be anything
            assert event_of({**record, name: [object]}) is None, name


def test_what_is_inside_is_looked_at_too() -> None:
    failed = read(next(event for event in SAMPLES if isinstance(event, events.Result) and event.failure))
    failed["failure"]["state"]["lock"] = {"ID": 7}
    diagnosed = read(error())
    diagnosed["snippet"]["values"] = [["only a name"]]

    assert event_of(failed) is None
    assert event_of(diagnosed) is None


def test_what_an_older_version_did_not_tell_has_its_default() -> None:
    diagnosed = read(error())
    del diagnosed["snippet"]["highlight_start"], diagnosed["snippet"]["highlight_end"]

    found = event_of(diagnosed)

    assert found is not None
    assert (found["snippet"]["highlight_start"], found["snippet"]["highlight_end"]) == (0, 0)
    assert "highlight_start" not in diagnosed["snippet"]


def test_what_a_newer_version_tells_besides_stays() -> None:
    newer = {**read(events.LockAcquired(0.5)), "mood": "good"}
    unknown = {"v": 1, "ts": "2030-01-01T00:00:00.000Z", "run": RUN, "type": "weather", "sky": 7}

    assert event_of(newer) == newer
    assert event_of(unknown) == unknown
    for moment in (7, "", "yesterday", "2030-01-01T00:00:00"):
        assert event_of({**unknown, "ts": moment}) is None


@pytest.mark.parametrize(
    "record", [None, 7, "text", [], {}, {"type": "log"}, {"type": [], "ts": "", "run": ""}]
)
def test_anything_else_is_none(record: object) -> None:
    assert event_of(record) is None


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        (Decimal("1.50"), 1.5),
        (3, 3.0),
        (-1, -1.0),
        (Decimal("1e400"), None),
        (10**30, None),
        (True, None),
        ("1", None),
        (float("nan"), None),
        (float("inf"), None),
        ([], None),
    ],
)
def test_seconds_are_numbers_that_can_be_told(seconds: Any, found: float | None) -> None:
    record = event_of({**read(events.LockAcquired(0.5)), "waited_seconds": seconds})

    assert (record and record["waited_seconds"]) == found
    assert found is None or type(record and record["waited_seconds"]) is float


def test_a_value_of_an_output_keeps_its_digits() -> None:
    result = read(SAMPLES[-2])
    result["outputs"]["a"]["value"] = Decimal("0." + "3" * 155)

    found = event_of(result)

    assert found is not None
    assert found["outputs"]["a"]["value"] == Decimal("0." + "3" * 155)


def test_a_large_log_is_read_in_no_time() -> None:
    record = read(events.ResourceEvent("a.b", "create", "completed", 1.0, "i-1"))
    began = time.process_time()
    for _ in range(20_000):
        event_of(record)

    assert time.process_time() - began < 2.0


def whole_log() -> list[Mapping[str, Any]]:
    log = Log().add(events.LockWaiting("package", 1, None)).engine().begin("init").end("init").begin("apply")
    log.plan(("a.b", "create"), ("a.c", "replace")).add(events.ChangeEvent("a.d", "update", "drift"))
    log.act("a.b", "create", "started", "progress", "completed").act("a.c", "delete", "started")
    log.say(warning(), error(address="a.c")).add(events.Retry("apply", "provider-error", 2, 1.0))
    log.add(events.Cancelling("signal", "SIGINT", 60.0)).add(events.Heartbeat("apply", 10.0, ("a.c",)))
    log.act("a.c", "delete", "failed").end("apply", exit_code=1)
    problem = error(address="a.c")
    holder = {"Created": "2026-11-30 01:57:28 +0000 UTC", "Who": "me"}
    failure = {
        "hint": "a\nb",
        "diagnostics": (problem,),
        "stderr": "Error: no\n",
        "state": events.StateInfo(None, "errored.tfstate", holder),
    }
    log.fail(FailureClass.PROVIDER_ERROR, "no", **failure)
    return [json.loads(events.encode(record)) for record in log.records]


RECORDS = whole_log()
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


def mutilations(value: Any) -> st.SearchStrategy[Callable[[Any], Any]]:
    """What may happen to a JSON value: some leaf or branch of it is lost, or is something else."""

    def at(path: tuple[Any, ...], change: str, junk: Any) -> Callable[[Any], Any]:
        def mutilate(whole: Any) -> Any:
            if not path:
                return junk
            head, *rest = path
            copy = dict(whole) if isinstance(whole, dict) else list(whole)
            if not rest and change == "lose":
                del copy[head]
            else:
                copy[head] = at(tuple(rest), change, junk)(copy[head])
            return copy

        return mutilate

    return st.builds(at, st.sampled_from(list(_paths(value))), st.sampled_from(["lose", "replace"]), JUNK)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _paths(inner, (*path, key))
    return found


@st.composite
def damaged_logs(draw: st.DrawFn) -> bytes:
    """A whole log whose records are mutilated, lost, doubled or out of order, whose bytes are cut or changed."""
    records = [dict(record) for record in RECORDS]
    for at in draw(st.lists(st.integers(0, len(records) - 1), max_size=6)):
        mutilate = draw(mutilations(records[at]))
        try:
            changed = mutilate(records[at])
        except (LookupError, TypeError):  # mutilated before
            continue
        records[at] = (
            changed if isinstance(changed, dict) else {"type": "log", "ts": "", "run": "", "text": changed}
        )
    if draw(st.booleans()):
        records = draw(st.permutations(records))
    records = [record for record in records if draw(st.integers(0, 9))]
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    for at in draw(st.lists(st.integers(0, max(0, len(data) - 1)), max_size=3)):
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + 1 :]
    return data[: draw(st.integers(0, len(data)) | st.just(len(data)))]


def record_of_run(**known: Any) -> history.RunRecord:
    record = history.RunRecord(
        id=RUN,
        operation="provision",
        package="/srv/packages/shop",
        workspace="default",
        key="key",
        host=history.host_name(),
        process=ProcessIdentity(1, "never"),
        started="2026-11-30T02:00:00.000Z",
        version="0.4.0",
    )
    return record._replace(**known)


ENDED: Mapping[str, Any] = {
    "status": "failed",
    "exit_code": 1,
    "reason": "no",
    "seconds": 3.5,
    "failure": "idle",
}


@given(damaged_logs(), st.booleans())
def test_whatever_has_become_of_a_log_it_can_be_told(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, has_ended: bool
) -> None:
    runs = tmp_path_factory.mktemp("runs")
    (runs / RUN).mkdir()
    (runs / RUN / history.EVENTS).write_bytes(data)

    told = history.read_log(runs / RUN)
    report = report_of(runs, record_of_run(**(ENDED if has_ended else {})))

    for form in Format:
        assert render(report, form).strip(), form
    lines = PlainLines(Detail.VERBOSE)
    assert all(isinstance(line, str) for event in told for line in lines.lines(event))
    make_timeline(Story.of(told, keep_reads=True))
    assert report.run == RUN
    if has_ended:
        assert not report.is_interim


def test_a_damaged_line_costs_that_line(tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    lines[3] = lines[3][:-7]
    (tmp_path / history.EVENTS).write_text("\n".join(lines)[:-9])

    told = history.read_log(tmp_path)

    assert [event["seq"] for event in told] == [
        record["seq"] for record in RECORDS if record["seq"] not in (4, len(RECORDS))
    ]
