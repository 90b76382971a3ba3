"""What one engine command says: its bytes as events, a summary, and the text a failure shows."""

import time
from collections import deque
from typing import NamedTuple

from hereya_tf import events, messages
from hereya_tf.commands import Step
from hereya_tf.journal import Journal
from hereya_tf.narration import event_of
from hereya_tf.redact import StreamRedactor
from hereya_tf.summary import Summary

# What a failure keeps of the engine's text; the log in the run's directory has all of it.
KEPT_CHARACTERS = 16 << 20


class Said(NamedTuple):
    """All that a command said, redacted but for `document`, which is stdout as it was."""

    document: str
    stdout: str
    stderr: str
    raw_stderr: str


class Transcript:
    """Takes the output of one step as it arrives, in pieces of any size.

    `streams` says that stdout is messages, and not a document that nobody but us may see.
    """

    def __init__(
        self, journal: Journal, step: Step, engine: str, *, streams: bool, engine_messages: bool = False
    ) -> None:
        self.summary = Summary()
        self._journal = journal
        self._step = step
        self._engine = engine
        self._streams = streams
        self._engine_messages = engine_messages
        self._stdout_lines = _Lines()
        self._stderr_lines = _Lines()
        self._stdout_text = _Text()
        self._stderr_text = _Text()
        self._document: list[bytes] = []
        # Plain text may spread a private key over lines, so each source of it is redacted as a stream.
        self._sources: dict[tuple[str, str], StreamRedactor] = {}

    def stdout(self, chunk: bytes) -> None:
        """Take bytes of the engine's stdout."""
        if not self._streams:
            self._document.append(chunk)
            return
        now = time.monotonic()
        with self._journal.batch():
            for line in self._stdout_lines.feed(chunk):
                self._message(line, now)

    def stderr(self, chunk: bytes) -> None:
        """Take bytes of the engine's stderr."""
        with self._journal.batch():
            for line in self._stderr_lines.feed(chunk):
                self._error_line(line + "\n")

    def finish(self) -> Said:
        """There is no more: give out what was held back, and all that was said."""
        now = time.monotonic()
        with self._journal.batch():
            for line in self._stdout_lines.rest():
                self._message(line, now)
            for line in self._stderr_lines.rest():
                self._error_line(line)
            for source, redacting in self._sources.items():
                self._tell(source, redacting.flush())
        redactor = self._journal.redactor
        raw_stderr = self._stderr_text.whole()
        rendered = "".join(messages.render_diagnostic(error) for error in self.summary.errors)
        return Said(
            document=b"".join(self._document).decode("utf-8", "replace"),
            stdout=redactor.text(self._stdout_text.whole()),
            stderr=redactor.text("\n".join(part for part in (rendered, raw_stderr) if part)),
            raw_stderr=raw_stderr,
        )

    def _message(self, line: str, now: float) -> None:
        message = messages.parse(line)
        new = self.summary.add(message, now)
        if (text := messages.render(message)) is not None:
            self._stdout_text.add(text + "\n")
        match message:
            case messages.PlainLine():
                self._plain(("stdout", ""), line + "\n")
            case messages.ProvisionerOutput():
                label = f"{message.address} ({message.provisioner}): "
                self._plain(("provisioner", label), message.text + "\n")
                return
            case _:
                if new and (event := event_of(message, self._engine)) is not None:
                    self._journal.emit(event)
                if self._engine_messages:
                    self._journal.emit(events.EngineMessage(self._step, messages.raw(line)))

    def _error_line(self, text: str) -> None:
        self._stderr_text.add(text)
        self._plain(("stderr", ""), text)

    def _plain(self, source: tuple[str, str], text: str) -> None:
        redacting = self._sources.get(source)
        if redacting is None:
            redacting = self._sources[source] = self._journal.redactor.stream()
        self._tell(source, redacting.feed(text))

    def _tell(self, source: tuple[str, str], text: str) -> None:
        stream, label = source
        for line in text.split("\n"):
            if line:
                self._journal.emit(events.LogEvent(stream, label + line))


class _Lines:
    """Splits bytes that arrive in pieces into lines of text; broken UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        if b"\n" not in chunk:
            self._parts.append(chunk)
            return []
        first, *rest = chunk.split(b"\n")
        lines = [b"".join((*self._parts, first)), *rest]
        self._parts = [lines.pop()]
        return [line.decode("utf-8", "replace") for line in lines]

    def rest(self) -> list[str]:
        last = b"".join(self._parts)
        self._parts = []
        return [last.decode("utf-8", "replace")] if last else []


class _Text:
    """The engine's words, as much of the end as a failure keeps."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._length = 0
        self._dropped = False

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        while self._length > KEPT_CHARACTERS and len(self._pieces) > 1:
            self._length -= len(self._pieces.popleft())
            self._dropped = True

    def whole(self) -> str:
        begin = "[the beginning is in the run's log only]\n" if self._dropped else ""
        return begin + "".join(self._pieces)
