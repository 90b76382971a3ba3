"""Logs of GitHub Actions: groups, annotations, masks, and text that is no workflow command (pure).

The runner reads commands from stdout and from stderr (actions/runner, `ActionCommand.cs`): a line that begins,
after any white space, with `::name`, and has `::` further on; and `##[name]` anywhere in a line. The page that
shows a log takes `##[group]` and the like for its own as well. Lines end with CR too.
"""

import re

from hereya_tf.report.annotations import Annotation
from hereya_tf.ui.ci.folding import Marks, Part
from hereya_tf.ui.ci.guard import Guard

# What `TrimStart` takes away, and what nobody sees: a reader of the stream may drop the latter.
_BLANKS = r"(?:[^\S\r\n]|[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff])*"
_COMMAND = re.compile(rf"(^|[\r\n])({_BLANKS}):(?=:[^\r\n]*::)")
_OLD_COMMAND = "##["
# In single quotes of a shell this is nothing.
_NOTHING = "''"


def _talk(text: str) -> str:
    """Commands with a blank in them, which breaks them and is seen."""
    return _COMMAND.sub(r"\1\2: ", text).replace(_OLD_COMMAND, "## [")


def _shell(text: str) -> str:
    """Lines of assignments, quoted for a shell, that it reads as before.

    Only in single quotes are there `#` and `[` beside each other, or lines that do not begin with a name.
    """
    return _COMMAND.sub(rf"\1\2{_NOTHING}:", text).replace(_OLD_COMMAND, f"##{_NOTHING}[")


def _json(text: str) -> str:
    """JSON with the same meaning: only its strings can hold such text, and none of its lines begins with one."""
    return text.replace(_OLD_COMMAND, "#\\u0023[")


def _markup(text: str) -> str:
    """HTML or XML with the same meaning: only its texts can hold such, and references may stand there."""
    return _COMMAND.sub(r"\1\2&#58;", text).replace(_OLD_COMMAND, "##&#91;")


def _commands(text: str) -> bool:
    return _OLD_COMMAND in text or _COMMAND.search(text) is not None


GUARD = Guard(talk=_talk, shell=_shell, json=_json, markup=_markup, commands=_commands)


def _begin(part: Part) -> str:
    return f"::group::{_data(part.title)}"


def _end(_part: Part) -> str:
    return "::endgroup::"


MARKS = Marks(_begin, _end)


def annotation_command(annotation: Annotation) -> str:
    """The line that makes the runner show it, on the line of the source when it has one."""
    properties = {"title": annotation.title}
    place = annotation.place
    if place is not None:
        properties = {"file": place.file, "line": str(place.line), "endLine": str(place.end_line)}
        if place.line == place.end_line:  # of several lines no columns are taken
            properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
        properties["title"] = annotation.title
    said = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::{'error' if annotation.is_error else 'warning'} {said}::{_data(annotation.message)}"


def masked_assignments(masks: str, token: str) -> str:
    """Commands that mask, to stand before lines that a shell may read: to it they are a text that it drops.

    `masks` are whole lines, `token` is random letters and digits. A bare `::add-mask::secret` would be a command to
    `eval "$(hereya-tf …)"`, and what the shell says of it would have the secret in it.
    """
    return f": <<'hereya_tf_{token}'\n{masks}hereya_tf_{token}\n" if masks else ""


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
