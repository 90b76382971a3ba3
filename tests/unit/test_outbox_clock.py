"""The outbox's clock: one for all processes since the boot, whatever happens to the wall clock."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.outbox import OutboxStore, Retry
from hereya_tf.outbox.clock import boot_name, find_clock, process_name, wall_clock
from hereya_tf.outbox.file import OutboxFile
from tests.outboxes import Hands, token

HOUR = 3_600_000


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with OutboxStore(tmp_path / "outbox.db") as store, store._file.reading() as found:
        yield found


class Machine:
    """Its two clocks."""

    def __init__(self) -> None:
        self.wall = Hands()
        self.awake = Hands(5_000)

    def monotonic_ns(self) -> int:
        return self.awake.now * 1_000_000

    def passes(self, milliseconds: int) -> None:
        self.wall.turn(milliseconds)
        self.awake.turn(milliseconds)


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forwards", "backwards"])
def test_a_wall_clock_that_is_set_moves_neither_it_nor_that_of_a_process_that_comes_later(
    connection: sqlite3.Connection, jump: int
) -> None:
    machine = Machine()
    began = machine.wall.now
    clock = find_clock(connection, "boot-1", machine.wall, machine.monotonic_ns)
    assert clock() == began

    machine.passes(1_000)
    machine.wall.turn(jump)
    later = find_clock(connection, "boot-1", machine.wall, machine.monotonic_ns)
    assert (clock(), later()) == (began + 1_000, began + 1_000)


def test_after_a_boot_it_is_the_wall_clock_once_more(connection: sqlite3.Connection) -> None:
    machine = Machine()
    find_clock(connection, "boot-1", machine.wall, machine.monotonic_ns)
    machine.wall.turn(HOUR)
    machine.awake.now = 100

    assert find_clock(connection, "boot-2", machine.wall, machine.monotonic_ns)() == machine.wall.now
    assert [row[0] for row in connection.execute("select boot from clock")] == ["boot-2"]


def test_where_the_system_does_not_tell_of_boots_it_is_the_wall_clock(connection: sqlite3.Connection) -> None:
    assert find_clock(connection, None) is wall_clock


def test_after_a_boot_with_a_clock_that_is_behind_nobody_waits_longer_than_he_was_to(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    with OutboxStore(path, file=OutboxFile(path, boot=lambda: "boot-1")) as store:
        ahead = store.clock() + HOUR
        waiting, crashed, delayed = (store.append(each, key=each).id for each in "abc")
        first = store.claim(ahead, 1_000)
        assert first is not None
        store.settle(first.id, Retry("no", ahead, 500), token(first))
        assert store.claim(ahead, 2_000) is not None

    with OutboxStore(path, file=OutboxFile(path, boot=lambda: "boot-2")) as store:
        now = store.clock()
        found = {each: store.get(each) for each in (waiting, crashed, delayed)}
        ready = [each.ready_at - now for each in found.values() if each is not None]
        assert 0 < ready[0] <= 500
        assert 500 < ready[1] <= 2_000
        assert ready[2] == -now, "at once, as before"
        claimed = [store.claim(now + 2_000, 1) for _ in range(4)]
        assert [each and each.id for each in claimed] == [waiting, crashed, delayed, None]


def test_processes_of_one_boot_agree(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    with OutboxStore(path) as one, OutboxStore(path) as other:
        assert abs(one.clock() - other.clock()) < 1_000
        assert abs(one.clock() - wall_clock()) < 60_000


def test_a_boot_has_a_name_and_so_has_a_clock_of_a_container(tmp_path: Path) -> None:
    boot, namespace = tmp_path / "boot_id", tmp_path / "time"
    assert boot_name(boot, namespace) is None
    boot.write_text("b-1\n")
    assert boot_name(boot, namespace) == "b-1"
    namespace.symlink_to("time:[4026531834]")
    assert boot_name(boot, namespace) == "b-1 time:[4026531834]"
    boot.write_bytes(b"\xff")
    assert boot_name(boot, namespace) is None


def test_a_process_has_a_name() -> None:
    assert process_name().endswith(f":{os.getpid()}")


def test_a_store_without_a_boot_keeps_wall_time(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    with contextlib.closing(OutboxFile(path, boot=lambda: None)) as file:
        assert file.clock is wall_clock
