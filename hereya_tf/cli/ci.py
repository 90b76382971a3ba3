"""Which CI system runs us, and what it gets besides lines: annotations, a summary of the job (I/O)."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hereya_tf.cli.honours import honours
from hereya_tf.cli.places import find_places
from hereya_tf.events import Operation
from hereya_tf.ui.ci.guard import UNGUARDED, Guard
from hereya_tf.ui.outlet import Outlet

if TYPE_CHECKING:
    from hereya_tf.report.document import Report
    from hereya_tf.ui.ci.folding import FoldingLines
    from hereya_tf.ui.plain import PlainLines

_SUMMARY = "GITHUB_STEP_SUMMARY"
# Of a run that is to end; the rest is for what it has come to.
_INTERIM_BYTES = 256 << 10
# A success of the others has nothing to show.
_SUMMARISED = frozenset(
    (Operation.PLAN, Operation.DRIFT, Operation.PROVISION, Operation.DESTROY, Operation.APPLY)
)


class System(StrEnum):
    """A CI system whose log, and what else it takes, is known; NONE for everything else."""

    GITHUB = "github"
    GITLAB = "gitlab"
    NONE = "none"


def system_of(choice: str, environment: Mapping[str, str], *, is_terminal: bool) -> System:
    """The system that is chosen; `auto` is the one whose job this is, unless a person watches."""
    if choice != "auto":
        return System(choice)
    if is_terminal:
        return System.NONE
    if environment.get("GITHUB_ACTIONS") == "true":
        return System.GITHUB
    return System.GITLAB if environment.get("GITLAB_CI") == "true" else System.NONE


def guard_of(system: System) -> Guard:
    """How text of others is written where this system reads it."""
    match system:
        case System.GITHUB:
            from hereya_tf.ui.ci import github

            return github.GUARD
        case System.GITLAB:
            from hereya_tf.ui.ci import gitlab

            return gitlab.GUARD
    return UNGUARDED


def guard_here(environment: Mapping[str, str], descriptor: int) -> Guard:
    """How text of others is written to a descriptor by what is no run, and has no option `--ci`."""
    choice = environment.get("HEREYA_TF_CI", "auto")
    known = choice if choice in (*System, "auto") else "auto"
    system = system_of(known, environment, is_terminal=False)
    return guard_of(system) if system is not System.NONE and goes_to_log(descriptor) else UNGUARDED


class GuardedOutlet(Outlet):
    """A descriptor whose reader takes some lines for commands: whatever is written to it commands nothing."""

    def __init__(self, descriptor: int, guard: Guard) -> None:
        super().__init__(descriptor)
        self._guard = guard

    def write(self, text: str) -> None:
        """Take `text`, made harmless; it is on its way after the next `flush`."""
        super().write(self._guard.talk(text))

    def command(self, line: str) -> None:
        """Take a command of ours, a whole line."""
        super().write(f"{line}\n")


class CI:
    """What the system gets of one run. Without a system it gets nothing, and text stays as it is."""

    def __init__(
        self, operation: Operation, options: Mapping[str, Any], environment: Mapping[str, str]
    ) -> None:
        is_ours = honours(operation, "ci")
        self.system = (
            system_of(options["ci"], environment, is_terminal=os.isatty(2)) if is_ours else System.NONE
        )
        self.guard = guard_of(self.system)
        # What goes into a file stays as it is.
        self.results = self.guard if self.system is not System.NONE and goes_to_log(1) else UNGUARDED
        self.stderr = GuardedOutlet(2, self.guard)
        self._operation = operation
        self._options = options
        self._environment = environment

    def folding(self, plain: "PlainLines") -> "FoldingLines | None":
        """The lines of `plain` in parts that fold; None where nothing does, or only errors are told."""
        if self.system is System.NONE or self._options["quiet"]:
            return None
        from hereya_tf.ui.ci import github, gitlab
        from hereya_tf.ui.ci.folding import FoldingLines

        marks = github.MARKS if self.system is System.GITHUB else gitlab.MARKS
        return FoldingLines(plain, marks, self._written_reports)

    def masks(self, secrets: Iterable[object]) -> str:
        """Commands that mask `secrets` in the log, to be printed before them; else nothing.

        Only what is about to be shown on stdout is ever masked: where a log is kept too (`2>&1 | tee log`) the
        mask itself would show what nobody has asked for. Forms for programs (JSON, `--json`, one value) have no
        place for commands; `output --format github` is for handing secrets on.
        """
        if self.system is not System.GITHUB or self.results is UNGUARDED:
            return ""
        from hereya_tf.outputs.github import mask_commands

        return mask_commands(secrets)

    def assignments(self, lines: str, secrets: Iterable[object]) -> str:
        """Lines for a shell, harmless where this system reads them, behind the masks for `secrets`."""
        masks = self.masks(secrets)
        if masks:
            from hereya_tf.ui.ci.github import masked_assignments

            masks = masked_assignments(masks, os.urandom(8).hex())
        return masks + self.results.shell(lines)

    def tell_interim(self, report: "Report", warn: Callable[[str], None]) -> None:
        """The summary of a run that is to end, in case it is killed before."""
        if self._has_summary(report):
            self._summarise(report, warn, most=_INTERIM_BYTES)

    def tell(self, report: "Report", warn: Callable[[str], None]) -> None:
        """Annotations on stderr, and the summary.

        Annotations stand on stderr with `--json` too: that is where talk goes, and where the program that reads
        the events shows nothing of its own they are all that a person sees beside the red cross.
        """
        if self._has_summary(report):
            self._summarise(report, warn, most=None)
        if self.system is System.GITHUB:
            self._annotate(report)

    def _annotate(self, report: "Report") -> None:
        from hereya_tf.report.annotations import annotations
        from hereya_tf.ui.ci.github import annotation_command

        for annotation in annotations(report, self._roots(report.package)):
            if annotation.is_error or not self._options["quiet"]:
                self.stderr.command(annotation_command(annotation))

    def _roots(self, package: str) -> list[tuple[str, str]]:
        """The repository and the package, as they are called and as they are: either may be behind a link."""
        root = self._environment.get("GITHUB_WORKSPACE")
        if not root:
            return []
        try:
            named = (os.path.abspath(root), os.path.abspath(package))  # noqa: PTH100 - links stay
            return [named, (os.path.realpath(root), os.path.realpath(package))]
        except (OSError, ValueError):
            return []

    def _has_summary(self, report: "Report") -> bool:
        is_worth_it = not report.success or self._operation in _SUMMARISED
        return self.system is System.GITHUB and bool(self._environment.get(_SUMMARY)) and is_worth_it

    def _summarise(self, report: "Report", warn: Callable[[str], None], *, most: int | None) -> None:
        from hereya_tf.cli.step_summary import append_summary
        from hereya_tf.report.markdown import markdown_summary

        wrong = append_summary(
            self._environment[_SUMMARY], lambda room: markdown_summary(report, min(room, most or room))
        )
        if wrong is not None:
            warn(wrong)

    def _written_reports(self, run: str) -> Sequence[str]:
        from hereya_tf.runs.directory import REPORT

        own = find_places(self._environment).runs / run / REPORT
        return [path for path in (*self._options["report_file"], str(own)) if os.path.isfile(path)]  # noqa: PTH113


def goes_to_log(descriptor: int) -> bool:
    """Whether a CI system may read what is written here: not when it is a file, or nothing at all."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
