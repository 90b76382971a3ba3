"""A real Postgres on this machine, for states in a database."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_DEBIAN = Path("/usr/lib/postgresql")
_USER = "postgres"


class Postgres:
    """A server that listens on 127.0.0.1, and trusts whoever comes."""

    def __init__(self, programs: Path, port: int) -> None:
        self.programs = programs
        self.port = port

    def url(self, database: str) -> str:
        return f"postgres://{_USER}@127.0.0.1:{self.port}/{database}?sslmode=disable"

    def ask(self, database: str, command: str) -> str:
        """What `psql` answers, without decoration."""
        words = (self.programs / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", command, self.url(database))
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


class Database:
    """A database of the test's own."""

    def __init__(self, postgres: Postgres, name: str) -> None:
        self._postgres = postgres
        self._name = name

    @property
    def url(self) -> str:
        return self._postgres.url(self._name)

    @property
    def psql(self) -> Path:
        return self._postgres.programs / "psql"

    def ask(self, command: str) -> str:
        return self._postgres.ask(self._name, command)

    def locks(self) -> int:
        """How many advisory locks anybody holds in it."""
        return int(
            self.ask(
                "select count(*) from pg_locks where locktype = 'advisory'"
                " and database = (select oid from pg_database where datname = current_database())"
            )
        )


def programs() -> Path:
    """Where the server's programs are; a machine without them cannot prove what is to be proven here."""
    found = sorted(_DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name.partition(".")[0]))
    if found:
        return found[-1]
    on_path = shutil.which("initdb")
    if on_path is None:
        pytest.fail("there is no Postgres to test with: `apt-get install postgresql`")
    return Path(on_path).resolve().parent


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of this process's own, for all its tests."""
    # Not below pytest's own directory, where nobody but its user comes.
    with tempfile.TemporaryDirectory(prefix="hereya-tf-postgres-") as name:
        yield from _serve(Path(name))


def _serve(place: Path) -> Iterator[Postgres]:
    found = programs()
    if os.getuid() == 0:  # which the server refuses to be
        shutil.chown(place, _USER)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    _run(found / "initdb", "-D", place / "data", "-U", _USER, "-A", "trust", "-N", place=place)
    settings = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=40"
    control = (found / "pg_ctl", "-D", place / "data", "-w", "-t", "60")
    _run(*control, "-l", place / "log", "-o", settings, "start", place=place)
    try:
        yield Postgres(found, port)
    finally:
        _run(*control, "-m", "immediate", "stop", place=place)


@pytest.fixture
def database(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A new database, which every engine that the test starts keeps its states in."""
    name = "of_" + "".join(letter for letter in tmp_path.name.lower() if letter.isalnum())[-50:]
    postgres.ask(_USER, f'create database "{name}"')
    made = Database(postgres, name)
    monkeypatch.setenv("PG_CONN_STR", made.url)
    return made


def _run(*words: str | Path, place: Path) -> None:
    """Run one of the server's programs, as its user."""
    is_root = os.getuid() == 0
    with (place / "output").open("ab") as output:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            timeout=120,
            user=_USER if is_root else None,
            group=_USER if is_root else None,
            extra_groups=() if is_root else None,
        )
    assert done.returncode == 0, (place / "output").read_text()
