"""Reports of made-up runs: the events of each are told to a story, as they would be read from its log."""

from collections.abc import Callable, Mapping

from hereya_tf import events, exact
from hereya_tf.errors import FailureClass
from hereya_tf.event_parts import Finding, Remainder, Repair
from hereya_tf.report.document import Report
from tests.run_log import PACKAGE as PACKAGE
from tests.run_log import RUN as RUN
from tests.run_log import TERRAFORM as TERRAFORM
from tests.run_log import Log as Log
from tests.run_log import error as error
from tests.run_log import warning as warning

HOSTILE = (
    "<script>alert(1)</script> ]]> &#x41; </pre> javascript:alert(1) | `code` 'one' \"two\" \\ $HOME\n"
    "::set-output name=a::b\n##[error]x\r\n::error::y\rcarriage\t"
    "\x1b[31mred\x1b]0;title\x07 \x00 \x7f \x85 \ud800 \udfff \ufffe \uffff \u202eltr\u200f \U0001f600 é"
)
"""What breaks terminals, HTML, XML, Markdown, CI logs and encoders, all in one text."""


def failed(text: str = "") -> Report:
    """An apply in which one resource failed: two are done, one is unfinished, two were not started."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply").say(warning(text))
    log.plan(
        ("store_bucket.photos", "create"),
        ("net_rule.web", "update"),
        ("db_instance.main", "replace"),
        ("net_zone.shop", "create"),
        ('net_record.www["a"]', "create"),
        ("store_bucket.old", "delete"),
    )
    log.act("net_zone.shop", "create", "started", "completed")
    log.act("net_rule.web", "update", "started", "completed", seconds=0.5)
    log.act("db_instance.main", "delete", "started", "completed", seconds=62.0)
    log.act("db_instance.main", "create", "started")
    log.act("store_bucket.photos", "create", "started", "failed")
    problem = error(text, address="store_bucket.photos" + text)
    log.say(problem).end("apply", exit_code=1)
    return log.fail(
        FailureClass.PROVIDER_ERROR,
        "the provider could not do what was asked: cannot create the bucket",
        hint=f"correct what the provider complains about, and run it again{text}\nor look at its log",
        diagnostics=(problem,),
        stderr=f"Error: cannot create the bucket{text}\n",
        stdout=f"store_bucket.photos: Creating...{text}\n",
        changes=events.ChangeCounts(add=1, change=1, destroy=1),
    ).report()


def locked(text: str = "") -> Report:
    """The engine's lock on the state was somebody else's."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply")
    problem = error(
        address=None,
        class_=FailureClass.STATE_LOCKED,
        summary=f"Error acquiring the state lock{text}",
        detail=f"resource temporarily unavailable{text}",
        range=None,
        snippet=None,
    )
    log.say(problem).end("apply", exit_code=1)
    holder = {
        "ID": f"0b1a2f9e-94a0-2d1c-6a0c-5f0a0f6a1b2c{text}",
        "Path": f"shop/terraform.tfstate{text}",
        "Operation": "OperationTypeApply",
        "Who": f"ada@build-7{text}",
        "Version": "1.11.4",
        "Created": "2026-11-30 01:00:00.123456789 +0000 UTC",
        "Info": "",
    }
    return log.fail(
        FailureClass.STATE_LOCKED,
        "the state is locked by somebody else",
        status="busy",
        hint="wait for it, or look at what it is",
        diagnostics=(problem,),
        stderr=f"Error: Error acquiring the state lock{text}\n",
        state=events.StateInfo(saved=True, errored_state=None, lock=holder),
    ).report()


def not_saved(text: str = "") -> Report:
    """What was done could not be saved: the only complete state is a file in the package."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply")
    log.plan(("net_zone.shop", "create")).act("net_zone.shop", "create", "started", "completed")
    problem = error(summary=f"Failed to save state{text}", class_=FailureClass.STATE_NOT_SAVED, range=None)
    log.say(problem).end("apply", exit_code=1)
    return log.fail(
        FailureClass.STATE_NOT_SAVED,
        "the state could not be saved",
        hint=f"hereya-tf recover {PACKAGE}",
        diagnostics=(problem,),
        stderr="Error: Failed to save state\n",
        state=events.StateInfo(False, f"{PACKAGE}/errored.tfstate{text}", None),
    ).report()


def init_failed(text: str = "") -> Report:
    """The second try of init failed like the first: there is no resource to tell of."""
    log = Log(text=text).engine().begin("init").end("init", exit_code=1)
    log.add(events.Retry("init", FailureClass.PROVIDER_UNAVAILABLE, 2, 1.0)).begin("init", attempt=2)
    log.end("init", exit_code=1)
    return log.fail(
        FailureClass.PROVIDER_UNAVAILABLE,
        "a provider cannot be had",
        stderr=f"Error: Failed to query available provider packages{text}\n",
    ).report()


def invalid(text: str = "") -> Report:
    """The configuration is wrong in two places; no resource was touched."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply")
    problems = (
        error(text, class_=FailureClass.INVALID_CONFIGURATION),
        error(text, class_=FailureClass.INVALID_CONFIGURATION, summary=f"Unsupported argument{text}"),
    )
    log.say(*problems).end("apply", exit_code=1)
    return log.fail(
        FailureClass.INVALID_CONFIGURATION, "the configuration is not valid", diagnostics=problems
    ).report()


def busy(text: str = "") -> Report:
    """Another run held the package, for longer than this one was to wait."""
    holder = events.HolderInfo(
        f"20261130-015500-aaaa{text}", 99, f"build-7{text}", "destroy", "2026-11-30T01:55:00.000Z"
    )
    log = Log(text=text).add(events.LockWaiting("package", 1, holder))
    return log.fail(
        FailureClass.BUSY,
        f"the package lock of `{PACKAGE}` is held by run `20261130-015500-aaaa`",
        status="busy",
        engine=None,
        hint="`--wait DURATION` waits longer for it",
    ).report()


def refused(text: str = "") -> Report:
    """An input was wrong: no engine was chosen, and nothing was touched."""
    return (
        Log(text=text)
        .fail(
            FailureClass.BAD_INPUT,
            "the package has no variable `regoin`",
            status="refused",
            engine=None,
            hint="did you mean `region`?",
        )
        .report()
    )


def interim(text: str = "") -> Report:
    """Written at the first signal: one resource is done, one still being created, one not started."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply")
    log.plan(("net_zone.shop", "create"), ("db_instance.main", "create"), ("net_rule.web", "create"))
    log.act("net_zone.shop", "create", "started", "completed").act("db_instance.main", "create", "started")
    return log.add(events.Cancelling("signal", "SIGTERM", 60.0)).report()


def cancelled(text: str = "") -> Report:
    """The run was interrupted while a resource was created; the engine brought it to an end."""
    log = Log(text=text).engine().begin("init").end("init").begin("apply")
    log.plan(("net_zone.shop", "create"), ("db_instance.main", "create"))
    log.act("net_zone.shop", "create", "started")
    log.add(events.Cancelling("signal", "SIGTERM", 60.0))
    log.act("net_zone.shop", "create", "completed").end("apply", exit_code=1)
    return log.fail(
        FailureClass.CANCELLED, "the run was cancelled by SIGTERM", status="cancelled", exit_code=143
    ).report()


def killed(text: str = "") -> Report:
    """The engine was killed in the middle of its work: nobody knows what is in the state."""
    log = Log(text=text).engine().begin("apply")
    log.plan(("db_instance.main", "create")).act("db_instance.main", "create", "started")
    log.end("apply", exit_code=None)
    return log.fail(
        FailureClass.OUT_OF_MEMORY,
        "the engine was killed: there was not enough memory",
        state=events.StateInfo(saved=None, errored_state=None, lock=None),
    ).report()


def succeeded(text: str = "") -> Report:
    """Everything was done; one output is hidden, one has a number of many digits."""
    log = Log(text=text).engine()
    log.add(events.StepFinished("init", ok=True, exit_code=None, seconds=0.0, skipped=True)).begin("apply")
    log.plan(("net_zone.shop", "create"), ("db_instance.main", "replace")).say(warning(text))
    log.act("net_zone.shop", "create", "started", "completed")
    log.act("db_instance.main", "delete", "started", "completed")
    log.act("db_instance.main", "create", "started", "progress", "completed", seconds=30.0)
    log.end("apply").begin("output").end("output")
    return log.finish(
        env={f"url{text}": f"https://shop.example{text}", "share": "0." + "3" * 155},
        outputs={
            f"url{text}": {"type": "string", "sensitive": False, "value": f"https://shop.example{text}"},
            "share": {"type": "number", "sensitive": False, "value": exact.loads("0." + "3" * 155)},
            "password": {"type": "string", "sensitive": True},
        },
        changes=events.ChangeCounts(add=2, destroy=1, replace=1),
    ).report()


def drifted(text: str = "") -> Report:
    """Two resources were changed behind the engine's back."""
    log = Log("drift", text=text).engine().begin("init").end("init").begin("drift")
    log.add(events.ChangeEvent(f"net_rule.web{text}", "update", "drift"))
    log.add(events.ChangeEvent(f"store_bucket.old{text}", "delete", "drift"))
    return log.end("drift", exit_code=2, ok=True).finish(drift=True, exit_code=2).report()


def planned(text: str = "") -> Report:
    """A plan with three changes, and one that the engine found was made behind its back."""
    log = Log("plan", text=text).engine().begin("init").end("init").begin("plan")
    log.add(events.ChangeEvent(f"net_zone.shop{text}", "update", "drift"))
    log.plan(("net_zone.shop", "create"), ("db_instance.main", "replace"), ("net_rule.web", "delete"))
    log.end("plan", exit_code=2, ok=True)
    return log.finish(changes=events.ChangeCounts(add=2, destroy=2, replace=1), exit_code=2).report()


def large(resources: int = 10_000, stderr: str = "") -> Report:
    """Very many resources, each created within a second, the last of which failed; `stderr` is the engine's."""
    log = Log().engine().begin("apply")
    addresses = [f"null_resource.many[{index}]" for index in range(resources)]
    log.plan(*((address, "create") for address in addresses))
    for address in addresses[:-1]:
        log.act(address, "create", "started", "completed", seconds=0.01)
    log.act(addresses[-1], "create", "started", "failed").end("apply", exit_code=1)
    return log.fail(FailureClass.PROVIDER_ERROR, "it failed", stderr=stderr).report()


def recovered(text: str = "") -> Report:
    """A state was stored, and a lock of somebody else's stays."""
    log = Log("recover", text=text).engine().begin("untaint").end("untaint", exit_code=1)
    left = "the lock is not proven to be a dead run's" + text
    recovery = events.Recovery(
        story=(f"Run `dead`: `provision` of `{PACKAGE}`.{text}", "It was killed."),
        findings=(
            Finding(FailureClass.ERRORED_STATE, f"a state could not be saved{text}"),
            Finding(FailureClass.STATE_LOCKED, f"the state is locked{text}"),
        ),
        repairs=(Repair("push", f"store the state{text}", f"the backend has an older one{text}", True),),
        left=(Remainder(FailureClass.STATE_LOCKED, left, (f"ask whoever holds it{text}",)),),
        again=f"hereya-tf provision {PACKAGE}{text}",
    )
    return log.fail(FailureClass.STATE_LOCKED, left, recovery=recovery).report()


SAMPLES: Mapping[str, Callable[[str], Report]] = {
    made.__name__: made
    for made in (
        *(failed, locked, not_saved, init_failed, invalid, busy, refused, interim, cancelled, killed),
        *(succeeded, drifted, planned, recovered),
    )
}
"""By name: a report of each kind; called with a text, each puts that text everywhere."""


def hostile_report(text: str = HOSTILE) -> Report:
    """A failure whose every name and value holds `text`."""
    return failed(text)
