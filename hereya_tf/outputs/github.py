"""Outputs for the later steps of a GitHub workflow: what the log masks, and what the output file gets (pure)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hereya_tf.errors import BadInput
from hereya_tf.redaction.secret_spellings import is_worth_hiding
from hereya_tf.stream.outputs import output_text

# A name ends at the first of these; the runner has no way to escape them.
_NO_NAME = re.compile(r"[=\s\x00-\x1f]|<<")
_LINE_BREAKS = re.compile(r"\r\n|\r|\n")


def mask_commands(values: Iterable[Any]) -> str:
    """The lines for stdout that make the runner mask these values, and what steps may take out of them.

    The runner masks exact texts: a line of a key, or a member that `fromJSON` gives, has to be said as well.
    """
    texts = dict.fromkeys(text for value in values for text in _texts(value) if text.strip())
    return "".join(f"::add-mask::{_escaped(text)}\n" for text in texts)


def output_block(texts: Mapping[str, str], token: Callable[[], str]) -> str:
    """The text to append to the file `$GITHUB_OUTPUT`; `token` makes random letters and digits.

    Raises BadInput for a name that such a file cannot hold.
    """
    for name in texts:
        if not name or _NO_NAME.search(name):
            raise BadInput(
                f"output `{name}` has a name that `$GITHUB_OUTPUT` cannot hold", "use `--format json`"
            )
    delimiter = f"ghadelimiter_{token()}"
    while any(delimiter in part for entry in texts.items() for part in entry):
        delimiter = f"ghadelimiter_{token()}"
    return "".join(f"{name}<<{delimiter}\n{text}\n{delimiter}\n" for name, text in texts.items())


def _texts(value: Any) -> Iterator[str]:
    whole = output_text(value)
    yield whole
    for part in (whole, *_members(value)):
        yield from (line.strip() for line in _LINE_BREAKS.split(part))


def _members(value: Any) -> Iterator[str]:
    """The strings and numbers inside a list or an object; short ones would mask half the log."""
    pending: list[Any] = [value] if isinstance(value, dict | list | tuple) else []
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif item is not None and is_worth_hiding(text := output_text(item)):
            yield text


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
