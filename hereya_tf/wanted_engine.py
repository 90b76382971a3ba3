"""What the caller, the package and the user want of the engine, read from where each of them says it (I/O)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hereya_tf.engine import EngineName
from hereya_tf.engine.demand import Demand, demand_for
from hereya_tf.engine.pins import find_pins
from hereya_tf.engine.requirements import read_requirements
from hereya_tf.engine.wish import EngineWish
from hereya_tf.errors import BadConfig, BadInput, EngineMismatch
from hereya_tf.inputs.hereyarc import Hereyarc
from hereya_tf.inputs.project_file import FILE, ProjectFile
from hereya_tf.package import is_for_opentofu_alone

if TYPE_CHECKING:  # few packages have one
    from hereya_tf.engine.constraints import Constraint


def wanted_engine(
    wish: EngineWish,
    package: Path,
    *,
    project: ProjectFile,
    hereyarc: Hereyarc,
    written_by: Mapping[EngineName, str],
) -> Demand:
    """All that is asked of the engine that runs `package`; `written_by` see `engine.evidence`.

    Raises BadInput, BadConfig and BadPackage for what cannot be used or contradicts itself (`demand_for`), and
    EngineMismatch where the package asks for the engine that did not write its files (T15).
    """
    given = _constraint(wish.version, wish.version_source, is_from_file=wish.version_yields)
    own_source = f"{FILE}:{project.engine_version_line}"
    only_opentofu = is_for_opentofu_alone(package)
    demand = demand_for(
        wish=wish.name if wish.is_given else None,
        wish_source=wish.source,
        caller=None if wish.version_yields else given,
        find_pins=lambda engines: find_pins(package, engines),
        project=_constraint(project.engine_version, own_source, is_from_file=True),
        requirements=read_requirements(package),
        default=given if wish.version_yields else None,
        hereyarc=hereyarc.file if hereyarc.asks_for_opentofu else None,
        evidence=written_by,
        is_for_opentofu_alone=only_opentofu,
    )
    if not wish.is_given:
        _check_writer(demand, written_by, may_stay=not only_opentofu)
    if len(demand.engines) > 1 and wish.engine in demand.engines:
        return demand._replace(engines=(wish.engine,), engine_source=wish.source)
    return demand


def _constraint(text: str | None, source: str, *, is_from_file: bool) -> "Constraint | None":
    """What a text asks for, if anything was said. Raises BadConfig for a file's text, else BadInput."""
    if text is None:
        return None
    from hereya_tf.engine.constraints import parse_constraint

    try:
        return parse_constraint(text, source)
    except BadInput as error:
        if is_from_file:
            raise BadConfig(str(error), *error.hints) from error
        raise


def _check_writer(demand: Demand, written_by: Mapping[EngineName, str], *, may_stay: bool) -> None:
    """Refuse the engine that did not write the files, before it is downloaded. Raises EngineMismatch."""
    if not written_by or any(engine in written_by for engine in demand.engines):
        return
    ((writer, file),) = written_by.items()
    wanted = demand.engines[0]
    stay = (f"to stay with {writer.title}: `--engine {writer.executable}`",) if may_stay else ()
    raise EngineMismatch(
        f"`{file}` was written by {writer.title}, and {demand.who} asks for {wanted.title}",
        *stay,
        f"to go over to {wanted.title} on purpose: `--engine {wanted.executable}`",
    )
