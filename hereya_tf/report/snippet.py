"""The source that a diagnostic points at (pure)."""

from hereya_tf.source import SourceLine, source_lines
from hereya_tf.words import Record, flat

# Stands where a secret was: what is meant by numbers of characters is somewhere else then.
_REDACTED = "[redacted]"


def marked_lines(snippet: Record) -> tuple[SourceLine, ...]:
    """The lines of a diagnostic's snippet, with what is meant in them."""
    text = snippet["code"]
    meant = snippet.get("highlight_start") or 0, snippet.get("highlight_end") or 0
    return source_lines(text, snippet["start_line"], *((0, 0) if _REDACTED in text else meant))


def snippet_text(snippet: Record) -> str:
    """The lines with their numbers, `^^^` below what is meant, and last what its expressions were worth."""
    lines = marked_lines(snippet)
    width = max(len(str(line.number)) for line in lines)
    shown = []
    for line in lines:
        shown.append(f"{line.number:>{width}} | {line.code}")
        if line.marks:
            shown.append(f"{'':>{width}} | {line.marks}")
    shown += [f"{'':>{width}} # {flat(name)} {flat(said)}" for name, said in snippet["values"]]
    return "\n".join(shown)
