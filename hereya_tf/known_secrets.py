"""What is known to be a secret before the engine says a word (I/O)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hereya_tf.errors import BadInput
from hereya_tf.inputs import values
from hereya_tf.inputs.given import Given
from hereya_tf.inputs.values import VariableFile
from hereya_tf.inputs.variable_files import sensitive_values, text_values, variable_values
from hereya_tf.package import Package
from hereya_tf.package.declarations import read_attribute_names, read_literals
from hereya_tf.reading import read_input_file, read_regular_file, reason
from hereya_tf.redaction import Redactor
from hereya_tf.redaction.credential_shapes import (
    credential_values,
    looks_like_credential_name,
    may_be_credential,
)
from hereya_tf.run_request import RunRequest

_LARGEST_SETTINGS = 1 << 20  # bytes


def learn_secrets(
    redactor: Redactor,
    request: RunRequest,
    package: Package,
    planned: values.Values,
    environment: Mapping[str, str],
) -> None:
    """Tell the redactor all of it: inputs, variable files, credentials around us, `--redact`. Raises BadInput."""
    secrets: list[object] = [*planned.secrets, *credential_values(environment)]
    for name, variable in package.variables.items():
        if variable.sensitive and (text := environment.get(f"TF_VAR_{name}")) is not None:
            secrets += [text, *(text_values(name, text) if variable.decodes_json else ())]
    var_files = [given.path for given in request.inputs if isinstance(given, VariableFile)]
    secrets += sensitive_values(package, var_files)
    secrets += _backend_credentials(request.backend_config)
    for wish in request.redact:
        secrets += _named_secrets(wish, request, environment)
    secrets += variable_values(package, var_files, frozenset(request.redact).intersection(package.variables))
    secrets += _credentials((*request.inputs, *planned.defaults), package, var_files)
    for secret in secrets:
        redactor.add(secret)
    redactor.secret_outputs = package.outputs.intersection(request.redact)


def _credentials(inputs: Sequence[object], package: Package, var_files: Sequence[Path]) -> Iterator[object]:
    """Values of variables that are not declared as sensitive, and whose names say that they had better be."""
    given = (one.value for one in inputs if isinstance(one, Given) and looks_like_credential_name(one.name))
    names = frozenset(filter(looks_like_credential_name, package.variables))
    yield from filter(may_be_credential, (*given, *variable_values(package, var_files, names)))


def _backend_credentials(entries: Sequence[str]) -> Iterator[str]:
    """What `--backend-config` gives to the backend that its name says is a credential; a file it names, too."""
    for entry in entries:
        name, separator, text = entry.partition("=")
        if separator and looks_like_credential_name(name):
            yield text
        elif not separator:
            try:
                source = read_regular_file(Path(entry), at_most=_LARGEST_SETTINGS)
            except (OSError, ValueError):
                continue  # the engine will say what is wrong with it
            yield from read_literals(
                source, frozenset(filter(looks_like_credential_name, read_attribute_names(source) or ()))
            )


def _named_secrets(wish: str, request: RunRequest, environment: Mapping[str, str]) -> Sequence[object]:
    """The values behind `--redact NAME` (a parameter or a variable of the environment) or `@FILE` (a line each)."""
    if wish.startswith("@"):
        try:
            # Not by open(): a named pipe that nobody writes to would hold us, deaf to every signal.
            return read_input_file(Path(wish[1:])).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError) as error:
            raise BadInput(
                f"`--redact {wish}` cannot be read: {reason(error)}", "give a file of one value a line"
            ) from error
    found: list[object] = [
        given.value for given in request.inputs if isinstance(given, Given) and given.name == wish
    ]
    found += [text for name in (wish, f"TF_VAR_{wish}") if (text := environment.get(name)) is not None]
    return found


def vain_wishes(wishes: Sequence[str], package: Package, environment: Mapping[str, str]) -> Sequence[str]:
    """A word for each `--redact NAME` that names nothing: whoever gave a value there believes it to be safe."""
    known = {*package.variables, *package.outputs, *environment}
    return [
        "a name given to `--redact` is no variable, output or environment variable, and masks nothing;"
        " values stand in a file: `--redact @FILE`"
        for wish in wishes
        if not wish.startswith("@") and wish not in known
    ]
