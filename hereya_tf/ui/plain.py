"""Plain lines for logs and terminals: what happens, when, and how long it took (pure)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum

from hereya_tf.report.changes import DRIFT, change_text
from hereya_tf.ui.repeats import Said
from hereya_tf.words import (
    DOING,
    DONE,
    Record,
    achieved_text,
    again_text,
    arrived_text,
    asked_because,
    diagnostic_text,
    failed_after,
    format_seconds,
    queue_text,
    short_error,
    visible,
    who_works,
)

# Of a download of unknown size so much is a line's worth; else a quarter is.
_DOWNLOADED_BYTES = 10_000_000
# No step of the engine's is on then.
_WAITING = {"wait": "waiting", "engine": "waiting for the engine"}


class Detail(IntEnum):
    """How much is shown."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class PlainLines:
    """Renders a run's events; remembers when the run began, which step is on, and what was said before."""

    def __init__(self, detail: Detail = Detail.NORMAL, *, color: bool = False, progress: bool = True) -> None:
        self._detail = detail
        self._color = color
        self._progress = progress
        self._began: datetime | None = None
        self._step = ""
        self._failed: set[str] = set()
        self._steps = 0
        self._asked_to_end = False
        self._downloaded: tuple[str, str, int] | None = None
        self._said = Said()

    def lines(self, record: Record) -> list[str]:
        """The lines for one event, without newlines; often none."""
        if self._began is None:
            self._began = datetime.fromisoformat(record["ts"])
        if record["type"] in ("step_started", "step_finished"):
            self._step = record["step"]
            self._steps += record["type"] == "step_started"
        texts = self._texts(record)
        if not texts:
            return []
        moment = datetime.fromisoformat(record["ts"])
        since = max(0.0, (moment - self._began).total_seconds())  # a clock may be set back
        part = "end" if record["type"] == "result" else self._step or "start"
        prefix = f"{format_seconds(since):>7}  {visible(part):<8} "
        below = "\n" + " " * len(prefix)
        shown = "\n".join(prefix + visible(text).replace("\n", below) for text in texts)
        return [self._colored(record, line.rstrip()) for line in shown.split("\n")]

    def _colored(self, record: Record, line: str) -> str:
        """Red for errors, yellow for warnings; the text says the same without a colour."""
        code = {"error": 31, "warning": 33}.get(record.get("severity", ""))
        if record["type"] == "result":
            code = 32 if record["success"] else 31
        return f"\x1b[{code}m{line}\x1b[0m" if self._color and code is not None else line

    def _texts(self, record: Record) -> list[str]:
        if self._detail is Detail.QUIET and record["type"] != "diagnostic":
            return []
        render = _RENDERERS.get(record["type"])
        texts = [] if render is None else render(self, record)
        is_stderr = record["type"] == "log" and record["stream"] == "stderr"
        return texts if is_stderr else [*self._said.unfinished(), *texts]

    def _run_started(self, record: Record) -> list[str]:
        return [
            f"{record['operation']} {record['package']}, workspace {record['workspace']}, run {record['run']}"
        ]

    def _lock_waiting(self, record: Record) -> list[str]:
        holder = record["holder"]
        who = "somebody" if holder is None else f"{holder['operation']} of run {holder['run']}"
        where = (
            "" if holder is None else f" (pid {holder['pid']} on {holder['host']}, since {holder['since']})"
        )
        queue = queue_text(record["position"] - 1)
        return [f"waiting for the {record['lock']} lock: {who}{where} has it; {queue}"]

    def _lock_acquired(self, record: Record) -> list[str]:
        waited = record["waited_seconds"]
        if waited < 1 and self._detail is not Detail.VERBOSE:
            return []
        return [f"locks taken after {format_seconds(waited)}"]

    def _engine_download(self, record: Record) -> list[str]:
        arrived, total = record["bytes"], record["total"]
        part = 4 * arrived // total if total else arrived // _DOWNLOADED_BYTES
        known, self._downloaded = self._downloaded, (record["engine"], record["version"], part)
        if not self._progress or known == self._downloaded:
            return []
        return [f"downloading {record['engine']} {record['version']}: {arrived_text(arrived, total)}"]

    def _engine_ready(self, record: Record) -> list[str]:
        return [f"{record['engine']} {record['version']} at {record['path']} ({record['chosen_by']})"]

    def _step_started(self, record: Record) -> list[str]:
        # One that went well is run once more for something else.
        again = f" again (attempt {record['attempt']})" if record["step"] in self._failed else ""
        self._failed.discard(record["step"])
        command = " ".join(record["argv"]) if self._detail is Detail.VERBOSE else ""
        return [f"started{again}{': ' if command else ''}{command}"]

    def _step_finished(self, record: Record) -> list[str]:
        if record["skipped"]:
            return ["not needed, nothing has changed since the last one"]
        took = format_seconds(record["seconds"])
        if record["ok"]:
            return [f"done after {took}"]
        self._failed.add(record["step"])
        return [failed_after(record["step"], record["exit_code"], record["seconds"])]

    def _resource(self, record: Record) -> list[str]:
        action = record["action"]
        if action == "refresh" and self._detail is not Detail.VERBOSE:
            return []
        address = record["address"]
        # The engine counts whole seconds: its 0 says nothing.
        seconds = f" after {format_seconds(record['seconds'])}" if record["seconds"] else ""
        match record["status"]:
            case "started":
                return [f"{address}: {DOING.get(action, action)}"]
            case "completed":
                identifier = f" [id={record['id']}]" if record["id"] else ""
                return [f"{address}: {DONE.get(action, action + ' done')}{seconds}{identifier}"]
            case "failed":
                return [f"{address}: {action} failed{seconds}"]
        return []  # progress is the heartbeat's

    def _change(self, record: Record) -> list[str]:
        word, reason = change_text(record["action"], record["reason"])
        if record["reason"] == DRIFT:
            return [f"{record['address']}: {word} outside of the engine"]
        return [f"{record['address']}: to {word}" + (f" ({reason})" if reason else "")]

    def _diagnostic(self, record: Record) -> list[str]:
        if self._detail is Detail.QUIET and record["severity"] != "error":
            return []
        if record["severity"] == "error" and self._detail is not Detail.VERBOSE:
            return [short_error(record)]
        text = diagnostic_text(record)
        if record["severity"] == "warning" and not self._said.is_new((text,), self._steps):
            return []
        return [text]

    def _log(self, record: Record) -> list[str]:
        if self._detail is Detail.VERBOSE:
            return [record["text"]]
        if record["stream"] == "stderr":
            return self._said.shown(record["text"], self._steps)
        return [] if record["stream"] == "stdout" else [record["text"]]

    def _heartbeat(self, record: Record) -> list[str]:
        # A question stands open on the last line, where the answer is being typed.
        if not self._progress or record["step"] == "question":
            return []
        flying = record["in_flight"]
        shown = ", ".join(flying[:3]) + (f" and {len(flying) - 3} more" if len(flying) > 3 else "")
        seconds = format_seconds(record["seconds"])
        doing = _WAITING.get(record["step"], "running")
        return [f"still {doing} after {seconds}" + (f": {shown}" if shown else "")]

    def _retry(self, record: Record) -> list[str]:
        return [again_text(record)]

    def _cancelling(self, record: Record) -> list[str]:
        if record["signal"] == "SIGKILL":
            return ["the engine did not end and is killed; what was in flight may be lost"]
        if self._asked_to_end:
            return ["the engine was told to end at once; what was in flight may be lost"]
        self._asked_to_end = True
        why = asked_because(record["reason"], self._step)
        if (who := who_works(self._step)) != who_works(""):
            return [f"{why}: {who} is asked to stop"]  # it has nothing in flight
        grace = format_seconds(record["grace_seconds"])
        again = "; a second Ctrl-C gives it up" if record["reason"] == "signal" else ""
        return [f"{why}: the engine gets up to {grace} for what is in flight{again}"]

    def _result(self, record: Record) -> list[str]:
        total = format_seconds(record["timings"]["total"])
        if not record["success"]:
            done = f": {achieved_text(record)}" if any(record["changes"].values()) else ""
            return [f"{record['status'].replace('_', ' ')} after {total}{done}"]
        done = achieved_text(record)
        return [f"succeeded after {total}{': ' if done else ''}{done}"]


# What is not here (`engine_message`, a newer version's types) has no line.
_RENDERERS: Mapping[str, Callable[[PlainLines, Record], list[str]]] = {
    "run_started": PlainLines._run_started,
    "lock_waiting": PlainLines._lock_waiting,
    "lock_acquired": PlainLines._lock_acquired,
    "engine_download": PlainLines._engine_download,
    "engine_ready": PlainLines._engine_ready,
    "step_started": PlainLines._step_started,
    "step_finished": PlainLines._step_finished,
    "resource": PlainLines._resource,
    "change": PlainLines._change,
    "diagnostic": PlainLines._diagnostic,
    "log": PlainLines._log,
    "heartbeat": PlainLines._heartbeat,
    "retry": PlainLines._retry,
    "cancelling": PlainLines._cancelling,
    "result": PlainLines._result,
}
