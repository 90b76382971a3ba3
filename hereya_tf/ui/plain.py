"""Plain lines for logs and terminals: what happens, when, and how long it took (pure)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import IntEnum
from typing import Any

from hereya_tf.ui.repeats import Said

Record = Mapping[str, Any]

DONE = {
    "create": "created",
    "update": "updated",
    "delete": "destroyed",
    "read": "read",
    "refresh": "refreshed",
}
DOING = {
    "create": "creating",
    "update": "updating",
    "delete": "destroying",
    "read": "reading",
    "refresh": "refreshing",
}
_MEGABYTE = 1_000_000
# Control characters of the C0 and C1 sets, and the marks that turn the direction of text.
_CONTROLS = {
    **{code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))},
    **{
        code: f"\\u{code:04x}"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    },
}


class Detail(IntEnum):
    """How much is shown."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


def visible(text: str) -> str:
    """Text that cannot steer a terminal: escape sequences show as `\\x1b`."""
    return text.translate(_CONTROLS)


def flat(text: str) -> str:
    """Text that takes one line and steers nothing."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def format_seconds(seconds: float) -> str:
    """`0.3s`, `12s`, `3m05s`, `1h02m`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def counts_text(changes: Mapping[str, int]) -> str:
    """`1 added, 0 changed, 2 destroyed (1 replaced)`, with what else there was; `no changes`."""
    if not any(changes.values()):
        return "no changes"
    words = [("add", "added"), ("change", "changed"), ("destroy", "destroyed")]
    shown = [f"{changes[name]} {word}" for name, word in words]
    more = [("import", "imported"), ("forget", "forgotten")]
    shown += [f"{changes[name]} {word}" for name, word in more if changes[name]]
    # A replaced resource is counted as destroyed and as added as well.
    return ", ".join(shown) + (f" ({changes['replace']} replaced)" if changes["replace"] else "")


def achieved_text(record: Record) -> str:
    """What a run that succeeded has come to, from its result; empty when that is all there is to say."""
    match record["operation"]:
        case "plan":
            return planned_text(record["changes"])
        case "drift":
            return "there is drift" if record["drift"] else "no drift"
        case "provision" | "destroy" | "apply":
            return counts_text(record["changes"])
    return ""


def planned_text(changes: Mapping[str, int]) -> str:
    """`1 to add, 0 to change, 2 to destroy (1 replaced)`, with what else there is; `no changes`."""
    if not any(changes.values()):
        return "no changes"
    shown = [f"{changes[name]} to {name}" for name in ("add", "change", "destroy")]
    shown += [f"{changes[name]} to {name}" for name in ("import", "forget") if changes[name]]
    return ", ".join(shown) + (f" ({changes['replace']} replaced)" if changes["replace"] else "")


class PlainLines:
    """Renders a run's events; remembers when the run began, which step is on, and what was said before."""

    def __init__(self, detail: Detail = Detail.NORMAL, *, color: bool = False, progress: bool = True) -> None:
        self._detail = detail
        self._color = color
        self._progress = progress
        self._began: datetime | None = None
        self._step = ""
        self._steps = 0
        self._asked_to_end = False
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
        ahead = record["position"] - 1
        queue = "next in line" if ahead == 0 else f"{ahead} more ahead of this run"
        return [f"waiting for the {record['lock']} lock: {who}{where} has it; {queue}"]

    def _lock_acquired(self, record: Record) -> list[str]:
        waited = record["waited_seconds"]
        if waited < 1 and self._detail is not Detail.VERBOSE:
            return []
        return [f"locks taken after {format_seconds(waited)}"]

    def _engine_download(self, record: Record) -> list[str]:
        if not self._progress:
            return []
        total = "" if record["total"] is None else f" of {record['total'] / _MEGABYTE:.1f}"
        arrived = f"{record['bytes'] / _MEGABYTE:.1f}{total} MB"
        return [f"downloading {record['engine']} {record['version']}: {arrived}"]

    def _engine_ready(self, record: Record) -> list[str]:
        return [f"{record['engine']} {record['version']} at {record['path']} ({record['chosen_by']})"]

    def _step_started(self, record: Record) -> list[str]:
        again = "" if record["attempt"] == 1 else f" again (attempt {record['attempt']})"
        command = " ".join(record["argv"]) if self._detail is Detail.VERBOSE else ""
        return [f"started{again}{': ' if command else ''}{command}"]

    def _step_finished(self, record: Record) -> list[str]:
        if record["skipped"]:
            return ["not needed, nothing has changed since the last one"]
        took = format_seconds(record["seconds"])
        if record["ok"]:
            return [f"done after {took}"]
        code = record["exit_code"]
        return [f"failed after {took} ({'ended by a signal' if code is None else f'exit code {code}'})"]

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
        reason = f" ({record['reason'].replace('_', ' ')})" if record["reason"] else ""
        action = "destroy" if record["action"] == "delete" else record["action"]
        return [f"{record['address']}: to {action}{reason}"]

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
        doing = "waiting" if record["step"] == "wait" else "running"
        return [f"still {doing} after {seconds}" + (f": {shown}" if shown else "")]

    def _retry(self, record: Record) -> list[str]:
        return [
            f"trying {record['step']} again in {format_seconds(record['after_seconds'])} ({record['class']})"
        ]

    def _cancelling(self, record: Record) -> list[str]:
        if record["signal"] == "SIGKILL":
            return ["the engine did not end and is killed; what was in flight may be lost"]
        if self._asked_to_end:
            return ["the engine was told to end at once; what was in flight may be lost"]
        self._asked_to_end = True
        why = {
            "signal": "interrupted",
            "timeout": "the time limit has passed",
            "idle": "the engine has been silent for too long",
            "request": "cancelled on request",
        }[record["reason"]]
        grace = format_seconds(record["grace_seconds"])
        again = "; a second Ctrl-C gives it up" if record["reason"] == "signal" else ""
        return [f"{why}: the engine gets up to {grace} for what is in flight{again}"]

    def _result(self, record: Record) -> list[str]:
        total = format_seconds(record["timings"]["total"])
        if not record["success"]:
            return [f"{record['status'].replace('_', ' ')} after {total}"]
        done = achieved_text(record)
        return [f"succeeded after {total}{': ' if done else ''}{done}"]


def diagnostic_text(record: Record) -> str:
    """A diagnostic with all it says, in several lines."""
    text = f"{record['severity']}: {record['summary']}"
    if place := record["range"]:
        text += f"\n  on {place['filename']} line {place['start_line']}"
        text += f", in {record['snippet']['context']}" if (record["snippet"] or {}).get("context") else ""
    elif record["address"]:
        text += f"\n  with {record['address']}"
    if record["detail"]:
        text += "\n" + "\n".join(f"  {line}" for line in record["detail"].split("\n"))
    return text


def short_error(record: Record) -> str:
    """An error while the run goes on, in one line: its whole text stands at the end of the run."""
    text = f"error: {' '.join(record['summary'].split())}"
    if place := record["range"]:
        return f"{text}, on {place['filename']} line {place['start_line']}"
    return f"{text}, with {record['address']}" if record["address"] else text


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
