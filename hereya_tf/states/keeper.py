"""Looks after the state of one run: before the engine acts, before it writes, and afterwards (I/O)."""

import contextlib
from collections.abc import Callable, Iterator
from enum import Enum, auto
from pathlib import Path

from hereya_tf.errors import ErroredState
from hereya_tf.reading import read_regular_file, reason
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.states import preflight
from hereya_tf.states.aftermath import ERRORED_STATE, Owner, Stamp, copy_aside, note, set_aside, stamp_of
from hereya_tf.states.local import Condition, Whereabouts, inspect_state
from hereya_tf.states.unsaved import Unsaved, settle, unsaved_of


class Care(Enum):
    """What a run makes of a state that is missing: READS warns, NONE says nothing, the others refuse."""

    WRITES = auto()
    MIGRATES = auto()
    READS = auto()
    NONE = auto()


class StateKeeper:
    """Refuses what must not be built upon, keeps a copy of the state, and whatever the engine could not save.

    `warn` hears in sentences what is not right and no reason to end the run.
    """

    def __init__(
        self,
        whereabouts: Whereabouts,
        directory: RunDirectory,
        care: Care,
        warn: Callable[[str], None],
    ) -> None:
        self.whereabouts = whereabouts
        # The file that holds the newest state, when that could not be saved.
        self.kept: Path | None = None
        self._directory = directory
        self._runs = directory.path.parent
        self._run = directory.path.name
        self._care = care
        self._warn = warn
        self._errored = whereabouts.package / ERRORED_STATE
        self._errored_before: Stamp | None = stamp_of(self._errored)
        self._older_copy: Path | None = None
        self._emergency: Path | None = None
        self._is_initialised = False
        self._is_checked = False
        self._has_copied = False

    def check(self, *, initialised: bool) -> None:
        """Refuse to go on over a state that is missing or broken. Raises ErroredState, StateCorrupt.

        What only an init can tell is looked at when that is done.
        """
        self._is_initialised = initialised
        if self._care is Care.NONE or self._is_checked:
            return
        if self._care is not Care.READS:
            self._refuse_errored()
        if self.whereabouts.needs_init and not initialised and self._care is not Care.MIGRATES:
            return
        self._is_checked = True
        local = self.local_state
        if self._care is not Care.READS:
            for unsaved in self._missing():
                from hereya_tf.states.refusals import noted

                self.kept = Path(unsaved.file)
                raise noted(unsaved, local, self._runs.parent)
        states = self.whereabouts.states_to_migrate() if self._care is Care.MIGRATES else (local,)
        for state in states:
            if state is not None and (found := preflight.find_ruined(state)):
                from hereya_tf.states.refusals import ruined

                raise ruined(found, self.whereabouts, self._runs, self._run)
        if local is not None and self._care is not Care.MIGRATES and (backup := preflight.find_orphan(local)):
            from hereya_tf.states.refusals import gone

            if told := gone(local, backup, self.whereabouts, self._runs, self._run):
                self._warn(told)

    def warn_of_missing(self) -> None:
        """Say of what was read that a later state of it could not be saved."""
        try:
            missing = [Path(unsaved.file) for unsaved in self._missing()]
        except ErroredState as error:
            self._warn(str(error))
            return
        if stamp_of(self._errored) is not None:
            missing.append(self._errored)
        for file in missing:
            self._warn(
                f"this is not the last state: a later one could not be saved, and is in `{file}`;"
                " `hereya-tf recover` stores it"
            )

    def warn_of_kept(self) -> None:
        """Say of what has succeeded that a state was left behind all the same."""
        if self.kept is not None:
            self._warn(f"a state that could not be saved is in `{self.kept}`; `hereya-tf recover` stores it")

    @property
    def local_state(self) -> Path | None:
        """The file that holds the state; None when that is somewhere else, or not known yet."""
        if self._care is Care.MIGRATES:
            return self.whereabouts.saved_state() or next(self.whereabouts.states_to_migrate(), None)
        return self.whereabouts.local_state(initialised=self._is_initialised)

    def local_text(self) -> str | None:
        """The text of the local state, empty without one; None where only an engine can read it. After init."""
        path = self.whereabouts.local_state(initialised=True)
        if path is None:
            return None
        match inspect_state(path).condition:
            case Condition.MISSING | Condition.EMPTY:
                return ""
            case Condition.WHOLE:
                with contextlib.suppress(OSError):
                    return read_regular_file(path).decode("utf-8", "replace")
        return None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look after the state while a step may write it."""
        self.before_writing()
        try:
            yield
        finally:
            self.after_writing()

    def before_writing(self) -> None:
        """A step may write the state: copy it, once in a run, and see whether there is room.

        Raises ErroredState, for what has come into the package meanwhile.
        """
        if self._care is not Care.NONE:
            self._refuse_errored()
        self._errored_before = stamp_of(self._errored)
        self._emergency = self._directory.emergency_state
        local = self.local_state
        if not self._has_copied:
            self._has_copied = True
            self._copy(local)
            self._warn_of_shortage(local)
        if self._errored_before is not None and self._directory.usable:
            # The engine would write over it without a word, should it fail again.
            with contextlib.suppress(OSError):
                self._older_copy = copy_aside(self._errored, self._directory.path)

    def after_writing(self) -> None:
        """It has: what it could not save is taken to where nothing writes over it. Never raises."""
        try:
            self._take_over()
        except Exception as error:  # noqa: BLE001 - how the step has ended must not be lost over this
            self._warn(f"it cannot be seen whether the state was saved: {type(error).__name__}: {error}")

    def settle_pushed(self, file: str) -> None:
        """An engine has been made to push this file: what it holds is where it belongs."""
        pushed = self.whereabouts.package / file
        found = inspect_state(pushed)
        for unsaved in self.notes():
            is_it = pushed.exists() and Path(unsaved.file).exists() and pushed.samefile(unsaved.file)
            is_later = found.lineage == unsaved.lineage and (found.serial or 0) >= (unsaved.serial or 0)
            if is_it or (found.lineage and is_later):
                self._settle(unsaved)

    def by_hand(self, file: Path) -> str:
        """The command that stores a state which could not be saved."""
        from hereya_tf.states.refusals import by_hand

        return by_hand(file, self.local_state)

    def _refuse_errored(self) -> None:
        if stamp_of(self._errored) is None:
            return
        from hereya_tf.states.refusals import errored_file

        self.kept = self._errored
        of_run = (unsaved.run for unsaved in self.notes() if Path(unsaved.file) == self._errored)
        raise errored_file(self._errored, self.local_state, next(of_run, None))

    def notes(self) -> tuple[Unsaved, ...]:
        """What is noted as not saved of this state. Raises ErroredState where that cannot be read."""
        key, package, workspace = self.whereabouts.identity
        return unsaved_of(self._runs.parent, key, package=package, workspace=workspace)

    def _missing(self) -> tuple[Unsaved, ...]:
        """What is noted as not saved, without what has been stored, or taken away, by hand."""
        local = self.local_state
        missing = []
        for unsaved in self.notes():
            file = Path(unsaved.file)
            is_taken_away = file.name == ERRORED_STATE and not file.exists()
            if is_taken_away or (local is not None and preflight.is_stored(unsaved, local)):
                if self._care is not Care.READS:
                    self._settle(unsaved)
            elif file != self._errored:
                missing.append(unsaved)
        return tuple(missing)

    def _settle(self, unsaved: Unsaved) -> None:
        with contextlib.suppress(OSError):
            settle(self._runs.parent, unsaved)

    def _copy(self, local: Path | None) -> None:
        if local is None:
            return
        try:
            if not self._directory.usable:
                if not local.exists():
                    return
                raise OSError("the run has no directory")
            preflight.copy_state(local, self._directory.path)
        except OSError as error:
            self._warn(f"there is no copy of `{local}` as it was before this run: {reason(error)}")

    def _warn_of_shortage(self, local: Path | None) -> None:
        # That it has no room the directory may have said itself.
        own = () if self._directory.has_failed else (self._directory.path,)
        shortages = preflight.find_shortages((self.whereabouts.package, *own), local)
        if shortages:
            from hereya_tf.states.refusals import short_of_room

            self._warn(short_of_room(min(shortages, key=lambda shortage: shortage.free)))

    def _take_over(self) -> None:
        emergency = self._directory.emergency_state
        has_printed = emergency is not None and emergency != self._emergency
        if has_printed and emergency is not None:
            self.kept = emergency
            self._note(emergency)
        stamp, older = stamp_of(self._errored), self._older_copy
        self._older_copy = None
        if stamp is None or stamp == self._errored_before:
            if older is not None:
                with contextlib.suppress(OSError):
                    older.unlink()
            return
        if older is not None:
            self._note(older)
        if has_printed and not stamp.size:
            # All that the engine could make of it: the state is what it has printed.
            with contextlib.suppress(OSError):
                self._errored.unlink()
            return
        moved = self._move((lambda _file: None) if has_printed else self._note_or_raise)
        self.kept = self.kept if has_printed else moved

    def _move(self, announce: Callable[[Path], None]) -> Path:
        """The errored state in the run's directory, or where it was, if it has to stay there."""
        try:
            if not self._directory.usable:
                raise OSError("the run has no directory")
            return set_aside(self._errored, self._directory.path, announce)
        except OSError as error:
            self._warn(f"`{self._errored}` has to stay where the engine has put it: {reason(error)}")
            with contextlib.suppress(OSError):
                self._note_or_raise(self._errored)
            return self._errored

    def _note_or_raise(self, file: Path) -> None:
        workspace = self.whereabouts.workspace
        owner = Owner(self._run, str(self.whereabouts.package), workspace.name, workspace.key)
        note(self._runs, owner, file)

    def _note(self, file: Path) -> None:
        try:
            self._note_or_raise(file)
        except OSError as error:
            self._warn(
                f"the next run will not know that the state is in `{file}`, for that cannot be noted:"
                f" {reason(error)}"
            )
