"""What a value of a parameter may be in a TOML file (pure)."""

_DEEPEST = 64  # tables and lists in each other


def why_unusable(value: object) -> tuple[str, str] | None:
    """What a value holds that no variable can, and what to do about it."""
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST:
            return "is nested too deeply", "give it in a file: `var-files`"
        match item:
            case dict():
                pending += [(member, depth + 1) for member in item.values()]
            case list():
                pending += [(member, depth + 1) for member in item]
            case str() | bool() | int():
                pass
            case _ if type(item).__name__ == "Decimal":
                if str(item).lstrip("+-")[0] in "NI":
                    return "is not a number that an engine knows", "there are neither `nan` nor `inf`"
            case _:
                return "is a date or a time, which an engine does not know", "put it in quotes"
    return None
