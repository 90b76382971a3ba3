"""One event of every type, and the fields that the contract gives to each type."""

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.event_parts import Finding, ProcessInfo, Remainder, Repair, StepTrace

CONTRACT_FIELDS = {
    "run_started": ("operation", "package", "workspace", "key", "pid", "version"),
    "lock_waiting": ("lock", "position", "holder"),
    "lock_acquired": ("waited_seconds",),
    "engine_download": ("engine", "version", "bytes", "total"),
    "engine_ready": ("engine", "version", "path", "chosen_by"),
    "step_started": ("step", "attempt", "argv"),
    "step_finished": ("step", "ok", "exit_code", "seconds", "skipped"),
    "resource": ("address", "action", "status", "seconds", "id"),
    "change": ("address", "action", "reason"),
    "diagnostic": ("severity", "class", "summary", "detail", "address", "range", "snippet"),
    "log": ("stream", "text"),
    "engine_message": ("step", "message"),
    "heartbeat": ("step", "seconds", "in_flight"),
    "retry": ("step", "class", "attempt", "after_seconds"),
    "cancelling": ("reason", "signal", "grace_seconds"),
    "result": (
        *("success", "status", "reason", "exit_code", "operation", "package", "workspace", "engine", "env"),
        *("outputs", "changes", "drift", "failure", "timings", "report", "recovery", "trace"),
    ),
}

RANGE = events.RangeInfo("main.tf", 1, 1, 1, 9)
SNIPPET = events.SnippetInfo('resource "a" "b"', "a = 1", 3, (("var.a", "is 1"),))
ERROR = events.DiagnosticEvent("error", FailureClass.PROVIDER_ERROR, "no", "", "a.b", RANGE, SNIPPET)
FAILURE = events.FailureInfo(
    FailureClass.PROVIDER_ERROR,
    "try again",
    (ERROR,),
    "Error: no\n",
    "",
    events.StateInfo(None, "errored.tfstate", {"ID": "1"}),
)
RESULT = events.Result(
    success=True,
    status="succeeded",
    reason=None,
    exit_code=0,
    operation="provision",
    package="/package",
    workspace="default",
    engine=events.EngineInfo("terraform", "1.11.4"),
    env={"a": "1"},
    outputs={"a": {"type": "number", "sensitive": False, "value": 1}, "b": {"type": None, "sensitive": True}},
    changes=events.ChangeCounts(1, 2, 3, 1, 0, 0),
    drift=None,
    failure=None,
    timings=events.Timings(0.1, None, 0.2, None, 0.3, None, 1.0),
    report=None,
)

TRACE = events.Trace(
    run="run-1",
    host="host",
    user="user",
    process=ProcessInfo(1, "boot"),
    engine_process=None,
    began="2026-01-01T00:00:00.000Z",
    last="2026-01-01T00:01:00.000Z",
    ended=None,
    steps=(
        StepTrace("init", "2026-01-01T00:00:01.000Z", None, "2026-01-01T00:00:02.000Z", True),
        StepTrace("apply", "2026-01-01T00:00:10.000Z", "2026-01-01T00:00:11.000Z", None, None),
    ),
)
RECOVERY = events.Recovery(
    story=("It was killed.",),
    findings=(Finding(FailureClass.STATE_LOCKED, "the state is locked"),),
    repairs=(Repair("unlock", "release the lock `1`", "it is proven", None),),
    left=(Remainder(FailureClass.ERRORED_STATE, "not stored", ("ask somebody",)),),
    again="cd / && hereya-tf provision",
)
SAMPLES: tuple[events.Event, ...] = (
    events.RunStarted("provision", "/package", "default", "key", 1, "0.1.0"),
    events.LockWaiting(
        "package", 1, events.HolderInfo("run-2", 2, "host", "destroy", "2026-01-01T00:00:00Z")
    ),
    events.LockWaiting("workspace", 2, None),
    events.LockAcquired(0.5),
    events.EngineDownload("terraform", "1.11.4", 10, 100),
    events.EngineDownload("terraform", "1.11.4", 10, None),
    events.EngineReady("opentofu", "1.9.0", "/bin/tofu", "--engine"),
    events.StepStarted("apply", 1, ("terraform", "apply")),
    events.StepFinished("apply", False, 1, 2.5, False),
    events.StepFinished("init", True, None, 0.0, True),
    events.ResourceEvent("a.b", "create", "completed", 1.0, "id-1"),
    events.ResourceEvent("a.b", "create", "started", None, None),
    events.ChangeEvent("a.b", "replace", "tainted"),
    events.ChangeEvent("a.b", "create", None),
    ERROR,
    events.DiagnosticEvent("warning", None, "old", "", None, None, None),
    events.LogEvent("provisioner", "a.b (local-exec): text"),
    events.EngineMessage("apply", {"@level": "info"}),
    events.Heartbeat("apply", 10.0, ("a.b",)),
    events.Retry("init", FailureClass.PROVIDER_UNAVAILABLE, 2, 1.5),
    events.Cancelling("signal", "SIGINT", 60.0),
    events.Cancelling("timeout", None, 60.0),
    RESULT,
    RESULT._replace(success=False, status="failed", reason="no", exit_code=1, failure=FAILURE, engine=None),
    RESULT._replace(recovery=RECOVERY, trace=TRACE),
)
