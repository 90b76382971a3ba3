"""From what is broken to the repairs, in an order in which none endangers the next, and what is left (pure).

* A state that could not be saved is stored first, and while the dead run's lock still stands: whoever waits for
  the lock would otherwise go on with the old state.
* A broken local state gets a copy back before anything is compared with it: it is no state to compare with.
* The lock goes last.
"""

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.event_parts import Finding, Remainder, Repair
from hereya_tf.failure.lock_info import lock_words
from hereya_tf.recovery.proof import Verdict
from hereya_tf.recovery.state_document import StateDocument

_OF_ANOTHER = "if it is of another workspace, recover that one: its name is given with `-w`"


class Kind(StrEnum):
    """What can be done."""

    RESTORE = "restore"
    PUSH = "push"
    SETTLE = "settle"
    UNLOCK = "unlock"


class Copy(NamedTuple):
    """A whole copy of a local state: `what` it is, and what may be `missing` in it, done after it was made."""

    path: Path
    document: StateDocument
    what: str
    missing: tuple[str, ...] = ()


class BrokenState(NamedTuple):
    """A local state that is none, `flaw` says how, and what could take its place: the newest first.

    `known` is what the history has of what was done to it.
    """

    path: Path
    flaw: str
    copies: tuple[Copy, ...]
    known: tuple[str, ...] = ()


class Lost(NamedTuple):
    """A state that is not where it belongs; `document` is None when the file is gone or holds none.

    `run` is empty, and there is no `note` on it, when nobody knows of which workspace it is.
    """

    path: Path
    run: str
    document: StateDocument | None
    note: Path | None = None


class Stored(NamedTuple):
    """What the backend has: `document` is None where it has none, `unknown` says why nobody can tell."""

    document: StateDocument | None
    unknown: str = ""


class HeldLock(NamedTuple):
    """A lock on the state, what is known of it, and whose it is proven to be."""

    info: Mapping[str, str]
    verdict: Verdict


class Damage(NamedTuple):
    """All that is broken. `place` are the words that say in a command which state this is."""

    broken: BrokenState | None
    lost: tuple[Lost, ...]
    stored: Stored
    lock: HeldLock | None
    place: str


class Act(NamedTuple):
    """A repair and what it is done with."""

    kind: Kind
    repair: Repair
    copy: Copy | None = None
    lost: Lost | None = None


class Plan(NamedTuple):
    """What was found, what is done about it in this order, what is left, and the state as it is then."""

    findings: tuple[Finding, ...]
    acts: tuple[Act, ...]
    left: tuple[Remainder, ...]
    state: Stored


def plan_recovery(damage: Damage) -> Plan:
    """The repairs that apply, each with why it is safe, and what is not offered, with why not."""
    findings: list[Finding] = []
    acts: list[Act] = []
    left: list[Remainder] = []
    stored = damage.stored
    if damage.broken is not None:
        findings.append(_found_broken(damage.broken))
        chosen = choose_copy(damage.broken.copies)
        if chosen is None:
            left.append(_no_copy(damage.broken))
            stored = Stored(None, "the local state is broken")
        else:
            acts.append(_restore(damage.broken, chosen))
            stored = Stored(chosen.document)
    for lost in sorted(damage.lost, key=_by_serial, reverse=True):
        findings.append(_found_lost(lost))
        act, remainder, stored = _about_lost(lost, stored, damage)
        acts += [act] if act is not None else []
        left += [remainder] if remainder is not None else []
    if damage.lock is not None:
        findings.append(_found_lock(damage.lock))
        if damage.lock.verdict.run is not None:
            acts.append(_unlock(damage.lock))
        else:
            left.append(_not_proven(damage.lock, damage.place))
    return Plan(tuple(findings), tuple(acts), tuple(left), stored)


def choose_copy(copies: Sequence[Copy]) -> Copy | None:
    """Of the lineage that the newest copy has, the one with the highest serial."""
    if not copies:
        return None
    lineage = copies[0].document.lineage
    # `max` keeps the first, which is the newest, of several with one serial.
    return max(
        (copy for copy in copies if copy.document.lineage == lineage), key=lambda copy: copy.document.serial
    )


def compare(lost: StateDocument, stored: StateDocument | None) -> str | None:
    """Why `lost` must not be stored over `stored`; None when it may. Not for the same state twice."""
    if stored is None:
        return None
    if stored.lineage != lost.lineage:
        return (
            f"the backend has another state, of lineage `{stored.lineage}` with serial {stored.serial};"
            f" this one has lineage `{lost.lineage}` and serial {lost.serial}"
        )
    if stored.serial >= lost.serial:
        than = (
            "the same serial with something else in it" if stored.serial == lost.serial else "a newer state"
        )
        return f"the backend has {than}: serial {stored.serial} there, {lost.serial} here"
    return None


def _by_serial(lost: Lost) -> int:
    return lost.document.serial if lost.document is not None else -1


def _found_broken(broken: BrokenState) -> Finding:
    return Finding(FailureClass.STATE_CORRUPT, f"the local state `{broken.path}` {broken.flaw}")


def _found_lost(lost: Lost) -> Finding:
    whose = f" of run `{lost.run}`" if lost.run else ""
    where = "is kept in" if lost.document is not None else "was put into"
    return Finding(
        FailureClass.ERRORED_STATE, f"a state{whose} could not be saved, and {where} `{lost.path}`"
    )


def _found_lock(lock: HeldLock) -> Finding:
    return Finding(FailureClass.STATE_LOCKED, f"the state is locked{lock_words(lock.info)}")


def _act(
    kind: Kind, sentence: str, because: str, *, copy: Copy | None = None, lost: Lost | None = None
) -> Act:
    """A repair that is offered, and not yet done."""
    return Act(kind, Repair(kind, sentence, because, None), copy, lost)


def _restore(broken: BrokenState, copy: Copy) -> Act:
    return _act(
        Kind.RESTORE,
        f"put {copy.what}, serial {copy.document.serial}, back as `{broken.path}`",
        "what is there now is kept in this run's directory, and the copy is the newest whole one of its lineage"
        + (f". {_lacks(copy)}" if copy.missing else ""),
        copy=copy,
    )


def _lacks(copy: Copy) -> str:
    return (
        f"But it is older: {'; '.join(copy.missing)}. Whatever of that exists and is missing in the copy would be"
        " made a second time: import it first, or remove it"
    )


def _no_copy(broken: BrokenState) -> Remainder:
    path = shlex.quote(str(broken.path))
    without = (
        (
            f"without any: `rm {path}`, and import what exists, or it will be made a second time:"
            f" {'; '.join(broken.known)}",
        )
        if broken.known
        else (f"if there never was a state: `rm {path}`",)
    )
    return Remainder(
        FailureClass.STATE_CORRUPT,
        f"there is no whole copy of `{broken.path}` that could take its place",
        ("put an older copy in its place, from a backup of the disk for example", *without),
    )


def _about_lost(lost: Lost, stored: Stored, damage: Damage) -> tuple[Act | None, Remainder | None, Stored]:
    """What is done about a state that could not be saved, and what the backend has then."""
    document = lost.document
    push = f"{_tf(damage.place)} -- state push -force {shlex.quote(str(lost.path))}"
    if document is None:
        gone = _gone(lost)
        return None, gone, stored._replace(unknown=gone.sentence)
    if stored.unknown:
        return None, Remainder(FailureClass.ERRORED_STATE, _not_stored(lost, stored.unknown), ()), stored
    there = stored.document
    # Of an encrypted state only the serial can be compared, and other content may have the same.
    is_readable = there is not None and None not in (there.content, document.content)
    if (
        there is not None
        and is_readable
        and there.has_content_of(document)
        # Stored where there was none, it has another lineage, and begins to count anew.
        and (there.serial >= document.serial or there.lineage != document.lineage)
    ):
        return _settle(lost, there), None, stored
    if there is None and not lost.run:
        return None, _of_nobody(lost, damage.place), stored
    refusal = compare(document, there)
    if refusal is not None and there is not None:
        loses = (
            f"`{push}` stores it all the same, and loses what the backend has now:"
            f" {there.resources} resource{'' if there.resources == 1 else 's'}, serial {there.serial}"
        )
        by_hand = (loses,) if lost.run else (_OF_ANOTHER, loses)
        return None, Remainder(FailureClass.ERRORED_STATE, _not_stored(lost, refusal), by_hand), stored
    if damage.lock is not None and damage.lock.verdict.run is None:
        locked = "the state is locked by somebody who may be about to write it"
        return None, Remainder(FailureClass.ERRORED_STATE, _not_stored(lost, locked), ()), stored
    return _push(lost, document, there), None, Stored(document)


def _tf(place: str) -> str:
    return f"hereya-tf tf {place}".rstrip()


def _not_stored(lost: Lost, because: str) -> str:
    return f"the state in `{lost.path}` is not stored: {because}"


def _gone(lost: Lost) -> Remainder:
    is_wanted = (
        f"when no state of this workspace is missing, remove the note: `rm {shlex.quote(str(lost.note))}`"
        if lost.note is not None
        else f"when nothing in it is missing, remove it: `rm {shlex.quote(str(lost.path))}`"
    )
    return Remainder(
        FailureClass.ERRORED_STATE,
        f"`{lost.path}` cannot be read any more, or holds no whole state",
        ("put the file there again, from a backup of the disk for example", is_wanted),
    )


def _of_nobody(lost: Lost, place: str) -> Remainder:
    """No run of ours has left it, and an engine puts the states of all workspaces of a package into one file."""
    return Remainder(
        FailureClass.ERRORED_STATE,
        _not_stored(lost, "the backend has no state here, and nobody knows of which workspace this one is"),
        (
            _OF_ANOTHER,
            f"if it is of this one: `{_tf(place)} -- state push {shlex.quote(str(lost.path))}`, and remove it",
        ),
    )


def _settle(lost: Lost, there: StateDocument) -> Act:
    return _act(
        Kind.SETTLE,
        f"forget that the state in `{lost.path}` was not saved; the file is kept",
        f"exactly that is stored already, with serial {there.serial}",
        lost=lost,
    )


def _push(lost: Lost, document: StateDocument, there: StateDocument | None) -> Act:
    because = (
        "the backend has no state"
        if there is None
        else f"the backend has the same lineage with serial {there.serial}, which is older"
    )
    return _act(
        Kind.PUSH,
        f"store the state in `{lost.path}`, serial {document.serial}; the file is kept",
        because,
        lost=lost,
    )


def _unlock(lock: HeldLock) -> Act:
    info = lock.info
    return _act(
        Kind.UNLOCK,
        f"release the lock `{info['ID']}`",
        f"it is proven to be of run `{lock.verdict.run}`, which is dead: taken by `{info['Who']}` for"
        f" `{info['Operation']}` at {info['Created']}, as that run has noted",
    )


def _not_proven(lock: HeldLock, place: str) -> Remainder:
    identifier = lock.info.get("ID")
    by_hand = ["whoever holds it may well be at work: wait for them, or ask them"]
    if identifier is not None:
        by_hand.append(
            "only when that process is gone for certain:"
            f" `{_tf(place)} -- force-unlock -force {shlex.quote(identifier)}`"
        )
    by_hand.append(
        "if its run has died with its machine, what its `--result-file` wrote proves it: `--record FILE`"
    )
    return Remainder(
        FailureClass.STATE_LOCKED,
        f"the lock is not proven to be a dead run's: {lock.verdict.doubt}",
        tuple(by_hand),
    )
