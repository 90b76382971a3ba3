"""The keyed queue without threads, against a model that does everything the long way."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hereya_tf.queue import DrainReport, KeyState, QueueKeyStoppedError, QueueStoppedError
from hereya_tf.queue.machine import Machine, Start

KEYS = ("red", "green", "blue")
UNTIL = 1_000.0

keys = st.sampled_from(KEYS)


@dataclass(kw_only=True)
class Modelled:
    """A task as the model has it."""

    id: int
    key: str | None
    state: str = "queued"
    attempts: int = 0
    cancel_requested: bool = False
    last_try: bool = False


@dataclass(kw_only=True)
class Model:
    """What a keyed queue is, in lists."""

    width: int
    attempts: int
    tasks: list[Modelled] = field(default_factory=list)
    outcomes: dict[int, str] = field(default_factory=dict)
    abandoned_running: set[int] = field(default_factory=set)
    paused: bool = False
    paused_keys: set[str] = field(default_factory=set)
    stopped_keys: set[str] = field(default_factory=set)
    stopping: bool = False
    outcomes_at_stop: set[int] = field(default_factory=set)

    def find(self, task_id: int) -> Modelled | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def in_state(self, state: str) -> list[Modelled]:
        return [task for task in self.tasks if task.state == state]

    def next_to_start(self) -> Modelled | None:
        if len(self.in_state("running")) >= self.width or (self.paused and not self.stopping):
            return None
        for task in self.tasks:
            is_held = task.key in self.paused_keys and not self.stopping
            ahead = [other for other in self.tasks if other.key == task.key and other.id < task.id]
            if task.state == "queued" and not is_held and (task.key is None or not ahead):
                return task
        return None

    def end(self, task: Modelled, outcome: str) -> None:
        self.tasks.remove(task)
        assert task.id in self.abandoned_running or task.id not in self.outcomes, "an outcome is decided once"
        self.outcomes.setdefault(task.id, outcome)
        self.abandoned_running.discard(task.id)

    def count(self, outcome: str, *, after_stop: bool = False) -> int:
        before = self.outcomes_at_stop if after_stop else set()
        return sum(
            1 for task_id, decided in self.outcomes.items() if decided == outcome and task_id not in before
        )

    def key_states(self) -> dict[str, KeyState]:
        states = {}
        for key in KEYS:
            if line := [task for task in self.tasks if task.key == key]:
                head = line[0]
                held = head.state != "queued"
                states[key] = KeyState(
                    holder=head.id if held else None,
                    until=UNTIL + head.id if head.state == "backing off" else None,
                    queued=len(line) - held,
                )
        return states


class QueueMachine(RuleBasedStateMachine):
    """Every transition in every order; what the machine says must be what the model says."""

    @initialize(width=st.integers(1, 3), attempts=st.integers(1, 3))
    def make(self, width: int, attempts: int) -> None:
        self.machine = Machine(width=width, attempts=attempts)
        self.model = Model(width=width, attempts=attempts)
        self.submitted = 0

    @rule(key=st.none() | keys)
    def submit(self, key: str | None) -> None:
        self.submitted += 1
        model = self.model
        if model.stopping:
            with pytest.raises(QueueStoppedError):
                self.machine.submit(self.submitted, key)
        elif key is not None and key in model.stopped_keys:
            with pytest.raises(QueueKeyStoppedError) as raised:
                self.machine.submit(self.submitted, key)
            assert raised.value.key == key
        else:
            self.machine.submit(self.submitted, key)
            model.tasks.append(Modelled(id=self.submitted, key=key))

    @rule()
    def start_next(self) -> None:
        expected = self.model.next_to_start()
        if expected is None:
            assert self.machine.start_next() is None
            return
        expected.state = "running"
        expected.attempts += 1
        assert self.machine.start_next() == Start(expected.id, expected.attempts, expected.cancel_requested)

    @rule(data=st.data(), how=st.sampled_from(["complete", "fail", "put back"]))
    def end_a_run(self, data: st.DataObject, how: str) -> None:
        running = self.model.in_state("running")
        if not running:
            return
        task = data.draw(st.sampled_from(running))
        is_wanted = task.id not in self.model.abandoned_running
        if how == "put back":
            can = len(running) > 1 and is_wanted
            assert self.machine.put_back(task.id) is can
            if can:
                task.state, task.attempts = "queued", task.attempts - 1
            return
        may_retry = (
            is_wanted
            and not task.last_try
            and not task.cancel_requested
            and task.attempts < self.model.attempts
        )
        assert self.machine.may_retry(task.id) is may_retry
        if how == "fail" and may_retry:
            self.machine.back_off(task.id, UNTIL + task.id)
            task.state = "backing off"
        else:
            end = self.machine.complete if how == "complete" else self.machine.fail
            assert end(task.id) is is_wanted
            self.model.end(task, how)

    @rule(data=st.data())
    def wake_one_that_does_not_wait(self, data: st.DataObject) -> None:
        task_id = data.draw(st.integers(1, self.submitted + 1))
        task = self.model.find(task_id)
        if task is None or task.state != "backing off":
            self.machine.wake(task_id, task.attempts if task is not None else 1)

    @rule(data=st.data(), attempts_ago=st.sampled_from([0, 0, 1]))
    def wake_one_that_waits(self, data: st.DataObject, attempts_ago: int) -> None:
        if waiting := self.model.in_state("backing off"):
            task = data.draw(st.sampled_from(waiting))
            self.machine.wake(task.id, task.attempts - attempts_ago)
            task.state = "backing off" if attempts_ago else "queued"

    @rule(data=st.data(), only_asked=st.booleans())
    def cancel(self, data: st.DataObject, only_asked: bool) -> None:
        task_id = data.draw(st.integers(0, self.submitted + 1))
        task = self.model.find(task_id)
        if only_asked:
            assert self.machine.request_cancel(task_id) is (task is not None)
            if task is not None:
                task.cancel_requested = True
            return
        can = task is not None and task.state != "running"
        assert self.machine.cancel(task_id) is can
        if task is not None and can:
            self.model.end(task, "fail")

    @rule(key=keys, step=st.sampled_from(["pause", "resume", "stop", "start"]))
    def handle_key(self, key: str, step: str) -> None:
        match step:
            case "pause":
                self.machine.pause_key(key)
                self.model.paused_keys.add(key)
            case "resume":
                self.machine.resume_key(key)
                self.model.paused_keys.discard(key)
            case "start":
                assert self.machine.start_key(key) is (key in self.model.stopped_keys)
                self.model.stopped_keys.discard(key)
            case _:
                self.stop_key(key)

    def stop_key(self, key: str) -> None:
        line = [task for task in self.model.tasks if task.key == key]
        rejected = [task for task in line if task.state != "running"]
        assert self.machine.stop_key(key) == tuple(task.id for task in rejected)
        for task in line:
            task.last_try = True
        for task in rejected:
            self.model.end(task, "fail")
        self.model.stopped_keys.add(key)

    @rule(step=st.sampled_from(["pause", "resume", "resume", "stop", "abandon"]))
    def handle_queue(self, step: str) -> None:
        match step:
            case "pause" | "resume":
                getattr(self.machine, step)()
                self.model.paused = step == "pause"
            case "abandon" if self.model.stopping:
                self.abandon()
            # Once it is stopped there is little left that may happen.
            case "stop" if self.submitted > 6:
                self.machine.stop()
                if not self.model.stopping:
                    self.model.outcomes_at_stop = set(self.model.outcomes)
                self.model.stopping = True
            case _:
                pass

    def abandon(self) -> None:
        left = [task for task in self.model.tasks if task.id not in self.model.abandoned_running]
        assert self.machine.abandon() == tuple(task.id for task in left)
        for task in left:
            if task.state == "running":
                self.model.outcomes[task.id] = "abandoned"
                self.model.abandoned_running.add(task.id)
            else:
                self.model.end(task, "abandoned")

    @invariant()
    def says_what_the_model_says(self) -> None:
        model, machine = self.model, self.machine
        snapshot = machine.snapshot()
        running = model.in_state("running")

        assert len(running) <= model.width
        held = [task.key for task in model.tasks if task.key is not None and task.state != "queued"]
        assert len(held) == len(set(held)), "one task at a time for each key"
        assert snapshot.running == len(running)
        assert snapshot.queued == len(model.tasks) - len(running)
        assert snapshot.keys == model.key_states()
        assert (snapshot.paused, snapshot.paused_keys) == (model.paused, tuple(sorted(model.paused_keys)))
        assert snapshot.stopped_keys == tuple(sorted(model.stopped_keys))
        assert (snapshot.completed, snapshot.failed) == (model.count("complete"), model.count("fail"))
        assert machine.is_idle is (not model.tasks)
        assert machine.is_drained is (len(model.tasks) == len(model.abandoned_running))
        assert [machine.is_busy(key) for key in KEYS] == [key in snapshot.keys for key in KEYS]
        if model.stopping:
            abandoned = model.count("abandoned")
            assert machine.report() == DrainReport(
                completed=model.count("complete", after_stop=True),
                failed=model.count("fail", after_stop=True),
                abandoned=abandoned,
                timed_out=abandoned > 0,
            )

    def teardown(self) -> None:
        """Whatever has happened, stop runs everything to its end in the order of each key."""
        if not hasattr(self, "machine"):
            return
        self.machine.stop()
        for task in self.model.in_state("backing off"):
            self.machine.wake(task.id, task.attempts)
        running = [
            (task.id, task.id not in self.model.abandoned_running) for task in self.model.in_state("running")
        ]
        left = [task.id for task in self.model.tasks]
        ended: list[int] = []
        while running or not self.machine.is_idle:
            while start := self.machine.start_next():
                running.append((start.task_id, True))
            task_id, is_wanted = running.pop(0)
            assert self.machine.complete(task_id) is is_wanted
            ended.append(task_id)
        assert sorted(ended) == left
        of_key = {task.id: task.key for task in self.model.tasks}
        for key in KEYS:
            line = [task_id for task_id in ended if of_key[task_id] == key]
            assert line == sorted(line)


QueueMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
test_the_machine_is_what_the_model_is = pytest.mark.behaviour("Q1", "Q3", "Q9", "Q13", "Q14", "Q15")(
    QueueMachine.TestCase
)


def test_ids_that_were_never_given_are_not_there() -> None:
    machine = Machine(width=1, attempts=1)

    assert machine.cancel(1) is False
    assert machine.request_cancel(1) is False
    assert machine.start_next() is None


def test_a_line_whose_first_task_is_cancelled_goes_behind_those_who_came_before_its_second() -> None:
    machine = Machine(width=2, attempts=1)
    for task_id, key in enumerate(("red", "green", "red"), start=1):
        machine.submit(task_id, key)
    machine.cancel(1)

    assert machine.start_next() == Start(2, 1, False)
    assert machine.start_next() == Start(3, 1, False)


def test_a_task_that_was_given_up_is_not_put_back() -> None:
    machine = Machine(width=2, attempts=1)
    for task_id in (1, 2):
        machine.submit(task_id, None)
        machine.start_next()
    machine.stop()
    machine.abandon()

    assert machine.put_back(1) is False
    assert machine.fail(1) is False


def test_cancelled_tasks_leave_no_places_behind() -> None:
    machine = Machine(width=1, attempts=1)
    machine.pause()
    for task_id in range(1, 1_001):
        machine.submit(task_id, str(task_id))
        machine.cancel(task_id)

    assert len(machine._offered) < 100


def test_a_queue_of_one_key_is_left_from_any_place_in_no_time() -> None:
    machine = Machine(width=1, attempts=1)
    for task_id in range(1, 20_001):
        machine.submit(task_id, "db")
    for task_id in range(1, 20_001, 2):
        machine.cancel(task_id)

    assert machine.snapshot().keys == {"db": KeyState(None, None, 10_000)}
    assert machine.start_next() == Start(2, 1, False)
