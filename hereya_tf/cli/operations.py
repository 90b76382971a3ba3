"""The commands that are runs: their arguments, and what has to be right before a run begins."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.combinations import refuse_misuse
from hereya_tf.cli.engine_options import wish_of
from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.guard_options import guards_of
from hereya_tf.cli.honours import ENGINE_STEPS
from hereya_tf.cli.option_types import REFUSAL, NamedArgument, Words
from hereya_tf.cli.options import RunCommand, ordered_inputs, run_options
from hereya_tf.events import Operation
from hereya_tf.words import listed

_PACKAGE = "HEREYA_TF_PACKAGE"
_ASKS = (Operation.PROVISION, Operation.DESTROY)
_ALL_STEPS = frozenset(step for steps in ENGINE_STEPS.values() for step in steps)

_package = click.argument("package", cls=NamedArgument, required=False, envvar=_PACKAGE)


def _words(metavar: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Arguments of which the first may be left out, which click cannot tell."""
    return click.argument("words", cls=Words, nargs=-1, metavar=metavar, envvar=_PACKAGE)


@click.command(
    "provision",
    cls=RunCommand,
    examples=(
        "hereya-tf provision ./network --yes",
        'hereya-tf provision ./database -p size=small -p \'zones:=["a","b"]\' --yes',
        "hereya-tf provision ./app --request job.json --yes --json",
    ),
)
@_package
@run_options(Operation.PROVISION)
@click.pass_context
def provision(context: click.Context, /, **options: Any) -> int:
    """Create or update what PACKAGE (a directory, default `.`) describes, and print its outputs."""
    return run_operation(context, Operation.PROVISION, options)


@click.command(
    "destroy",
    cls=RunCommand,
    examples=(
        "hereya-tf destroy ./network",
        "hereya-tf destroy ./database --state-bucket states --state-region eu-west-1 --id prod --yes",
    ),
)
@_package
@run_options(Operation.DESTROY)
@click.pass_context
def destroy(context: click.Context, /, **options: Any) -> int:
    """Destroy what PACKAGE (a directory, default `.`) has created, and print the outputs it had."""
    return run_operation(context, Operation.DESTROY, options)


@click.command(
    "plan",
    cls=RunCommand,
    examples=(
        "hereya-tf plan ./network",
        "hereya-tf plan ./network --out network.plan --detailed-exitcode",
        "hereya-tf plan ./network --destroy --plan-json plan.json",
    ),
)
@_package
@run_options(Operation.PLAN)
@click.pass_context
def plan(context: click.Context, /, **options: Any) -> int:
    """Show what `provision` would change in PACKAGE (a directory, default `.`), and change nothing."""
    return run_operation(context, Operation.PLAN, options)


@click.command(
    "apply",
    cls=RunCommand,
    examples=("hereya-tf apply ./network network.plan", "hereya-tf apply network.plan --json"),
)
@_words("[PACKAGE] BUNDLE")
@run_options(Operation.APPLY)
@click.pass_context
def apply(context: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Apply exactly the plan in BUNDLE, made by `plan --out`, to PACKAGE (a directory, default `.`)."""
    package, bundle = package_and_bundle(words)
    options |= {"package": package, "bundle": bundle}
    return run_operation(context, Operation.APPLY, options)


@click.command(
    "drift",
    cls=RunCommand,
    examples=("hereya-tf drift ./network", "hereya-tf drift ./network --json --report-file drift.json"),
)
@_package
@run_options(Operation.DRIFT)
@click.pass_context
def drift(context: click.Context, /, **options: Any) -> int:
    """Compare what PACKAGE (a directory, default `.`) has created with what is there now.

    Exits with 2 when something has changed since.
    """
    return run_operation(context, Operation.DRIFT, options)


@click.command(
    "output",
    cls=RunCommand,
    examples=(
        "hereya-tf output ./network",
        "hereya-tf output ./network vpc_id",
        'eval "$(hereya-tf output ./network --format shell)"',
        "hereya-tf output ./network --json",
    ),
)
@_words("[PACKAGE] [NAME]")
@run_options(Operation.OUTPUT)
@click.pass_context
def output(context: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Print the outputs of PACKAGE (a directory, default `.`), or only NAME.

    Of sensitive outputs only the names are shown, unless one is asked for by NAME or all by
    --show-sensitive; `github` masks them. A single word is the package when it is a directory or holds a `/`.
    """
    package, name = package_and_name(words)
    options |= {"package": package, "output_name": name}
    return run_operation(context, Operation.OUTPUT, options)


@click.command(
    "init",
    cls=RunCommand,
    examples=(
        "hereya-tf init ./network --lockfile readonly",
        "hereya-tf init ./network --upgrade",
        "hereya-tf init ./network --migrate-state --yes",
    ),
)
@_package
@run_options(Operation.INIT)
@click.pass_context
def init(context: click.Context, /, **options: Any) -> int:
    """Fetch the providers and modules of PACKAGE (a directory, default `.`), and set up its backend."""
    return run_operation(context, Operation.INIT, options)


@click.command(
    "validate",
    cls=RunCommand,
    examples=("hereya-tf validate ./network", "hereya-tf validate ./network --json"),
)
@_package
@run_options(Operation.VALIDATE)
@click.pass_context
def validate(context: click.Context, /, **options: Any) -> int:
    """Check PACKAGE (a directory, default `.`) without its backend, its state or its data directory."""
    return run_operation(context, Operation.VALIDATE, options)


def package_and_bundle(words: tuple[str, ...]) -> tuple[str | None, str]:
    """The arguments of `apply`: the last is the bundle. Raises Misuse."""
    match words:
        case ():
            raise Misuse("`BUNDLE` is missing", "make one: `hereya-tf plan --out BUNDLE`")
        case (bundle,):
            return os.environ.get(_PACKAGE) or None, bundle
        case (package, bundle):
            return package, bundle
        case _:
            raise _too_many(words[2], "apply")


def package_and_name(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The arguments of `output`: a single one is the package when it looks like a path. Raises Misuse."""
    match words:
        case ():
            return os.environ.get(_PACKAGE) or None, None
        case (word,) if "/" in word or word in (".", "..") or _is_directory(word):
            return word, None
        case (name,):
            return os.environ.get(_PACKAGE) or None, name
        case (package, name):
            return package, name
        case _:
            raise _too_many(words[2], "output")


def _too_many(word: str, command: str) -> Misuse:
    return Misuse(f"`{word}` is more than it takes", f"`hereya-tf {command} --help` shows what it takes")


def _is_directory(word: str) -> bool:
    try:
        return os.path.isdir(word)  # noqa: PTH112 - Path raises for a link to itself
    except ValueError:
        return False


def run_operation(context: click.Context, operation: Operation, options: dict[str, Any]) -> int:
    """Run it and tell it; returns the exit code."""
    from hereya_tf.cli.conduct import conduct
    from hereya_tf.cli.reproduction import invocation_of
    from hereya_tf.cli.requests import build_request
    from hereya_tf.errors import BadInput

    refusal = context.meta.get(REFUSAL)
    refuse_misuse(operation, options)
    if operation in _ASKS and refusal is None and not options["yes"] and not _stdin_is_terminal(options):
        raise Misuse(
            f"without a terminal to ask on, `{operation}` needs `--yes`",
            "add `--yes` when this run may change infrastructure",
        )
    options["engine_arg"] = _engine_arguments(context, operation, options["engine_arg"])
    _refuse_unknown_forms(options["report_file"])
    options["engine_wish"] = wish_of(context, options)
    options["guards"] = guards_of(context, options)
    inputs = ordered_inputs(context, ("param", "param_file", "var_file"))
    try:
        invocation = invocation_of(context, operation, options)
        request = build_request(operation, options, inputs, refusal, invocation)
    except FileNotFoundError as error:  # a relative path, and nothing that it is relative to
        raise BadInput(
            "the working directory does not exist any more", "change to one that does, or use absolute paths"
        ) from error
    return conduct(request, options, os.environ)


def _refuse_unknown_forms(files: Iterable[str]) -> None:
    """Raises Misuse for the file of a report whose ending says nothing of its form."""
    for file in files:
        from hereya_tf.report.formats import SUFFIXES, format_of

        if format_of(file) is None:
            raise Misuse(
                f"`--report-file {file}` has none of the endings {listed(f'`{each}`' for each in SUFFIXES)}",
                "the ending says what the report is to be",
            )


def _engine_arguments(
    context: click.Context, operation: Operation, entries: tuple[str, ...]
) -> tuple[str, ...]:
    """Those for steps of this operation. Raises Misuse for what names no step, or on the command line another."""
    steps = ENGINE_STEPS[operation]
    known = steps if context.get_parameter_source("engine_arg") is ParameterSource.COMMANDLINE else _ALL_STEPS
    for entry in entries:
        # What follows is not repeated: it may be a secret.
        word, equals, _ = entry.partition("=")
        if not equals or word not in known:
            raise Misuse(
                f"`--engine-arg {word}{equals and '=…'}` is not STEP=ARG"
                f" with {'one of ' if len(steps) > 1 else ''}{', '.join(steps)} as its step",
                f"write it like `--engine-arg {steps[-1]}=-compact-warnings`",
            )
    if operation is Operation.APPLY:
        _refuse_shaping(entries)
    return tuple(entry for entry in entries if entry.partition("=")[0] in steps)


def _refuse_shaping(entries: Iterable[str]) -> None:
    """Raises Misuse for an argument that a saved plan would be applied without."""
    from hereya_tf.engine.shaping import part

    given = [entry.partition("=")[2] for entry in entries if entry.startswith(f"{Operation.APPLY}=")]
    lost = next((argument for argument in given if argument not in part(given).lasting), None)
    if lost is not None:
        name = lost.partition("=")[0]
        raise Misuse(
            f"`--engine-arg apply={name}…` would do nothing: the plan in the bundle says what changes",
            f"give it when the plan is made: `hereya-tf plan --engine-arg plan={name}…`",
        )


def _stdin_is_terminal(options: dict[str, Any]) -> bool:
    if options["request"] == "-":
        return False
    try:
        return sys.stdin is not None and os.isatty(0)
    except OSError:
        return False
