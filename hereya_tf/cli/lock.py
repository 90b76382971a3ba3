"""`lock list|status|release`."""

import os
from pathlib import Path
from typing import Any

import click

from hereya_tf import locks
from hereya_tf.cli.documents import json_option, print_document, print_table, say
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_types import Duration, GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.errors import BadInput
from hereya_tf.places import Places
from hereya_tf.words import flat

package_argument = click.argument("package", cls=NamedArgument, required=False, default=".")


@click.group("lock", cls=HelpfulGroup)
def lock() -> None:
    """Who holds a lock, and who waits for it."""


@lock.command("list")
@json_option
def list_(json_output: bool) -> None:
    """All locks that are held or waited for."""
    states = [state for state in _states(find_places(os.environ)) if state.held or state.waiting]
    _print(states, json_output, nothing="no lock is held")


@lock.command("status")
@package_argument
@json_option
def status(package: str, json_output: bool) -> None:
    """The locks of PACKAGE (a directory, default `.`)."""
    places = find_places(os.environ)
    states = [state for state in _of_package(places, package) if state.held or state.waiting]
    _print(states, json_output, nothing=f"nobody holds a lock of {package}")


@lock.command("release", short_help="Free the locks of PACKAGE.")
@package_argument
@click.option("--force", cls=GroupedOption, is_flag=True, help="End the run that holds the lock, gracefully.")
@click.option(
    "--grace", cls=GroupedOption, type=Duration(), default="60s", show_default=True, help="Time to end in."
)
@json_option
def release(package: str, force: bool, grace: float, json_output: bool) -> None:
    """Free the locks of PACKAGE: what a dead run left behind, or with --force a run that lives.

    A live run is asked to end as by Ctrl-C: what is in flight is finished and the state is saved.
    """
    from hereya_tf.lock_release import release_locks

    places = find_places(os.environ)
    states = [state for state in _of_package(places, package) if state.held]
    stories = release_locks(states, places, package=_real_path(package), force=force, grace=grace)
    if json_output:
        print_document({"released": [state.stem for state in states], "did": stories})
        return
    for story in stories or (f"nobody holds a lock of {package}",):
        say(flat(story))


def _states(places: Places) -> tuple[locks.LockState, ...]:
    try:
        return locks.inspect(places.locks)
    except OSError:
        return ()


def _real_path(package: str) -> str:
    return os.path.realpath(package)  # not resolve(): it raises for a link to itself


def _is_missing(path: str) -> bool:
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it cannot be looked at
        return False
    return False


def _of_package(places: Places, package: str) -> list[locks.LockState]:
    """The package directory's lock, and what the run that holds it holds besides.

    Raises BadInput where there is neither such a directory nor a lock that it once had.
    """
    path = _real_path(package)
    stem = locks.LockKey(locks.LockKind.PACKAGE, path).stem
    states = _states(places)
    if _is_missing(path) and all(state.stem != stem for state in states):
        raise BadInput(f"there is no `{package}`", "check the path; `hereya-tf lock list` shows all locks")
    runs = {state.holder.run for state in states if state.stem == stem and state.holder is not None}
    return [
        state
        for state in states
        if state.stem == stem or (state.holder is not None and state.holder.run in runs)
    ]


def _print(states: list[locks.LockState], json_output: bool, *, nothing: str) -> None:
    if json_output:
        print_document({"locks": [_document(state) for state in states]})
        return
    if not states:
        say(flat(nothing))
        return
    rows = []
    for state in states:
        rows.append((state.stem, *_who(state.holder, "holds it" if state.held else "died")))
        rows += [("", *_who(waiter, f"waits ({place})")) for place, waiter in enumerate(state.waiting, 1)]
    print_table(("LOCK", "", "RUN", "OPERATION", "PID", "HOST", "SINCE"), rows)


def _who(holder: locks.Holder | None, role: str) -> tuple[str, ...]:
    if holder is None:
        return (role, "unknown", "", "", "", "")
    pid = str(holder.process.pid)
    return (role, holder.run, holder.operation, pid, holder.host, holder.since)


def _document(state: locks.LockState) -> dict[str, Any]:
    return {
        "lock": state.stem,
        "key": state.holder.key if state.holder is not None else None,
        "held": state.held,
        "holder": _holder_document(state.holder),
        "waiting": [_holder_document(waiter) for waiter in state.waiting],
    }


def _holder_document(holder: locks.Holder | None) -> dict[str, Any] | None:
    if holder is None:
        return None
    engine = holder.engine
    return {
        "run": holder.run,
        "pid": holder.process.pid,
        "host": holder.host,
        "operation": holder.operation,
        "since": holder.since,
        "engine_pid": engine.process.pid if engine is not None else None,
    }
