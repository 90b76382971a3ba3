"""What happened in a run that broke, in plain words."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from hereya_tf.report.document import Report
from hereya_tf.report.fates import GONE, Fate, ResourceFate
from hereya_tf.report.sentences import lock_text, resources_text, state_text
from hereya_tf.runs.history import RunRecord
from hereya_tf.words import flat, format_seconds

_TOUCHED_NOTHING = ("refused", "busy")
_READS = ("output", "validate", "recover", "drift")
_MOST_NAMED = 20
_KINDS = {"create": "created", "update": "changed", "delete": "destroyed", "replace": "replaced"}


class Chapter(NamedTuple):
    """One run of the story: its record and its report."""

    record: RunRecord
    report: Report


def chapters_worth_telling(records: Sequence[RunRecord], wanted: frozenset[str]) -> tuple[RunRecord, ...]:
    """Of the runs of one state, newest first, those that have broken since the last good one; oldest first.

    `wanted` are ids that are told of in any case. What only reads, or was refused, has broken nothing.
    """
    told: list[RunRecord] = []
    is_over = False
    for record in records:
        if record.id in wanted:
            told.append(record)
            continue
        if is_over or record.operation in _READS or record.status in _TOUCHED_NOTHING:
            continue
        if record.status == "succeeded":
            # A plan that succeeds mends nothing.
            is_over = record.operation not in ("plan", "tf", "init")
        else:
            told.append(record)
    return tuple(reversed(told))


def tell(chapter: Chapter, now: float, place: str, *, is_missing: bool = True) -> Iterator[str]:
    """The sentences of one run.

    `now` is in seconds since 1970, `place` the words that say in a command which state it is. `is_missing` says of
    a state that the run could not save that it is noted as missing to this day.
    """
    record, report = chapter
    yield (
        f"Run `{record.id}`: `{record.operation}` of `{record.package}`, workspace `{record.workspace}`, begun"
        f" {_ago(record.started, now)} on `{record.host}`"
        + (f" by `{record.user}`" if record.user else "")
        + "."
    )
    yield f"{_ending(chapter)}."
    done = report.those(Fate.DONE)
    if done:
        yield f"Done before that: {resources_text(done, _MOST_NAMED)}."
    yield from map(_failed, report.those(Fate.FAILED))
    if is_uncertain(report):
        yield from (in_flight(each, place) for each in report.those(Fate.UNFINISHED))
    elif report.those(Fate.UNFINISHED):
        yield f"Not brought to its end: {resources_text(report.those(Fate.UNFINISHED), _MOST_NAMED)}."
    waiting = report.those(Fate.NOT_STARTED)
    if waiting:
        yield f"Never begun: {resources_text(waiting, _MOST_NAMED)}."
    state = state_text(report)
    if report.errored_state is not None and not is_missing:
        state = "could not be saved then, and is not missing any more"
    if state is not None:
        yield f"Its state: {state}."
    if report.lock is not None:
        yield f"A lock was in its way: {lock_text(report)}."


def is_uncertain(report: Report) -> bool:
    """Whether what was in flight may exist without being in the state: its engine did not save it itself."""
    return report.state_saved is not True


def in_flight(each: ResourceFate, place: str) -> str:
    """What to do about a resource that was being worked on when the engine ended."""
    begun = f"In flight: `{each.address}` was being {_kind(each)}."
    if each.action == "delete":
        return f"{begun} It may be gone and still stand in the state: the next plan finds that out."
    if each.action == "update":
        return f"{begun} The change may be made and not stand in the state: the next plan finds that out."
    if each.action == "replace" and each.note != GONE:
        return (
            f"{begun} The object before it may be gone and still stand in the state: the next plan finds that out."
            " Its replacement may exist without being in the state, and would be made a second time: look for it,"
            " and remove it by hand."
        )
    # The one that is known of a replaced resource is that of the object before.
    known = each.id if each.action == "create" else None
    words = shlex.join((each.address, known or "ID"))
    command = f"hereya-tf tf{place and f' {place}'} -- import {words}"
    return (
        f"{begun} It may exist without being in the state, and would be made a second time. Look for it: if it is"
        f" there, remove it by hand, or import it:\n  {command}"
    )


def _failed(each: ResourceFate) -> str:
    """What is left of a resource whose provider has failed, as its engine notes it."""
    match each.action:
        case "delete":
            left = "It still stands in the state: the next plan finds out whether it is there."
        case "update":
            left = "It stands in the state as it was, or as far as it has come: the next plan finds that out."
        case "replace" if each.note != GONE:
            left = "The object before it still stands in the state; its replacement does, too, or not at all: look."
        case "replace":
            left = (
                "The object before it was destroyed. What was made of its replacement stands in the state as"
                " tainted, or not at all: look."
            )
        case _:
            left = "What was made of it stands in the state as tainted, or not at all: look."
    return f"Failed: `{each.address}` was to be {_kind(each)}. {left}"


def deeds(chapter: Chapter) -> Iterator[str]:
    """What a run did, or tried: it may be missing in a copy that was made before it."""
    done = [*chapter.report.those(Fate.DONE), *chapter.report.those(Fate.UNFINISHED)]
    done += chapter.report.those(Fate.FAILED)
    if done:
        yield f"run `{chapter.record.id}` went on with {resources_text(done, _MOST_NAMED)}"


def _ending(chapter: Chapter) -> str:
    record, report = chapter
    took = f" after {format_seconds(report.seconds)}" if report.seconds else ""
    reason = flat((record.reason or report.reason).strip())
    killed = f"run `{record.id}` was killed"
    match record.status:
        case "succeeded":
            return "It succeeded"
        case "cancelled" | "timed_out":
            return f"It was ended{took}: {reason}"
        case "failed" if record.last_sign is not None:
            how = reason.removeprefix(killed) if reason.startswith(killed) else f": {reason}"
            return f"It was killed{how}; the last sign of life came at {record.last_sign}"
        case None:
            return "It was killed, and nobody has heard of its end"
        case _:
            return f"It failed{took}: {reason}"


def _kind(each: ResourceFate) -> str:
    return _KINDS.get(each.action, each.action)


def _ago(moment: str, now: float) -> str:
    try:
        seconds = now - datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return moment
    return f"at {moment} ({format_seconds(max(0.0, seconds))} ago)"
