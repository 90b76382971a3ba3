"""Errors in the engine's human form, for the commands and the failures that know no JSON (pure)."""

from collections.abc import Iterator

from hereya_tf.stream.message_types import Diagnostic, Range

_MARGINS = ("│", "╷", "╵", "|")


def read_human_errors(text: str) -> tuple[Diagnostic, ...]:
    """The errors in an engine's stderr, boxed or not, coloured or not; else its first line as one error."""
    lines = [_bare(line) for line in without_colour(text).splitlines()]
    errors = tuple(_errors(lines))
    if errors:
        return errors
    said = [line for line in lines if line.strip()]
    return (Diagnostic("error", said[0].strip(), "\n".join(said[1:])),) if said else ()


def without_colour(text: str) -> str:
    """The text without the escape sequences that colour it."""
    first, *rest = text.split("\x1b[")
    return first + "".join(part.partition("m")[2] for part in rest)


def _bare(line: str) -> str:
    return line[1:].removeprefix(" ") if line.startswith(_MARGINS) else line


def _errors(lines: list[str]) -> Iterator[Diagnostic]:
    block: list[str] | None = None
    for line in [*lines, "Warning: "]:
        if line.startswith(("Error: ", "Warning: ")):
            if block is not None:
                yield _error(block)
            block = [line.removeprefix("Error: ")] if line.startswith("Error: ") else None
        elif block is not None:
            block.append(line)


def _error(block: list[str]) -> Diagnostic:
    address, place = None, None
    detail = []
    in_source = False
    for line in block[1:]:
        if line.startswith("  with ") and line.endswith(","):
            address = line[len("  with ") : -1]
        elif line.startswith("  on ") and place is None:
            place, in_source = _place(line), True
        elif in_source and line.strip():
            continue
        else:
            in_source = False
            detail.append(line)
    return Diagnostic("error", block[0].strip(), "\n".join(detail).strip("\n"), address, place)


def _place(line: str) -> Range | None:
    filename, found, rest = line.removeprefix("  on ").rpartition(" line ")
    digits = rest.partition(",")[0].rstrip(":")
    if not found or not digits.isdecimal():
        return None
    number = int(digits) if len(digits) < 10 else 0
    return Range(filename, number, 1, number, 1)
