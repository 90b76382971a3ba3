"""What several steps of a run say alike is shown once (pure)."""

# A flood of different lines is not worth remembering, nor is a box without an end.
_REMEMBERED = 1000
_LONGEST_BOX = 100


class Said:
    """Remembers what was said: boxes of the engine's on stderr, and lines."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], int] = {}
        self._box: list[str] = []

    def is_new(self, unit: tuple[str, ...], step: int) -> bool:
        """Whether no step before the one with this number has said it."""
        if len(self._first) >= _REMEMBERED:
            return self._first.get(unit, step) == step
        return self._first.setdefault(unit, step) == step

    def shown(self, line: str, step: int) -> list[str]:
        """The lines to show now that this one has come: none, it, or a box that it completes."""
        if line.startswith("╷"):
            before = self.unfinished()
            self._box = [line]
            return before
        if not self._box:
            return [line] if self.is_new((line,), step) else []
        self._box.append(line)
        if line.startswith("╵"):
            box, self._box = self._box, []
            return ["\n".join(box)] if self.is_new(tuple(box), step) else []
        return [] if line.startswith("│") and len(self._box) < _LONGEST_BOX else self.unfinished()

    def unfinished(self) -> list[str]:
        """A box whose end has not come: something else has, so it is shown as it is."""
        box, self._box = self._box, []
        return ["\n".join(box)] if box else []
