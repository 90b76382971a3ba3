"""A job is followed to its end, whatever the control plane does meanwhile."""

import threading
import time
from collections.abc import Iterator

import pytest

from hereya_tf.control_plane import ControlPlaneClient, Deadlines, Job, Refused, Unauthorized
from hereya_tf.control_plane.following import Limit, Listener, follow
from hereya_tf.errors import TimedOut
from tests.control_plane import TOKEN, ControlPlane, status, unauthorized
from tests.control_plane_faults import broken, dead, half_answer, lost_answer
from tests.control_plane_jobs import PlaneJob

DEADLINES = Deadlines(status=0.5)
DONE = {"success": True, "env": {}}


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        yield plane
        assert plane.violations == []


@pytest.fixture
def client(plane: ControlPlane) -> Iterator[ControlPlaneClient]:
    with ControlPlaneClient(plane.url, TOKEN, environment={}, deadlines=DEADLINES) as client:
        yield client


class Ears:
    """Hears what is shown and told; `on_show` is called with all of the log so far."""

    def __init__(self) -> None:
        self.shown = ""
        self.told: list[str] = []
        self.has_heard = threading.Condition()

    def listener(self) -> Listener:
        return Listener(self._show, self._tell)

    def _show(self, text: str) -> None:
        with self.has_heard:
            self.shown += text
            self.has_heard.notify_all()

    def _tell(self, sentence: str) -> None:
        with self.has_heard:
            self.told.append(sentence)
            self.has_heard.notify_all()

    def wait_for(self, shown: str) -> None:
        with self.has_heard:
            assert self.has_heard.wait_for(lambda: self.shown.endswith(shown), 30), self.shown


def unlimited() -> Limit:
    return Limit(None, "it has not ended")


class Following:
    """Follows a job on a thread of its own, while the test changes it."""

    def __init__(self, client: ControlPlaneClient, job: PlaneJob) -> None:
        self.ears = Ears()
        self._ended: list[Job] = []
        self._thread = threading.Thread(target=self._follow, args=(client, job), daemon=True)
        self._thread.start()

    def _follow(self, client: ControlPlaneClient, job: PlaneJob) -> None:
        self._ended.append(
            follow(client, job.workspace, job.id, self.ears.listener(), unlimited(), to_end=True)
        )

    def end(self) -> Job:
        self._thread.join(60)
        (job,) = self._ended
        return job


def test_the_log_is_shown_as_it_grows(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = plane.add()
    following = Following(client, job)
    plane.change(job, status="running", attempt=1, more="créating\n")
    following.ears.wait_for("créating\n")
    plane.change(job, more="more\n")
    following.ears.wait_for("more\n")
    plane.change(job, more="done\n", status="completed", result=DONE)

    assert following.end().status == "completed"
    assert (following.ears.shown, following.ears.told) == ("créating\nmore\ndone\n", [])
    assert plane.asked("status")[0].query == {"logsOffset": "0"}
    assert plane.asked("status")[1].query["lastStatus"] in ("queued", "running")


def test_a_foreign_log_is_shown_once_as_well() -> None:
    with ControlPlane(foreign=True) as plane, ControlPlaneClient(plane.url, TOKEN, environment={}) as client:
        job = plane.add()
        following = Following(client, job)
        for line in ("one\n", "two\n"):
            plane.change(job, status="running", more=line)
            following.ears.wait_for(line)
        plane.change(job, more="three\n", status="failed")

        assert following.end().status == "failed"
        assert following.ears.shown == "one\ntwo\nthree\n"


def test_a_long_log_comes_in_parts(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = plane.add()
    log = "".join(f"línea {number}\n" for number in range(20_000))
    plane.change(job, status="completed", result=DONE, more=log)
    ears = Ears()

    follow(client, "prod", job.id, ears.listener(), unlimited(), to_end=False)

    assert ears.shown == log
    assert len(plane.asked("status")) == len(log.encode()) // plane.part_bytes + 2


def test_another_attempt_is_told_of_and_its_log_shown_from_its_beginning(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    job = plane.add()
    client.poll("prod")
    plane.change(job, more="first\n")
    following = Following(client, job)
    following.ears.wait_for("first\n")
    with plane.changed:
        plane.redeliver(job)
        # More than was seen of the first one, at once: where the new one begins was not asked for.
        plane.change(job, attempt=2, status="running", more="again, and longer than the first\n")
    following.ears.wait_for("first\n" + "again, and longer than the first\n")
    plane.change(job, status="completed", result=DONE)

    following.end()
    assert following.ears.shown == "first\nagain, and longer than the first\n"
    assert following.ears.told == ["attempt 2 has begun"]


@pytest.mark.behaviour("C2")
def test_what_passes_is_waited_for(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = plane.add()
    following = Following(client, job)
    plane.change(job, status="running", attempt=1, more="begun\n")
    following.ears.wait_for("begun\n")
    plane.fault("status", dead, broken, half_answer)
    plane.change(job, more="done\n", status="completed", result=DONE)

    assert following.end().status == "completed"
    assert following.ears.shown == "begun\ndone\n"
    assert any("Request timed out; it is asked again in" in sentence for sentence in following.ears.told)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(503, "busy"), id="5xx"),
        pytest.param(unauthorized, id="401"),
        pytest.param(lost_answer, id="a lost answer"),
    ],
)
def test_a_fault_after_a_good_answer_passes(
    plane: ControlPlane, client: ControlPlaneClient, fault: object
) -> None:
    job = plane.add()
    following = Following(client, job)
    plane.change(job, status="running", attempt=1, more="begun\n")
    following.ears.wait_for("begun\n")
    plane.fault("status", fault)  # type: ignore[arg-type]
    plane.change(job, status="cancelled")

    assert following.end().status == "cancelled"
    assert len(following.ears.told) <= 1


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(unauthorized, Unauthorized, id="a token that is not accepted"),
        pytest.param(status(404, "no such job"), Refused, id="a job that is not there"),
    ],
)
def test_what_will_not_pass_is_the_end(
    plane: ControlPlane, client: ControlPlaneClient, fault: object, expected: type[Exception]
) -> None:
    plane.always("status", fault)  # type: ignore[arg-type]

    with pytest.raises(expected):
        follow(client, "prod", "job-1", Ears().listener(), unlimited(), to_end=True)
    assert len(plane.requests) == 1


def test_the_limit_ends_a_call_and_a_pause(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = plane.add()
    for faults in ((), (status(500),) * 20):
        plane.fault("status", *faults)
        began = time.monotonic()
        with pytest.raises(TimedOut) as caught:
            follow(
                client,
                "prod",
                job.id,
                Ears().listener(),
                Limit(0.4, "job `job-1` has not ended", "it goes on"),
                to_end=True,
            )

        assert time.monotonic() - began < 10
        assert (str(caught.value), caught.value.hints) == (
            "job `job-1` has not ended within `400ms`",
            ("it goes on",),
        )


def test_a_server_that_holds_nothing_is_not_asked_without_a_pause(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    plane.hold = 0.0
    job = plane.add()
    with pytest.raises(TimedOut):
        follow(client, "prod", job.id, Ears().listener(), Limit(1.5, "no end"), to_end=True)

    assert len(plane.requests) <= 3


def test_without_the_end_a_job_is_seen_as_it_is_now(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = plane.add()
    plane.change(job, status="running", attempt=1, more="so far\n")
    ears = Ears()

    seen = follow(client, "prod", job.id, ears.listener(), unlimited(), to_end=False)

    assert (seen.status, ears.shown, len(plane.requests)) == ("running", "so far\n", 1)
