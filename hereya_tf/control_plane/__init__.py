"""The control plane's API: its description, its records, and a client."""

from hereya_tf.control_plane.client import ControlPlaneClient, Deadlines
from hereya_tf.control_plane.description import api_description
from hereya_tf.control_plane.errors import (
    REQUEST_TIMED_OUT,
    UNAUTHORIZED,
    ControlPlaneError,
    Refused,
    RequestTimedOut,
    Unauthorized,
    Unreachable,
    UnreadableAnswer,
    is_timeout,
)
from hereya_tf.control_plane.records import (
    Acknowledgement,
    ClaimedJob,
    Job,
    JobStatus,
    LogPiece,
    Submitted,
)
from hereya_tf.control_plane.results import Failed, Result, Succeeded

__all__ = [
    "REQUEST_TIMED_OUT",
    "UNAUTHORIZED",
    "Acknowledgement",
    "ClaimedJob",
    "ControlPlaneClient",
    "ControlPlaneError",
    "Deadlines",
    "Failed",
    "Job",
    "JobStatus",
    "LogPiece",
    "Refused",
    "RequestTimedOut",
    "Result",
    "Submitted",
    "Succeeded",
    "Unauthorized",
    "Unreachable",
    "UnreadableAnswer",
    "api_description",
    "is_timeout",
]
