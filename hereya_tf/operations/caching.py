"""The cache of providers around an init: what it finds there, and what becomes of what it fetches."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf import events
from hereya_tf.engine.commands import Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.errors import EngineUnavailable, FailureClass, ShellCommandError
from hereya_tf.operations.execution import Execution
from hereya_tf.plugins.cache import PluginCache, Staging, unlink
from hereya_tf.plugins.selections import Selection, read_selections
from hereya_tf.plugins.settings import VARIABLE, CacheWish, find_cache
from hereya_tf.plugins.turn import Turn, read_holder, take_turn
from hereya_tf.private import make_private_directory
from hereya_tf.reading import read_regular_file, reason
from hereya_tf.releases.platforms import this_platform
from hereya_tf.runs import history
from hereya_tf.steps import Context, StepOutcome
from hereya_tf.supervision.interrupt import Reason
from hereya_tf.supervision.process import HEARTBEAT_SECONDS


def run_init(
    execution: Execution, arguments: tuple[str, ...], context: Context | None = None, *, apart: bool = False
) -> StepOutcome:
    """Init as a step with the cache, and without it when the cache's disk is full."""
    context = context or execution.context
    care = _Care(execution, context)
    try:
        with care.around() as inside:
            return execution.run(Step.INIT, arguments, context=inside, apart=apart)
    except ShellCommandError as error:
        if error.failure_class is not FailureClass.DISK_FULL or not care.was_staged_on_another_disk:
            raise
    care.warn_without("its disk is full")
    return execution.run(Step.INIT, arguments, context=_without_cache(context), apart=apart)


@contextlib.contextmanager
def plugin_cache(execution: Execution, context: Context) -> Iterator[Context]:
    """The context for an init that is not a step."""
    with _Care(execution, context).around() as inside:
        yield inside


class _Fetching(NamedTuple):
    """Where an init puts what it fetches; without a `turn` the cache is not for changing."""

    cache: PluginCache
    staging: Staging
    turn: Turn | None


class _Care:
    """One init, and the cache as it finds it."""

    def __init__(self, execution: Execution, context: Context) -> None:
        self._assignment = execution.assignment
        self._context = context
        data = context.environment.get("TF_DATA_DIR") or execution.assignment.workspace.data_directory
        self._providers = context.package / data / "providers"
        self._ours = execution.assignment.cache / "plugins"
        self._directory = Path()
        self.was_staged_on_another_disk = False

    @contextlib.contextmanager
    def around(self) -> Iterator[Context]:
        """The context for the init; what it has fetched is in the cache afterwards, however it ended."""
        wish, platform = self._wish(), _platform()
        if wish is None or platform is None:
            if not self._assignment.plugin_cache:
                unlink(self._providers, self._ours)
            yield self._context
            return
        cache = PluginCache(wish.directory, platform, self._warn)
        self._directory = cache.root
        if cache.is_at(self._providers):
            # An engine would end in a panic.
            self.warn_without("the package keeps its own providers there")
            yield _without_cache(self._context)
            return
        fetching = self._begin(wish, cache)
        if fetching is None:
            yield _without_cache(self._context)
            return
        try:
            yield self._inside(fetching)
        finally:
            self._end(fetching)

    def warn_without(self, why: str) -> None:
        """Tell that this init goes without the cache."""
        self._warn(f"the provider cache `{self._directory}` was not used: {why}")

    def _wish(self) -> CacheWish | None:
        if not self._assignment.plugin_cache:
            return None
        return find_cache(
            self._context.environment,
            self._context.binary.engine,
            self._context.package,
            self._ours,
        )

    def _begin(self, wish: CacheWish, cache: PluginCache) -> _Fetching | None:
        """What the lock file vouches for is linked, and what it lacks is ours to fetch."""
        has_all, turn = False, None
        try:
            _make_directory(wish)
            has_all = cache.link(self._selections(), self._providers)
            if not has_all:
                turn = self._take_turn(cache, self._assignment.wait)
                # Whoever had it may have fetched just that.
                has_all = cache.link(self._selections(), self._providers)
                if has_all and turn is not None:
                    turn.release()
                    turn = None
                elif turn is None and not has_all:
                    self.warn_without(f"{read_holder(cache.lock_file)} is still filling it")
            staging = cache.stage(self._context.journal.run)
        except OSError as error:
            if turn is not None:
                turn.release()
            # Somebody else's may be for reading alone, and hold everything that is needed.
            if not has_all:
                self.warn_without(reason(error))
            return None
        if wish.may_break_lock_file:
            cache.offer(staging, self._selections())
        self.was_staged_on_another_disk = _device(staging.path) != _device(self._context.package)
        return _Fetching(cache, staging, turn)

    def _inside(self, fetching: _Fetching) -> Context:
        descriptors = (fetching.staging.descriptor, *((fetching.turn.descriptor,) if fetching.turn else ()))
        return self._context._replace(
            environment={**self._context.environment, VARIABLE: str(fetching.staging.path)},
            # A runner that is killed leaves an engine that goes on, and is not to be disturbed.
            lock_descriptors=(*self._context.lock_descriptors, *descriptors),
        )

    def _end(self, fetching: _Fetching) -> None:
        cache, staging, turn = fetching
        try:
            if not cache.has_fetched(staging, self._providers):
                return
            if turn is None:
                # The lock file did not say that there was anything to fetch.
                with contextlib.suppress(OSError):
                    turn = self._take_turn(cache, 0.0)
            if turn is None:
                cache.keep_apart(staging, self._providers)
            else:
                cache.publish(staging, self._providers)
        finally:
            staging.close()
            if turn is not None:
                turn.release()

    def _take_turn(self, cache: PluginCache, patience: float | None) -> Turn | None:
        context = self._context
        cache.lock_file.parent.mkdir(exist_ok=True)
        return take_turn(
            cache.lock_file,
            f"run `{context.journal.run}` (process {os.getpid()} on `{history.host_name()}`)",
            patience=patience,
            pause=_pauses(context),
            tell=lambda holder: self._warn(
                f"{holder} fetches providers into the cache `{cache.root}`: waiting for it"
            ),
        )

    def _selections(self) -> tuple[Selection, ...]:
        try:
            return read_selections(read_regular_file(self._context.package / LOCK_FILE))
        except OSError:
            return ()

    def _warn(self, sentence: str) -> None:
        self._context.journal.emit(
            events.DiagnosticEvent("warning", None, sentence, "", None, None, None),
        )


def _pauses(context: Context) -> Callable[[float], None]:
    """A wait that ends early, with the error that fits, when the run is to end."""
    began = beat_at = time.monotonic()

    def pause(seconds: float) -> None:
        nonlocal beat_at
        context.interrupt.wait(seconds)
        context.journal.flush()  # time passes on the screen as well
        now = time.monotonic()
        if now >= beat_at + HEARTBEAT_SECONDS:
            beat_at = now
            context.journal.emit(events.Heartbeat("wait", round(now - began, 1), ()))
            if context.directory.cancel_requested():
                context.interrupt.ask(Reason.REQUEST)
        context.interrupt.check()

    return pause


def _without_cache(context: Context) -> Context:
    environment = {name: value for name, value in context.environment.items() if name != VARIABLE}
    return context._replace(environment=environment)


def _make_directory(wish: CacheWish) -> None:
    if wish.is_ours:
        make_private_directory(wish.directory)
    else:
        wish.directory.mkdir(parents=True, exist_ok=True)


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev
    except OSError:
        return None


def _platform() -> str | None:
    system = os.uname()
    try:
        platform = this_platform(system.sysname, system.machine)
    except EngineUnavailable:
        return None
    return f"{platform.os}_{platform.arch}"
