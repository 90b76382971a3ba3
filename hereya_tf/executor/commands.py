"""The command lines of a job's runs; what they are given stands in private files, never in an argument (pure)."""

from collections.abc import Mapping
from typing import NamedTuple

from hereya_tf import exact
from hereya_tf.durations import format_duration
from hereya_tf.events import Operation
from hereya_tf.executor.environment import job_environment
from hereya_tf.executor.work import Stage


class Limits(NamedTuple):
    """What is left of the job's time, and how long an interrupted engine gets, in seconds."""

    left: float
    grace: float

    @property
    def options(self) -> tuple[str, ...]:
        """As options; to wait for another run is no shorter: that is what the job's time is for."""
        left = format_duration(max(self.left, 0.001))
        return ("--timeout", left, "--wait", left, "--grace", format_duration(self.grace))


def run_command(
    program: tuple[str, ...],
    stage: Stage,
    *,
    request: str,
    result: str,
    limits: Limits,
    masked: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """The run of a stage; `request` and `result` are paths. Its stdout are events, but for those of `output`."""
    redact = (word for name in masked for word in ("--redact", name))
    return (
        *(*program, stage.operation.value, "--yes", "--json"),
        *("--request", request, "--result-file", result, *limits.options, *redact),
    )


def look_command(program: tuple[str, ...], stage: Stage, *, limits: Limits) -> tuple[str, ...]:
    """Prints the state of a stage's package, as it is, to stdout; `look_environment` goes with it.

    For a package that cannot be destroyed because values are missing: one that was never provisioned, since a
    deploy failed before its turn, has nothing to destroy.
    """
    options = {
        "--state": stage.infra.get("localStatePath"),
        "--state-bucket": stage.infra.get("terraformStateBucketName"),
        "--state-region": stage.infra.get("terraformStateBucketRegion"),
        "--state-lock-table": stage.infra.get("terraformStateLockTableName"),
        "--id": stage.id if stage.infra else None,
    }
    # A path given as two words could be taken for an option.
    where = (f"{name}={value}" for name, value in options.items() if value is not None)
    return (
        *(*program, Operation.TF.value, stage.found.directory, "--yes", *where, *limits.options),
        *("--", "state", "pull"),
    )


def look_environment(environment: Mapping[str, str], stage: Stage) -> dict[str, str]:
    """The environment of `look_command`, which takes no request: the job's entries stand in it."""
    return job_environment({**environment, **stage.env})


def holds_nothing(state: str) -> bool:
    """Whether the state that the engine printed has nothing that could be destroyed; what is not clear has."""
    if not state.strip():
        return True
    try:
        document = exact.loads(state)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("resources") == []
