"""From the options of a run to the request: files are read, texts are parsed, the first fault is kept."""

import dataclasses
import os
from pathlib import Path
from typing import Any, assert_never

from hereya_tf.cli.settings import misspelt_variables
from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions
from hereya_tf.errors import BadInput, HereyaError
from hereya_tf.events import Operation
from hereya_tf.inputs.given import (
    Given,
    parse_environment_entry,
    parse_parameter,
    read_environment_file,
    read_parameter_file,
)
from hereya_tf.inputs.request import Request, read_request
from hereya_tf.inputs.values import VariableFile
from hereya_tf.invocation import Invocation
from hereya_tf.retries import Retries
from hereya_tf.run_request import RecoveryWish, RunRequest
from hereya_tf.workspace import generate_backend

_NOTHING_ASKED = Request(None, None, (), (), None, None, None, None, ())


def build_request(
    operation: Operation,
    options: dict[str, Any],
    inputs: list[tuple[str, str]],
    refusal: HereyaError | None = None,
    invocation: Invocation | None = None,
) -> RunRequest:
    """The request that the options make; never raises: what is wrong is refused by the run itself, as a result."""
    try:
        if refusal is not None:
            raise refusal
        return dataclasses.replace(_build(operation, options, inputs), invocation=invocation)
    except HereyaError as error:
        package = Path(options["package"] or ".").absolute()
        return RunRequest(
            operation=operation,
            package=package,
            approved=True,
            workspace=options["workspace"],
            engine_options=EngineOptions(),
            invocation=invocation,
            refusal=error,
        )


def _build(operation: Operation, options: dict[str, Any], inputs: list[tuple[str, str]]) -> RunRequest:
    asked = read_request(options["request"]) if options["request"] else _NOTHING_ASKED
    package = options["package"] or asked.package or "."
    extra: dict[str, tuple[str, ...]] = {}
    for entry in options["engine_arg"]:
        step, _, argument = entry.partition("=")
        extra[step] = (*extra.get(step, ()), argument)
    state = options["state"] or asked.state_path
    return RunRequest(
        operation=operation,
        package=Path(package).absolute(),
        approved=options["yes"],
        inputs=(*asked.parameters, *_inputs(inputs)),
        additions=_additions(asked, options),
        warnings=(*misspelt_variables(os.environ), *asked.warnings, *_backend_warnings(asked, options)),
        workspace=options["workspace"],
        create_workspace=options["create_workspace"],
        backend=generate_backend(
            state=Path(state) if state else None,
            bucket=options["state_bucket"] or asked.state_bucket,
            region=options["state_region"] or asked.state_region,
            lock_table=options["state_lock_table"] or asked.state_lock_table,
            identifier=options["identifier"] or _request_id(asked, options),
        ),
        backend_config=tuple(_backend_entry(entry) for entry in options["backend_config"]),
        lock_key=options["lock_key"],
        engine=options["engine_wish"],
        engine_options=EngineOptions(
            lock_timeout=options["lock_timeout"],
            parallelism=options["parallelism"],
            targets=options["targets"],
            excludes=options["excludes"],
            replaces=options.get("replaces", ()),
            refresh=options["refresh"],
            extra=extra,
        ),
        guards=options["guards"],
        retries=Retries(
            options["retries"],
            apply=options["retry_apply"],
            lock=options["retry_lock"],
            rules=options.get("retry_rules", ()),
        ),
        plugin_cache=not options["no_plugin_cache"],
        **_wishes(operation, options),
        engine_log=_private_log(options["engine_log"]),
        ignore_cli_args=options["ignore_cli_args"],
        reinit=options["reinit"],
        wait=0.0 if options["no_wait"] else options["wait"],
        grace=options["grace"],
        redact=options["redact"],
        show_sensitive=options["show_sensitive"],
        engine_messages=options["engine_messages"],
    )


def _wishes(operation: Operation, options: dict[str, Any]) -> dict[str, Any]:
    """What one operation alone can be asked for."""
    match operation:
        case Operation.PROVISION | Operation.DESTROY:
            return {"wants_difference": not options["yes"]}
        case Operation.PLAN:
            return {
                "plan_options": PlanOptions(
                    destroy=options["destroy_plan"],
                    state_lock=not options["no_state_lock"],
                    detailed_exitcode=options["detailed_exitcode"],
                ),
                "bundle": _bundle_to_write(options["out"]),
                "wants_difference": not options["json_output"] or bool(options["plan_text"]),
                "wants_plan_document": bool(options["plan_json"]),
            }
        case Operation.DRIFT:
            return {"wants_difference": not options["json_output"]}
        case Operation.APPLY:
            return {
                "bundle": Path(options["bundle"]).absolute(),
                "init_options": InitOptions(readonly_lock_file=True),
            }
        case Operation.INIT:
            return {
                "init_options": InitOptions(
                    upgrade=options["upgrade"],
                    reconfigure=options["reconfigure"],
                    migrate_state=options["migrate_state"],
                    readonly_lock_file=options["lockfile"] == "readonly",
                )
            }
        case Operation.TF:
            return {"arguments": tuple(options["arguments"])}
        case Operation.RECOVER:
            return {"recovery": _recovery(options)}
        case Operation.OUTPUT | Operation.VALIDATE:
            return {}
        case _:
            assert_never(operation)


def _recovery(options: dict[str, Any]) -> RecoveryWish:
    """Raises BadInput for a record that proves nothing."""
    from hereya_tf.recovery.records import read_record_file

    record = options["record"]
    return RecoveryWish(options["dry_run"], None if record is None else read_record_file(Path(record)))


def _bundle_to_write(path: str | None) -> Path | None:
    """Raises BadInput where it cannot be written: to find that out after the plan would be late."""
    if path is None:
        return None
    from hereya_tf.bundle.file import check_destination

    return check_destination(Path(path).absolute())


def _request_id(asked: Request, options: dict[str, Any]) -> str | None:
    """A request's id names the state of a generated backend; without one it is only a name."""
    generated = options["state"] or options["state_bucket"] or asked.state_path or asked.state_bucket
    return asked.id if generated else None


def _backend_warnings(asked: Request, options: dict[str, Any]) -> tuple[str, ...]:
    """What is said when both places for a state are given."""
    path = "--state" if options["state"] else "infraConfig.localStatePath" if asked.state_path else None
    bucket = options["state_bucket"] or asked.state_bucket
    return (f"`{path}` wins: the bucket is not used",) if path and bucket else ()


def _inputs(given: list[tuple[str, str]]) -> list[Given | VariableFile]:
    inputs: list[Given | VariableFile] = []
    for kind, text in given:
        if kind == "param":
            inputs.append(parse_parameter(text))
        elif kind == "param_file":
            inputs += read_parameter_file(Path(text))
        elif Path(text).is_file():
            inputs.append(VariableFile(Path(text).absolute()))
        else:
            raise BadInput(f"`--var-file {text}` is not a file", _looked_for(text))
    return inputs


def _additions(asked: Request, options: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    entries = list(asked.environment)
    for file in options["env_file"]:
        entries += read_environment_file(Path(file))
    entries += [parse_environment_entry(entry) for entry in options["env"]]
    return tuple(dict(entries).items())


def _backend_entry(entry: str) -> str:
    name, separator, _ = entry.partition("=")
    if separator:
        if not name.strip().isidentifier():
            raise BadInput(
                f"`{name}` is not the name of a backend setting", "use `--backend-config NAME=VALUE`"
            )
        return entry
    path = Path(entry)
    if not path.is_file():
        raise BadInput(f"`--backend-config {entry}` is neither NAME=VALUE nor a file", _looked_for(entry))
    return str(path.absolute())


def _looked_for(path: str) -> str:
    return f"it was looked for as `{Path(path).absolute()}`"


def _private_log(path: str | None) -> Path | None:
    if path is None:
        return None
    from hereya_tf.private import open_private

    try:
        open_private(Path(path)).close()
    except OSError as error:
        raise BadInput(
            f"`--engine-log {path}` cannot be written: {error.strerror}", "give another path"
        ) from error
    return Path(path).absolute()
