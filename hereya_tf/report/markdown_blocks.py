"""The parts of a Markdown report, and what of them fits into a limit (pure)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# For the note that the end is missing.
_NOTE = "*More did not fit in here; `hereya-tf runs report` has the rest.*"


class Block(NamedTuple):
    """Lines between blank ones: `rows` may be left out from one on, `before` and `after` only as a whole.

    `left` is the line that says how many rows are missing; `keeps_end` says that the first ones go.
    """

    before: tuple[str, ...]
    rows: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    left: str = ""
    keeps_end: bool = False

    def below(self, *lines: str) -> "Block":
        """The same with lines above it."""
        return self._replace(before=(*lines, *self.before))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Block:
    """A table without the columns in which nothing stands; cells are Markdown without a bar."""
    made = [tuple(row) for row in rows]
    used = [at for at in range(len(heads)) if any(row[at] for row in made)]
    before = (_row(heads[at] for at in used), _row("---" for _ in used))
    note = _row(["and {left:,} more", *("" for _ in used[1:])])
    return Block(before, tuple(_row(row[at] for at in used) for row in made), left=note)


def folded(title: str, block: Block) -> Block:
    """The block below a line that opens it; `title` is ours."""
    return block._replace(
        before=("<details>", f"<summary>{title}</summary>", *([""] if block.before else []), *block.before),
        after=(*block.after, "", "</details>"),
    )


def joined(blocks: Iterable[Block], *, room: int | None) -> str:
    """The text of all blocks; with a limit of `room` bytes, of those that fit, and as many rows as do."""
    texts = []
    missing = False
    left = None if room is None else room - _size((_NOTE, ""))
    for block in blocks:
        if not block.before and not block.rows:
            continue
        lines, is_whole = (_whole(block), True) if left is None else _fitted(block, left)
        missing = missing or not is_whole
        if lines:
            texts.append("".join(f"{line}\n" for line in lines))
            left = None if left is None else left - _size(lines) - 1
    if missing and texts:
        texts.append(f"{_NOTE}\n")
    return "\n".join(texts)


def _whole(block: Block) -> tuple[str, ...]:
    return (*block.before, *block.rows, *block.after)


def _fitted(block: Block, room: int) -> tuple[tuple[str, ...], bool]:
    """The lines of a block that fit, and whether that is all of it."""
    whole = _whole(block)
    if _size(whole) + 1 <= room:
        return whole, True
    note = block.left.format(left=len(block.rows))
    room -= _size((*block.before, *block.after, note)) + 1
    kept: list[str] = []
    for row in reversed(block.rows) if block.keeps_end else block.rows:
        room -= _size((row,))
        if room < 0:
            break
        kept.append(row)
    if not kept:
        return (), False
    note = block.left.format(left=len(block.rows) - len(kept))
    if block.keeps_end:
        return (*block.before, note, *reversed(kept), *block.after), False
    return (*block.before, *kept, note, *block.after), False


def _size(lines: Iterable[str]) -> int:
    """Bytes with the line breaks."""
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
