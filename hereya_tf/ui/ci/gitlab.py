"""Logs of GitLab CI: sections that fold (pure).

A section is folded or not by what its first line says, and that cannot be changed at its end
(gitlab-org/gitlab#440405): so those are folded that nobody has asked for, and those open in which things are done.
What went wrong stands outside in full. Names hold letters, digits, `_`, `.` and `-`.
"""

import re

from hereya_tf.ui.ci.folding import Marks, Part
from hereya_tf.ui.ci.guard import Guard

_OPEN = frozenset(("plan", "apply", "destroy", "validate"))
_CLEAR = "\x1b[0K"
_MARK = re.compile(r"(section_)(start|end):")


def _begin(part: Part) -> str:
    folded = "" if part.step in _OPEN else "[collapsed=true]"
    return f"{_CLEAR}section_start:{part.second}:{_name(part)}{folded}\r{_CLEAR}{part.title}"


def _end(part: Part) -> str:
    return f"{_CLEAR}section_end:{part.second}:{_name(part)}\r{_CLEAR}"


def _name(part: Part) -> str:
    """One of its own for every section of a job, which may have many runs; steps and ids hold nothing else."""
    return f"{part.step}.{part.number}.{part.run}"


def _shell(text: str) -> str:
    """Lines of assignments, quoted for a shell, that it reads as before: a mark needs an escape, and so quotes."""
    return _MARK.sub(r"\1''\2:", text) if "\x1b" in text else text


MARKS = Marks(_begin, _end)
# Talk has no escapes, and JSON none that is not written out.
GUARD = Guard(shell=_shell)
