"""The words of a command that a user gives as one text (pure)."""

import shlex

_OPERATORS = frozenset(("|", "||", "&", "&&", ";", "<", ">", ">>"))


def split_command(text: str) -> tuple[str, ...]:
    """As a shell splits it. Raises ValueError for what names no command, in a sentence."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f"`{text}` is not a command: {str(error)[:1].lower()}{str(error)[1:]}") from None
    if not words or not words[0]:
        raise ValueError("it names no command")
    operator = next((word for word in words if word in _OPERATORS), None)
    if operator is not None:
        raise ValueError(
            f"it is not run by a shell, and `{operator}` would be a word of it: write `sh -c '…'` around it"
        )
    if "\0" in text:
        raise ValueError("it holds a zero byte")
    return words
