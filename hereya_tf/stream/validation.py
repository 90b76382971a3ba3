"""The document of `validate -json`, as the messages that any other command would have sent (pure)."""

from hereya_tf import exact
from hereya_tf.stream.outputs import read_document


def validation_messages(document: str) -> tuple[str, ...]:
    """One message a diagnostic; none from what is no such document: the exit code then says it."""
    try:
        diagnostics = read_document(document).get("diagnostics")
    except ValueError:
        return ()
    if not isinstance(diagnostics, list):
        return ()
    head = {"@level": "error", "@message": "", "@timestamp": "", "type": "diagnostic"}
    return tuple(exact.dumps({**head, "diagnostic": diagnostic}) for diagnostic in diagnostics)
