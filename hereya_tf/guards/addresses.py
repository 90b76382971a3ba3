"""Which addresses a pattern of `--protect` stands for (pure).

The rules: the pattern is compared with the whole address. `*` stands for any characters, dots, brackets and
quotes too, `?` for one; everything else stands for itself. It stands for what is below an address as well
(`module.db` for all that is in it), and an instance key that it leaves out stands for all of them, a module's too.
"""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.words import flat

# A key that is no number and has no quotes: before the first wildcard, or at the end.
_BARE_KEY = re.compile(r'(?:[^*?"\[]|\["(?:[^"\\*?]|\\[^*?])*"\]|\[[0-9]+\])*+\[[^"*?0-9]')
_BARE_END = re.compile(r'[^"*?0-9]\]\Z')


class _Automaton(NamedTuple):
    """A pattern as a machine that is in several states at once: the bits of a number.

    State N says that N characters of the pattern, without its `*`, have been found. A state in `loops` may be
    kept for a while, as there is a `*`; `steps` are the states that a character leads on from, `any_steps` those
    that every character does.
    """

    loops: int
    steps: dict[str, int]
    any_steps: int
    end: int

    def after(self, states: int, character: str) -> int:
        return (states & (self.any_steps | self.steps.get(character, 0))) << 1 | states & self.loops


def protects(pattern: str, address: str) -> bool:
    """Whether the pattern stands for the address. Takes time in proportion to both, whatever its wildcards."""
    automaton = _compiled(pattern)
    states = 1
    before_key = 0
    for character, is_in_key, ends_key in _characters(address):
        if not is_in_key:
            # What has been read so far is the address of something that this is part of.
            if character in ".[" and states & automaton.end:
                return True
            if character == "[":
                before_key = states
        states = automaton.after(states, character)
        if ends_key:
            states |= before_key
    return bool(states & automaton.end)


def why_hopeless(pattern: str) -> str | None:
    """Why the pattern stands for no address, whatever a package has; None where it may stand for one."""
    if not (_BARE_KEY.match(pattern) or _BARE_END.search(pattern)):
        return None
    return (
        f"`{flat(pattern)}` fits no address: a key in brackets has double quotes,"
        " which a shell keeps only within single ones"
    )


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Automaton:
    loops = any_steps = 0
    state = 1
    steps: dict[str, int] = {}
    for character in pattern:
        if character == "*":
            loops |= state
            continue
        if character == "?":
            any_steps |= state
        else:
            steps[character] = steps.get(character, 0) | state
        state <<= 1
    return _Automaton(loops, steps, any_steps, state)


def _characters(address: str) -> Iterator[tuple[str, bool, bool]]:
    """Each character, whether it stands inside of an instance key, behind its `[`, and whether it ends that key."""
    is_in_key = is_quoted = is_escaped = False
    for character in address:
        ends_key = is_in_key and not is_quoted and character == "]"
        yield character, is_in_key, ends_key
        if not is_in_key:
            is_in_key = character == "["
        elif ends_key:
            is_in_key = False
        elif is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
