"""The report of a run that is on disk, from as much as there is of its log and its record (I/O)."""

from pathlib import Path

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report, make_report
from hereya_tf.report.story import Story
from hereya_tf.runs.history import RunRecord, find_run, log_of, read_record
from hereya_tf.words import Record

_KILLED = "the run was killed; this is how far it had come"


def find(runs: Path, wanted: str) -> RunRecord:
    """The run; one that was killed is completed from what its engine left, if that has ended. Raises BadInput."""
    record = find_run(runs, wanted)
    if record.state == "died":
        from hereya_tf.runs.adoption import adopt

        adopt(runs, record.id, lambda _sentence: None)
        record = read_record(runs / record.id) or record
    return record


def report_of(runs: Path, record: RunRecord) -> Report:
    """What there is to report of a run, whether it has ended or not."""
    story = Story()
    for place, event in enumerate(log_of(runs / record.id)):
        if place == 0 and event["type"] != "run_started":
            story.add(_beginning(record))
        story.add(event)
    if not story.began:
        story.add(_beginning(record))
    story.run = record.id
    result = story.result
    if result is None and record.status is not None:
        result = _result(record, story)
    report = make_report(story, result, reproduce=record.reproduce)
    if result is None and not record.is_alive:
        report = report._replace(status=record.state, reason=_KILLED)
    return report


def _beginning(record: RunRecord) -> Record:
    event = events.RunStarted(
        record.operation, record.package, record.workspace, record.key, record.process.pid, record.version
    )
    return {**events.record_of(event, sequence=0, seconds=0.0, run=record.id), "ts": record.started}


def _result(record: RunRecord, story: Story) -> Record:
    """What is left of a result that is not in the log: the disk was full, or has lost it."""
    engine = story.engine and events.EngineInfo(story.engine.name, story.engine.version)
    success = record.status == "succeeded"
    failure = events.FailureInfo(
        record.failure or FailureClass.INTERNAL,
        f"the log of the run is not complete; `hereya-tf runs log {record.id}` shows what there is of it",
        (),
        "",
        "",
        events.StateInfo(None, None, None),
    )
    result = events.Result(
        success=success,
        status=record.status or "",
        reason=record.reason,
        exit_code=record.exit_code or 0,
        operation=record.operation,
        package=record.package,
        workspace=record.workspace,
        engine=engine,
        env={},
        outputs={},
        changes=events.ChangeCounts(),
        drift=None,
        failure=None if success else failure,
        timings=events.Timings(None, None, None, None, None, None, record.seconds or 0.0),
        report=None,
    )
    return events.record_of(result, sequence=0, seconds=0.0, run=record.id)
