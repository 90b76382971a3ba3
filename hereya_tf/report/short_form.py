"""A failure in its short form, which every caller knows: the reason, and what the command said (pure)."""

from hereya_tf.errors import ShellCommandError


def reason_of(error: object) -> str:
    """The sentence of a ShellCommandError, and the text of anything else."""
    if isinstance(error, ShellCommandError):
        return str(error.args[0])
    return str(error)


def full_text(error: object) -> str:
    """The reason, and below it the whole stderr, or the whole stdout when stderr is blank; never both.

    Works on anything, with or without the attributes `stderr` and `stdout`; nothing is trimmed.
    """
    return reason_of(error) + captured_text(getattr(error, "stderr", None), getattr(error, "stdout", None))


def captured_text(stderr: object, stdout: object) -> str:
    """The captured part of a failure's text; empty when there is nothing but white space."""
    if isinstance(stderr, str) and stderr.strip():
        return "\n--- stderr ---\n" + stderr
    if isinstance(stdout, str) and stdout.strip():
        return "\n--- stdout ---\n" + stdout
    return ""
