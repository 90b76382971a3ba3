"""`outbox list|retry|purge`: deliveries that have not arrived."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.documents import json_option, print_document, print_table
from hereya_tf.cli.groups import HelpfulGroup, Misuse
from hereya_tf.cli.option_types import Count, Duration, GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.errors import BadInput

if TYPE_CHECKING:
    from hereya_tf.outbox import Blocked, Delivery, OutboxStore, Snapshot, State

FILE = "outbox.db"
_HEAD = ("DELIVERY", "TYPE", "KEY", "STATE", "ATTEMPTS", "NEXT", "ERROR")
_ALL = 1_000_000_000


@click.group("outbox", cls=HelpfulGroup)
def outbox() -> None:
    """Deliveries that have not arrived: list, retry, purge.

    They are in the file `outbox.db` of the state directory, which is where HEREYA_TF_STATE_DIR says.
    """


@outbox.command(
    "list",
    short_help="What has not arrived, the oldest first.",
    examples=("hereya-tf outbox list", "hereya-tf outbox list --dead --json"),
)
@click.option("--dead", cls=GroupedOption, is_flag=True, help="Only what is not tried any more.")
@click.option("--all", "every", cls=GroupedOption, is_flag=True, help="Also what has arrived.")
@click.option(
    "-n",
    "--limit",
    cls=GroupedOption,
    type=Count(),
    metavar="N",
    default=50,
    show_default=True,
    help="The first N.",
)
@json_option
def list_(dead: bool, every: bool, limit: int, json_output: bool) -> None:
    """What has not arrived, the oldest first: what waits, is being delivered, or is dead.

    What is delivered itself is never shown: it may hold secrets.
    """
    if dead and every:
        raise Misuse("--dead and --all do not go together", "--dead shows some, --all shows everything")
    with _opened() as store:
        if store is None:
            _print_nothing(json_output)
            return
        snapshot = store.snapshot()
        states = _shown_states(snapshot, dead=dead, every=every)
        total = sum(snapshot.counts[state] for state in states)
        # One that is claimed between two of these looks is in both.
        by_number = {each.number: each for state in states for each in store.by_state(state, limit)}
        found = [by_number[number] for number in sorted(by_number)][:limit]
        if json_output:
            _print_json(store.clock(), snapshot, found)
        elif found:
            _print_deliveries(store.clock(), snapshot, found)
        else:
            click.echo("nothing waits to be delivered")
    if total > limit:
        click.echo(f"left out: {total - limit} (-n N shows more)", err=True)


@outbox.command(
    "retry",
    short_help="Try dead deliveries again.",
    examples=("hereya-tf outbox retry evt_mx3h2yim_0_a10e8181", "hereya-tf outbox retry --all-dead"),
)
@click.argument("delivery", cls=NamedArgument, nargs=-1)
@click.option("--all-dead", cls=GroupedOption, is_flag=True, help="Everything that is dead.")
@json_option
def retry(delivery: tuple[str, ...], all_dead: bool, json_output: bool) -> None:
    """Try dead deliveries again, with all their attempts, and at once what waits for its next attempt.

    DELIVERY is an id, as `outbox list` shows it. Whoever drains the outbox delivers them.
    """
    if bool(delivery) == all_dead:
        raise Misuse("name either deliveries or --all-dead", "`hereya-tf outbox list` shows what there is")
    with _opened() as store:
        ids, of_stopped_keys = _ids_to_retry(store, delivery)
        revived = [each for each in ids if store is not None and _revive(store, each)]
    if json_output:
        print_document({"retried": revived})
    else:
        for each in revived:
            click.echo(f"`{each}` is to be delivered")
        if not revived and not of_stopped_keys:
            click.echo("nothing is dead")
    if of_stopped_keys:
        click.echo(f"left out: {of_stopped_keys} whose key is stopped", err=True)


@outbox.command(
    "purge",
    short_help="Remove what has arrived.",
    examples=("hereya-tf outbox purge --older-than 30d", "hereya-tf outbox purge --include-dead"),
)
@click.option(
    "--older-than",
    cls=GroupedOption,
    type=Duration(),
    default="7d",
    show_default=True,
    help="What ended so long ago.",
)
@click.option("--include-dead", cls=GroupedOption, is_flag=True, help="What is dead as well.")
@json_option
def purge(older_than: float, include_dead: bool, json_output: bool) -> None:
    """Remove what has arrived; what waits or is being delivered always stays.

    With a delivery its idempotency key is forgotten: the same one would be taken for new.
    """
    from hereya_tf.outbox import State

    states = (State.DELIVERED, *((State.DEAD,) if include_dead else ()))
    before = int((time.time() - older_than) * 1000)
    with _opened() as store:
        removed = 0 if store is None else store.purge(states, ended_before=before)
    if json_output:
        print_document({"removed": removed})
    else:
        click.echo(
            f"removed {removed} {'delivery' if removed == 1 else 'deliveries'}" if removed else _NOTHING
        )


_NOTHING = "nothing to remove"


@contextlib.contextmanager
def _opened() -> "Iterator[OutboxStore | None]":
    """The outbox of the state directory; None where there is none yet: to look is no reason to make one."""
    path = find_places(os.environ).state / FILE
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        raise BadInput(
            f"`{path}` cannot be looked at: {error.strerror}", "make it readable, or look as who owns it"
        ) from error
    from hereya_tf.outbox import OutboxStore

    with OutboxStore(path) as store:
        yield store


def _ids_to_retry(store: "OutboxStore | None", named: Sequence[str]) -> tuple[list[str], int]:
    """The named deliveries, each of which can be tried again, or all dead ones but those of stopped keys.

    And how many these are. Raises BadInput.
    """
    from hereya_tf.outbox import State

    if not named:
        dead = () if store is None else store.by_state(State.DEAD, _ALL)
        stopped = () if store is None else store.snapshot().stopped_keys
        open_ = [each.id for each in dead if each.key not in stopped]
        return open_, len(dead) - len(open_)
    for each in named:
        found = None if store is None else store.get(each)
        if found is None:
            raise BadInput(f"there is no delivery `{each}`", "`hereya-tf outbox list --all` shows all")
        if found.state not in (State.DEAD, State.PENDING):
            raise BadInput(
                f"`{each}` is {found.state}, there is nothing to try again",
                "`hereya-tf outbox list --dead` shows what can be",
            )
    return list(dict.fromkeys(named)), 0


def _revive(store: "OutboxStore", delivery_id: str) -> bool:
    from hereya_tf.queue.errors import QueueKeyStoppedError

    try:
        return store.revive(delivery_id)
    except QueueKeyStoppedError as error:
        raise BadInput(f"`{delivery_id}` cannot be tried again: {error}", *error.hints) from error


def _shown_states(snapshot: "Snapshot", *, dead: bool, every: bool) -> "tuple[State, ...]":
    from hereya_tf.outbox import State

    if dead:
        return (State.DEAD,)
    return tuple(state for state in snapshot.counts if every or state is not State.DELIVERED)


def _print_nothing(json_output: bool) -> None:
    if json_output:
        from hereya_tf.outbox import Snapshot, State

        _print_json(0, Snapshot(dict.fromkeys(State, 0), (), (), ()), ())
    else:
        click.echo("nothing waits to be delivered")


def _print_json(now: int, snapshot: "Snapshot", found: "Sequence[Delivery]") -> None:
    redact = _redactor()
    print_document(
        {
            "deliveries": [_document(each, now, redact(each.last_error)) for each in found],
            "counts": {str(state): count for state, count in snapshot.counts.items()},
            "paused_keys": list(snapshot.paused_keys),
            "stopped_keys": list(snapshot.stopped_keys),
        }
    )


def _print_deliveries(now: int, snapshot: "Snapshot", found: "Sequence[Delivery]") -> None:
    redact = _redactor()
    ahead = {blocked.key: blocked for blocked in snapshot.blocked}
    rows = [
        (
            each.id,
            each.type,
            each.key or "",
            f"{each.state} ({each.cause})" if each.cause is not None else str(each.state),
            f"{each.attempts}/{each.attempts_allowed}",
            _next(each, now, ahead, snapshot.paused_keys),
            redact(each.last_error) or "",
        )
        for each in found
    ]
    print_table(_HEAD, rows)


def _redactor() -> Any:
    from hereya_tf.redaction import Redactor

    text = Redactor().text
    return lambda error: None if error is None else text(error)


def _next(each: "Delivery", now: int, ahead: "Mapping[str, Blocked]", paused: Sequence[str]) -> str:
    """What a delivery waits for."""
    from hereya_tf.outbox import State
    from hereya_tf.words import format_seconds

    if each.state is not State.PENDING:
        return ""
    first = ahead.get(each.key or "") if each.key is not None else None
    if first is not None and first.id != each.id:
        return f"after {first.id}"
    if each.key in paused:
        return "when resumed"
    return f"in {format_seconds((each.ready_at - now) / 1000)}" if each.ready_at > now else "now"


def _document(each: "Delivery", now: int, error: str | None) -> dict[str, Any]:
    from hereya_tf.outbox import State

    waits = each.state is State.PENDING
    return {
        "id": each.id,
        "type": each.type,
        "key": each.key,
        "state": str(each.state),
        "attempts": each.attempts,
        "attempts_allowed": each.attempts_allowed,
        "next_seconds": max(0, each.ready_at - now) / 1000 if waits else None,
        "claimed_by": each.claimed_by,
        "cancel_requested": each.cancel_requested,
        "last_error": error,
        "cause": None if each.cause is None else str(each.cause),
        "idempotency_key": each.idempotency_key,
        "created": _moment(each.created),
        "ended": None if each.ended is None else _moment(each.ended),
    }


def _moment(milliseconds: int) -> str:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
