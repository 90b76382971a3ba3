"""Git repositories over plain HTTP on this machine, which come up late."""

import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any


class GitServer:
    """Serves the bare repositories in `directory` while it is entered; the first `refusals` requests get a 503."""

    def __init__(self, directory: Path, refusals: int = 0) -> None:
        self._refusals = refusals
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(_Handler, owner=self, directory=str(directory))
        )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> "GitServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def source(self, name: str) -> str:
        """What a module's `source` says to have a repository."""
        return f"git::http://127.0.0.1:{self._server.server_port}/{name}"

    def refuses(self) -> bool:
        """Whether the next request is refused."""
        self._refusals -= 1
        return self._refusals >= 0


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any, owner: GitServer, **settings: Any) -> None:
        self._owner = owner
        super().__init__(*arguments, **settings)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base has it
        pass

    def do_GET(self) -> None:
        if self._owner.refuses():
            self.send_error(503)
        else:
            super().do_GET()


def make_repository(directory: Path, name: str, files: dict[str, str]) -> Path:
    """A bare repository with one commit, ready to be served as files."""
    work = directory / f"{name}.work"
    work.mkdir(parents=True)
    for file, text in files.items():
        (work / file).write_text(text)
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=a"),
        ("clone", "--quiet", "--bare", ".", str(directory / name)),
        ("-C", str(directory / name), "update-server-info"),
    ):
        subprocess.run(("git", *arguments), cwd=work, check=True, timeout=60)
    return directory / name
