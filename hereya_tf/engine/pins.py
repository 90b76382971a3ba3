"""Reads version files, from a package's directory upwards: `.terraform-version`, `.tool-versions` (I/O)."""

import codecs
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from hereya_tf.engine import EngineName
from hereya_tf.engine.demand import Pin, Pins
from hereya_tf.errors import BadConfig, BadInput
from hereya_tf.reading import read_regular_file, reason

VERSION_FILES = {EngineName.OPENTOFU: ".opentofu-version", EngineName.TERRAFORM: ".terraform-version"}
TOOL_VERSIONS = ".tool-versions"

_TOOLS = {"terraform": EngineName.TERRAFORM, "opentofu": EngineName.OPENTOFU, "tofu": EngineName.OPENTOFU}
_LARGEST = 1 << 20  # bytes
_LONGEST_SHOWN = 200  # characters
_INSTEAD = "or say what you want: `--engine-version CONSTRAINT`"
# tfenv's and tenv's words. None of them means a pre-release here.
_NEWEST = ("latest", "latest-stable", "latest-allowed")
_LOWEST = "min-required"
# A regular expression that means no more than its beginning: `latest:^1\.8`; and mise's `prefix:1.8`.
_BEGINNING = (
    r"(?a:(?:latest|prefix):\^?v?(\d{1,9})(?:\\?\.(\d{1,9}))?(?:\\?\.(\d{1,9}))?"
    r"(?:\\?\.)?(?:(?:\[0-9\]|\\d|\.)[+*])?\$?)"
)
# What asdf runs in place of a release.
_NO_RELEASES = {
    "system": "means whatever is on PATH",
    "ref:": "is a commit, not a release",
    "path:": "is a directory, not a release",
}


def find_pins(directory: Path, engines: Collection[EngineName] = tuple(EngineName)) -> Pins:
    """What version files say of `engines`, in the nearest directory upwards that has any that does.

    Upwards from the real directory to the root, home or not, whoever owns the files: as tfenv, tenv, asdf and
    mise read them. In one directory an engine's own file comes before `.tool-versions`. A file that is
    there and cannot be used is a pin with a fault: to go on without what it was to say would be to guess.
    """
    try:
        package = Path(os.path.realpath(directory))
    except ValueError:  # a NUL in it: there is no such directory
        return Pins()
    passed_over: tuple[str, ...] = ()
    for level in (package, *package.parents):
        # In the package's own directory the name says it all.
        base = Path() if level is package else level
        pins = _pins_in(level, base, engines)
        passed_over += pins.passed_over
        if pins.found:
            return Pins(pins.found, passed_over)
    return Pins((), passed_over)


def parse_version_file(text: str, shown: str, engine: EngineName) -> Pin:
    """The one line of a `.terraform-version` or `.opentofu-version` that is no comment."""
    lines = list(_lines(text))
    if not lines:
        hint = "write one in it, such as `1.11.4`, or take it away"
        return Pin(engine, shown, fault=BadConfig(f"`{shown}` holds no version", hint, _INSTEAD))
    (number, word), *others = lines
    place = f"{shown}:{number}"
    for other, _ in others:
        sentence = f"`{shown}:{other}` is another version, after `{place}`"
        return Pin(engine, place, fault=BadConfig(sentence, "keep one of them", _INSTEAD))
    return _pin(engine, word, place)


def parse_tool_versions(text: str, shown: str, engines: Collection[EngineName]) -> Pins:
    """The lines of a `.tool-versions` (asdf, mise) for `engines`; of several versions on a line, the first."""
    found: dict[EngineName, Pin] = {}
    passed_over: list[str] = []
    for number, line in _lines(text):
        tool, *words = line.split()
        engine = _TOOLS.get(tool)
        if engine is None or engine not in engines or engine in found:
            continue
        place = f"{shown}:{number}"
        if not words:
            passed_over.append(f"`{place}` is passed over: no version of {engine.title} follows")
        for word in words:
            why = next((why for start, why in _NO_RELEASES.items() if word.startswith(start)), None)
            if why is None:
                found[engine] = _pin(engine, word, place)
                break
            passed_over.append(f"`{_printable(word)}` of `{place}` is passed over: it {why}")
    return Pins(tuple(found.values()), tuple(passed_over))


def _pins_in(level: Path, base: Path, engines: Collection[EngineName]) -> Pins:
    pins = []
    for engine, name in VERSION_FILES.items():
        if engine in engines and os.path.lexists(level / name):
            shown = str(base / name)
            try:
                pins.append(parse_version_file(_read(level / name, shown), shown, engine))
            except BadConfig as fault:
                pins.append(Pin(engine, shown, fault=fault))
    if pins or not os.path.lexists(level / TOOL_VERSIONS):
        return Pins(tuple(pins))
    shown = str(base / TOOL_VERSIONS)
    try:
        return parse_tool_versions(_read(level / TOOL_VERSIONS, shown), shown, engines)
    except BadConfig as fault:
        return Pins((Pin(None, shown, fault=fault),))


def _read(file: Path, shown: str) -> str:
    """The text of a file, whatever stands in comments and in what is said of other tools. Raises BadConfig."""
    try:
        data = read_regular_file(file, at_most=_LARGEST + 1)
    except OSError as error:
        raise BadConfig(
            f"`{shown}` cannot be read: {reason(error)}", "make it readable, or take it away", _INSTEAD
        ) from error
    if len(data) > _LARGEST:
        raise BadConfig(f"`{shown}` is larger than {_LARGEST >> 20} MiB", "is it the right file?", _INSTEAD)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadConfig(f"`{shown}` is not UTF-8 text, but UTF-16", "save it as UTF-8", _INSTEAD)
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """What is neither blank nor a comment, with its line; 1 is the first."""
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if word := line.partition("#")[0].strip():
            yield number, word


def _pin(engine: EngineName, word: str, place: str) -> Pin:
    from hereya_tf.engine.constraints import Constraint, parse_constraint  # few packages have such a file

    if word in _NEWEST or word == _LOWEST:
        return Pin(engine, place, Constraint(word, place, ()), is_lowest=word == _LOWEST)
    try:
        beginning = re.fullmatch(_BEGINNING, word)
        constraint = parse_constraint(_constraint(beginning) if beginning else _printable(word), place)
    except BadInput as error:
        return Pin(engine, place, fault=BadConfig(str(error), *error.hints))
    return Pin(engine, place, constraint._replace(text=word) if beginning else constraint)


def _constraint(beginning: re.Match[str]) -> str:
    """What allows the versions with this beginning."""
    numbers = [number for number in beginning.groups() if number]
    return ".".join(numbers) if len(numbers) == len(beginning.groups()) else f"~> {'.'.join(numbers)}.0"


def _printable(word: str) -> str:
    """It comes from a file, and goes to a terminal."""
    shown = word if len(word) <= _LONGEST_SHOWN else f"{word[:_LONGEST_SHOWN]}…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown)
