"""What is known to be a secret before the engine says a word (I/O)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hereya_tf.errors import BadInput
from hereya_tf.inputs import values
from hereya_tf.inputs.given import Given
from hereya_tf.inputs.values import VariableFile
from hereya_tf.inputs.variable_files import sensitive_values, text_values, variable_values
from hereya_tf.package import Package
from hereya_tf.reading import read_input_file, reason
from hereya_tf.redaction import Redactor
from hereya_tf.redaction.credential_shapes import credential_values, looks_like_credential_name
from hereya_tf.run_request import RunRequest


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
    for entry in request.backend_config:
        name, separator, text = entry.partition("=")
        if separator and looks_like_credential_name(name):
            secrets.append(text)
    for wish in request.redact:
        secrets += _named_secrets(wish, request, environment)
    secrets += variable_values(package, var_files, frozenset(request.redact).intersection(package.variables))
    for secret in secrets:
        redactor.add(secret)


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
