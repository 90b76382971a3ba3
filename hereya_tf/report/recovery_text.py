"""What `recover` has found and done, as lines for people (pure)."""

from collections.abc import Callable, Iterator

from hereya_tf.event_parts import Finding, Recovery, Remainder, Repair
from hereya_tf.words import Record

# A terminal has at least one more, and would break longer lines within words.
_WIDTH = 79
# What stands for a space where no line may end.
_HELD = "\0"
_NOTHING = "Nothing is broken: no state is missing, and no lock was left."


def recovery_lines(recovery: Recovery) -> Iterator[str]:
    """The whole: what happened, what is broken, what mends it, what has to be done by hand."""
    yield from story_lines(recovery)
    if recovery.repairs:
        yield from ("", "To be repaired, in this order:")
        for number, repair in enumerate(recovery.repairs, 1):
            yield from _item(f"{number}. ", f"{repair.sentence}.")
            yield from _item("   ", f"Safe, because {repair.because}.")
    yield from rest_lines(recovery)


def story_lines(recovery: Recovery) -> Iterator[str]:
    """What happened, and what is broken now."""
    for sentence in recovery.story:
        yield from _item("", sentence)
    if not recovery.findings:
        return
    yield from ("", "Broken:") if recovery.story else ("Broken:",)
    for finding in recovery.findings:
        yield from _item("- ", f"{finding.sentence}.")


def rest_lines(recovery: Recovery) -> Iterator[str]:
    """What has to be done by hand, and the command to do the broken run again."""
    if recovery.left:
        yield from ("", "To be done by hand:")
        for remainder in recovery.left:
            yield from _item("- ", f"{remainder.sentence}.")
            for hint in remainder.by_hand:
                yield from _item("  ", hint)
    if recovery.again is not None:
        yield from ("", "Then run it again:", f"  {recovery.again}")


def closing_lines(recovery: Recovery, *, success: bool, dry_run: bool) -> Iterator[str]:
    """What has become of each repair, and what there is to say when that is all."""
    yield from done_lines(recovery)
    if not success:
        return
    if not recovery.findings:
        yield _NOTHING
    elif dry_run:
        yield "Nothing was done: this was a dry run."
    else:
        yield "All of that is repaired."


def done_lines(recovery: Recovery) -> Iterator[str]:
    """What has become of each repair."""
    for repair in recovery.repairs:
        if repair.done is not None:
            yield from _item("done: " if repair.done else "failed: ", f"{repair.sentence}.")


def reported_lines(record: Record) -> tuple[str, ...]:
    """The whole, from the record of a result; of one that found nothing to tell there is nothing."""
    told = record.get("recovery")
    if told is None:
        return ()
    recovery = Recovery(
        story=tuple(told["story"]),
        findings=tuple(Finding(each["class"], each["sentence"]) for each in told["findings"]),
        repairs=tuple(
            Repair(each["repair"], each["sentence"], each["because"], each["done"])
            for each in told["repairs"]
        ),
        left=tuple(
            Remainder(each["class"], each["sentence"], tuple(each["by_hand"])) for each in told["left"]
        ),
        again=told["again"],
    )
    lines, done = list(recovery_lines(recovery)), list(done_lines(recovery))
    # A command to run may have lines of its own.
    return tuple("\n".join((*lines, *([""] if lines and done else []), *done)).split("\n")) if lines else ()


def redacted(recovery: Recovery, redact: Callable[[str], str]) -> Recovery:
    """The same with every text redacted."""
    again = recovery.again
    return Recovery(
        story=tuple(map(redact, recovery.story)),
        findings=tuple(each._replace(sentence=redact(each.sentence)) for each in recovery.findings),
        repairs=tuple(
            each._replace(sentence=redact(each.sentence), because=redact(each.because))
            for each in recovery.repairs
        ),
        left=tuple(
            each._replace(sentence=redact(each.sentence), by_hand=tuple(map(redact, each.by_hand)))
            for each in recovery.left
        ),
        again=None if again is None else redact(again),
    )


def _item(mark: str, text: str) -> Iterator[str]:
    """One item over as many lines as it takes; what follows a line break is to be copied, and stays whole."""
    # Here, because every report loads this module, and hardly any has something to wrap.
    import textwrap

    first, *more = text.split("\n")
    # So does a command within a sentence.
    parts = first.split("`")
    held = "`".join(part.replace(" ", _HELD) if place % 2 else part for place, part in enumerate(parts))
    lines = textwrap.wrap(
        held,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    yield from (line.replace(_HELD, " ") for line in lines)
    yield from (" " * len(mark) + line for line in more)
