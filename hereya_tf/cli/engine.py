"""`engine install|list|which|verify|remove|prune`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from hereya_tf.cli.documents import json_option, print_document, print_table, say
from hereya_tf.cli.engine_install import install
from hereya_tf.cli.engine_which import which
from hereya_tf.cli.groups import HelpfulGroup, Misuse
from hereya_tf.cli.option_types import Count, GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import BadInput, Busy, EngineUnverified, HereyaError
from hereya_tf.places import Places
from hereya_tf.releases import installed as cached
from hereya_tf.releases.installed import Installed, Unusable
from hereya_tf.sizes import format_size
from hereya_tf.words import flat

_PRUNE = "`hereya-tf engine prune` takes away what does not count"

name_argument = click.argument("name", cls=NamedArgument, metavar="terraform|tofu")
version_argument = click.argument("version", cls=NamedArgument)


@click.group("engine", cls=HelpfulGroup)
def engine() -> None:
    """Engines that are installed: download, verify, remove."""


engine.add_command(install)


@engine.command("list")
@json_option
def list_(json_output: bool) -> None:
    """The engines in the cache, the newest first."""
    entries = cached.entries(find_places(os.environ).cache)
    found = [entry for entry in entries if isinstance(entry, Installed)]
    unusable = [entry for entry in entries if isinstance(entry, Unusable)]
    if json_output:
        damaged = [{"directory": str(each.directory), "reason": each.reason} for each in unusable]
        print_document({"engines": [_document(each) for each in found], "unusable": damaged})
        return
    if found:
        head = ("ENGINE", "VERSION", "PLATFORM", "SIZE", "SIGNED BY", "INSTALLED", "PATH")
        print_table(head, [_row(each) for each in found])
    elif not unusable:
        say("no engine is installed")
    for each in unusable:
        say(flat(f"warning: `{each.directory}` does not count: {each.reason}"), err=True)


engine.add_command(which)


@engine.command("verify", short_help="Compare engines with what was installed.")
@click.argument("words", cls=NamedArgument, nargs=-1, metavar="[terraform|tofu VERSION]")
def verify(words: tuple[str, ...]) -> None:
    """Read the engines in the cache, or only one, and compare them with what was verified when they came.

    Exits with 5 when one of them has been changed.
    """
    cache = find_places(os.environ).cache
    faults: list[HereyaError] = []
    entries = _wanted(cache, words)
    for entry in entries:
        try:
            say(flat(_verified(entry)))
        except EngineUnverified as error:
            faults.append(error)
    match faults:
        case []:
            if not entries:
                say("no engine is installed")
        case [fault]:
            raise fault
        case _:
            raise EngineUnverified(
                f"{len(faults)} of {len(entries)} engines are not what was installed",
                *(str(fault) for fault in faults),
            )


@engine.command("remove", short_help="Remove one engine.")
@name_argument
@version_argument
def remove(name: str, version: str) -> None:
    """Remove one engine from the cache; what a live run uses stays."""
    places = find_places(os.environ)
    named, exact = _engine_named(name), _exact(version)
    directory = cached.directory_of(places.cache, named, exact)
    if not os.path.lexists(directory):
        raise cached.no_such_engine(places.cache, named, exact)
    if users := _users(places).get(str(directory)):
        raise Busy(
            f"run `{users[0]}` is at work with {named.title} {exact}",
            f"wait for it, or end it: `hereya-tf runs cancel {users[0]}`",
        )
    _remove(directory)
    say(f"removed {named.title} {exact}")


@engine.command("prune", short_help="Remove all but the newest engines.")
@click.option(
    "--keep",
    cls=GroupedOption,
    type=Count(),
    metavar="N",
    default=3,
    show_default=True,
    help="How many versions of each engine stay.",
)
def prune(keep: int) -> None:
    """Remove all but the newest engines from the cache, and what installations left that were killed.

    What a live run uses stays, and does not count.
    """
    from hereya_tf.releases.install import sweep

    places = find_places(os.environ)
    users = _users(places)
    entries = cached.entries(places.cache)
    freed = 0
    for named in EngineName:
        mine = [entry for entry in entries if _directory(entry).parent.name == named]
        for entry in _surplus(mine, keep):
            directory = _directory(entry)
            if str(directory) in users:
                say(
                    f"{named.title} {directory.name} stays: run `{users[str(directory)][0]}` uses it",
                    err=True,
                )
                continue
            _remove(directory)
            freed += entry.size if isinstance(entry, Installed) else 0
            say(f"removed {named.title} {directory.name}")
        sweep(places.cache / "engines" / named)
    say(f"{format_size(freed)} are free again" if freed else "nothing more to remove", err=True)


def _surplus(entries: Iterable[Installed | Unusable], keep: int) -> list[Installed | Unusable]:
    """What is beyond the newest `keep` of one engine, and what does not count."""
    whole = [entry for entry in entries if isinstance(entry, Installed)]
    return [entry for entry in entries if entry not in whole[:keep]]


def _wanted(cache: Path, words: tuple[str, ...]) -> tuple[Installed | Unusable, ...]:
    match words:
        case ():
            return cached.entries(cache)
        case (name, version):
            named, exact = _engine_named(name), _exact(version)
            directory = cached.directory_of(cache, named, exact)
            found = tuple(entry for entry in cached.entries(cache) if _directory(entry) == directory)
            if not found:
                raise cached.no_such_engine(cache, named, exact)
            return found
        case _:
            raise Misuse(
                f"`{' '.join(words)}` is not an engine and a version",
                "`hereya-tf engine verify terraform 1.11.4`, or nothing for all",
            )


def _verified(entry: Installed | Unusable) -> str:
    if isinstance(entry, Unusable):
        raise EngineUnverified(f"`{entry.directory}` does not count: {entry.reason}", _PRUNE)
    cached.verify(entry, lambda _seconds: None)
    return f"{entry.engine.title} {entry.version} is what {entry.owner} has signed"


def _engine_named(name: str) -> EngineName:
    named = EngineName.named(name)
    if named is None:
        raise Misuse(f"`{name}` is not an engine", "name one of the two: `terraform`, `tofu`")
    return named


def _exact(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError as error:
        raise BadInput(str(error), "`hereya-tf engine list` shows what is installed") from error


def _users(places: Places) -> dict[str, list[str]]:
    """The live runs by the directory of their engine."""
    from hereya_tf.runs import history

    users: dict[str, list[str]] = {}
    for record in history.newest_runs(places.runs):
        if record.is_alive or record.is_orphaned:
            for event in history.log_of(places.runs / record.id):
                if event["type"] == "engine_ready":
                    users.setdefault(str(Path(str(event["path"])).parent), []).append(record.id)
    return users


def _remove(directory: Path) -> None:
    from hereya_tf.releases.version_lock import hold_version

    try:
        with hold_version(
            directory.parent,
            directory.name,
            title=f"`{directory}`",
            pause=_wait,
            tell=lambda sentence: say(flat(sentence), err=True),
        ):
            if os.path.lexists(directory):  # else somebody else was quicker
                cached.remove(directory)
    except OSError as error:
        raise BadInput(
            f"`{directory}` cannot be removed: {error.strerror}", "check the permissions of what is in it"
        ) from error


def _wait(seconds: float) -> None:
    import time

    time.sleep(seconds)


def _directory(entry: Installed | Unusable) -> Path:
    return entry.directory if isinstance(entry, Unusable) else entry.path.parent


def _row(entry: Installed) -> tuple[str, ...]:
    return (
        entry.engine.title,
        str(entry.version),
        str(entry.platform),
        format_size(entry.size),
        entry.owner,
        entry.installed,
        str(entry.path),
    )


def _document(entry: Installed) -> dict[str, Any]:
    return {
        "engine": entry.engine,
        "version": str(entry.version),
        "platform": str(entry.platform),
        "path": str(entry.path),
        "size": entry.size,
        "binary_sha256": entry.binary_digest,
        "archive": entry.archive,
        "archive_sha256": entry.archive_digest,
        "source": entry.source,
        "key": entry.key,
        "owner": entry.owner,
        "installed": entry.installed,
    }
