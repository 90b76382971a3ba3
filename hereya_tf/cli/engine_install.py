"""`engine install`: has an engine of the vendor's, or a mirror's, verified and ready."""

import os
import signal
import time
from collections.abc import Callable

import click

from hereya_tf.cli.documents import say
from hereya_tf.cli.engine_options import EngineCommand
from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.option_types import NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import Cancelled, NotPublished
from hereya_tf.releases.installed import Installed
from hereya_tf.sizes import format_size
from hereya_tf.supervision.interrupt import Interrupt, signals_ask
from hereya_tf.words import flat

_STDERR = 2
# How often a line on a terminal is drawn anew, and how often a line is added to a log; seconds.
_DRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0


@click.command(
    "install",
    cls=EngineCommand,
    shared=("from",),
    short_help="Download an engine, verified.",
    examples=(
        "hereya-tf engine install tofu latest",
        "hereya-tf engine install terraform 1.11.4",
        "hereya-tf engine install terraform '~> 1.9'",
        "hereya-tf engine install tofu 1.9.0 --from /mnt/mirror",
    ),
)
@click.argument("words", cls=NamedArgument, nargs=-1, required=True, metavar="[terraform|tofu] VERSION")
def install(words: tuple[str, ...], mirror: str | None) -> None:
    """Download an engine into the cache, verify it, and print its path. Without a name it is OpenTofu.

    VERSION is exact (`1.11.4`), a constraint (`~> 1.9`) or `latest`. An exact version that is installed needs no
    network. What is downloaded must be signed by its vendor; the file of public keys that
    HEREYA_TF_ENGINE_KEYS names is for mirrors that sign for themselves. A mirror has the vendors' layout:
    terraform/V/FILE and opentofu/opentofu/releases/download/vV/FILE, or all files in one directory.
    """
    engine, wish = read_words(words)
    interrupt = Interrupt()
    try:
        with signals_ask(interrupt):
            found = _installed(engine, wish, mirror, interrupt)
    except Cancelled as error:
        say(f"error: {error}", err=True)
        raise click.exceptions.Exit(error.exit_code) from error
    click.echo(found.path)


def read_words(words: tuple[str, ...]) -> tuple[EngineName, str]:
    """Which engine, and the version as it was written. Raises Misuse."""
    named = EngineName.named(words[0])
    rest = words if named is None else words[1:]
    match rest:
        case ():
            return named or EngineName.OPENTOFU, "latest"
        case (wish,):
            return named or EngineName.OPENTOFU, wish
        case (name, _) if named is None and name.isalpha():
            raise Misuse(f"`{name}` is not an engine", "name one of the two: `terraform`, `tofu`")
        case _:
            raise Misuse(
                f"`{' '.join(rest)}` is more than one version",
                "a constraint is one word: `hereya-tf engine install terraform '>= 1.9, < 2'`",
            )


def _installed(engine: EngineName, wish: str, mirror: str | None, interrupt: Interrupt) -> Installed:
    from hereya_tf.engine.constraints import parse_constraint
    from hereya_tf.engine.demand import Demand
    from hereya_tf.engine.reasons import meaning
    from hereya_tf.releases.installed import find_installed
    from hereya_tf.releases.sources import local_platform
    from hereya_tf.releases.supply import Listeners, Supply

    cache = find_places(os.environ).cache
    demand = Demand((engine,), constraints=(parse_constraint(wish, "VERSION"),))

    def pause(seconds: float) -> None:
        interrupt.wait(seconds)
        if (request := interrupt.asked()) is not None:
            number = signal.Signals(request.signal or signal.SIGINT)
            raise Cancelled(f"the installation was cancelled by {number.name}", exit_code=128 + number)

    if (
        demand.exact
        and (known := find_installed(cache, engine, demand.exact))
        and known.is_for(local_platform())
    ):
        _tell(f"{engine.title} {known.version} is installed already")
        return known
    with Progress() as progress:
        supply = Supply(mirror, os.environ, cache, Listeners(pause, progress.tell, progress))
        version = supply.resolve(demand, engine)
        try:
            found = supply.install(engine, version)
        except NotPublished as error:
            raise NotPublished(str(error), *meaning(demand), *error.hints) from error
    if progress.has_begun:
        _tell(f"{engine.title} {version} is installed, signed by {found.owner} ({found.key})")
    else:
        _tell(f"{engine.title} {version} is installed already")
    return found


def _tell(sentence: str) -> None:
    say(flat(sentence), err=True)


class Progress:
    """How far a download is: one line on a terminal, else a line now and then."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, is_terminal: bool | None = None
    ) -> None:
        self._clock = clock
        self._is_terminal = os.isatty(_STDERR) if is_terminal is None else is_terminal
        self._told: float | None = None
        self._width = 0
        self.has_begun = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_error: object) -> None:
        self._erase()

    def __call__(self, engine: EngineName, version: Version, arrived: int, total: int | None) -> None:
        """So many bytes of so many have arrived."""
        now = self._clock()
        between = _DRAW_SECONDS if self._is_terminal else _LINE_SECONDS
        self.has_begun = True
        if self._told is not None and now - self._told < between:
            return
        self._told = now
        text = f"downloading {engine.title} {version}: {_share(arrived, total)}"
        if self._is_terminal:
            self._erase()
            say(text, nl=False, err=True)
            self._width = len(text)
        else:
            say(text, err=True)

    def tell(self, sentence: str) -> None:
        """What is worth a warning, in place of the line."""
        self._erase()
        _tell(f"warning: {sentence}")

    def _erase(self) -> None:
        # With blanks: not every terminal knows more than to return to the beginning.
        if self._width:
            say(f"\r{' ' * self._width}\r", nl=False, err=True)
            self._width = 0


def _share(arrived: int, total: int | None) -> str:
    if not total:
        return format_size(arrived)
    return f"{format_size(arrived)} of {format_size(total)} ({100 * arrived // total} %)"
