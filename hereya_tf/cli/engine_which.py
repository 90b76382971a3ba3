"""`engine which`: the engine that a run of a package would take, and why."""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

import click
from click.core import ParameterSource

from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.engine_options import EngineCommand, wish_of
from hereya_tf.cli.option_types import NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.wish import EngineWish, is_address
from hereya_tf.errors import BadInput, BadPackage, EngineUnavailable
from hereya_tf.reading import reason
from hereya_tf.words import flat


@click.command(
    "which",
    cls=EngineCommand,
    shared=("engine", "engine-version", "from"),
    short_help="What a run would take, and why.",
    examples=("hereya-tf engine which ./network", "hereya-tf engine which --engine-version '~> 1.9' --json"),
)
@click.argument("package", cls=NamedArgument, required=False, default=".", envvar="HEREYA_TF_PACKAGE")
@json_option
@click.pass_context
def which(
    context: click.Context,
    package: str,
    engine: str | None,
    engine_version: str | None,
    mirror: str | None,
    json_output: bool,
) -> None:
    """Print the path of the engine that a run of PACKAGE (a directory, default `.`) would take, and why.

    Exits with 5 when a run would have to download it first.
    """
    options = {"engine": engine, "engine_version": engine_version, "mirror": mirror}
    binary = _chosen(Path(package).absolute(), wish_of(context, options), _same_mirror(context, mirror))
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


def _same_mirror(context: click.Context, mirror: str | None) -> str:
    """What has another command take an engine from where this one was told to, without a password."""
    if mirror is None or context.get_parameter_source("mirror") is not ParameterSource.COMMANDLINE:
        return ""
    return f" --from {'URL' if is_address(mirror) and not {'@', '?'}.isdisjoint(mirror) else quote(mirror)}"


def _chosen(package: Path, wish: EngineWish, same_mirror: str) -> Binary:
    """As a run chooses, but for a workspace and a backend, which decide where a state is looked for."""
    from hereya_tf.inputs.hereyarc import read_hereyarc
    from hereya_tf.inputs.project_file import read_project_file
    from hereya_tf.releases.supply import Listeners, Supply
    from hereya_tf.selection import Missing, Selection
    from hereya_tf.wanted_engine import wanted_engine

    written_by = _written_by(package)
    project, hereyarc = read_project_file(package), read_hereyarc(package)
    demand = wanted_engine(wish, package, project=project, hereyarc=hereyarc, written_by=written_by)
    for sentence in demand.passed_over:
        _tell(sentence)
    listeners = Listeners(time.sleep, _tell, _ignore)
    supply = Supply(wish.mirror, os.environ, find_places(os.environ).cache, listeners)
    selection = Selection(demand, wish, supply=supply, package=package, written_by=written_by, tell=_tell)
    found = selection.look()
    if isinstance(found, Missing):
        title, executable = f"{found.engine.title} {found.version}", found.engine.executable
        raise EngineUnavailable(
            f"the engine is not here yet: a run would download {title} ({found.reason})",
            f"have it now: `hereya-tf engine install {executable} {found.version}{same_mirror}`",
        )
    return found


def _written_by(package: Path) -> Mapping[EngineName, str]:
    """Which engine has written the files of a package; there need not be one."""
    from hereya_tf.engine.evidence import evidence
    from hereya_tf.package import is_for_opentofu_alone, read_package

    try:
        os.scandir(package).close()
    except (FileNotFoundError, NotADirectoryError) as error:
        sentence = f"there is no directory `{package}`"
        raise BadInput(sentence, "name the directory of a package, or none") from error
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{package}` cannot be read: {reason(error)}", "check the path and its permissions"
        ) from error
    hosts: frozenset[str] = frozenset()
    with contextlib.suppress(BadPackage):
        hosts = read_package(package, tofu=is_for_opentofu_alone(package)).provider_hosts
    return evidence(package, hosts, package / "terraform.tfstate")


def _tell(sentence: str) -> None:
    say(flat(f"warning: {sentence}"), err=True)


def _ignore(_engine: EngineName, _version: Version, _arrived: int, _total: int | None) -> None:
    """Nothing is downloaded."""
