"""`engine which`: the engine that a run of a package would take, and why."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_table import every_option
from hereya_tf.cli.option_types import SETTINGS, GroupedOption, NamedArgument, place_of
from hereya_tf.cli.places import find_places
from hereya_tf.cli.settings import read_settings
from hereya_tf.engine import Binary, EngineName
from hereya_tf.errors import BadInput, BadPackage
from hereya_tf.words import flat

if TYPE_CHECKING:
    from hereya_tf.engine.constraints import Constraint

_OPTIONS = ("engine", "engine-version")


class EngineCommand(HelpfulCommand):
    """A command with the options of runs that are about the engine, which have a place in `config.toml`."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params = [*_engine_options(), *self.params]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the file's values as defaults. Raises BadConfig."""
        if not ctx.resilient_parsing:
            settings = read_settings(os.environ, list(every_option()))
            if settings is not None:
                ours = {option.name for option in _engine_options()}
                ctx.meta[SETTINGS] = settings
                ctx.default_map = {key: value for key, value in settings.values.items() if key in ours}
        return super().parse_args(ctx, args)


def _engine_options() -> list[GroupedOption]:
    options = [option for option in every_option() if option.public_name in _OPTIONS]
    for option in options:
        option.group = "Options"
    return options


@click.command(
    "which",
    cls=EngineCommand,
    short_help="What a run would take, and why.",
    examples=("hereya-tf engine which ./network", "hereya-tf engine which --engine-version '~> 1.9' --json"),
)
@click.argument("package", cls=NamedArgument, required=False, default=".", envvar="HEREYA_TF_PACKAGE")
@json_option
@click.pass_context
def which(
    context: click.Context, package: str, engine: str | None, engine_version: str | None, json_output: bool
) -> None:
    """Print the path of the engine that a run of PACKAGE (a directory, default `.`) would take, and why."""
    binary = _chosen(context, Path(package).absolute(), engine, engine_version)
    if json_output:
        print_document(
            {
                "engine": binary.engine,
                "version": str(binary.version),
                "path": binary.path,
                "argv": binary.argv,
                "chosen_by": binary.chosen_by,
            }
        )
        return
    say(flat(binary.path))
    say(flat(f"{binary.engine.title} {binary.version}: {binary.chosen_by}"), err=True)


def _chosen(context: click.Context, package: Path, engine: str | None, engine_version: str | None) -> Binary:
    """As a run chooses: the caller's word, else the package's, else what there is."""
    from hereya_tf.engine.choose import choose
    from hereya_tf.inputs.hereyarc import read_hereyarc

    hereyarc = read_hereyarc(package)
    asked = hereyarc.asks_for_opentofu and engine in (None, "auto")
    return choose(
        "tofu" if asked else engine,
        wish_source=hereyarc.file if asked else _source(context, "engine"),
        environment=os.environ,
        cache_directory=find_places(os.environ).cache,
        evidence=_evidence(package),
        wanted=_wanted(context, package, engine_version),
        directory=package,
    )


def _evidence(package: Path) -> frozenset[EngineName]:
    """Which engine has written the files of a package; there need not be one."""
    from hereya_tf.engine.evidence import evidence
    from hereya_tf.package import is_for_opentofu_alone, read_package

    if not package.is_dir():
        raise BadInput(f"there is no directory `{package}`", "name the directory of a package, or none")
    hosts: frozenset[str] = frozenset()
    with contextlib.suppress(BadPackage):
        hosts = read_package(package, tofu=is_for_opentofu_alone(package)).provider_hosts
    return frozenset(evidence(package, hosts, package / "terraform.tfstate"))


def _wanted(context: click.Context, package: Path, text: str | None) -> "Constraint | None":
    from hereya_tf.engine.constraints import parse_constraint
    from hereya_tf.inputs.project_file import FILE, read_project_file

    project = read_project_file(package)
    source = _source(context, "engine_version")
    yields = context.get_parameter_source("engine_version") is ParameterSource.DEFAULT_MAP
    if project.engine_version is not None and (text is None or yields):
        text, source = project.engine_version, f"{FILE}:{project.engine_version_line}"
    return parse_constraint(text, source) if text is not None else None


def _source(context: click.Context, name: str) -> str:
    """Who gave an option its value, as it is told."""
    match context.get_parameter_source(name):
        case ParameterSource.ENVIRONMENT:
            return f"HEREYA_TF_{name.upper()}"
        case ParameterSource.DEFAULT_MAP:
            return place_of(context, name)
        case _:
            return f"--{name.replace('_', '-')}"
