"""The lock on a state in a backend: who holds it, whose it is proven to be, and letting go of it (I/O)."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from hereya_tf.engine import commands
from hereya_tf.engine.commands import Step
from hereya_tf.errors import FailureClass, ShellCommandError, StateLocked
from hereya_tf.failure.diagnosis import lock_holder
from hereya_tf.failure.human_errors import read_human_errors
from hereya_tf.failure.lock_info import moment_of
from hereya_tf.operations.execution import Execution
from hereya_tf.recovery.plan import HeldLock
from hereya_tf.recovery.proof import Suspect, judge
from hereya_tf.runs.history import host_name, user_name


class _Sight(NamedTuple):
    """What a look has shown of a lock that is held; `is_own` says that it is the look's own."""

    info: Mapping[str, str]
    is_own: bool


class StateLock:
    """The lock on the state of an execution, whose package is initialised; `suspects` may have left it."""

    def __init__(self, execution: Execution, suspects: Callable[[], Iterable[Suspect]]) -> None:
        self._execution = execution
        self._suspects = suspects

    def find(self) -> HeldLock | None:
        """The lock that somebody holds on the state, and whose it is; None when it is free."""
        info = self._holder()
        return None if info is None else HeldLock(info, judge(info, self._suspects()))

    def release(self) -> None:
        """Only a lock that is proven to be a dead run's, which is proven once more. Raises StateLocked."""
        lock = self.find()
        if lock is None:
            return
        if lock.verdict.run is None:
            raise StateLocked(
                f"the state is locked by somebody else meanwhile: {lock.verdict.doubt}",
                "see what can be done now: `hereya-tf recover`",
            )
        identifier = lock.info["ID"]
        self._force(identifier)
        after = self._holder()
        if after is not None and after.get("ID") in (identifier, None):
            raise StateLocked(
                f"the lock `{identifier}` was released, and is still there", "look at the backend itself"
            )

    def _holder(self) -> Mapping[str, str] | None:
        """What is known of who holds the lock, perhaps nothing; None when it is free.

        A look that is shown its own lock has met one of two things, and a second look tells them apart. Some
        backends know no holder, and the engine shows what it would have written itself: the second look shows
        another one. Or the answer that the lock was taken got lost, and the engine asked once more: the second
        look shows the first one's, which nobody holds any more.
        """
        first = self._look()
        if first is None or not first.is_own:
            return None if first is None else first.info
        second = self._look()
        if second is not None and _is_left(first, second, f"{user_name()}@{host_name()}"):
            self._force(first.info["ID"])
            second = self._look()
        if second is None or not second.is_own:
            return None if second is None else second.info
        return {}

    def _look(self) -> _Sight | None:
        """What the engine says when it takes the lock; None when it got it, and has let go of it again."""
        execution, began = self._execution, time.time()
        arguments = commands.lock_probe_arguments(variable_files=execution.backend_variable_files)
        try:
            execution.run(Step.LOCK, arguments, streams=False)
        except ShellCommandError as error:
            if error.failure_class is not FailureClass.STATE_LOCKED:
                raise
            execution.failed = None
            info = lock_holder(read_human_errors(error.stderr))
            shown = self._ask_server(info) if set(info) == {"ID"} else info
            return _Sight(shown, _is_within(shown, began, time.time()))
        return None

    def _ask_server(self, info: Mapping[str, str]) -> Mapping[str, str]:
        from hereya_tf.recovery.http_lock import ask_holder, read_http_lock

        context = self._execution.context
        lock = read_http_lock(context.package, context.environment)
        if lock is None:
            return info
        found = ask_holder(lock, context.directory.path.name, context.environment)
        return found if found.get("ID") == info["ID"] else info

    def _force(self, identifier: str) -> None:
        execution = self._execution
        arguments = commands.force_unlock_arguments(
            identifier, variable_files=execution.backend_variable_files
        )
        execution.run(Step.FORCE_UNLOCK, arguments, streams=False)


def _is_within(info: Mapping[str, str], began: float, ended: float) -> bool:
    """Whether this is what a look has written, or would have, from then to then, in seconds since 1970."""
    created = moment_of(info.get("Created", ""))
    is_look = info.get("Operation") == commands.LOCK_PROBE
    return is_look and created is not None and began <= created.timestamp() <= ended


def _is_left(first: _Sight, second: _Sight, who: str) -> bool:
    """Whether the second look has met the lock of the first, which `who` we are has taken, and which has ended."""
    identifier = first.info.get("ID")
    return identifier is not None and identifier == second.info.get("ID") and first.info.get("Who") == who
