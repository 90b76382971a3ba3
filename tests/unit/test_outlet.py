"""Output never waits for its reader, and whoever reads gets all of it, in order."""

import os
import pty
import select
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.ui.outlet import MEMORY_BYTES, PIECE_BYTES, Outlet

AT_ONCE = 10.0
"""Seconds within which everything that does not wait has come back, on a busy machine too."""
PATIENT = 60.0


def never() -> bool:
    return False


class Pipe:
    """A pipe whose reading end is the test's."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()

    def close_reader(self) -> None:
        os.close(self.reader)
        self.reader = -1

    def close_writer(self) -> None:
        os.close(self.writer)
        self.writer = -1

    def close(self) -> None:
        for descriptor in (self.reader, self.writer):
            if descriptor >= 0:
                os.close(descriptor)

    def waiting(self) -> bytes:
        """What stands in the pipe now."""
        got = b""
        while select.select([self.reader], [], [], 0)[0] and (piece := os.read(self.reader, 1 << 16)):
            got += piece
        return got


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.close()


@pytest.fixture
def outlets() -> Iterator[Callable[[int], Outlet]]:
    """Makes outlets that are closed in the end."""
    made: list[Outlet] = []

    def make(descriptor: int) -> Outlet:
        made.append(Outlet(descriptor))
        return made[-1]

    yield make
    for outlet in made:
        outlet.close()


Make = Callable[[int], Outlet]


class Reader(threading.Thread):
    """Reads all there is, a piece at a time, until the other end is closed."""

    def __init__(self, descriptor: int, piece: int = 1 << 16, pause: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._descriptor = descriptor
        self._piece = piece
        self._pause = pause
        self.parts: list[bytes] = []

    def run(self) -> None:
        while part := os.read(self._descriptor, self._piece):
            self.parts.append(part)
            if self._pause:
                time.sleep(self._pause)

    def everything(self) -> bytes:
        self.join(PATIENT)
        assert not self.is_alive()
        return b"".join(self.parts)


def test_a_reader_gets_what_was_written_when_it_is_flushed(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("one\n")
    outlet.write("")
    outlet.write("två\n")
    before = pipe.waiting()
    outlet.flush()

    assert before == b""
    assert pipe.waiting() == "one\ntvå\n".encode()
    assert not outlet.broken


def test_what_cannot_be_encoded_is_escaped(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("a\udc80b\n")
    outlet.flush()

    assert pipe.waiting() == b"a\\udc80b\n"


def test_twenty_megabytes_for_a_pipe_that_nobody_reads_yet(pipe: Pipe, outlets: Make) -> None:
    lines = [f"{number:08d} {'é' * (number % 400)}\n" for number in range(48_000)]
    expected = "".join(lines).encode()
    assert len(expected) > 19_000_000 > MEMORY_BYTES
    outlet = outlets(pipe.writer)

    began = time.monotonic()
    for line in lines:
        outlet.write(line)
        outlet.flush()
    assert time.monotonic() - began < AT_ONCE

    reader = Reader(pipe.reader)
    reader.start()
    assert outlet.drain(patience=PATIENT, give_up=never)
    pipe.close_writer()
    assert reader.everything() == expected


def test_a_line_longer_than_all_memory_arrives_whole_and_in_its_place(pipe: Pipe, outlets: Make) -> None:
    line = "".join(map(chr, range(33, 127))) * 110_000
    assert len(line) > 2 * MEMORY_BYTES
    outlet = outlets(pipe.writer)
    reader = Reader(pipe.reader)
    reader.start()

    for text in ("before\n", line, "\n", "after\n"):
        outlet.write(text)
    assert outlet.drain(patience=PATIENT, give_up=never)
    pipe.close_writer()
    assert reader.everything() == f"before\n{line}\nafter\n".encode()


def test_a_slow_reader_slows_nobody_down_and_gets_everything(pipe: Pipe, outlets: Make) -> None:
    lines = [f"{number:06d}{'.' * 993}\n" for number in range(600)]
    outlet = outlets(pipe.writer)
    reader = Reader(pipe.reader, piece=8192, pause=0.01)
    reader.start()

    slowest = 0.0
    for line in lines:
        began = time.monotonic()
        outlet.write(line)
        outlet.flush()
        slowest = max(slowest, time.monotonic() - began)
    assert outlet.drain(patience=PATIENT, give_up=never)
    pipe.close_writer()

    assert slowest < 2
    assert reader.everything() == "".join(lines).encode()


@given(
    texts=st.lists(st.text(alphabet="aé€\n", max_size=6).map(lambda text: text * 1500), max_size=30),
    reads=st.lists(st.integers(1, 40_000), max_size=30),
)
def test_whenever_it_is_read_the_order_stays(texts: list[str], reads: list[int]) -> None:
    pipe = Pipe()
    outlet = Outlet(pipe.writer)
    try:
        got = b""
        wishes = iter(reads)
        for text in texts:
            outlet.write(text)
            outlet.flush()
            wish = next(wishes, 0)
            if wish and select.select([pipe.reader], [], [], 0)[0]:
                got += os.read(pipe.reader, wish)
        expected = "".join(texts).encode()
        while len(got) < len(expected):
            outlet.flush()
            got += pipe.waiting()
    finally:
        outlet.close()
        pipe.close()

    assert got == expected


def test_a_closed_pipe_is_noticed_and_costs_nothing_more(pipe: Pipe, outlets: Make) -> None:
    pipe.close_reader()
    outlet = outlets(pipe.writer)
    outlet.write("lost\n")
    outlet.flush()

    assert outlet.broken
    outlet.write("lost as well\n")
    outlet.flush()
    assert not outlet.drain(patience=PATIENT, give_up=never)


def test_a_reader_that_leaves_while_we_drain_ends_it(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("x" * 200_000)
    outlet.flush()
    assert not outlet.broken
    threading.Timer(0.3, pipe.close_reader).start()

    assert not outlet.drain(patience=PATIENT, give_up=never)
    assert outlet.broken


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_as_good_as_closed(outlets: Make) -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        outlet = outlets(descriptor)
        outlet.write("lost\n")
        assert not outlet.drain(patience=PATIENT, give_up=never)
        assert outlet.broken
    finally:
        os.close(descriptor)


def test_a_descriptor_that_is_not_open_is_as_good_as_closed(outlets: Make) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    outlet = outlets(writer)
    outlet.write("lost\n")
    outlet.flush()

    assert outlet.broken


def test_a_file_gets_everything(tmp_path: Path, outlets: Make) -> None:
    descriptor = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    try:
        outlet = outlets(descriptor)
        outlet.write("x" * (3 * PIECE_BYTES) + "\n")
        outlet.flush()
    finally:
        os.close(descriptor)

    assert (tmp_path / "out").read_text() == "x" * (3 * PIECE_BYTES) + "\n"


def test_nothing_to_write_is_drained_at_once(pipe: Pipe, outlets: Make) -> None:
    assert outlets(pipe.writer).drain(patience=0, give_up=never)


def test_a_reader_that_takes_nothing_is_given_up_after_the_patience(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("x" * 200_000)

    began = time.monotonic()
    assert not outlet.drain(patience=0.5, give_up=never)
    assert 0.5 <= time.monotonic() - began < AT_ONCE
    # Only this reader's time is over: the descriptor is not spoilt.
    assert not outlet.broken


def test_patience_begins_anew_whenever_something_is_taken(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("x" * 300_000)
    reader = Reader(pipe.reader, piece=8192, pause=0.1)
    reader.start()

    # Three seconds of writing in all, with never more than a fraction of one without any.
    assert outlet.drain(patience=1.5, give_up=never)
    pipe.close_writer()
    assert len(reader.everything()) == 300_000


def test_whoever_waits_may_give_up(pipe: Pipe, outlets: Make) -> None:
    outlet = outlets(pipe.writer)
    outlet.write("x" * 200_000)

    began = time.monotonic()
    assert not outlet.drain(patience=PATIENT, give_up=lambda: True)
    assert time.monotonic() - began < AT_ONCE


def test_without_room_for_what_nobody_reads_output_ends_and_the_run_goes_on(
    pipe: Pipe, outlets: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    outlet = outlets(pipe.writer)
    for _ in range(6):
        outlet.write("x" * (1 << 20))
        outlet.flush()

    assert outlet.broken


# Terminals


class Terminal:
    """A pseudo-terminal; `shown` is what its user sees."""

    def __init__(self) -> None:
        self.user, self.descriptor = pty.openpty()

    def close(self) -> None:
        os.close(self.user)
        os.close(self.descriptor)

    def shown(self) -> bytes:
        got = b""
        while select.select([self.user], [], [], 0.2)[0]:
            got += os.read(self.user, 1 << 16)
        return got


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def test_a_terminal_shows_what_is_flushed(terminal: Terminal, outlets: Make) -> None:
    outlet = outlets(terminal.descriptor)
    outlet.write("one\ntwo\n")
    outlet.flush()

    assert terminal.shown() == b"one\r\ntwo\r\n"


def test_the_shared_terminal_stays_in_blocking_mode(terminal: Terminal, outlets: Make) -> None:
    outlets(terminal.descriptor)

    assert os.get_blocking(terminal.descriptor)


def test_a_terminal_that_nobody_reads_stops_nothing(terminal: Terminal, outlets: Make) -> None:
    outlet = outlets(terminal.descriptor)

    began = time.monotonic()
    for number in range(20_000):
        outlet.write(f"line {number}\n")
        outlet.flush()
    drained = outlet.drain(patience=0.3, give_up=never)

    assert (drained, outlet.broken) == (False, False)
    assert time.monotonic() - began < AT_ONCE

    thread = threading.Thread(target=outlet.drain, kwargs={"patience": PATIENT, "give_up": never})
    thread.start()
    seen = b""
    while not seen.endswith(b"line 19999\r\n"):
        seen += os.read(terminal.user, 1 << 16)
    thread.join(PATIENT)
    assert seen == b"".join(b"line %d\r\n" % number for number in range(20_000))


def test_what_calls_itself_writable_and_takes_nothing_stops_nothing(
    pipe: Pipe, outlets: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a terminal may that has room for half of a line break."""
    outlet = outlets(pipe.writer)
    outlet.write("\n")

    def take_nothing(_descriptor: int, _data: bytes) -> int:
        raise BlockingIOError

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", take_nothing)
        began = time.monotonic()
        outlet.flush()
        assert not outlet.drain(patience=0.3, give_up=never)
        assert time.monotonic() - began < AT_ONCE
    assert outlet.drain(patience=PATIENT, give_up=never)
    assert pipe.waiting() == b"\n"


def test_to_close_gives_back_what_was_opened(terminal: Terminal) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    outlet = Outlet(terminal.descriptor)
    outlet.write("x")
    outlet.close()
    outlet.close()
    outlet.write("nothing any more")

    assert len(list(Path("/dev/fd").iterdir())) == before
    assert os.isatty(terminal.descriptor)


def test_a_terminal_without_a_name_is_used_as_it_is(
    terminal: Terminal, outlets: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int) -> str:
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(os, "ttyname", refuse)
    outlet = outlets(terminal.descriptor)
    outlet.write("shown\n")
    outlet.flush()

    assert terminal.shown() == b"shown\r\n"
