"""`plan` and `drift`: a saved plan, what it would do, and the engine's own words on it."""

import time
from pathlib import Path

from hereya_tf import __version__
from hereya_tf.engine import commands
from hereya_tf.engine.commands import PlanOptions, Step
from hereya_tf.events import timestamp
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.performance import Performance

CHANGES_EXIT_CODE = 2


def plan(performance: Performance) -> None:
    """Plan, show it, and put it into a bundle where one is wanted."""
    assignment = performance.assignment

    def act() -> None:
        performance.check_workspace()
        bundle = None if assignment.bundle_to_write is None else _BundleToBe(performance)
        saved = plan_into(performance, assignment.plan_options)
        if assignment.plan_options.detailed_exitcode:
            assert performance.planned is not None
            performance.exit_code = performance.planned.exit.code or 0
        describe(performance, saved)
        if bundle is not None:
            bundle.write(saved)

    act_initialised(performance, act)


def drift(performance: Performance) -> None:
    """Compare the state with reality; drift is what the engine's messages name, never the exit code alone."""

    def act() -> None:
        performance.check_workspace()
        saved = plan_into(performance, PlanOptions(refresh_only=True))
        assert performance.planned is not None
        summary = performance.planned.summary
        performance.drifted = summary.drift > 0
        if performance.drifted:
            performance.exit_code = CHANGES_EXIT_CODE
            for change in summary.drifted:
                performance.context.journal.emit(change)
            describe(performance, saved)

    act_initialised(performance, act)


def plan_into(performance: Performance, options: PlanOptions) -> Path:
    """Make a plan; its private file lasts as long as the run."""
    assignment = performance.assignment
    saved = performance.context.directory.private_file("plan.bin", "", grows=True)
    performance.planned = performance.run(
        Step.PLAN,
        commands.plan_arguments(
            assignment.options, options, out=saved, variable_files=assignment.variable_files
        ),
    )
    return saved


def describe(performance: Performance, saved: Path) -> None:
    """What the engine has to say on a saved plan, as far as somebody wants it."""
    assignment = performance.assignment
    if assignment.wants_difference:
        shown = performance.run(Step.SHOW, commands.show_arguments(saved, json=False), streams=False)
        # Known secrets only: sensitive values the engine masks by itself.
        performance.difference = performance.context.journal.redactor.text(shown.document)
    if assignment.wants_plan_document:
        document = performance.run(Step.SHOW, commands.show_arguments(saved, json=True), streams=False)
        performance.plan_document = document.document


class _BundleToBe:
    """The bundle of a plan that is about to be made: what it is for has to be noted before."""

    def __init__(self, performance: Performance) -> None:
        from hereya_tf.bundle.digest import new_salt

        self._performance = performance
        self._salt = new_salt()
        self._identity = performance.assignment.identify(self._salt)

    def write(self, plan: Path) -> None:
        from hereya_tf.bundle.digest import backend_settings, read_lock_file
        from hereya_tf.bundle.file import write_bundle
        from hereya_tf.bundle.manifest import Manifest

        assignment, context = self._performance.assignment, self._performance.context
        manifest = Manifest(
            run=context.journal.run,
            created=timestamp(time.time()),
            tool=f"hereya-tf {__version__}",
            destroys=assignment.plan_options.destroy,
            salt=self._salt,
            identity=self._identity,
            settings=backend_settings(context.package, assignment.workspace.data_directory, self._salt),
        )
        path = assignment.bundle_to_write
        assert path is not None
        write_bundle(path, plan=plan, lock_file=read_lock_file(context.package), manifest=manifest)
