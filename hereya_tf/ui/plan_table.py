"""What a plan would do: the dangerous part first, the counts last (pure)."""

from collections import Counter
from collections.abc import Sequence

from hereya_tf.events import ChangeCounts, ChangeEvent
from hereya_tf.report.changes import DRIFT, ChangeKind, change_text, kind_of
from hereya_tf.ui.styled import Line, Piece, Style, encoded_all, fitted, line_of, with_address
from hereya_tf.words import flat, natural, visible

# By rank.
_STYLES = (Style.RED, Style.RED, Style.YELLOW, Style.YELLOW, Style.GREEN, Style.CYAN, Style.CYAN)


def plan_lines(
    changes: Sequence[ChangeEvent],
    counts: ChangeCounts,
    *,
    width: int | None,
    height: int | None,
    color: bool,
    title: str = "Plan",
) -> list[str]:
    """One line per change, then `title: 3 to add, 1 to change, 2 to destroy`.

    `width` (cells) and `height` (lines in all) of the place there is; None for no limit. `changes` may be
    the first of more: `counts` has them all. Changes whose reason is `drift` are told as what has happened.
    """
    kept = sorted(changes, key=lambda change: (_kind(change).rank, natural(change.address)))
    is_drift = bool(kept) and all(change.reason == DRIFT for change in kept)
    total = len(kept) if is_drift else max(len(kept), _resources(counts))
    last = _drift_counts(kept, title) if is_drift else _counts(counts, title)
    room = len(kept)
    if height is not None and total + 2 > height:
        # The blank line, the counts, and the line that says how many are not shown.
        room = max(0, min(room, height - 3))
    lines = [_row(change, width) for change in kept[:room]]
    if kept and room < total and (height is None or height > 2):
        lines.append(_left_out(kept[room:], total - room, width))
    gap: list[Line] = [()] if lines else []
    # The counts are never cut off: they are what is decided on.
    return encoded_all((*lines, *gap, last), color=color)


def difference_lines(text: str, *, color: bool) -> list[str]:
    """The engine's own words on a plan, line by line: nothing in them steers the terminal.

    Each line is coloured for itself, by the symbol it begins with, for a text may have lines like that too.
    """
    lines = [visible(line.rstrip("\r")) for line in text.strip("\n").split("\n")]
    return encoded_all((line_of(Piece(line, _difference_style(line))) for line in lines), color=color)


def _difference_style(line: str) -> Style:
    text = line.lstrip()
    if text.startswith("# ("):
        return Style.DIM
    match text.split(" ", 1)[0]:
        case "#":
            return Style.BOLD
        case "+":
            return Style.GREEN
        case "-" | "-/+" | "+/-":
            return Style.RED
        case "~":
            return Style.YELLOW
        case "<=":
            return Style.CYAN
    return Style.PLAIN


def _kind(change: ChangeEvent) -> ChangeKind:
    return kind_of(change.action)


def _resources(counts: ChangeCounts) -> int:
    """How many resources are changed; a replaced one is counted twice, an import may be an update as well."""
    return counts.add + counts.change + counts.destroy - counts.replace + counts.forget


def _row(change: ChangeEvent, width: int | None) -> Line:
    kind = _kind(change)
    word, reason = change_text(change.action, change.reason)
    before = line_of(Piece(f"{kind.symbol:>5} {word:<8} ", _STYLES[kind.rank]))
    after = line_of(Piece(f"  ({reason})", Style.DIM)) if reason else ()
    return with_address(before, flat(change.address), after, width)


def _left_out(changes: Sequence[ChangeEvent], number: int, width: int | None) -> Line:
    """`and 37 more: 2 to destroy, 35 to create`."""
    words = Counter(_kind(change).word for change in changes)
    known = ", ".join(f"{count:,} to {word}" for word, count in words.items())
    detail = f": {known}" if known and sum(words.values()) == number else ""
    line = line_of(Piece(f"      and {number:,} more{detail}", Style.DIM))
    return line if width is None else fitted(line, width)


def _counts(counts: ChangeCounts, title: str) -> Line:
    if not any(counts):
        return line_of(Piece(f"{flat(title)}: ", Style.BOLD), "no changes")
    destroyed = Piece(f"{counts.destroy:,} to destroy", Style.BOLD_RED if counts.destroy else Style.PLAIN)
    parts: list[str | Piece] = [f"{counts.add:,} to add, {counts.change:,} to change, ", destroyed]
    if counts.import_:
        parts.append(f", {counts.import_:,} to import")
    if counts.forget:
        parts += [", ", Piece(f"{counts.forget:,} to forget", Style.YELLOW)]
    if counts.replace:
        parts.append(f" ({counts.replace:,} replaced)")
    return line_of(Piece(f"{flat(title)}: ", Style.BOLD), *parts)


def _drift_counts(changes: Sequence[ChangeEvent], title: str) -> Line:
    words = Counter(_kind(change).by_others for change in changes)
    said = ", ".join(f"{count:,} {word}" for word, count in words.items())
    return line_of(Piece(f"{flat(title)}: ", Style.BOLD), f"{said} outside of the engine")
