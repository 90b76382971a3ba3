"""Reads what a run that died with its machine has left: its result file (I/O)."""

import json
from pathlib import Path
from typing import Any

from hereya_tf.errors import BadInput
from hereya_tf.event_parts import ProcessInfo, StepTrace, Trace
from hereya_tf.reading import read_input_file, reason

_HINT = "give the file that the dead run wrote for its `--result-file`"


def read_record_file(path: Path) -> Trace:
    """Who was at work in that run, where and when. Raises BadInput for what does not say so."""
    try:
        text = read_input_file(path)
    except (OSError, ValueError) as error:
        raise BadInput(f"`--record {path}` cannot be read: {reason(error)}", _HINT) from error
    try:
        document = json.loads(text)
        return _trace(document["trace"])
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadInput(
            f"`--record {path}` does not tell who ran where and when, so it proves nothing", _HINT
        ) from error


def _trace(fields: Any) -> Trace:
    engine = fields["engine_process"]
    return Trace(
        run=_text(fields["run"]),
        host=_text(fields["host"]),
        user=_text_or_none(fields["user"]),
        process=_process(fields["process"]),
        engine_process=None if engine is None else _process(engine),
        began=_text(fields["began"]),
        last=_text(fields["last"]),
        ended=_text_or_none(fields["ended"]),
        steps=tuple(_step(step) for step in fields["steps"]),
    )


def _step(fields: Any) -> StepTrace:
    released = fields["released"]
    if released is not None and not isinstance(released, bool):
        raise TypeError
    return StepTrace(
        command=_text(fields["command"]),
        began=_text(fields["began"]),
        held=_text_or_none(fields["held"]),
        ended=_text_or_none(fields["ended"]),
        released=released,
    )


def _process(fields: Any) -> ProcessInfo:
    pid = fields["pid"]
    if type(pid) is not int:
        raise TypeError
    return ProcessInfo(pid, _text(fields["started"]))


def _text(value: Any) -> str:
    # No run has written what could be taken for more than a name or a moment.
    if not isinstance(value, str) or not value.isprintable():
        raise TypeError
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)
