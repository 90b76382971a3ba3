"""Hints as they can be used here and later: commands with this run's package, place of the state, and id (pure)."""

import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

_LAST = "`hereya-tf runs log last"
_STORE = "hereya-tf tf -- state push errored.tfstate"
# Those that read or write the state.
_OPERATIONS = ("init", "plan", "apply", "tf", "recover")
# Each has one value.
_PLACES = (
    "--workspace",
    "--state",
    "--state-bucket",
    "--state-region",
    "--state-lock-table",
    "--id",
    "--backend-config",
)


def make_ready(
    hints: Sequence[str], *, run: str | None, reproduce: str | None, package: str, store: str | None = None
) -> tuple[str, ...]:
    """The hints for whoever reads them: `last` is another run tomorrow, and a state is where options say it is.

    `run` is the id of a run that has a history, `reproduce` its command as `reproduce` in `invocation` words it,
    `store` the command that stores the state that could not be saved.
    """
    words = place_words(reproduce, package)
    if store is not None:
        hints = [hint.replace(_STORE, store) for hint in hints]
    return tuple(_ready(hint, run, words) for hint in hints)


def _ready(hint: str, run: str | None, words: str) -> str:
    if run is not None:
        hint = hint.replace(_LAST, f"`hereya-tf runs log {run}")
    for operation in _OPERATIONS if words else ():
        command = f"`hereya-tf {operation}"
        if f"{command} {words} " in hint or f"{command} {words}`" in hint:
            continue  # it is ready
        for end in (" ", "`"):  # in this order: what is put in begins with a blank
            hint = hint.replace(command + end, f"{command} {words}{end}")
    return hint


def place_words(reproduce: str | None, package: str) -> str:
    """The words of a command that say which state it is for, ready for a shell."""
    if reproduce is None:
        return ""
    directory, words = _split(reproduce)
    return " ".join(map(_quoted, _kept(directory, words, package)))


def _quoted(word: str) -> str:
    """The word for a shell; what the shell is to ask for stays its variable."""
    name, _, value = word.partition("=")
    if value.startswith("${") and value.endswith(":?}"):
        return f'{shlex.quote(name)}="{value}"'
    return shlex.quote(word)


def _kept(directory: str, words: Sequence[str], package: str) -> Iterator[str]:
    """Package, if it is named, and options."""
    if words and str(PurePath(directory) / words[0]) == package:
        yield words[0]
    for option, value in itertools.pairwise(words):
        if option == "--":
            return
        if option in _PLACES:
            yield from (option, value)


def _split(reproduce: str) -> tuple[str, Sequence[str]]:
    """The directory of `cd DIRECTORY && hereya-tf OPERATION WORDS`, and the words."""
    try:
        _, directory, _, _, _, *words = shlex.split(reproduce)
    except ValueError:  # it is not of that form
        return "", ()
    return directory, words
