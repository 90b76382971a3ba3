"""`runs timeline`: what took how long, for a terminal or as a page."""

import os

import click

from hereya_tf.cli.documents import say
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_types import GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places

_STDOUT = 1


@click.command(
    "timeline",
    cls=HelpfulCommand,
    short_help="What took how long in a run.",
    examples=("hereya-tf runs timeline last", "hereya-tf runs timeline last --html timeline.html"),
)
@click.argument("run", cls=NamedArgument)
@click.option(
    "--html", "page", cls=GroupedOption, metavar="FILE", help="A page for a browser, into this file."
)
def timeline(run: str, page: str | None) -> None:
    """What took how long in a run: its steps and resources, and the chain of work that decided it.

    Of a run that is still at work, as far as it has come.
    """
    from hereya_tf.report.story import Story
    from hereya_tf.report.timeline import make_timeline
    from hereya_tf.runs import history
    from hereya_tf.runs.retelling import find

    places = find_places(os.environ)
    record = find(places.runs, run)
    story = Story.of(history.log_of(places.runs / record.id), keep_reads=True)
    made = make_timeline(story, is_alive=record.is_alive or record.is_orphaned)
    if page is not None:
        from hereya_tf.report.timeline_html import timeline_page

        _write(page, timeline_page(made))
        say(f"the timeline of run {record.id} is in `{page}`")
        return
    from hereya_tf.cli.front import has_symbols, wants_color
    from hereya_tf.ui.timeline import timeline_lines

    width = os.get_terminal_size(_STDOUT).columns or None if os.isatty(_STDOUT) else None
    ascii_only = not has_symbols(os.environ)
    for line in timeline_lines(made, width, color=wants_color("auto", _STDOUT), ascii_only=ascii_only):
        say(line)


def _write(path: str, text: str) -> None:
    """Raises BadInput."""
    from hereya_tf.cli.files import put_whole
    from hereya_tf.errors import BadInput
    from hereya_tf.private import write_all
    from hereya_tf.reading import reason

    if put_whole(path, text):
        return
    # A pipe that nobody reads must not hold us.
    flags = os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
    try:
        with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
            os.set_blocking(file.fileno(), True)
            write_all(file.fileno(), text.encode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        raise BadInput(f"`--html {path}` cannot be written: {reason(error)}", "give another path") from error
