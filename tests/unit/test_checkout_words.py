"""What git reports, what others say, and what becomes of either in a sentence."""

import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.checkouts import CheckoutFailed, Limits, NoAccess, RefusedPackage, Unreachable
from hereya_tf.checkouts.careful import CarefulReader
from hereya_tf.checkouts.errors import as_part
from hereya_tf.checkouts.git import Git
from hereya_tf.checkouts.git_words import GitError, Report, explain, read_report, refusal
from hereya_tf.checkouts.listing import Listing, decides, is_state, read_listing
from hereya_tf.checkouts.slots import bury, hold, hold_if_free, remove

URL = "https://git.example.com/x"


def event(**members: object) -> str:
    return json.dumps(members)


def same(text: str) -> str:
    return text


def test_a_report_is_what_the_trace_says() -> None:
    trace = "\n".join(
        [
            event(event="version", evt="3"),
            event(event="child_start", child_class="transport/ssh", child_id=1),
            event(event="error", fmt="a '%s'", msg="a 'b'"),
            *("", "{", "[]", "1", event(event="error"), event(event="error", fmt=1, msg="x")),
            event(event="error", fmt="c", msg="c"),
        ]
    )

    report = read_report(trace.encode() + b"\n\xff\n", b"remote: \xff\nlast\n\n")

    assert report == Report(
        (GitError("a '%s'", "a 'b'"), GitError("c", "c")), True, "remote: \ufffd\nlast\n\n"
    )
    assert report.last_words == "c"
    assert [Report(words="a\nb\n \n").last_words, Report().last_words] == ["b", "it said nothing"]


@given(st.binary(max_size=60))
def test_a_trace_that_makes_no_sense_is_left_out(trace: bytes) -> None:
    assert read_report(trace, trace).errors == ()


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (
            GitError(
                "unable to access '%s': %s",
                f"unable to access '{URL}/': Could not resolve host: git.example.com",
            ),
            Unreachable,
            f"`{URL}` cannot be reached: Could not resolve host: git.example.com",
        ),
        (
            GitError(
                "unable to access '%s': %s",
                f"unable to access '{URL}/': The requested URL returned error: 407",
            ),
            NoAccess,
            f"`{URL}` answers 407: it is not for us",
        ),
        (
            GitError("RPC failed; %s", "RPC failed; curl 18 transfer closed"),
            Unreachable,
            f"`{URL}` cannot be reached: RPC failed; curl 18 transfer closed",
        ),
    ],
)
def test_the_failures_to_reach_a_host(error: GitError, kind: type[CheckoutFailed], sentence: str) -> None:
    failure = explain(Report((error,)), URL, same)

    assert (type(failure), str(failure)) == (kind, sentence)


def test_nobody_can_put_words_into_gits_mouth() -> None:
    said = "fatal: Authentication failed for 'x'\nrepository 'x' not found"
    report = Report((GitError("remote error: %s", said),), words=said)

    assert explain(report, URL, same) is None
    assert refusal(report, URL) is None


def test_what_others_say_becomes_part_of_a_sentence() -> None:
    assert as_part(" a\n\tb `c`. ") == "a b 'c'"
    assert as_part("a\x1b[31mb\u202e") == "a\ufffd[31mb\ufffd"
    assert as_part("x" * 400) == "x" * 300 + "\u2026"


def test_a_listing_knows_links_submodules_and_strange_names() -> None:
    records = (
        b"100644 blob a      12\tmain.tf",
        b"120000 blob b       3\tlink",
        b"160000 commit c       -\tmodule",
        b"100755 blob d       1\ta\n\tb\xff",
        b"",
        b"what",
    )

    assert read_listing(b"\0".join(records), Limits(files=3, tree_bytes=16)) == Listing(
        frozenset({"main.tf", "link", "a\n\tb\udcff"}), frozenset({"module"}), 16
    )
    for limits in (Limits(files=2), Limits(tree_bytes=15)):
        with pytest.raises(RefusedPackage):
            read_listing(b"\0".join(records), limits)


def test_what_decides_what_is_run() -> None:
    names = (
        "main.tf",
        "x.tofu.json",
        "a.auto.tfvars",
        "hereyarc.yml",
        "README.md",
        "x.tf.bak",
        "terraform.tfstate",
    )

    assert [decides(name) for name in names] == [True, True, True, True, False, False, False]
    assert [name for name in (*names, "errored.tfstate.1", "x.tfstate.backup") if is_state(name)] == [
        *("terraform.tfstate", "errored.tfstate.1", "x.tfstate.backup")
    ]


def test_a_careful_reader_gives_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 20_000)
    pauses: list[float] = []
    with file.open("rb") as source:
        reader = CarefulReader(source, largest=1000, total=10_000_000, pause=pauses.append)
        assert (reader.read(2), reader.last, reader.tell(), reader.seekable()) == (b"\0\1", b"\0\1", 2, True)
        assert reader.seek(4_000_000) == 4_000_000
        assert len(pauses) >= 3
        assert reader.seek(-4, 2) == 5_119_996
        assert reader.read() == b"\xfc\xfd\xfe\xff"
        reader.seek(0)
        for _ in range(64):
            reader.read(1)
        with pytest.raises(RefusedPackage, match="headers that are too large"):
            reader.read(1001)
        with pytest.raises(RefusedPackage, match="holds more than a package may"):
            reader.seek(1 << 40)


def test_a_compressed_archive_is_not_read_beyond_its_end(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "file.gz").write_bytes(gzip.compress(b"x" * 10))
    with gzip.open(tmp_path / "file.gz") as source:
        reader = CarefulReader(source, largest=1000, total=1 << 40, pause=lambda _: None)
        assert reader.seek(1 << 39) == 10


@pytest.mark.parametrize("script", ["yes >&2", "yes"])
def test_a_command_with_no_end_to_what_it_says(tmp_path: Path, script: str) -> None:
    program = tmp_path / "git"
    program.write_text(f'#!/bin/sh\ntest "$1" = version && exec echo git version 2.99.1\n{script}\n')
    program.chmod(0o755)
    git = Git(dict(os.environ), seconds=120, pause=lambda _: None, hide=same, program=str(program))

    with pytest.raises(RefusedPackage, match="`git fetch` has more to say than any package would need"):
        git.run(("fetch",), directory=tmp_path, trace=tmp_path / "trace")


def test_a_directory_that_is_gone_is_not_taken_for_a_missing_git(tmp_path: Path) -> None:
    git = Git(dict(os.environ), seconds=120, pause=lambda _: None, hide=same)

    with pytest.raises(FileNotFoundError):
        git.run(("status",), directory=tmp_path / "none", trace=tmp_path / "trace")


def test_a_slot_is_held_by_one_and_free_again(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"what": "", "patience": 1, "pause": lambda _: None, "tell": lambda _: None}
    slot = tmp_path / "slot"
    with hold_if_free(slot) as is_ours:
        assert not is_ours
    with hold(slot, **settings) as descriptor:
        assert os.fstat(descriptor).st_mode & 0o777 == 0o600
        with hold_if_free(slot) as is_ours:
            assert not is_ours
    with hold_if_free(slot) as is_ours:
        assert is_ours


def test_who_is_done_keeps_nothing_whoever_has_inherited_it(tmp_path: Path) -> None:
    slot = tmp_path / "slot"
    with hold(slot, what="", patience=1, pause=lambda _: None, tell=lambda _: None) as descriptor:
        daemon = subprocess.Popen(("cat",), stdin=subprocess.PIPE, pass_fds=(descriptor,))
    with daemon:
        with hold_if_free(slot) as is_ours:
            assert is_ours
        assert daemon.stdin is not None
        daemon.stdin.close()


def test_what_is_removed_may_be_a_file_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    for name in ("file", "none", "link"):
        remove(tmp_path / name, tmp_path / "removed")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "removed"]
    assert list((tmp_path / "removed").iterdir()) == []


def test_one_at_a_time_uses_a_slot_even_while_others_remove_it(tmp_path: Path) -> None:
    slot, inside, entered = tmp_path / "slot", [0], []

    def use(worker: int) -> None:
        for turn in range(30):
            with hold(slot, what="it", patience=120, pause=lambda _: time.sleep(0), tell=lambda _: None):
                inside[0] += 1
                entered.append(inside[0])
                time.sleep(0)
                inside[0] -= 1
                if (turn + worker) % 3 == 0:
                    remove(slot, tmp_path / "removed")

    workers = [threading.Thread(target=use, args=(worker,)) for worker in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)

    assert entered == [1] * 180


def test_a_tree_that_nobody_may_write_to_is_removed(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        tree, outside = Path(directory, "tree"), Path(directory, "outside")
        (tree / "a/b").mkdir(parents=True)
        (tree / "a/b/file").write_text("x")
        (tree / "a/b/link").symlink_to(outside)
        outside.mkdir(mode=0o500)
        (tree / "a/b").chmod(0o000)
        (tree / "a").chmod(0o500)
        with anybody(Path(directory)):
            bury(tree)

        assert not tree.exists()
        assert outside.stat().st_mode & 0o777 == 0o500


@contextlib.contextmanager
def anybody(directory: Path) -> Iterator[None]:
    """To root every file is open: as somebody else then, whose everything below `directory` is."""
    user = os.geteuid()
    if user == 0:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, 65534, -1, follow_symlinks=False)
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
