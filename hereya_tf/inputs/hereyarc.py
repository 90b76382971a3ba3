"""Reads a package's `hereyarc.yaml`: the engine it asks for, and rules for its parameters (I/O)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.errors import BadInput, BadPackage
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.values import VariableFile
from hereya_tf.inputs.variable_files import automatic_files, names_set
from hereya_tf.package import Package
from hereya_tf.reading import read_settings_file

_FILES = ("hereyarc.yaml", "hereyarc.yml")
_OPENTOFU = ("opentofu", "opentf", "tofu")
_EITHER = "terraform"


class Rule(NamedTuple):
    """What is said about one parameter; a `default` of None is none."""

    mandatory: bool
    default: object
    # Where the default stands, if in another file.
    file: str | None = None


class Hereyarc(NamedTuple):
    """What the file says; other tools read it too, so that most of it is none of our business."""

    file: str
    asks_for_opentofu: bool
    rules: Mapping[str, Rule]

    def without_demands(self) -> "Hereyarc":
        """The same, with nothing mandatory."""
        return self._replace(
            rules={name: rule._replace(mandatory=False) for name, rule in self.rules.items()}
        )


class Defaults(NamedTuple):
    """The defaults that are to be passed to the engine, and what is wrong with the rest."""

    values: tuple[Given, ...]
    warnings: tuple[str, ...]


def read_hereyarc(directory: Path) -> Hereyarc:
    """Read the file of a package, if it has one; raises BadPackage."""
    # A link to nothing counts: to go on without what it was to say would be to guess.
    present = [name for name in _FILES if os.path.lexists(directory / name)]
    match present:
        case []:
            return Hereyarc(_FILES[0], False, {})
        case [name]:
            file = directory / name
            return parse_hereyarc(read_settings_file(file, str(file), BadPackage), name)
        case _:
            raise BadPackage(
                f"`{directory}` holds both `{_FILES[0]}` and `{_FILES[1]}`", "keep one of the two"
            )


def parse_hereyarc(text: str, file: str) -> Hereyarc:
    """Read the text of such a file; raises BadPackage naming the file and what was expected, never a value."""
    document = _mapping(_load(text, file), f"`{file}`", "`iac: terraform`, for instance")
    rules = {
        name: _rule(body, name, file)
        for name, body in _mapping(
            document.get("parameters"), f"`parameters` in `{file}`", "a name and a mapping for each parameter"
        ).items()
    }
    return Hereyarc(file, _asks_for_opentofu(document.get("iac"), file), rules)


def plan_defaults(
    hereyarc: Hereyarc,
    package: Package,
    *,
    environment: Mapping[str, str],
    additions: Sequence[tuple[str, str]],
    inputs: Sequence[Given | VariableFile],
) -> Defaults:
    """The defaults that nothing of a higher rank sets; raises BadInput for a mandatory parameter without a value.

    They go to the engine in a variable file, which keeps their types but beats everything that the engine
    finds by itself: so where that has a value, the default is left out. `environment` is the engine's.
    """
    if not hereyarc.rules:
        return Defaults((), ())
    names = frozenset(hereyarc.rules)
    automatic = names_set(automatic_files(package.directory), names)
    found = automatic.names | {name for name in names if f"TF_VAR_{name}" in environment}
    undeclared = [] if package.broken else [name for name in hereyarc.rules if name not in package.variables]
    if not automatic.doubtful:
        given = {name for name, _ in additions} | {item.name for item in inputs if isinstance(item, Given)}
        _refuse_lacking(hereyarc, package, found | given, inputs)
    return Defaults(
        tuple(
            Given(name, rule.default, isinstance(rule.default, str), Source.FILE, rule.file or hereyarc.file)
            for name, rule in hereyarc.rules.items()
            if rule.default is not None and name not in found and name not in undeclared
        ),
        tuple(
            f"`{name}` ({hereyarc.rules[name].file or hereyarc.file}) is left out:"
            " the package declares no such variable"
            for name in undeclared
        ),
    )


def _refuse_lacking(
    hereyarc: Hereyarc, package: Package, found: frozenset[str], inputs: Sequence[Given | VariableFile]
) -> None:
    backend = package.backend
    if package.broken or (backend is not None and backend.is_remote):
        return  # a default may stand where the parser failed, a value in the remote workspace
    lacking = {
        name
        for name, rule in hereyarc.rules.items()
        if rule.mandatory and rule.default is None and name not in found
        if name in package.variables and not package.variables[name].has_default
    }
    if not lacking:
        return
    in_files = names_set([item.path for item in inputs if isinstance(item, VariableFile)], frozenset(lacking))
    if in_files.doubtful or not (lacking := lacking - in_files.names):
        return
    first, *more = sorted(lacking)
    named = ", ".join(f"`{name}`" for name in (first, *more))
    verb, word = ("have", "parameters") if more else ("has", "parameter")
    raise BadInput(
        f"{named} {verb} no value, and `{hereyarc.file}` has the {word} as mandatory",
        f"give a value: `-p {first}=TEXT`",
    )


def _load(text: str, file: str) -> Any:
    from hereya_tf.inputs import yaml_core  # here, because it costs 15 ms and few packages have the file

    try:
        return yaml_core.load(text)
    except yaml_core.UnusableYAMLError as error:
        raise BadPackage(
            f"`{file}`, line {error.line}, cannot be used as YAML: {error}",
            "put a text that looks like something else in quotes",
        ) from None


def _asks_for_opentofu(iac: object, file: str) -> bool:
    if iac is None or iac == _EITHER:
        return False
    if iac in _OPENTOFU:
        return True
    known = ", ".join(f"`{word}`" for word in _OPENTOFU)
    shown = f"`{iac}`" if isinstance(iac, str) else "no text"
    raise BadPackage(
        f"`iac` in `{file}` is {shown}, which is neither Terraform nor OpenTofu",
        f"it takes `{_EITHER}` (either engine), or one of {known} (OpenTofu)",
    )


def _rule(body: object, name: str, file: str) -> Rule:
    where = f"`parameters.{name}"
    members = _mapping(body, f"{where}` in `{file}`", "`mandatory` and `default`, or nothing")
    mandatory = members.get("mandatory")
    if not (mandatory is None or isinstance(mandatory, bool)):
        raise BadPackage(
            f"{where}.mandatory` in `{file}` must be `true` or `false`", "YAML 1.2 has no `yes` and `no`"
        )
    return Rule(mandatory is True, members.get("default"))


def _mapping(value: object, what: str, example: str) -> Mapping[str, Any]:
    match value:
        case None:
            return {}
        case dict():
            return value
        case _:
            raise BadPackage(f"{what} must be a mapping", f"it holds {example}")
