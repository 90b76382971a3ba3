"""A package's outputs in the form that a person, a program, a shell or a CI system reads (pure)."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.outputs.json_layout import lay_out
from hereya_tf.stream.outputs import MISSING, Output, output_text

_MOST_NAMES = 20


class OutputFormat(StrEnum):
    """The forms, by the word after `--format`."""

    TABLE = "table"
    JSON = "json"
    ENV = "env"
    DOTENV = "dotenv"
    SHELL = "shell"
    GITHUB = "github"
    RAW = "raw"


class Row(NamedTuple):
    """An output for a table: its value in one piece and laid out for reading; None when it is withheld."""

    name: str
    text: str | None
    layout: str = ""


class Rendered(NamedTuple):
    """What is printed, the block for the file `$GITHUB_OUTPUT`, and the names of outputs without a value."""

    stdout: str
    github: str | None = None
    withheld: tuple[str, ...] = ()


def render(
    chosen: OutputFormat,
    outputs: Mapping[str, Output],
    *,
    name: str | None,
    show_sensitive: bool,
    table: Callable[[Sequence[Row]], str],
    token: Callable[[], str],
    is_secret: Callable[[str, object], bool] = lambda _name, _value: False,
) -> Rendered:
    """The outputs, or the one called `name`, in the chosen form; raises BadInput for what that cannot hold.

    Sensitive ones, and those in whose name and value `is_secret` sees a credential, are withheld unless they are
    asked for, or masked. `token` makes a random text; `table` lays out rows.
    """
    known = {key: output for key, output in outputs.items() if _has_value(output)}
    if name is not None and name not in known:
        raise _unknown(name, known)
    asked = known if name is None else {name: known[name]}
    secret = {key for key, output in asked.items() if output.sensitive or is_secret(key, output.value)}
    reveals = show_sensitive or name is not None or chosen is OutputFormat.GITHUB
    hidden = () if reveals else tuple(key for key in asked if key in secret)
    shown = {key: output for key, output in asked.items() if key not in hidden}
    texts = {key: output_text(output.value) for key, output in shown.items()}
    match chosen:
        case OutputFormat.TABLE:
            stdout = table([_row(key, asked[key], is_hidden=key in hidden) for key in asked])
        case OutputFormat.JSON:
            stdout = _json(asked, name, hidden)
        case OutputFormat.RAW:
            stdout = _raw(asked, name)
        case OutputFormat.GITHUB:
            from hereya_tf.outputs.github import mask_commands, output_block

            masks = mask_commands(output.value for key, output in shown.items() if key in secret)
            return Rendered(masks, output_block(texts, token))
        case OutputFormat.ENV | OutputFormat.DOTENV | OutputFormat.SHELL:
            stdout = _variables(chosen, texts)
        case _:
            assert_never(chosen)
    return Rendered(stdout, None, hidden)


def result_rows(
    env: Mapping[str, str], outputs: Mapping[str, Mapping[str, Any]], withheld: Sequence[str]
) -> list[Row]:
    """The rows for the outputs of a result: those that have a text, and those that are withheld."""
    return [
        Row(name, None) if name not in env else Row(name, env[name], _layout(env[name], entry.get("type")))
        for name, entry in outputs.items()
        if name in env or name in withheld
    ]


def _has_value(output: Output) -> bool:
    # The engine leaves out null ones as well, and says `not found` when one is asked for by name.
    return output.value is not MISSING and output.value is not None


def _unknown(name: str, known: Mapping[str, Output]) -> BadInput:
    from difflib import get_close_matches

    near = get_close_matches(name, known)
    hints = [f"did you mean {_quoted(near)}?"] if near else []
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    names = f"its outputs are {_quoted(list(known)[:_MOST_NAMES])}{more}"
    hints.append(names if known else "it has no outputs, or none that were saved by a `provision`")
    return BadInput(f"the package has no output `{name}`", *hints)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(name: str, output: Output, *, is_hidden: bool) -> Row:
    if is_hidden:
        return Row(name, None)
    text = output_text(output.value)
    return Row(name, text, text if isinstance(output.value, str) else lay_out(text))


def _layout(text: str, declared: object) -> str:
    return text if declared == "string" else lay_out(text)


def _json(asked: Mapping[str, Output], name: str | None, hidden: Sequence[str]) -> str:
    if name is not None:
        return exact.dumps(asked[name].value) + "\n"
    document = {}
    for key, output in asked.items():
        document[key] = {"sensitive": output.sensitive, "type": output.type}
        if key not in hidden:
            document[key]["value"] = output.value
    return lay_out(exact.dumps(document)) + "\n"


def _raw(asked: Mapping[str, Output], name: str | None) -> str:
    if name is None:
        raise BadInput(
            "`--format raw` prints one output, and none is named", "name it: `hereya-tf output PACKAGE NAME`"
        )
    value = asked[name].value
    if isinstance(value, dict | list | tuple):
        kind = "an object or a map" if isinstance(value, dict) else "a list, a set or a tuple"
        raise BadInput(f"output `{name}` is {kind}, and `--format raw` prints text", "use `--format json`")
    return output_text(value)


def _variables(chosen: OutputFormat, texts: Mapping[str, str]) -> str:
    from hereya_tf.outputs import variables

    line = {
        OutputFormat.ENV: variables.environment_line,
        OutputFormat.DOTENV: variables.dotenv_line,
        OutputFormat.SHELL: variables.shell_line,
    }[chosen]
    names = variables.variable_names(texts)
    return "".join(line(name, names[name], text) + "\n" for name, text in texts.items())
