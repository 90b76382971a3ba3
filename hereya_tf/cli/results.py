"""What a run has come to: results on stdout, and on stderr why there are none."""

import os
import shlex
from collections.abc import Mapping
from typing import Any

from hereya_tf import events
from hereya_tf.ending import Ended, PlanView
from hereya_tf.events import Operation
from hereya_tf.ui.outlet import Outlet


def print_results(
    ended: Ended, options: dict[str, Any], stdout: Outlet, stderr: Outlet, *, color: bool
) -> None:
    """Write them for people and shells; with `--json` the events have said it all."""
    result = ended.result
    if not result.success:
        _print_failure(result, stderr)
    elif ended.plan is not None and result.operation in (Operation.PLAN, Operation.DRIFT):
        _write_lines(stdout, _plan(ended.plan, Operation(result.operation), color=color))
    else:
        _print_outputs(ended, options, stdout, stderr)


def _print_outputs(ended: Ended, options: dict[str, Any], stdout: Outlet, stderr: Outlet) -> None:
    env = ended.revealed.env if options["show_sensitive"] else ended.result.env
    lines = _table(env) if os.isatty(1) else [f"{name}={shlex.quote(text)}" for name, text in env.items()]
    _write_lines(stdout, lines)
    if ended.withheld and not options["quiet"]:
        names = ", ".join(f"`{name}`" for name in ended.withheld)
        stderr.write(f"left out because they are sensitive: {names} (--show-sensitive shows them)\n")


def _plan(plan: PlanView, operation: Operation, *, color: bool) -> list[str]:
    from hereya_tf.ui.plan_table import difference_lines, plan_lines

    difference = difference_lines(plan.difference.strip("\n"), color=color) if plan.difference else []
    title = "Drift" if operation is Operation.DRIFT else "Plan"
    table = plan_lines(plan.changes, plan.counts, width=None, height=None, color=color, title=title)
    return [*difference, *([""] if difference else []), *table]


def _print_failure(result: events.Result, stderr: Outlet) -> None:
    from hereya_tf.report import captured_text, failure_lines
    from hereya_tf.ui.plain import visible

    record = events.record_of(result, sequence=0, seconds=0.0, run="")
    failure = record["failure"]
    _write_lines(stderr, [visible(line) for line in failure_lines(record)])
    captured = captured_text(failure["stderr"], failure["stdout"])
    stderr.write(visible(captured) + ("\n" if captured else ""))
    if result.report is not None:
        stderr.write(f"report: {result.report}\n")


def _table(env: Mapping[str, str]) -> list[str]:
    from hereya_tf.ui.plain import visible

    width = max((len(name) for name in env), default=0)
    return [f"{name:<{width}}  {visible(text)}" for name, text in env.items()]


def _write_lines(outlet: Outlet, lines: list[str]) -> None:
    for line in lines:
        outlet.write(f"{line}\n")
