"""Options that exclude each other or need each other; what stands nearer to the caller wins."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hereya_tf.cli.groups import Misuse
from hereya_tf.errors import BadConfig
from hereya_tf.events import Operation


class Asked(NamedTuple):
    """An option as it was asked for: its key, how it is shown, and how far from the caller that was said."""

    key: str
    shown: str
    distance: int


# The distance of the user's `config.toml`.
CONFIGURED = 3

# Pairs of options that say the opposite of each other, or that the engine refuses together.
_EXCLUSIVE = (
    ("wait", "no_wait", "one says how long to wait, the other not to"),
    ("quiet", "verbose", "one says less, the other more"),
    ("targets", "excludes", "an engine takes one or the other"),
    ("replaces", "destroy_plan", "what is destroyed is not replaced"),
    ("no_state_lock", "lock_timeout", "without a lock there is nothing to wait for"),
    ("upgrade", "lockfile", "to upgrade is to change the lock file"),
    ("migrate_state", "reconfigure", "one copies the old state, the other leaves it"),
)


# The options that name a file to be written, and the plan that is read.
_FILES = {
    "bundle": "BUNDLE",
    "out": "--out",
    "plan_json": "--plan-json",
    "plan_text": "--plan-text",
    "result_file": "--result-file",
    "events_file": "--events-file",
    "report_file": "--report-file",
    "engine_log": "--engine-log",
}


def conflicts(
    operation: Operation, asked: Mapping[str, Asked], options: Mapping[str, Any]
) -> tuple[str, ...]:
    """The keys of options that others, nearer to the caller, overrule. Raises Misuse or BadConfig."""
    pairs = [*_EXCLUSIVE]
    if operation is Operation.OUTPUT and options["output_format"] != "json":
        pairs.append(("json_output", "output_format", "`--json` is `--format json`"))
    overruled = []
    for one, other, because in pairs:
        if one not in asked or other not in asked:
            continue
        first, second = asked[one], asked[other]
        if first.distance == second.distance == CONFIGURED:
            raise BadConfig(
                f"`{first.shown}` and `{second.shown}` exclude each other: {because}", "keep one of them"
            )
        if first.distance == second.distance:
            raise Misuse(
                f"`{first.shown}` and `{second.shown}` exclude each other: {because}", "give one of them"
            )
        overruled.append(one if first.distance > second.distance else other)
    return tuple(overruled)


def refuse_misuse(operation: Operation, options: Mapping[str, Any]) -> None:
    """Raise Misuse for what makes no sense together."""
    _refuse_one_file(options)
    match operation:
        case Operation.INIT:
            _refuse_migration(options)
        case Operation.OUTPUT:
            _refuse_name(options["output_format"], options["output_name"])
        case _:
            pass


def _refuse_one_file(options: Mapping[str, Any]) -> None:
    """What is written last would be all that is left; an apply would lose the plan that it is to apply."""
    found: dict[str, str] = {}
    for key, shown in _FILES.items():
        for path in _paths(options.get(key)):
            place = _file_at(path)
            if place is not None and place in found:
                raise Misuse(
                    f"`{found[place]}` and `{shown}` name the same file, `{path}`",
                    "give each a file of its own",
                )
            if place is not None:
                found[place] = shown


def _file_at(path: str) -> str | None:
    """The real path of a file; None for a pipe or a device, which may well be shared."""
    try:
        if path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path)):  # noqa: PTH110, PTH113
            return None
        return os.path.realpath(path)
    except ValueError:  # no file system has such a name
        return None


def _paths(value: str | Sequence[str] | None) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return value or ()


def _refuse_migration(options: Mapping[str, Any]) -> None:
    if not options["migrate_state"]:
        return
    if not options["yes"]:
        raise Misuse(
            "`--migrate-state` copies the state to another place, and needs `--yes`",
            "add `--yes` when this run may do so",
        )
    for key, shown in (("state", "--state"), ("state_bucket", "--state-bucket")):
        if options[key]:
            raise Misuse(
                f"`--migrate-state` and `{shown}` exclude each other: a generated backend has only its own state",
                "`--migrate-state` is for a backend block of the package's own",
            )


def _refuse_name(form: str | None, name: str | None) -> None:
    if form == "raw" and name is None:
        raise Misuse(
            "`--format raw` prints one output, and needs its NAME",
            "name it: `hereya-tf output NAME --format raw`",
        )
    if form == "github" and name is not None:
        raise Misuse(
            "`--format github` prints all outputs, and takes no NAME",
            "leave the name out, or use `--format raw`",
        )
