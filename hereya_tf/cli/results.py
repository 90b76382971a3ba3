"""What a run has come to: results on stdout, and on stderr why there are none."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hereya_tf.cli.ci import CI
from hereya_tf.cli.front import wants_color
from hereya_tf.ending import Ended, PlanView
from hereya_tf.errors import BadInput, FailureClass
from hereya_tf.events import Operation
from hereya_tf.redaction import Redactor
from hereya_tf.report.document import Report
from hereya_tf.runs.outcome import holds_credential
from hereya_tf.stream.outputs import Output
from hereya_tf.ui.outlet import Outlet
from hereya_tf.ui.styled import Piece, Style, encoded, line_of
from hereya_tf.words import visible

if TYPE_CHECKING:
    from hereya_tf.outputs.formats import OutputFormat, Rendered, Row

_STDOUT = 1
# Of a plan that a guard, whichever, has something against.
_GUARDED = FailureClass.PROTECTED.exit_code
_MASKING_PATIENCE_SECONDS = 10.0


def print_results(
    ended: Ended,
    options: dict[str, Any],
    stdout: Outlet,
    ci: CI,
    presenter: "OutputPresenter | None",
) -> None:
    """Write them for people and shells; with `--json` the events have said it all."""
    result, stderr = ended.result, ci.stderr
    if result.recovery is not None:
        _print_recovery(ended, options, stdout, ci)
    if ended.is_told:
        pass  # what failed has written to our streams itself
    elif not result.success:
        if ended.plan is not None and result.operation == Operation.PLAN and result.exit_code == _GUARDED:
            _print_plan(ended.plan, Operation.PLAN, options, stdout, ci)
        _print_failure(ended.report, result.report, stderr, color=wants_color(options["color"]))
    elif ended.plan is not None and result.operation in (Operation.PLAN, Operation.DRIFT):
        _print_plan(ended.plan, Operation(result.operation), options, stdout, ci)
        if options["out"] and not options["quiet"]:
            stderr.write(f"the plan is kept in `{options['out']}`, for `hereya-tf apply`\n")
    elif result.operation == Operation.RECOVER:
        pass
    elif presenter is not None:
        presenter.print(stderr)
    else:
        _print_outputs(ended, options, stdout, ci)


class OutputPresenter:
    """The outputs in the form that `output` was asked for: made while the run is on, printed at its end."""

    def __init__(
        self, options: Mapping[str, Any], environment: Mapping[str, str], stdout: Outlet, ci: CI
    ) -> None:
        self._options = options
        self._ci = ci
        self._stdout = stdout
        self._environment = environment
        self._rendered: Rendered | None = None
        self._has_none = False

    def present(self, outputs: Mapping[str, Output], redactor: Redactor) -> None:
        """Render them; for GitHub, into its file. Raises BadInput for what the form cannot hold."""
        from hereya_tf.outputs.formats import OutputFormat, render
        from hereya_tf.outputs.github_file import append_github_output, github_output_file

        chosen = _output_format(self._options, outputs)
        self._has_none = not outputs
        path = github_output_file(self._environment) if chosen is OutputFormat.GITHUB else None

        def is_secret(name: str, value: object) -> bool:
            return holds_credential(name, value, redactor)

        self._rendered = render(
            chosen,
            outputs,
            name=self._options["output_name"],
            show_sensitive=self._options["show_sensitive"],
            table=_table,
            token=lambda: os.urandom(16).hex(),
            is_secret=is_secret,
        )
        if path is not None and self._rendered.github is not None:
            # The runner has to know what to mask before it can come to know the values.
            self._write_masks(self._rendered.stdout)
            append_github_output(path, self._rendered.github)
            self._rendered = self._rendered._replace(stdout="")
            return
        secrets = [
            output.value
            for name, output in outputs.items()
            if self._reveals(name) and (output.sensitive or is_secret(name, output.value))
        ]
        shown = self._guarded(chosen, self._rendered.stdout, secrets)
        self._rendered = self._rendered._replace(stdout=shown)

    def _guarded(self, chosen: "OutputFormat", text: str, secrets: Sequence[object]) -> str:
        """The text, harmless where a CI system reads it. Raises BadInput where it cannot be written otherwise."""
        from hereya_tf.outputs.formats import OutputFormat

        match chosen:
            case OutputFormat.TABLE:
                return self._ci.masks(secrets) + self._ci.results.talk(text)
            case OutputFormat.ENV | OutputFormat.SHELL:
                return self._ci.assignments(text, secrets)
            case OutputFormat.JSON:
                return self._ci.results.json(text)
        if self._ci.results.commands(text):
            raise BadInput(
                "the runner of this workflow would take a line of the value for a command",
                "take it as `--format json`, or write it into a file, `> FILE`",
                "`--ci none` prints it as it is, for where no runner reads it",
            )
        return text

    def _reveals(self, name: str) -> bool:
        """Whether an output is printed though it is secret."""
        asked = self._options["output_name"]
        return name == asked if asked else bool(self._options["show_sensitive"])

    def _write_masks(self, masks: str) -> None:
        """Raises BadInput when nobody takes them: every later log would show what they are to mask."""
        self._stdout.write(masks)
        taken = self._stdout.drain(patience=_MASKING_PATIENCE_SECONDS, give_up=lambda: False)
        if masks and (_goes_nowhere(_STDOUT) or not taken):
            raise BadInput(
                "stdout is closed, full or not read, so the runner cannot learn what to mask",
                "let the runner have stdout; elsewhere, choose another format",
            )

    def print(self, stderr: Outlet) -> None:
        """Write what was rendered; what is left out is said."""
        stdout = self._stdout
        if self._rendered is not None:
            stdout.write(self._rendered.stdout)
            if self._has_none and not self._options["quiet"]:
                stderr.write("there are no outputs: the package declares none, or it was not applied yet\n")
            if self._options["output_name"] and not self._options["output_format"]:
                stdout.write("" if self._rendered.stdout.endswith("\n") else "\n")
            _tell_withheld(self._rendered.withheld, self._options, stderr)


def _goes_nowhere(descriptor: int) -> bool:
    """Whether it is the null device, which a closed one has become as well."""
    status, null = os.fstat(descriptor), os.stat(os.devnull)  # noqa: PTH116 - compared with a descriptor
    return os.path.samestat(status, null)


def _output_format(options: Mapping[str, Any], outputs: Mapping[str, Output]) -> "OutputFormat":
    """What was asked for; else a value as it is when one is named, a table for people, lines for a shell."""
    from hereya_tf.outputs.formats import OutputFormat

    if options["output_format"]:
        return OutputFormat(options["output_format"])
    named = outputs.get(options["output_name"] or "")
    if named is not None:
        return OutputFormat.JSON if isinstance(named.value, dict | list | tuple) else OutputFormat.RAW
    return OutputFormat.TABLE if os.isatty(_STDOUT) else OutputFormat.ENV


def _print_outputs(ended: Ended, options: dict[str, Any], stdout: Outlet, ci: CI) -> None:
    env = ended.revealed.env if options["show_sensitive"] else ended.result.env
    secrets = [ended.revealed.outputs[name]["value"] for name in env if name not in ended.result.env]
    if os.isatty(_STDOUT):
        from hereya_tf.outputs.formats import result_rows

        stdout.write(_table(result_rows(env, ended.result.outputs, ended.withheld)))
    else:
        from hereya_tf.outputs.variables import shell_names

        names = shell_names(env)
        lines = "".join(f"{names[name]}={shlex.quote(text)}\n" for name, text in env.items())
        stdout.write(ci.assignments(lines, secrets))
    _tell_withheld(ended.withheld, options, ci.stderr)


def _tell_withheld(names: Sequence[str], options: Mapping[str, Any], stderr: Outlet) -> None:
    # A table has their names in it.
    if names and not options["quiet"] and not (os.isatty(_STDOUT) and not options["output_format"]):
        listed = ", ".join(f"`{name}`" for name in names)
        stderr.write(f"left out because they are sensitive: {listed} (--show-sensitive shows them)\n")


def _print_plan(
    plan: PlanView, operation: Operation, options: Mapping[str, Any], stdout: Outlet, ci: CI
) -> None:
    lines = _plan(plan, operation, color=wants_color(options["color"], _STDOUT))
    _write_lines(stdout, [ci.results.talk(line) for line in lines])


def _plan(plan: PlanView, operation: Operation, *, color: bool) -> list[str]:
    from hereya_tf.ui.plan_table import difference_lines, plan_lines

    difference = difference_lines(plan.difference.strip("\n"), color=color) if plan.difference else []
    if operation is Operation.DRIFT and not plan.changes:
        return ["No drift: what is there is as the state says."]
    title = "Drift" if operation is Operation.DRIFT else "Plan"
    table = plan_lines(plan.changes, plan.counts, width=None, height=None, color=color, title=title)
    return [*difference, *([""] if difference else []), *table]


def _print_recovery(ended: Ended, options: Mapping[str, Any], stdout: Outlet, ci: CI) -> None:
    """The story and the repairs; who was asked has them on the screen already."""
    from hereya_tf.report.recovery_text import closing_lines, recovery_lines

    recovery = ended.result.recovery
    assert recovery is not None
    lines = [] if ended.was_asked else list(recovery_lines(recovery))
    closing = closing_lines(recovery, success=ended.result.success, dry_run=options["dry_run"])
    for line in (*lines, *([""] if lines else []), *closing):
        stdout.write(ci.results.talk(f"{visible(line)}\n"))


def _print_failure(report: Report, path: str | None, stderr: Outlet, *, color: bool) -> None:
    """The engine's own words, and below them, where a reader looks first, what they mean and what to do."""
    from hereya_tf.report.short_form import captured_text
    from hereya_tf.report.text import outcome_lines

    captured = captured_text(report.stderr, report.stdout)
    if captured:
        stderr.write(visible(captured if captured.endswith("\n") else f"{captured}\n") + "\n")
    _write_lines(stderr, [_labelled(visible(line), color=color) for line in outcome_lines(report)])
    if path is not None:
        stderr.write(f"report: {path}\n")


def _labelled(line: str, *, color: bool) -> str:
    label, colon, text = line.partition(":")
    return encoded(line_of(Piece(label + colon, _LABELS.get(label, Style.PLAIN)), text), color=color)


_LABELS = {
    "error": Style.BOLD_RED,
    "failed": Style.RED,
    "unfinished": Style.BOLD_YELLOW,
    "state": Style.BOLD_YELLOW,
    "lock": Style.BOLD_YELLOW,
    "hint": Style.CYAN,
}


def _table(rows: "Sequence[Row]") -> str:
    from hereya_tf.ui.outputs_table import outputs_table

    width = os.get_terminal_size(_STDOUT).columns or None if os.isatty(_STDOUT) else None
    return outputs_table(rows, width=width)


def _write_lines(outlet: Outlet, lines: list[str]) -> None:
    for line in lines:
        outlet.write(f"{line}\n")
