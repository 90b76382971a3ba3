"""What is said of a state that is missing or broken: the errors, and how it can be put right by hand (I/O)."""

import itertools
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from hereya_tf.errors import ErroredState, StateCorrupt
from hereya_tf.events import Operation, timestamp
from hereya_tf.runs import history
from hereya_tf.runs.directory import STATE_BEFORE
from hereya_tf.states.aftermath import ERRORED_STATE
from hereya_tf.states.identity import state_of
from hereya_tf.states.local import Condition, LocalState, Whereabouts, inspect_state
from hereya_tf.states.preflight import Shortage
from hereya_tf.states.unsaved import Unsaved, note_path

_RECOVER = "`hereya-tf recover`"
_LOOKED_AT = 1000
_WRITING = frozenset(("provision", "destroy", "apply", "tf", "recover"))
_ENDS = {
    "died": "was killed",
    "orphaned": "was killed",
    "cancelled": "was cancelled",
    "timed_out": "ran out of time",
    "running": "is at work",
}


def errored_file(path: Path, local: Path | None, by: str | None) -> ErroredState:
    """The refusal for an `errored.tfstate` that lies in the package; `by` is the run that it is of, if known."""
    since = timestamp(path.stat().st_mtime)
    saver = "could not be saved" if by is None else f"run `{by}` could not save"
    return ErroredState(
        f"`{path}` holds, since {since}, a state that {saver}; this run would go on without it, and might write"
        " over it",
        f"see what it is, and store it where it belongs: {_RECOVER}",
        f"or by hand: `{by_hand(path, local)}`, then remove `{ERRORED_STATE}`",
    )


def noted(unsaved: Unsaved, local: Path | None, state_directory: Path) -> ErroredState:
    """The refusal for a state that an earlier run could not save."""
    file = Path(unsaved.file)
    note = shlex.quote(str(note_path(state_directory, unsaved)))
    sentence = (
        f"run `{unsaved.run}` could not save its state, which is in `{unsaved.file}` since {unsaved.since}"
    )
    if not file.exists():
        return ErroredState(
            f"{sentence.replace('which is in', 'which was put into')}, and is not there any more",
            f"look for that file, or see what can be done without it: {_RECOVER}",
            f"when no state of this workspace is missing, remove the note: `rm {note}`",
        )
    return ErroredState(
        f"{sentence}; this run would go on without it",
        f"store it where it belongs: {_RECOVER}",
        f"or by hand: `{by_hand(file, local)}`",
        f"when it is stored already, or nobody wants it, remove the note: `rm {note}`",
    )


def ruined(found: LocalState, whereabouts: Whereabouts, runs: Path, run: str) -> StateCorrupt:
    """The refusal for a local state that is empty or broken."""
    what = "is empty" if found.condition is Condition.EMPTY else f"is broken ({found.flaw})"
    since = f" since {timestamp(found.modified)}" if found.modified else ""
    earlier = tuple(_earlier(runs, whereabouts, run))
    last = next((each for each in earlier if each.operation != Operation.RECOVER), None)
    told = "" if last is None else f"; the last run here was `{last.id}`, which {_end(last)}"
    hints = [f"see what has happened, and put the last good state in its place: {_RECOVER}"]
    before = _state_before(runs, earlier)
    if before is not None:
        restored = shlex.join(("cp", str(before), str(found.path)))
        hints.append(f"or by hand, with the state as it was before run `{before.parent.name}`: `{restored}`")
    else:
        backup = found.path.with_name(f"{found.path.name}.backup")
        known = f"`{backup}`" if backup.exists() else "a backup"
        hints.append(f"or by hand: keep the broken file, and put the last good state there, such as {known}")
    if found.condition is Condition.EMPTY:
        hints.append("if there has never been anything in it, remove the empty file")
    return StateCorrupt(f"the state in `{found.path}` {what}{since}{told}", *hints)


def gone(path: Path, backup: Path, whereabouts: Whereabouts, runs: Path, run: str) -> str | None:
    """The warning for a local state of which only a backup is left; None when all was destroyed before."""
    if has_destroyed(_earlier(runs, whereabouts, run)):
        return None
    return (
        f"there is no `{path}`, and `{backup}` says that there was one: what is in it would be made a second time;"
        f" {_RECOVER} puts the last copy back"
    )


def has_destroyed(records: Iterable[history.RunRecord]) -> bool:
    """Whether the last of these runs, newest first, that may have written their state has left nothing in it."""
    last = next((each for each in records if _may_have_written(each)), None)
    return last is not None and (last.operation, last.status) == (Operation.DESTROY, "succeeded")


def by_hand(file: Path, local: Path | None) -> str:
    """The command that stores a state: no engine pushes one over a local state that it cannot read."""
    if local is not None and inspect_state(local).condition is Condition.BROKEN:
        return shlex.join(("cp", str(file), str(local)))
    return f"hereya-tf tf -- state push {shlex.quote(str(file))}"


def short_of_room(shortage: Shortage) -> str:
    """The warning for a disk with little room."""
    return (
        f"the disk of `{shortage.place}` has {shortage.free >> 20} MiB left, which may be too little for this run"
        f" and its state: better would be {shortage.needed >> 20} MiB"
    )


def _end(record: history.RunRecord) -> str:
    return _ENDS.get(record.state, record.state)


def _earlier(runs: Path, whereabouts: Whereabouts, run: str) -> Iterator[history.RunRecord]:
    """The last runs of this workspace that may have written its state, newest first, without this one."""
    for record in itertools.islice(history.newest_runs(runs), _LOOKED_AT):
        is_here = state_of(record).is_of(whereabouts.identity)
        if is_here and _may_have_written(record) and record.id != run:
            yield record


def _may_have_written(record: history.RunRecord) -> bool:
    """Those that were not let in have done nothing."""
    return record.operation in _WRITING and record.status not in ("refused", "busy")


def _state_before(runs: Path, earlier: Iterable[history.RunRecord]) -> Path | None:
    """The newest whole copy that a run has made of this state before it wrote it."""
    copies = (runs / record.id / STATE_BEFORE for record in earlier)
    return next((copy for copy in copies if inspect_state(copy).is_whole), None)
