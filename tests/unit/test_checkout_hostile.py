"""Repositories that were made to do harm do none."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.checkouts import (
    CheckoutFailed,
    CheckoutTimedOut,
    GitRevision,
    GitUnusable,
    Limits,
    RefusedPackage,
)
from hereya_tf.errors import Busy, Cancelled, FailureClass, NoRoom
from tests.checking_out import Place, contents
from tests.git_host import Author, GitHost

DEADLINE = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "served")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "served") as host:
        yield host


def commit_of(author: Author, tree: str) -> str:
    """A commit of a tree that no client of git would make."""
    commit = author.run("commit-tree", "-m", "a", tree)
    author.run("update-ref", "refs/heads/main", commit)
    return commit


def raw_tree(author: Author, *entries: tuple[str, str, str]) -> str:
    """A tree of (mode, name, SHA), whatever they are."""
    content = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(sha) for mode, name, sha in entries)
    made = subprocess.run(
        ("git", "hash-object", "--literally", "-t", "tree", "-w", "--stdin"),
        cwd=author.directory,
        input=content,
        capture_output=True,
        check=True,
    )
    return made.stdout.decode().strip()


@pytest.mark.parametrize("name", [".git", ".GIT", ".git\u200c", "git~1", "..", "."])
def test_a_tree_that_brings_a_git_directory(place: Place, author: Author, host: GitHost, name: str) -> None:
    config = author.run("hash-object", "-w", "--stdin", text="[core]\n\tfsmonitor = touch pwned\n")
    inner = raw_tree(author, ("100644", "config", config))
    source = GitRevision(url=host.url(), commit=commit_of(author, raw_tree(author, ("40000", name, inner))))

    requests = len(host.requests)
    error = place.failure(source)

    assert type(error) is RefusedPackage
    assert str(error).startswith(f"`{host.url()}` is refused: git says: object ")
    assert len(host.requests) - requests <= 2, "it was not asked again for more"
    assert not any(path.name in ("config", "pwned") for path in place.files() if "tree" in path.parts)


@pytest.mark.parametrize("fsck", [True, False], ids=["refused on its way", "refused when it is written"])
def test_nothing_is_written_through_a_link(
    place: Place, author: Author, host: GitHost, tmp_path: Path, *, fsck: bool
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = author.run("hash-object", "-w", "--stdin", text=str(outside))
    payload = author.run("hash-object", "-w", "--stdin", text="pwned")
    inner = raw_tree(author, ("100644", "file", payload))
    entries = [("120000", "a", target), ("40000", "a", inner)]
    if not fsck:
        entries = [("120000", "A", target), ("40000", "a", inner)]
    source = GitRevision(url=host.url(), commit=commit_of(author, raw_tree(author, *entries)))
    with contextlib.suppress(CheckoutFailed), place.checkout(source):
        assert not fsck

    assert list(outside.iterdir()) == []


def test_a_tree_that_repeats_itself_for_ever(place: Place, author: Author, host: GitHost) -> None:
    sha = author.run("hash-object", "-w", "--stdin", text="spam")
    mode = "100644"
    for _ in range(10):
        sha = raw_tree(author, *((mode, f"d{number}", sha) for number in range(10)))
        mode = "40000"
    began = time.monotonic()

    error = place.failure(GitRevision(url=host.url(), commit=commit_of(author, sha)))

    assert type(error) is RefusedPackage
    assert str(error) == "`git ls-tree` has more to say than any package would need"
    assert time.monotonic() - began < DEADLINE
    assert not any("tree" in path.parts for path in place.files() if path.name.startswith("d"))


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(files=2), "the package has more than 2 files"),
        (Limits(tree_bytes=1_999_999), "the package is larger than 2.0 MB"),
    ],
)
def test_a_package_that_is_larger_than_allowed(
    place: Place, author: Author, host: GitHost, limits: Limits, sentence: str
) -> None:
    commit = author.commit({"a.tf": "x" * 1_000_000, "b.tf": "y" * 1_000_000, "c.tf": ""})
    source = GitRevision(url=host.url(), commit=commit)

    error = place.failure(source, limits=limits)

    assert (type(error), str(error)) == (RefusedPackage, sentence)
    with place.checkout(source, limits=Limits(files=3, tree_bytes=2_000_000)) as checkout:
        assert sorted(contents(checkout.root)) == ["a.tf", "b.tf", "c.tf"]


def test_a_transfer_that_has_no_end_is_ended(place: Place, author: Author, tmp_path: Path) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    endless = tmp_path / "git"
    # Plays what git does while a pack arrives: a growing temporary file.
    endless.write_text(
        '#!/bin/sh\nif test "$1" = fetch; then\n'
        "head -c 5000000 /dev/zero >objects/pack/tmp_pack_x; exec sleep 60; fi\n"
        'exec "$REAL_GIT" "$@"\n'
    )
    endless.chmod(0o755)
    source = GitRevision(url=f"file://{author.directory}", commit=commit)
    real = shutil.which("git")
    assert real is not None
    settings = {"git": str(endless), "environment": {"REAL_GIT": real}, "allow_local": True}

    error = place.failure(source, limits=Limits(transfer_bytes=4_000_000), **settings)

    assert (type(error), str(error)) == (
        RefusedPackage,
        "the repository sends more than 4.0 MB for the commit",
    )
    with place.checkout(source, allow_local=True) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
    assert not any(path.name.startswith("tmp_pack") for path in place.files())


def test_a_host_that_says_nothing_is_not_waited_for(place: Place, host: GitHost) -> None:
    host.silent = True

    error = place.failure(GitRevision(url=host.url(), commit="1" * 40), limits=Limits(seconds=0.5))

    assert (type(error), str(error)) == (CheckoutTimedOut, "`git fetch` did not end within 500ms")
    assert error.failure_class is FailureClass.TIMED_OUT
    assert processes_of(host.place) == []


def test_a_checkout_can_be_interrupted(place: Place, host: GitHost) -> None:
    host.silent = True

    def pause(_seconds: float) -> None:
        if host.asked.is_set():
            raise Cancelled("enough")

    error = place.failure(GitRevision(url=host.url(), commit="1" * 40), pause=pause)

    assert str(error) == "enough"
    assert processes_of(host.place) == []


def processes_of(word: str) -> list[str]:
    """Command lines of living processes with a word in them."""
    done = subprocess.run(
        ("ps", "-A", "-o", "stat=", "-o", "args="), capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if word in line]
    return [line for line in lines if not line.startswith("Z")]


def test_a_machine_without_git(place: Place, tmp_path: Path) -> None:
    source = GitRevision(url="https://git.invalid/x", commit="1" * 40)
    program = tmp_path / "git"
    sentences = []
    for text, mode in ((None, 0), ("#!/bin/sh\n", 0o600), ("#!/bin/sh\necho git version 2.30.9\n", 0o700)):
        if text is not None:
            program.write_text(text)
            program.chmod(mode)
        error = place.failure(source, git=str(program))
        assert type(error) is GitUnusable
        sentences.append(str(error))
    program.write_text("#!/bin/sh\necho hello\n")
    sentences.append(str(place.failure(source, git=str(program))))

    assert sentences == [
        "there is no `git` on this machine",
        "`git` cannot be started: Permission denied",
        "`git version 2.30.9` is too old",
        "`hello` is too old",
    ]


def test_a_tree_is_one_checkouts_at_a_time(place: Place, author: Author, host: GitHost) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    now = [0.0]

    def pause(seconds: float) -> None:
        now[0] += seconds

    with place.checkout(source):
        error = place.failure(source, limits=Limits(patience=5.0), pause=pause, clock=lambda: now[0])
        assert type(error) is Busy
        assert str(error) == (
            f"the checkout of `{source.shown}` is in use by another checkout or job, for longer than 5s"
        )
    assert place.said == [
        f"the checkout of `{source.shown}` is in use by another checkout or job: waiting for it"
    ]


def test_a_job_that_outlives_its_executor_keeps_its_tree(place: Place, author: Author, host: GitHost) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    program = (
        "import os, sys; from pathlib import Path; from hereya_tf.checkouts import *; import subprocess, signal\n"
        "cache, url, commit = sys.argv[1:]\n"
        "checkouts = Checkouts(Path(cache), environment=os.environ)\n"
        "with checkouts.checkout(GitRevision(url=url, commit=commit), 'w') as checkout:\n"
        "    job = subprocess.Popen(['cat'], stdin=0, pass_fds=(checkout.descriptor,))\n"
        "    print('started', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    arguments = (sys.executable, "-c", program, str(place.cache), source.url, source.commit)
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as executor:
        assert executor.stdout is not None
        assert executor.stdout.readline() == b"started\n"
        executor.wait(DEADLINE)
        assert executor.returncode == -signal.SIGKILL

        assert type(place.failure(source, limits=Limits(patience=0.0))) is Busy
        assert executor.stdin is not None
        executor.stdin.close()  # the end of the job
        with place.checkout(source) as checkout:
            assert contents(checkout.root) == {"main.tf": "# 1\n"}


def test_a_fetch_that_outlives_its_executor_is_waited_for(
    place: Place, author: Author, host: GitHost
) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    host.silent = True
    program = (
        "import os, sys; from pathlib import Path; from hereya_tf.checkouts import *\n"
        "cache, url, commit = sys.argv[1:]\n"
        "checkouts = Checkouts(Path(cache), environment=os.environ)\n"
        "with checkouts.checkout(GitRevision(url=url, commit=commit), 'w'): pass\n"
    )
    arguments = (sys.executable, "-c", program, str(place.cache), source.url, source.commit)
    with subprocess.Popen(arguments) as executor:
        assert host.asked.wait(DEADLINE)
        executor.kill()
        executor.wait(DEADLINE)

    assert type(place.failure(source, limits=Limits(patience=0.0))) is Busy
    host.silent = False
    host.released.set()  # the end of the fetch
    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}


@pytest.mark.parametrize("stopped_at", range(12))
def test_what_a_killed_checkout_leaves_is_never_taken_for_whole(
    place: Place, author: Author, host: GitHost, tmp_path: Path, stopped_at: int
) -> None:
    files = {f"d{number}/main.tf": f"# {number}\n" * 1000 for number in range(40)}
    source = GitRevision(url=host.url(), commit=author.commit(files))
    program = (
        "import os, sys, signal; from pathlib import Path; from hereya_tf.checkouts import *\n"
        "cache, url, commit, stop = sys.argv[1:]\n"
        "calls = [0]\n"
        "def pause(seconds):\n"
        "    calls[0] += 1\n"
        "def audit(event, arguments):\n"
        "    if event in ('subprocess.Popen', 'os.rename', 'os.mkdir'):\n"
        "        calls[0] += 1\n"
        "        if calls[0] > int(stop): os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(audit)\n"
        "with Checkouts(Path(cache), environment=os.environ, pause=pause).checkout(\n"
        "    GitRevision(url=url, commit=commit), 'w'): pass\n"
    )
    arguments = (sys.executable, "-c", program, str(place.cache), source.url, source.commit)
    done = subprocess.run((*arguments, str(stopped_at * 2)), check=False, timeout=DEADLINE)
    assert done.returncode == -signal.SIGKILL

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == files


def test_a_path_that_git_itself_refuses_is_not_fetched_again(
    place: Place, author: Author, host: GitHost, tmp_path: Path
) -> None:
    payload = author.run("hash-object", "-w", "--stdin", text="x")
    inner = raw_tree(author, ("100644", "config", payload))
    commit = commit_of(author, raw_tree(author, ("40000", ".git", inner)))
    program, real = tmp_path / "git", shutil.which("git")
    # Fetches without looking, as a git would that does not know the trick yet.
    program.write_text(
        f'#!/bin/sh\ntest "$1" = fetch && GIT_CONFIG_COUNT=0 exec {real} "$@"\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    with contextlib.suppress(CheckoutFailed), place.checkout(GitRevision(url=host.url(), commit=commit)):
        pass
    place.said.clear()

    error = place.failure(GitRevision(url=host.url(), commit=commit), git=str(program))

    assert type(error) is RefusedPackage
    assert str(error) == f"`{host.url()} at {commit[:12]}` is refused: git says: invalid path '.git/config'"
    assert place.said == []


@pytest.mark.parametrize("command", ["init", "config", "fetch", "update-ref", "reset"])
def test_git_that_is_killed_leaves_nothing_in_the_way(
    place: Place, author: Author, host: GitHost, tmp_path: Path, command: str
) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n", "b/b.tf": "# 2\n"}))
    program = tmp_path / "git"
    locks = (
        "HEAD.lock packed-refs.lock shallow.lock config.lock index.lock objects/pack/tmp_pack_1 refs/x.lock"
    )
    program.write_text(
        f'#!/bin/sh\nif test "$1" = {command}; then cd "$GIT_DIR" && touch {locks} 2>{tmp_path}/no; '
        "kill -9 $$; fi\n"
        'exec "$REAL_GIT" "$@"\n'
    )
    program.chmod(0o755)
    real = shutil.which("git")
    assert real is not None

    error = place.failure(source, git=str(program), environment={"REAL_GIT": real})

    assert type(error) is CheckoutFailed
    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n", "b/b.tf": "# 2\n"}
    assert not any(path.name.endswith(".lock") for path in place.files())
    assert [path for path in place.files() if "removed" in path.parts] == []


@pytest.mark.parametrize(("room", "where"), [("1m", "repositories"), ("11m", "trees")])
def test_a_disk_without_room(tmp_path: Path, author: Author, room: str, where: str) -> None:
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("a file system of its own can be mounted by root on Linux only")
    disk = tmp_path / "disk"
    disk.mkdir()
    commit = author.commit({"main.tf": os.urandom(4_000_000).hex()})
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(disk)), capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        source = GitRevision(url=f"file://{author.directory}", commit=commit)
        error = Place(disk).failure(source, allow_local=True)
    finally:
        subprocess.run(("umount", "-l", str(disk)), check=True)

    assert type(error) is NoRoom
    start = f"there is no room for the package in `{disk}/package-cache/checkouts/{where}/infra-"
    assert str(error).startswith(start)
