"""What can be said of a plan or an apply that a remote workspace has done: it is told as text alone (pure)."""

from hereya_tf.errors import FailureClass
from hereya_tf.failure.diagnosis import Diagnosis

REMOTE_RUN_UNCOUNTED = (
    "the remote workspace has done the work and tells of it as text alone:"
    " what it changed is in the log, and not counted here"
)


def diagnose_remote_run(is_plan: bool, exit_code: int | None) -> Diagnosis:
    """Why a remote run is of no use here: it failed, or its plan cannot be read (exit codes 0 and 2)."""
    if is_plan and exit_code in (0, 2):
        return Diagnosis(
            FailureClass.BAD_INPUT,
            "the plan was made in the remote workspace, which tells what would change as text alone",
            (
                "with `--yes` and without a guard such as `--protect`, `provision` and `destroy` need no plan that"
                " can be read here",
                "to look at the plan: `hereya-tf tf -- plan`",
                "or let plans be made here: execution mode `local` in the remote workspace",
            ),
        )
    return Diagnosis(
        FailureClass.ENGINE_ERROR,
        "the run in the remote workspace did not come to a good end",
        (
            "see what it said, and the address of the run: `hereya-tf runs log last`",
            "compare what exists with what should before anything else, in the remote workspace",
        ),
    )
