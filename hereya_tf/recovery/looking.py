"""Looks at what the history and the disk have of a state that may be broken (I/O)."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hereya_tf.event_parts import Trace
from hereya_tf.reading import read_regular_file
from hereya_tf.recovery.plan import BrokenState, Copy, Lost
from hereya_tf.recovery.proof import Suspect
from hereya_tf.recovery.state_document import StateDocument, read_state
from hereya_tf.recovery.story import Chapter, deeds
from hereya_tf.report.story import Story
from hereya_tf.runs import history
from hereya_tf.runs.directory import EMERGENCY_STATE, STATE_BEFORE
from hereya_tf.runs.history import RunRecord
from hereya_tf.runs.retelling import report_of
from hereya_tf.runs.trace import trace_of
from hereya_tf.states.aftermath import ERRORED_STATE, kept_states
from hereya_tf.states.identity import state_of
from hereya_tf.states.local import Condition, LocalState, Whereabouts, inspect_state, is_in_use
from hereya_tf.states.refusals import has_destroyed
from hereya_tf.states.unsaved import Unsaved, note_path
from hereya_tf.supervision.process_table import ProcessIdentity, is_alive

# Of the runs of one state.
_LOOKED_AT = 200
_DEEDS_TOLD = 10


def records_of(runs: Path, where: Whereabouts, run: str) -> tuple[RunRecord, ...]:
    """The last runs of this state, newest first, without the run that asks, as far back as the newest copy of it.

    Of a state that is broken there may be any number of refused runs, each without one.
    """
    newest = history.newest_runs(runs)
    found = (each for each in newest if each.id != run and state_of(each).is_of(where.identity))
    last = tuple(itertools.islice(found, _LOOKED_AT))
    if any(_holds_copy(runs, record) for record in last):
        return last
    return (*last, *itertools.islice((record for record in found if _holds_copy(runs, record)), 1))


def chapters_of(runs: Path, records: Iterable[RunRecord]) -> tuple[Chapter, ...]:
    """The runs with what their logs tell."""
    return tuple(Chapter(record, report_of(runs, record)) for record in records)


def suspects_of(runs: Path, records: Iterable[RunRecord], foreign: Trace | None) -> Iterator[Suspect]:
    """The runs whose lock may have been left; `foreign` is one that the user says has died with its machine."""
    if foreign is not None:
        yield Suspect(foreign, _is_gone_elsewhere(foreign))
    for record in records:
        story = Story.of(history.log_of(runs / record.id))
        # When a run that was killed was found dead says nothing.
        ended = record.ended if record.last_sign is None else None
        trace = trace_of(story, record, failure=record.failure, ended=ended)
        yield Suspect(trace, record.status is not None or record.state == "died")


def find_broken(
    path: Path, runs: Path, records: Sequence[RunRecord], lost: Iterable[Lost]
) -> BrokenState | None:
    """The local state, when it is empty, broken or gone and no engine is at work on it; and what can replace it."""
    found = inspect_state(path)
    if found.condition is Condition.MISSING:
        # That there never was one is the usual case; a state that only holds nothing is no loss.
        copies = tuple(copy for copy in _copies(path, runs, records) if copy.document.resources)
        return BrokenState(path, "is gone", copies) if copies and not has_destroyed(records) else None
    if not found.is_ruined or is_in_use(path):
        return None
    noted, found_there = (
        tuple(
            Copy(each.path, each.document, _unsaved_text(each))
            for each in lost
            if each.document is not None and bool(each.run) is is_noted
        )
        for is_noted in (True, False)
    )
    copies = (*noted, *_copies(path, runs, records))
    # One that nobody knows may be of another workspace: it does not say of which lineage the state was.
    copies = (*copies, *found_there) if copies else ()
    return BrokenState(path, _flaw(found), copies, () if copies else _deeds(runs, records))


def find_lost(package: Path, notes: Iterable[Unsaved], state_directory: Path) -> tuple[Lost, ...]:
    """The states that could not be saved: what is noted, and what an engine has left in the package.

    Who has taken one away that lay in the package did not want it: so runs see it as well.
    """
    errored = package / ERRORED_STATE
    noted = tuple(
        Lost(file, note.run, read_document(file), note_path(state_directory, note))
        for note in notes
        if (file := Path(note.file)).name != ERRORED_STATE or os.path.lexists(file)
    )
    if not os.path.lexists(errored) or any(each.path == errored for each in noted):
        return noted
    # A run that was killed on its way has put it where the note says, and not yet taken it away here.
    document = read_document(errored)
    return noted if document in [each.document for each in noted] else (*noted, Lost(errored, "", document))


def read_document(path: Path) -> StateDocument | None:
    """The state in a file; None when there is none, or it is not whole."""
    with contextlib.suppress(OSError, ValueError):
        return read_state(read_regular_file(path))
    return None


def _holds_copy(runs: Path, record: RunRecord) -> bool:
    return read_document(runs / record.id / STATE_BEFORE) is not None


def _is_gone_elsewhere(trace: Trace) -> bool:
    """Whether the processes of a run that our history does not have are gone; elsewhere, by the user's word."""
    if trace.host != history.host_name():
        return True
    processes = [trace.process, trace.engine_process] if trace.ended is None else [trace.engine_process]
    return not any(is_alive(ProcessIdentity(*process)) for process in processes if process is not None)


def _unsaved_text(lost: Lost) -> str:
    return f"the state that {f'run `{lost.run}`' if lost.run else 'an engine'} could not save"


def _flaw(found: LocalState) -> str:
    why = "it is empty" if found.condition is Condition.EMPTY else found.flaw or "it cannot be read"
    return f"is no state: {why}"


def _copies(path: Path, runs: Path, records: Sequence[RunRecord]) -> Iterator[Copy]:
    """What can take the state's place, the newest first: of the runs, and the engine's own backup."""
    later: list[RunRecord] = []
    for record in records:
        directory = runs / record.id
        for kept in (*sorted(kept_states(directory), reverse=True), directory / EMERGENCY_STATE):
            yield from _copy(kept, f"a state that run `{record.id}` could not save", runs, later)
        later.append(record)
        what = f"the state as it was before run `{record.id}`"
        yield from _copy(directory / STATE_BEFORE, what, runs, later)
    yield from _copy(path.with_name(f"{path.name}.backup"), "the engine's own backup", runs, ())


def _copy(path: Path, what: str, runs: Path, later: Sequence[RunRecord]) -> Iterator[Copy]:
    document = read_document(path)
    if document is not None:
        yield Copy(path, document, what, _deeds(runs, later))


def _deeds(runs: Path, records: Sequence[RunRecord]) -> tuple[str, ...]:
    """What these runs did, oldest first; of many the last."""
    told = tuple(
        sentence
        for record in reversed(records)
        for sentence in deeds(Chapter(record, report_of(runs, record)))
    )
    earlier = len(told) - _DEEDS_TOLD
    more = f"{earlier} earlier run{'' if earlier == 1 else 's'}, not named here"
    return told if earlier <= 0 else (more, *told[earlier:])
