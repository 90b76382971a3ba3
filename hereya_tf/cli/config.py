"""`config show`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from hereya_tf.cli.documents import json_option, print_document, print_table
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_table import every_option
from hereya_tf.cli.option_types import SETTINGS, Amount, GroupedOption, NamedArgument, place_of
from hereya_tf.cli.settings import read_settings
from hereya_tf.engine.wish import is_address

if TYPE_CHECKING:
    from hereya_tf.inputs.hereyarc import Hereyarc
    from hereya_tf.inputs.project_file import ProjectFile
    from hereya_tf.retries import RetryRule

# Their values may be secrets.
_NAMES_ONLY = ("param", "env", "backend-config", "engine-arg")
_HIDDEN = "…"
_DEFAULT = "default"


class Setting(NamedTuple):
    """A value, as it may be shown, and where it is from."""

    name: str
    value: Any
    source: str


@click.group("config", cls=HelpfulGroup)
def config() -> None:
    """What is configured, and where.

    Keys of your own `config.toml` are the names of options: `lock-timeout = "5m"`, `refresh = false`,
    `var-file = ["a.tfvars"]`. Tables `[[retry]]` with `class` and `text` say which errors may pass, too.

    \b
    What wins, from high to low:
      1. the options of a command
      2. their variables in the environment, HEREYA_TF_*
      3. the package's `hereya-tf.toml`: engine-version, var-files, [parameters]
      4. your own `config.toml`
      5. the defaults

    A package may also set max-destroy and protect: what is stricter holds, whoever says it.
    """


@config.command(
    "show",
    short_help="Every option with its value and where that is from.",
    examples=("hereya-tf config show", "hereya-tf config show ./network --json"),
)
@click.argument("package", cls=NamedArgument, required=False, default=".", envvar="HEREYA_TF_PACKAGE")
@json_option
@click.pass_context
def show(context: click.Context, /, package: str, json_output: bool) -> None:
    """Every option of runs with its value and where that is from, and what the files of PACKAGE set.

    Of values that may be secret only the names are shown.
    """
    from hereya_tf.inputs.hereyarc import read_hereyarc

    options = list(_options(context))  # first: what is wrong with the caller's own is told first
    settings = context.meta[SETTINGS]
    rules = settings.rules if settings is not None else ()
    project = _read_project(Path(package))
    hereyarc = project.over(read_hereyarc(Path(package)))
    options = [_with_engine(option, hereyarc) for option in _settle(options, project)]
    parameters = list(_parameters(Path(package), hereyarc, project))
    if json_output:
        print_document(
            {
                "options": [setting._asdict() for setting in options],
                "parameters": [setting._asdict() for setting in parameters],
                "retry": [
                    {"class": rule.failure_class, "text": [*map(_harmless, rule.text)], "source": rule.source}
                    for rule in rules
                ],
            }
        )
        return
    # What is set comes last: on a small screen that is what stays.
    rows = [setting for setting in options if setting.source == _DEFAULT]
    rows += [setting for setting in options if setting.source != _DEFAULT]
    rows += [parameter._replace(name=f"parameter {parameter.name}") for parameter in parameters]
    rows += [Setting("retry", _rule_text(rule), rule.source) for rule in rules]
    print_table(("OPTION", "VALUE", "FROM"), [(row.name, _text(row.value), row.source) for row in rows])


def _options(context: click.Context) -> Iterator[Setting]:
    """Every option of runs. Raises BadConfig, and what click raises for a variable that holds nonsense."""
    options = list(every_option())
    settings = read_settings(os.environ, options)
    asked = click.Command("show", params=[*options], add_help_option=False).make_context(
        "show",
        [],
        # A context of its own: this command has options of the same names.
        parent=context.parent,
        default_map=dict(settings.values) if settings is not None else None,
    )
    asked.meta[SETTINGS] = settings
    for option in options:
        yield Setting(option.public_name, _shown(option, asked.params[option.name]), _source(asked, option))


def _source(context: click.Context, option: GroupedOption) -> str:
    match context.get_parameter_source(option.name):
        case ParameterSource.ENVIRONMENT:
            return option.variable
        case ParameterSource.DEFAULT_MAP:
            return place_of(context, option.name)
        case _:
            return _DEFAULT


def _shown(option: GroupedOption, value: Any) -> Any:
    if option.public_name in _NAMES_ONLY:
        return [_name_only(entry) for entry in value]
    if isinstance(option.type, Amount) and value is not None:
        return option.type.spell(value)
    if isinstance(value, str):
        return _harmless(value)
    return list(value) if isinstance(value, tuple) else value


def _harmless(text: str) -> str:
    """Of an address, such as that of a mirror, nothing that opens doors: no password, and no query."""
    if "://" not in text:
        return f"{_HIDDEN}@{text.rpartition('@')[2]}" if is_address(text) else text
    from hereya_tf.redaction import Redactor

    place, mark, _ = Redactor().text(text).partition("?")
    return f"{place}{mark}{_HIDDEN}" if mark else place


def _rule_text(rule: "RetryRule") -> str:
    """`provider-error with "…" and "…"`."""
    said = " and ".join(f'"{_harmless(text)}"' for text in rule.text)
    return f"{rule.failure_class or 'any class'}{' with ' if said else ''}{said}"


def _name_only(entry: str) -> str:
    name, equals, _ = entry.partition("=")
    return f"{name}={_HIDDEN}" if equals else entry


def _settle(options: Sequence[Setting], project: "ProjectFile") -> Iterator[Setting]:
    """The options with what the package says: less than the caller's word, more than `config.toml`."""
    source = project.source
    said = {key.replace("_", "-"): key for key in source.values} if source is not None else {}
    for option in options:
        key = said.get({"var-file": "var-files"}.get(option.name, option.name))
        if source is None or key is None or key == "parameters":
            yield option
            continue
        setting = Setting(option.name, source.values[key], f"{source.shown}:{source.line(key)}")
        if option.name in ("var-file", "protect"):  # none takes the other's place
            yield from (setting, option) if option.value else (setting,)
        elif option.name == "max-destroy":
            yield min(
                (each for each in (option, setting) if each.value is not None), key=lambda each: each.value
            )
        else:
            yield option if option.source.startswith("HEREYA_TF_") else setting


def _with_engine(option: Setting, hereyarc: "Hereyarc") -> Setting:
    """The engine that the package asks for, where nobody else does."""
    if option.name == "engine" and option.source == _DEFAULT:
        return (
            option._replace(value="tofu", source=hereyarc.file)
            if hereyarc.asks_for_opentofu
            else option._replace(value="auto")
        )
    return option


def _parameters(package: Path, hereyarc: "Hereyarc", project: "ProjectFile") -> Iterator[Setting]:
    """The defaults that the files of a package have for parameters."""
    open_names = _open_names(package) if hereyarc.rules else frozenset()
    for name, rule in hereyarc.rules.items():
        if rule.default is None:
            continue
        line = f":{project.source.line('parameters', name)}" if rule.file and project.source else ""
        value = rule.default if name in open_names else _HIDDEN
        yield Setting(name, value, f"{rule.file or hereyarc.file}{line}")


def _open_names(directory: Path) -> frozenset[str]:
    """The parameters whose values anybody may see: declared, and not as sensitive."""
    from hereya_tf.errors import BadPackage
    from hereya_tf.package import is_for_opentofu_alone, read_package
    from hereya_tf.redaction.credential_shapes import looks_like_credential_name

    try:
        package = read_package(directory, tofu=is_for_opentofu_alone(directory))
    except BadPackage:
        return frozenset()
    return frozenset(
        name
        for name, variable in package.variables.items()
        if not variable.sensitive and not looks_like_credential_name(name)
    )


def _read_project(package: Path) -> "ProjectFile":
    from hereya_tf.errors import BadInput
    from hereya_tf.inputs.project_file import read_project_file

    if not os.path.isdir(package):  # noqa: PTH112 - Path raises for a link to itself
        raise BadInput(f"`{package}` is not a directory", "name the directory of a package")
    return read_project_file(package)


def _text(value: Any) -> str:
    """A value in a table: a text as it is, what is not set as nothing."""
    from hereya_tf import exact

    match value:
        case None | []:
            return "-"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case list() if all(isinstance(item, str) for item in value):
            return " ".join(value)
        case _:
            return exact.dumps(value)
