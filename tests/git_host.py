"""A host of git repositories on this machine: smart HTTP by git itself, with a password, and with faults."""

import base64
import contextlib
import subprocess
import threading
from collections.abc import Mapping
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

IDENTITY = (
    *("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"),
    *("-c", "protocol.file.allow=always"),
)


def git(directory: Path, *arguments: str, text: str | None = None) -> str:
    """What a git command says; it has to succeed."""
    done = subprocess.run(
        ("git", *IDENTITY, *arguments),
        cwd=directory,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Author:
    """Makes commits in `directory/NAME`, which can be fetched from."""

    def __init__(self, directory: Path, name: str = "infra.git", *, form: str = "sha1") -> None:
        self.directory = directory / name
        self.directory.mkdir(parents=True)
        git(self.directory, "init", "--quiet", f"--object-format={form}")

    def commit(self, files: Mapping[str, str], links: Mapping[str, str] = {}) -> str:
        """Write files and links, and commit everything; returns the SHA."""
        for name, text in files.items():
            file = self.directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for name, target in links.items():
            (self.directory / name).symlink_to(target)
        git(self.directory, "add", "--all", "--force")
        git(self.directory, "commit", "--quiet", "--allow-empty", "--message=a")
        return self.head()

    def head(self) -> str:
        return git(self.directory, "rev-parse", "HEAD")

    def run(self, *arguments: str, text: str | None = None) -> str:
        return git(self.directory, *arguments, text=text)


class GitHost:
    """Serves the repositories below `directory` while it is entered.

    `user_info` is asked for where it is given. `status` is the answer to everything, instead of git's; `silent`
    gives none at all; `dumb` serves files only; `elsewhere` is where everything is redirected to.
    """

    def __init__(self, directory: Path, *, user_info: str | None = None) -> None:
        self.user_info = user_info
        self.status: int | None = None
        self.elsewhere: str | None = None
        self.asks_before_it_redirects = False
        self.silent = False
        self.dumb = False
        self.body: bytes | None = None
        self.requests: list[tuple[str, str | None]] = []
        self.released = threading.Event()
        self.asked = threading.Event()
        self.directory = directory
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "GitHost":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def url(self, name: str = "infra.git") -> str:
        return f"http://{self.place}/{name}"

    def admits(self, authorization: str | None) -> bool:
        if self.user_info is None:
            return True
        return authorization == f"Basic {base64.b64encode(self.user_info.encode()).decode()}"

    @property
    def credentials(self) -> tuple[str | None, ...]:
        """What came as credentials, each once."""
        return tuple(dict.fromkeys(authorization for _, authorization in self.requests))


@cache
def _backend() -> str:
    executables = subprocess.run(("git", "--exec-path"), capture_output=True, text=True, check=True).stdout
    return str(Path(executables.strip(), "git-http-backend"))


def _handler(host: GitHost) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host.requests.append((self.path, self.headers.get("Authorization")))
            host.asked.set()
            if host.silent:
                host.released.wait(60)
                self.close_connection = True
            elif host.elsewhere is not None and not self.has_to_log_in():
                self.answer(302, {"Location": f"{host.elsewhere}{self.path}"})
            elif host.status is not None:
                self.answer(host.status, {})
            elif not host.admits(self.headers.get("Authorization")):
                self.answer(401, {"WWW-Authenticate": 'Basic realm="git"'})
            elif host.body is not None:
                self.answer(200, {}, host.body)
            elif host.dumb:
                self.serve_file()
            else:
                self.serve_git()

        def do_POST(self) -> None:
            self.do_GET()

        def has_to_log_in(self) -> bool:
            return host.asks_before_it_redirects and not host.admits(self.headers.get("Authorization"))

        def serve_file(self) -> None:
            path = self.path.partition("?")[0].lstrip("/")
            file = host.directory / path
            self.answer(200, {}, file.read_bytes()) if file.is_file() else self.answer(404, {})

        def serve_git(self) -> None:
            path, _, query = self.path.partition("?")
            environment = {
                "GIT_PROJECT_ROOT": str(host.directory),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "PATH": "/usr/local/bin:/usr/bin:/bin",
            }
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            done = subprocess.run(_backend(), env=environment, input=body, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.answer(int(headers.pop("Status", "200").split()[0]), headers, content)

        def answer(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as its base has it
            pass

    return Handler
