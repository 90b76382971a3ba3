"""A queue of ticket files."""

from pathlib import Path

import pytest

from hereya_tf.locks import tickets


def no_wait() -> None:
    pytest.fail("nobody else is at the door")


def test_numbers_do_not_come_again_when_the_line_was_empty(tmp_path: Path) -> None:
    queue = tmp_path / "queue"
    seen = []
    for _ in range(100):
        ticket = tickets.take(queue, b"", wait=no_wait)
        seen.append(ticket.number)
        ticket.withdraw()
        ticket.withdraw()

    assert seen == sorted(set(seen))


def test_a_ticket_is_read_while_it_is_held(tmp_path: Path) -> None:
    ticket = tickets.take(tmp_path / "queue", b"mine", wait=no_wait)

    held = tickets.read_living(tmp_path / "queue", ticket.number)
    ticket.withdraw()

    assert held == b"mine"
    assert tickets.read_living(tmp_path / "queue", ticket.number) is None


def test_a_line_that_nobody_has_joined_is_empty(tmp_path: Path) -> None:
    assert tickets.numbers(tmp_path / "queue") == ()


def test_what_cannot_be_locked_is_not_taken_for_locked(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        tickets.lock_alone(2**30)
