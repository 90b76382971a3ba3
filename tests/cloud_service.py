"""Plays as much of Terraform Cloud, on 127.0.0.1, as an engine needs for one workspace.

The calls and their answers are those of go-tfe and of the public API's documentation.
"""

import base64
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "app.terraform.io"
TOKEN = "the-token-of-the-test"
_RIGHTS = (
    "can-update",
    "can-queue-run",
    "can-queue-apply",
    "can-queue-destroy",
    "can-read-settings",
    "can-lock",
    "can-unlock",
)
# An engine leaves out the first three lines of an apply's log: they are those of the plan's.
_HEADER = "Terraform v1.11.4\non linux_amd64\nInitializing plugins and modules...\n"


class CloudService:
    """One organization `acme` with one workspace `w`; what it is like may be changed at any time."""

    def __init__(self) -> None:
        self.execution_mode = "remote"
        self.terraform_version = "latest"
        self.api_version = "2.6"
        self.has_rights = True
        self.has_repository = False
        self.authorizes = True
        self.run_status = "planned"
        self.comes_to_an_end = True
        self.requests: list[str] = []
        self.variables: list[dict[str, str]] = []
        self.states: list[bytes] = []
        self._applied = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def settings(self, *, token: bool = True) -> str:
        """A CLI configuration for which the host is this service."""
        services = "".join(
            f'    "{name}" = "{self.address}/api/v2/"\n' for name in ("tfe.v2", "tfe.v2.1", "state.v2")
        )
        credentials = f'credentials "{HOST}" {{\n  token = "{TOKEN}"\n}}\n' if token else ""
        return (
            f'disable_checkpoint = true\nhost "{HOST}" {{\n  services = {{\n{services}  }}\n}}\n{credentials}'
        )

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and body of an answer: a document as a dict, a file as bytes."""
        self.requests.append(f"{method} {path}")
        if path in ("/upload", "/json-state"):
            return 200, b""
        if path == "/state":
            if method == "PUT":
                self.states[-1] = body
            return 200, self.states[-1]
        if path.startswith("/logs/"):
            return 200, self._log(path)
        return self._call(f"{method} {path.removeprefix('/api/v2/')}", body)

    def _call(self, call: str, body: bytes) -> tuple[int, Any]:
        if not self.authorizes and call != "GET ping":
            return 401, {"errors": [{"status": "401", "title": "unauthorized"}]}
        match call:
            case "GET ping":
                return 204, b""
            case "GET organizations/acme/entitlement-set":
                return 200, _document("entitlement-sets", "org", {"operations": True, "state-storage": True})
            case "GET organizations/acme/workspaces/w" | "GET workspaces/ws" | "PATCH workspaces/ws":
                return 200, self._workspace()
            case "POST workspaces/ws/actions/lock" | "POST workspaces/ws/actions/unlock":
                return 200, self._workspace()
            case "POST workspaces/ws/configuration-versions" | "GET configuration-versions/cv":
                attributes = {"status": "uploaded", "upload-url": f"{self.address}/upload"}
                return 201 if call.startswith("POST") else 200, _document(
                    "configuration-versions", "cv", attributes
                )
            case "POST runs":
                self.variables = json.loads(body)["data"]["attributes"].get("variables") or []
                return 201, self._run()
            case "GET runs/run":
                return 200, self._run()
            case "POST runs/run/actions/apply":
                self._applied = True
                return 202, b""
            case "POST runs/run/actions/cancel":
                self.run_status = "canceled"
                return 202, b""
            case "GET runs/run/task-stages" | "GET runs/run/run-events":
                return 200, _list([])
            case "GET workspaces/ws/current-state-version-outputs" | "GET state-versions/sv/outputs":
                return 200, _list(self._outputs())
            case "GET plans/plan" | "GET applies/apply":
                kind = call.rpartition("/")[2]
                status = "finished" if self.comes_to_an_end else "running"
                attributes = {"status": status, "log-read-url": f"{self.address}/logs/{kind}"}
                return 200, _document("plans" if kind == "plan" else "applies", kind, attributes)
            case "POST workspaces/ws/state-versions":
                given = json.loads(body)["data"]["attributes"].get("state") or ""
                self.states.append(base64.b64decode(given))
                return 201, self._state()
            case "GET workspaces/ws/current-state-version" | "GET state-versions/sv" if self.states:
                return 200, self._state()
            case _:
                return 404, {"errors": [{"status": "404", "title": "not found"}]}

    def _workspace(self) -> dict[str, Any]:
        attributes = {
            "name": "w",
            "execution-mode": self.execution_mode,
            "operations": self.execution_mode == "remote",
            "terraform-version": self.terraform_version,
            "auto-apply": False,
            "vcs-repo": {"identifier": "acme/repository"} if self.has_repository else None,
            "permissions": dict.fromkeys(_RIGHTS, self.has_rights),
        }
        relations = {"organization": ("organizations", "acme")}
        if self.states:
            relations["current-state-version"] = ("state-versions", "sv")
        return _document("workspaces", "ws", attributes, relations)

    def _run(self) -> dict[str, Any]:
        status = "applied" if self._applied else self.run_status
        attributes = {
            "status": status,
            "has-changes": True,
            "actions": {"is-confirmable": status == "planned", "is-cancelable": True},
            "permissions": {"can-apply": True, "can-cancel": True},
        }
        relations = {
            "plan": ("plans", "plan"),
            "apply": ("applies", "apply"),
            "workspace": ("workspaces", "ws"),
        }
        return _document("runs", "run", attributes, relations)

    def _state(self) -> dict[str, Any]:
        attributes = {
            "serial": 1,
            "status": "finalized",
            "hosted-state-download-url": f"{self.address}/state",
            "hosted-state-upload-url": f"{self.address}/state",
            "hosted-json-state-upload-url": f"{self.address}/json-state",
            "resources-processed": False,
        }
        return _document("state-versions", "sv", attributes)

    def _outputs(self) -> list[dict[str, Any]]:
        outputs = json.loads(self.states[-1])["outputs"] if self.states else {}
        return [
            _document(
                "state-version-outputs",
                f"output-{name}",
                {
                    "name": name,
                    "value": output["value"],
                    "sensitive": output.get("sensitive", False),
                    "type": "string",
                    "detailed-type": output["type"],
                },
            )["data"]
            for name, output in outputs.items()
        ]

    def _log(self, path: str) -> bytes:
        if path.endswith("plan"):
            text = f"{_HEADER}\nPlan: 1 to add, 0 to change, 0 to destroy.\n"
        else:
            text = f"{_HEADER}terraform_data.a: Creating...\n\nApply complete! Resources: 1 added.\n"
        end = "\x03" if self.comes_to_an_end else ""
        return f"\x02{text}{end}".encode()


def _document(
    kind: str, identity: str, attributes: Mapping[str, Any], relations: Mapping[str, tuple[str, str]] = {}
) -> dict[str, Any]:
    related = {name: {"data": {"type": type_, "id": id_}} for name, (type_, id_) in relations.items()}
    return {
        "data": {"id": identity, "type": kind, "attributes": attributes, "relationships": related},
    }


def _list(items: list[dict[str, Any]]) -> dict[str, Any]:
    pages = {"current-page": 1, "total-pages": 1, "total-count": len(items)}
    return {"data": items, "meta": {"pagination": pages}}


def _handler(service: CloudService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as its base has it
            pass

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _answer(self) -> None:
            path, _, query = self.path.partition("?")
            status, found = service.answer(self.command, path, self._body())
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            if path.startswith("/logs/"):
                wanted = dict(part.split("=") for part in query.split("&"))
                content = content[int(wanted["offset"]) :][: int(wanted["limit"])]
            self.send_response(status)
            for name, value in (
                ("Content-Type", "application/vnd.api+json"),
                ("Content-Length", str(len(content))),
                ("TFP-API-Version", service.api_version),
                ("TFP-AppName", "HCP Terraform"),
                ("X-RateLimit-Limit", "30"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - as its base has them

    return Handler
