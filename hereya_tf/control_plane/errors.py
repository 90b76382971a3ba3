"""What can go wrong between a control plane and its clients (pure).

The text of an error is the reason that goes on the wire and into logs; where it happened stands in the hints.
"""

from http import HTTPStatus

from hereya_tf.durations import format_duration
from hereya_tf.errors import FailureClass, HereyaError

REQUEST_TIMED_OUT = "Request timed out"
UNAUTHORIZED = "Unauthorized"

# Answers that another attempt may change; of those from 500 on all but the ones that say never.
_TEMPORARY = (408, 425, 429)
_FINAL = (501, 505, 511)


class ControlPlaneError(HereyaError):
    """A call to the control plane that has not brought what was asked for."""

    failure_class = FailureClass.CONTROL_PLANE
    unauthorized = False
    # Whether the same call may succeed a moment later.
    is_temporary = True
    status: int | None = None

    @property
    def reason(self) -> str:
        """What the server said, or what kept it from saying anything."""
        return str(self)


class RequestTimedOut(ControlPlaneError):
    """The whole answer was not here when the call's deadline passed; what was asked for may have happened."""

    def __init__(self, place: str, seconds: float) -> None:
        super().__init__(
            REQUEST_TIMED_OUT, f"`{place}` has not given a whole answer within `{format_duration(seconds)}`"
        )


class Unreachable(ControlPlaneError):
    """There was no connection, or it broke before the end of the answer."""

    def __init__(self, sentence: str, *hints: str, is_temporary: bool = True) -> None:
        super().__init__(sentence, *hints)
        self.is_temporary = is_temporary


class UnreadableAnswer(ControlPlaneError):
    """The answer is not what the API says: half of one, or another server's."""

    def __init__(self, fault: str, call: str) -> None:
        super().__init__(
            f"the control plane's answer cannot be used: {fault}",
            f"it was asked `{call}`; see whether `HEREYA_CLOUD_URL` is the address of a control plane",
        )


class Unauthorized(ControlPlaneError):
    """The control plane does not accept the token."""

    unauthorized = True
    is_temporary = False
    status = 401

    def __init__(self, place: str) -> None:
        super().__init__(
            UNAUTHORIZED, f"`{place}` does not accept the token: see whether `HEREYA_TOKEN` is still good"
        )


class Refused(ControlPlaneError):
    """The control plane has answered, and the answer is no: 404, 409 for a stale claim, 503, …"""

    def __init__(self, status: int, said: str, call: str, *hints: str) -> None:
        super().__init__(said or spell_status(status), *hints, f"`{call}` was answered with {status}")
        self.status = status
        self.is_temporary = status in _TEMPORARY or (status >= 500 and status not in _FINAL)


def spell_status(status: int) -> str:
    """A status as HTTP spells it: `503 Service Unavailable`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def is_timeout(error: BaseException | None) -> bool:
    """Whether a call has timed out, also when that is only the cause of `error`, however deep."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, RequestTimedOut | TimeoutError):
            return True
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False
