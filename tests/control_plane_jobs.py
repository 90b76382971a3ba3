"""The jobs of the control plane that the tests play: claims, long-polls, logs by offset."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

TERMINAL = ("completed", "failed", "cancelled")
PART_BYTES = 64 * 1024
Found = TypeVar("Found")


class Asked(NamedTuple):
    """A request; `body` is a JSON value, or the fields of a form as bytes."""

    operation: str
    names: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]
    target: str


class PlaneJob:
    """A job as the server has it."""

    def __init__(self, number: int, workspace: str, type_: str, payload: Any) -> None:
        self.id = f"job-{number}"
        self.workspace = workspace
        self.type = type_
        self.payload = payload
        self.status = "queued"
        self.result: Any = None
        self.logs = b""
        self.attempt = 0
        self.claim: str | None = None
        self.cancel_requested = False
        self.heartbeats = 0


class JobBoard:
    """All jobs of a control plane; `hold` is how long it holds long-polls, in seconds."""

    def __init__(self, *, hold: float, foreign: bool) -> None:
        self.jobs: dict[str, PlaneJob] = {}
        self.hold = hold
        self.foreign = foreign
        self.part_bytes = PART_BYTES
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self._keys: dict[tuple[str, str], PlaneJob] = {}
        self._again: list[PlaneJob] = []

    def add(self, type_: str = "provision", payload: Any = None, *, workspace: str = "prod") -> PlaneJob:
        """A new job, as if it had been submitted."""
        with self.changed:
            job = PlaneJob(len(self.jobs) + 1, workspace, type_, {} if payload is None else payload)
            self.jobs[job.id] = job
            self.changed.notify_all()
        return job

    def change(self, job: PlaneJob, **fields: Any) -> None:
        """Change a job as its executor would; `more` is added to its log."""
        with self.changed:
            job.logs += fields.pop("more", "").encode()
            for name, value in fields.items():
                setattr(job, name, value)
            self.changed.notify_all()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so that requests and changes bring about; fails after a minute."""
        with self.changed:
            assert self.changed.wait_for(is_so, 60)

    def redeliver(self, job: PlaneJob) -> None:
        """Give a running job up for lost: it is handed out again, as another attempt with another claim."""
        self.change(job, status="queued", claim=None, logs=b"")

    def hand_again(self, job: PlaneJob) -> None:
        """Hand a running job out again as it is, to whoever polls next: a duplicate."""
        with self.changed:
            self._again.append(job)
            self.changed.notify_all()

    def do(self, asked: Asked) -> tuple[int, Any]:
        """What is asked of a good server."""
        doing = {
            "submit": self._submit,
            "status": self._status,
            "cancel": self._cancel,
            "poll": self._poll,
            "update": self._update,
        }
        with self.changed:
            return doing[asked.operation](asked)

    def _submit(self, asked: Asked) -> tuple[int, Any]:
        workspace, body = asked.names["workspace"], asked.body
        key = body.get("idempotencyKey")
        known = self._keys.get((workspace, key)) if key is not None else None
        if known is not None:
            return 200, {"job": self._seen(known, 0)}
        job = self.add(body["type"], body["payload"], workspace=workspace)
        if key is not None:
            self._keys[workspace, key] = job
        return 201, {"job": self._seen(job, 0)}

    def _status(self, asked: Asked) -> tuple[int, Any]:
        job = self._find(asked)
        if job is None:
            return 404, {"reason": f"there is no job {asked.names['job']}"}
        last, offset = asked.query.get("lastStatus"), int(asked.query.get("logsOffset", 0))
        if last is not None:
            self._held(lambda: job.status in TERMINAL or job.status != last or len(job.logs) > offset or None)
        return 200, {"job": self._seen(job, offset)}

    def _cancel(self, asked: Asked) -> tuple[int, Any]:
        job = self._find(asked)
        if job is None:
            return 404, {"reason": f"there is no job {asked.names['job']}"}
        if job.status not in TERMINAL:
            job.cancel_requested = True
            if job.status == "queued" or asked.body["force"]:
                job.status, job.claim = "cancelled", None
            self.changed.notify_all()
        return 200, {"job": self._seen(job, 0)}

    def _poll(self, asked: Asked) -> tuple[int, Any]:
        def ready() -> PlaneJob | None:
            if self._again:
                return self._again.pop(0)
            mine = (job for job in self.jobs.values() if job.workspace == asked.names["workspace"])
            job = next((job for job in mine if job.status == "queued"), None)
            if job is not None:
                job.status, job.attempt = "running", job.attempt + 1
                job.claim = None if self.foreign else f"{job.id}/{job.attempt}"
                self.changed.notify_all()
            return job

        job = self._held(ready)
        if job is None:
            return 204, None
        record = {"id": job.id, "type": job.type, "payload": job.payload, "attempt": job.attempt}
        return 200, {"job": record if job.claim is None else {**record, "claim": job.claim}}

    def _update(self, asked: Asked) -> tuple[int, Any]:
        job, fields = self._find(asked), asked.body
        if job is None:
            return 404, {"reason": f"there is no job {asked.names['job']}"}
        told = fields["status"].decode() if "status" in fields else None
        claim = fields["claim"].decode() if "claim" in fields else None
        if claim != job.claim or (job.status in TERMINAL and told != job.status):
            return 409, {"reason": f"{job.id} is not yours any more"}
        job.heartbeats += 1
        if job.status not in TERMINAL:
            offset = len(job.logs) if self.foreign else int(fields.get("logsOffset", b"0"))
            if offset <= len(job.logs):
                job.logs += fields.get("logs", b"")[len(job.logs) - offset :]
            job.status = told or job.status
            job.result = json.loads(fields["result"]) if "result" in fields else job.result
        self.changed.notify_all()
        return 200, {} if self.foreign else {"cancelRequested": job.cancel_requested}

    def _find(self, asked: Asked) -> PlaneJob | None:
        job = self.jobs.get(asked.names["job"])
        is_there = job is not None and asked.names.get("workspace", job.workspace) == job.workspace
        return job if is_there else None

    def _held(self, look: Callable[[], Found | None]) -> Found | None:
        """What `look` finds, as soon as it does; None when the time is over."""
        ends = time.monotonic() + self.hold
        while (found := look()) is None and not self.closing.is_set():
            left = ends - time.monotonic()
            if left <= 0:
                return None
            self.changed.wait(left)
        return found

    def _seen(self, job: PlaneJob, offset: int) -> dict[str, Any]:
        record = {"id": job.id, "type": job.type, "status": job.status, "result": job.result}
        if self.foreign:
            return {**record, "logs": job.logs.decode()}
        begin = offset if offset <= len(job.logs) else 0
        end = begin + self.part_bytes
        while 0x80 <= (job.logs[end] if end < len(job.logs) else 0) < 0xC0:
            end += 1
        part = job.logs[begin:end].decode()
        return {**record, "logs": part, "logsOffset": begin, "attempt": max(1, job.attempt)}
