"""What a package's configuration asks of the engine that reads it, and which engines heed that (I/O)."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine.demand import Era, Requirement, Requirements
from hereya_tf.errors import BadInput
from hereya_tf.package import configuration_files, is_override
from hereya_tf.package.declarations import Declaration, Kind, read_json, read_native
from hereya_tf.reading import read_regular_file

_LARGEST_FILE = 16 << 20  # bytes
_KINDS = (Kind.REQUIRED_VERSION, Kind.COMPATIBLE_WITH)
_NULL = "null"  # no constraint, but one that replaces others
# A JSON text can also spell a key with escapes. Without any of these there is nothing to parse a file for.
_TRACES = (*(kind.value.encode() for kind in _KINDS), b"\\u")


class _File(NamedTuple):
    """A configuration file: what it says of versions, and the eras that read it at all."""

    name: str
    declarations: tuple[Declaration, ...]
    read_in: frozenset[Era]


def read_requirements(directory: Path) -> Requirements:
    """The `required_version` of the `terraform` blocks in a root module, and what its `language` blocks say.

    What cannot be read is passed over: `package.read_package` and the engine refuse it with better words.
    """
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except (OSError, ValueError):
        return Requirements()
    return parse_requirements(names, _sources(directory, _configuration(names)))


def parse_requirements(names: Iterable[str], sources: Iterable[tuple[str, bytes]]) -> Requirements:
    """The requirements in the files of a directory that holds `names`; `sources` come with override files last.

    An override file's `required_version` takes the place of all before it, but where each file stands for
    itself: in OpenTofu since 1.12 (`configs.checkVersionRequirements`).
    """
    names = tuple(names)
    by_terraform, by_opentofu = (frozenset(configuration_files(names, tofu=tofu)) for tofu in (False, True))
    files = [
        _File(name, tuple(_declarations(name, source)), _read_in(name, by_terraform, by_opentofu))
        for name, source in sources
    ]
    found: list[Requirement] = []
    passed_over: list[str] = []
    for number, file in enumerate(files):
        replaced = _replaced(files[number + 1 :])
        for declaration in file.declarations:
            if declaration.name == _NULL:
                continue
            try:
                found.append(_requirement(file, declaration, replaced))
            except BadInput as error:
                passed_over.append(str(error))
    return Requirements(
        tuple(item for item in found if item.heeded_in or item.refused_in), tuple(passed_over)
    )


def _configuration(names: Sequence[str]) -> list[str]:
    """What any engine reads, override files last."""
    files = {*configuration_files(names, tofu=False), *configuration_files(names, tofu=True)}
    return sorted(files, key=lambda name: (is_override(name), name))


def _sources(directory: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        try:
            yield name, read_regular_file(directory / name, at_most=_LARGEST_FILE + 1)
        except OSError:
            continue


def _declarations(name: str, source: bytes) -> Iterator[Declaration]:
    if not any(trace in source for trace in _TRACES):
        return
    is_json = name.endswith(".json")
    for declaration in (read_json(source) if is_json else read_native(source)).declarations:
        if declaration.kind in _KINDS:
            line = _json_line(source, declaration.kind) if is_json else declaration.line
            yield declaration._replace(line=line)


def _json_line(source: bytes, kind: Kind) -> int:
    """The line of a key that stands in a JSON file once, else 0: the decoder keeps no positions."""
    name = b"required_version" if kind is Kind.REQUIRED_VERSION else b"opentofu"
    keys = list(re.finditer(rb'"' + name + rb'"\s*:', source))
    return source.count(b"\n", 0, keys[0].start()) + 1 if len(keys) == 1 else 0


def _read_in(name: str, by_terraform: frozenset[str], by_opentofu: frozenset[str]) -> frozenset[Era]:
    """The eras that read a file: `x.tofu` hides `x.tf` where there are such files."""
    like_terraform = (Era.TERRAFORM, Era.LIKE_TERRAFORM) if name in by_terraform else ()
    by_name = (Era.OWN_FILES, Era.LANGUAGE_BLOCK) if name in by_opentofu else ()
    return frozenset((*like_terraform, *by_name))


def _replaced(later: Iterable[_File]) -> frozenset[Era]:
    """The eras in which an override file still to come has the word instead."""
    eras: set[Era] = set()
    for file in later:
        if is_override(file.name) and any(item.kind is Kind.REQUIRED_VERSION for item in file.declarations):
            eras |= file.read_in
    return frozenset(eras) - {Era.LANGUAGE_BLOCK}


def _requirement(file: _File, declaration: Declaration, replaced: frozenset[Era]) -> Requirement:
    """Raises BadInput for a text that is no constraint, or one that no engine takes."""
    from hereya_tf.engine.constraints import Constraint, parse_constraint

    place = f"{file.name}:{declaration.line}" if declaration.line else file.name
    if declaration.kind is Kind.COMPATIBLE_WITH:
        heeded = file.read_in & {Era.LANGUAGE_BLOCK}
        try:
            constraint = parse_constraint(declaration.name, place)
        except BadInput:
            constraint = Constraint("language", place, ())
        return Requirement(constraint, heeded, file.read_in - heeded)
    constraint = parse_constraint(declaration.name, place)
    if constraint.is_latest or any(term.version.prerelease for term in constraint.terms):
        raise BadInput(
            f"`{constraint.text}` of `{place}` is no constraint that an engine takes there",
            "pre-releases and `latest` stand in version files or in `--engine-version`",
        )
    # `*.tofu` is for OpenTofu alone, and since 1.12 nothing else is.
    is_own = Era.TERRAFORM not in file.read_in
    heeded = file.read_in if is_own else file.read_in - {Era.LANGUAGE_BLOCK}
    return Requirement(constraint, heeded - replaced)
