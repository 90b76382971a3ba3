"""`outbox`: what each command prints, where, and how it ends."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.outbox import Dead, Delivered, OutboxStore, Retry, State
from tests.command_line import CommandLine, Result
from tests.outboxes import Hands, token

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "outbox.db"


@pytest.fixture
def store(path: Path) -> Iterator[OutboxStore]:
    with OutboxStore(path, wall=Hands()) as made:
        yield made


@pytest.fixture
def ids(store: OutboxStore) -> list[str]:
    """One in back-off and one behind it, one underway, one dead, one that has arrived, one that may start."""
    names = ("app:web:prod", "app:web:prod", "pkg:db:prod", "x", "y", None)
    made = [
        store.append({"n": place}, key=key, type="job.completed" if key else "", attempts=5).id
        for place, key in enumerate(names)
    ]
    now = store.clock()
    claimed = [store.claim(now, 3_600_000, claimer="host:1:aa") for _ in range(4)]
    first, second, third, fourth = (each for each in claimed if each is not None)
    store.settle(first.id, Retry(f"token {SECRET}\nrefused", now, 3_600_000), token(first))
    store.settle(third.id, Dead("gone for good"), token(third))
    store.settle(fourth.id, Delivered(), token(fourth))
    assert [each.id for each in (first, second, third, fourth)] == [made[0], *made[2:5]]
    return made


def document(result: Result) -> dict[str, Any]:
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def fields(result: Result) -> list[list[str]]:
    return [line.split() for line in result.stdout.splitlines()]


def test_where_there_is_no_outbox_nothing_waits_and_none_is_made(cli: CommandLine, path: Path) -> None:
    assert cli("outbox", "list") == Result(0, "nothing waits to be delivered\n", "")
    assert cli("outbox", "purge") == Result(0, "nothing to remove\n", "")
    assert cli("outbox", "retry", "--all-dead") == Result(0, "nothing is dead\n", "")
    assert document(cli("outbox", "list", "--json")) == {
        "deliveries": [],
        "counts": {"pending": 0, "delivering": 0, "delivered": 0, "dead": 0},
        "paused_keys": [],
        "stopped_keys": [],
    }
    assert not path.parent.exists()


def test_an_empty_outbox_says_so(cli: CommandLine, store: OutboxStore) -> None:
    assert cli("outbox", "list") == Result(0, "nothing waits to be delivered\n", "")


def test_list_shows_what_has_not_arrived_and_what_it_waits_for(cli: CommandLine, ids: list[str]) -> None:
    listed = cli("outbox", "list")

    head, *rows = listed.stdout.splitlines()
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert head.split() == ["DELIVERY", "TYPE", "KEY", "STATE", "ATTEMPTS", "NEXT", "ERROR"]
    # Of an hour some seconds may have passed.
    first = rows[0].split()
    assert first[:5] == [ids[0], "job.completed", "app:web:prod", "pending", "1/5"]
    assert (first[5], first[7:]) == ("in", ["token", "[redacted]\\nrefused"])
    assert [row.split() for row in rows[1:]] == [
        [ids[1], "job.completed", "app:web:prod", "pending", "0/5", "after", ids[0]],
        [ids[2], "job.completed", "pkg:db:prod", "delivering", "1/5"],
        [ids[3], "job.completed", "x", "dead", "(failed)", "1/5", "gone", "for", "good"],
        [ids[5], "pending", "0/5", "now"],
    ]
    assert SECRET not in listed.stdout


def test_list_shows_what_rests(cli: CommandLine, store: OutboxStore, ids: list[str]) -> None:
    store.pause_key("app:web:prod")

    assert "when resumed" in cli("outbox", "list").stdout.splitlines()[1]


def test_list_can_show_only_the_dead_or_everything_or_less(cli: CommandLine, ids: list[str]) -> None:
    assert [row[0] for row in fields(cli("outbox", "list", "--dead"))[1:]] == [ids[3]]
    assert [row[0] for row in fields(cli("outbox", "list", "--all"))[1:]] == ids
    limited = cli("outbox", "list", "-n", "2")
    assert [row[0] for row in fields(limited)[1:]] == ids[:2]
    assert limited.stderr == "left out: 3 (-n N shows more)\n"
    both = cli("outbox", "list", "--all", "--dead")
    assert (both.exit_code, both.stdout) == (64, "")
    assert both.stderr.startswith("error: --dead and --all do not go together\n")


def test_list_is_a_document(cli: CommandLine, ids: list[str], store: OutboxStore) -> None:
    store.stop_key("z")
    found = document(cli("outbox", "list", "--json"))

    assert (found["counts"], found["paused_keys"], found["stopped_keys"]) == (
        {"pending": 3, "delivering": 1, "delivered": 1, "dead": 1},
        [],
        ["z"],
    )
    first, _, underway, dead, _ = found["deliveries"]
    assert 3_000 < first.pop("next_seconds") <= 3_600
    assert first == {
        "id": ids[0],
        "type": "job.completed",
        "key": "app:web:prod",
        "state": "pending",
        "attempts": 1,
        "attempts_allowed": 5,
        "claimed_by": "host:1:aa",
        "cancel_requested": False,
        "last_error": "token [redacted]\nrefused",
        "cause": None,
        "idempotency_key": None,
        "created": "2023-11-14T22:13:20.000Z",
        "ended": None,
    }
    assert (underway["state"], underway["next_seconds"]) == ("delivering", None)
    assert (dead["state"], dead["cause"], dead["ended"]) == ("dead", "failed", "2023-11-14T22:13:20.000Z")


@pytest.mark.behaviour("O6")
def test_retry_revives_what_is_named(cli: CommandLine, store: OutboxStore, ids: list[str]) -> None:
    assert cli("outbox", "retry", ids[3], ids[0], ids[3]) == Result(
        0, f"`{ids[3]}` is to be delivered\n`{ids[0]}` is to be delivered\n", ""
    )
    found = [store.get(each) for each in (ids[3], ids[0])]
    assert [each and (each.state, each.attempts, each.ready_at) for each in found] == [
        (State.PENDING, 0, 0),
        (State.PENDING, 1, 0),
    ]


@pytest.mark.behaviour("O6")
def test_retry_revives_everything_that_is_dead(cli: CommandLine, store: OutboxStore, ids: list[str]) -> None:
    assert document(cli("outbox", "retry", "--all-dead", "--json")) == {"retried": [ids[3]]}
    assert store.by_state(State.DEAD, 9) == ()
    assert document(cli("outbox", "retry", "--all-dead", "--json")) == {"retried": []}


def test_a_stopped_key_does_not_keep_the_other_dead_from_being_revived(
    cli: CommandLine, store: OutboxStore, ids: list[str]
) -> None:
    store.stop_key("app:web:prod")
    before = len(store.by_state(State.DEAD, 9))

    result = cli("outbox", "retry", "--all-dead")
    assert result == Result(0, f"`{ids[3]}` is to be delivered\n", "left out: 2 whose key is stopped\n")
    assert len(store.by_state(State.DEAD, 9)) == before - 1
    assert cli("outbox", "retry", "--all-dead") == Result(0, "", "left out: 2 whose key is stopped\n")


def test_an_id_that_no_outbox_can_hold_is_refused(cli: CommandLine, store: OutboxStore) -> None:
    result = cli("outbox", "retry", "evt_\udcff")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "Traceback" not in result.stderr


def test_retry_refuses_what_cannot_be_tried_again(
    cli: CommandLine, store: OutboxStore, ids: list[str]
) -> None:
    arrived = f"error: `{ids[4]}` is delivered, there is nothing to try again\n"
    arrived += "hint: `hereya-tf outbox list --dead` shows what can be\n"
    unknown = "error: there is no delivery `evt_x`\nhint: `hereya-tf outbox list --all` shows all\n"
    stopped = (
        f"error: `{ids[3]}` cannot be tried again: the queue is stopped for the key `x`\n"
        "hint: `start_key` opens it again\n"
    )
    store.stop_key("x")

    assert cli("outbox", "retry", ids[3], ids[4]) == Result(3, "", arrived)
    assert cli("outbox", "retry", "evt_x") == Result(3, "", unknown)
    assert cli("outbox", "retry", ids[3]) == Result(3, "", stopped)
    assert [each.id for each in store.by_state(State.DEAD, 9)] == [ids[3]]


@pytest.mark.parametrize("arguments", [(), ("evt_x", "--all-dead")], ids=["nothing named", "both"])
def test_retry_wants_to_know_what(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli("outbox", "retry", *arguments) == Result(
        64,
        "",
        "error: name either deliveries or --all-dead\nhint: `hereya-tf outbox list` shows what there is\n",
    )


def test_purge_removes_what_arrived_long_ago(cli: CommandLine, store: OutboxStore, ids: list[str]) -> None:
    assert cli("outbox", "purge", "--older-than", "99y").exit_code == 64
    assert cli("outbox", "purge", "--older-than", "30000d") == Result(0, "nothing to remove\n", "")
    assert cli("outbox", "purge") == Result(0, "removed 1 delivery\n", "")
    assert document(cli("outbox", "purge", "--include-dead", "--json")) == {"removed": 1}
    assert {each.id for state in State for each in store.by_state(state, 9)} == {
        ids[0],
        ids[1],
        ids[2],
        ids[5],
    }


def test_several_are_removed(cli: CommandLine, ids: list[str]) -> None:
    assert cli("outbox", "purge", "--include-dead") == Result(0, "removed 2 deliveries\n", "")


@pytest.mark.parametrize("command", ["list", "purge", "retry"])
def test_a_file_that_cannot_be_used_is_told_and_left_alone(
    cli: CommandLine, path: Path, command: str
) -> None:
    path.parent.mkdir()
    path.write_text("nonsense " * 1000)

    ran = cli("outbox", command, *(("--all-dead",) if command == "retry" else ()))
    assert ran == Result(
        3,
        "",
        f"error: `{path}` is damaged, or is no outbox: file is not a database\n"
        "hint: nothing was removed: move the file away to begin with an empty outbox\n",
    )
    assert path.read_text() == "nonsense " * 1000


def test_a_state_directory_that_cannot_be_looked_into_is_told(cli: CommandLine, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    ran = cli("outbox", "list", env={"HEREYA_TF_STATE_DIR": str(loop)})
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert ran.stderr.startswith(f"error: `{loop / 'outbox.db'}` cannot be looked at: ")


def test_what_waits_elsewhere_steers_no_terminal(cli: CommandLine, store: OutboxStore) -> None:
    store.append(1, key="\x1b[31mred", type="a\nb")

    assert "\x1b" not in cli("outbox", "list").stdout
    assert fields(cli("outbox", "list"))[1][1:3] == ["a\\nb", "\\x1b[31mred"]
