"""What one engine command says: its bytes as events, a summary, and the text that a failure shows."""

import os
import time
from typing import Any, BinaryIO

from hereya_tf import events
from hereya_tf.engine.commands import Step
from hereya_tf.redaction import MASK, StreamRedactor
from hereya_tf.runs.journal import Journal
from hereya_tf.runs.narration import event_of
from hereya_tf.stream import messages
from hereya_tf.stream.message_types import (
    EmergencyState,
    Message,
    Outputs,
    PlainLine,
    ProvisionerOutput,
    render,
)
from hereya_tf.stream.outputs import MISSING
from hereya_tf.stream.summary import Summary
from hereya_tf.stream.validation import validation_messages

# What a failure shows of the engine's text; the run's log has all of it.
KEPT_BYTES = 16 << 20
_CUT = "[the beginning is in the run's log only]\n"


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
        self.streams = streams
        self._engine_messages = engine_messages
        self._stdout_lines = _Lines()
        self._stderr_lines = _Lines()
        self._document: list[bytes] = []
        # Plain text may spread a private key over lines, so each source of it is redacted as a stream.
        self._sources: dict[tuple[str, str], StreamRedactor] = {}

    def stdout(self, chunk: bytes) -> None:
        """Take bytes of the engine's stdout."""
        if not self.streams:
            self._document.append(chunk)
            return
        now = time.monotonic()
        with self._journal.batch():
            for line in self._stdout_lines.feed(chunk):
                self._message(line, now)

    def stderr(self, chunk: bytes) -> None:
        """Take bytes of the engine's stderr; a look for a lock is no failure when somebody has it."""
        if self._step is Step.LOCK:
            return
        with self._journal.batch():
            for line in self._stderr_lines.feed(chunk):
                self._plain(("stderr", ""), line + "\n")

    def finish(self) -> None:
        """There is no more: give out what was held back."""
        now = time.monotonic()
        with self._journal.batch():
            for line in self._stdout_lines.rest():
                self._message(line, now)
            for line in self._stderr_lines.rest():
                self._plain(("stderr", ""), line)
            for line in validation_messages(self.document) if self._step is Step.VALIDATE else ():
                self._message(line, now)
            for source, redacting in self._sources.items():
                self._tell(source, redacting.flush())

    @property
    def document(self) -> str:
        """Stdout as it was, of a command that prints a document."""
        return b"".join(self._document).decode("utf-8", "replace")

    def _message(self, line: str, now: float) -> None:
        message = messages.parse(line)
        if isinstance(message, Outputs):
            self._learn(message)
        new = self.summary.add(message, now)
        match message:
            case PlainLine():
                self._plain(("stdout", ""), line + "\n")
            case ProvisionerOutput():
                label = f"{message.address} ({message.provisioner}): "
                self._plain(("provisioner", label), message.text + "\n")
                return
            case _:
                told = event_of(message, self._engine, self.summary.failed) if new else None
                if told is not None:
                    self._journal.emit(told)
                if self._engine_messages:
                    self._journal.emit(events.EngineMessage(self._step, self._raw(message, line)))

    def _learn(self, message: Outputs) -> None:
        """Older versions of Terraform put sensitive values in there as well (hashicorp/terraform#31813)."""
        redactor = self._journal.redactor
        for name, output in message.values.items():
            secret = output.sensitive or name in redactor.secret_outputs
            if secret and output.value is not MISSING:
                redactor.add(output.value)

    def _raw(self, message: Message, line: str) -> Any:
        """The line as it is, without what no redactor can know to be secret."""
        raw = messages.raw(line)
        return {**raw, "state": MASK} if isinstance(message, EmergencyState) else raw

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


def read_text(file: BinaryIO, *, kept_bytes: int = KEPT_BYTES) -> str:
    """The text of a raw output file; of a longer one the lines in its last `kept_bytes`."""
    begin = offset = max(0, os.fstat(file.fileno()).st_size - kept_bytes)
    data = bytearray()
    while chunk := os.pread(file.fileno(), kept_bytes, offset):
        data += chunk
        offset += len(chunk)
    text = data.decode("utf-8", "replace")
    return _CUT + text.partition("\n")[2] if begin else text


def render_messages(text: str) -> str:
    """What a stream of messages says, for people."""
    # Not splitlines: a message may hold U+0085 and its like.
    rendered = (render(messages.parse(line)) for line in text.split("\n"))
    return "".join(f"{line}\n" for line in rendered if line is not None)


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
