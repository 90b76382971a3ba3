"""What a CI system may show beside the source: errors and warnings with their place, few of each (pure)."""

import os.path
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import NamedTuple

from hereya_tf.report.document import Report
from hereya_tf.report.sentences import lock_text, state_text
from hereya_tf.words import Record

MOST = 10
"""Of each severity: what GitHub takes from one step."""
# GitHub cuts messages off after 4096 characters and titles after 255, in the middle of a word.
_LONGEST_MESSAGE = 2000
_LONGEST_TITLE = 200
# What an engine has fetched is in no repository.
_FETCHED = ".terraform"


class Place(NamedTuple):
    """Lines and columns count from 1; `file` is relative to the repository."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int


class Annotation(NamedTuple):
    """A sentence or more for people; `is_error` else it is a warning."""

    is_error: bool
    title: str
    message: str
    place: Place | None = None


def annotations(report: Report, roots: Sequence[tuple[str, str]]) -> tuple[Annotation, ...]:
    """The failure and the warnings of a run, without repetition.

    Each of `roots` is a repository's directory and the package's, as absolute paths of one kind: as they are
    called, or without links.
    """
    errors = tuple(_errors(report, roots)) if not report.success else ()
    warnings = dict.fromkeys(_of(record, roots, is_error=False) for record in report.warnings)
    return (*_few(errors), *_few(tuple(warnings)))


def _errors(report: Report, roots: Sequence[tuple[str, str]]) -> Iterator[Annotation]:
    """What has a place stands there; a failure that has none is told as a whole."""
    told = dict.fromkeys(_of(record, roots, is_error=True) for record in report.diagnostics)
    placed = [each for each in told if each.place is not None]
    if not placed:
        title = _cut_title(report.failure_class or report.status)
        yield Annotation(True, title, _cut_message(_whole(report)))
        return
    first, *others = placed
    yield first._replace(message=_cut_message("\n".join((first.message, *_advice(report)))))
    yield from others


def _whole(report: Report) -> str:
    state = state_text(report)
    lines = [report.reason, *([f"state: {state}"] if state is not None else [])]
    lines += [f"lock: {lock_text(report)}"] if report.lock is not None else []
    return "\n".join((*lines, *_advice(report)))


def _advice(report: Report) -> list[str]:
    return [f"hint: {hint}" for hint in report.hints]


def _of(record: Record, roots: Sequence[tuple[str, str]], *, is_error: bool) -> Annotation:
    text = record["detail"].strip() or record["summary"]
    if record["address"]:
        text += f"\nwith {record['address']}"
    return Annotation(is_error, _cut_title(record["summary"]), _cut_message(text), _place(record, roots))


def _place(record: Record, roots: Sequence[tuple[str, str]]) -> Place | None:
    found = record["range"]
    file = next(_files(found["filename"], roots), None) if found else None
    if file is None:
        return None
    return Place(file, found["start_line"], found["end_line"], found["start_column"], found["end_column"])


def _files(name: str, roots: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The file in the repository; nothing for one that is outside of it, or no part of it."""
    for root, package in roots:
        path = os.path.normpath(os.path.join(package, name))  # noqa: PTH118 - pathlib keeps `..`
        parts = PurePath(os.path.relpath(path, root)).parts
        if parts and parts[0] != os.pardir and _FETCHED not in parts:
            yield "/".join(parts)


def _few(found: Sequence[Annotation]) -> tuple[Annotation, ...]:
    """As many as are shown; the last one says what the others are."""
    if len(found) <= MOST:
        return tuple(found)
    rest = found[MOST - 1 :]
    kind = "errors" if found[0].is_error else "warnings"
    told = Annotation(found[0].is_error, f"{len(rest)} {kind} more", _cut_message("\n".join(_titles(rest))))
    return (*found[: MOST - 1], told)


def _titles(found: Iterable[Annotation]) -> Iterator[str]:
    for each in found:
        where = f"{each.place.file}:{each.place.line}: " if each.place is not None else ""
        yield f"{where}{each.title}"


def _cut_title(text: str) -> str:
    return _cut(" ".join(text.split()), _LONGEST_TITLE)


def _cut_message(text: str) -> str:
    return _cut(text, _LONGEST_MESSAGE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
