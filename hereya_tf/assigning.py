"""From what was prepared to what the steps are to do, with the private files that the engine reads (I/O)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hereya_tf.engine.commands import Step
from hereya_tf.engine_files import write_backend_files, write_variable_files
from hereya_tf.events import Operation
from hereya_tf.inputs import values
from hereya_tf.operations.assignment import Assignment
from hereya_tf.preparation import Prepared
from hereya_tf.question import Question
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.workspace import local_workspaces, unknown_workspace


def prepare_assignment(
    request: RunRequest,
    prepared: Prepared,
    directory: RunDirectory,
    cache: Path,
    ask: Callable[[Question], bool] | None,
    reproduce: str | None = None,
) -> Assignment:
    """Write the private files that the engine reads, and say what is to be done. Raises NoRoom."""
    variable_files, variable_contents = write_variable_files(prepared.values, directory)
    ephemeral = frozenset(name for name, variable in prepared.package.variables.items() if variable.ephemeral)
    is_apply = request.operation is Operation.APPLY
    backend_files, backend_contents = write_backend_files(request.backend_config, directory)
    return Assignment(
        operation=request.operation,
        workspace=prepared.workspace,
        doubtful_workspace=_doubtful_workspace(request, prepared),
        create_workspace=request.create_workspace,
        options=request.engine_options,
        init_options=request.init_options,
        plan_options=request.plan_options,
        backend_files=backend_files,
        backend_contents=backend_contents,
        backend_settings=_backend_settings(request),
        variable_files=variable_files,
        variable_contents=variable_contents,
        # A saved plan holds all other values.
        ephemeral_files=write_variable_files(
            values.only(prepared.values, ephemeral), directory, name="ephemeral"
        )[0]
        if is_apply or ask is not None or prepared.guards.are_set
        else (),
        reinit=request.reinit,
        cache=cache,
        plugin_cache=request.plugin_cache,
        wait=request.wait,
        ask=ask,
        wants_difference=request.wants_difference,
        wants_plan_document=request.wants_plan_document,
        identify=prepared.identify,
        bundle=prepared.bundle,
        bundle_to_write=None if is_apply else request.bundle,
        arguments=request.arguments,
        sensitive_variables=frozenset(
            name for name, variable in prepared.package.variables.items() if variable.sensitive
        ),
        check_state=prepared.state_check(),
        own_backend=prepared.package.backend.type if prepared.package.backend is not None else None,
        guards=prepared.guards,
        callers_environment=prepared.callers_environment,
        recovery=request.recovery,
        place=_place(request, reproduce),
    )


def _place(request: RunRequest, reproduce: str | None) -> str:
    """The words that say in a command which state this is, for what is to be done by hand."""
    if request.recovery is None:
        return ""
    from hereya_tf.failure.ready_hints import place_words

    return place_words(reproduce, str(request.package))


def _backend_settings(request: RunRequest) -> Mapping[str, str] | None:
    if request.operation is not Operation.OUTPUT:
        return None
    from hereya_tf.scratch_backend import plain_settings

    return plain_settings(request.backend_config, request.engine_options.extra.get(Step.INIT, ()))


def _doubtful_workspace(request: RunRequest, prepared: Prepared) -> str | None:
    """The workspace that has to be looked for, as init, plan and apply would create it without a word.

    Raises WorkspaceUnknown where a look into the package is enough. Terraform Cloud refuses one that does
    not exist by itself, and may learn from TF_WORKSPACE alone which one it is.
    """
    package = prepared.package
    name = prepared.environment.get("TF_WORKSPACE")
    backend, generated = package.backend, prepared.workspace.backend
    if not name or name == "default" or generated is not None or request.create_workspace:
        return None
    if backend is not None and backend.is_remote:
        return None
    if backend is not None or package.broken:
        return name
    names = local_workspaces(package.directory)
    if name not in names:
        raise unknown_workspace(name, names)
    return None
