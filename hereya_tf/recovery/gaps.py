"""What a run did and the state does not know of: its engine ended before it could save that (pure)."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from hereya_tf.recovery.state_document import StateDocument
from hereya_tf.report.document import Report
from hereya_tf.report.fates import Fate, ResourceFate

_MAKING = ("create", "replace")


def gaps(report: Report, state: StateDocument | None, place: str) -> Iterator[str]:
    """A sentence for each thing that was done, and that the state has otherwise; `state` is None for none at all.

    `place` are the words that say in a command which state it is. Of an encrypted state nobody knows.
    """
    if state is not None and state.content is None:
        return
    known = _known(state.content if state is not None and state.content is not None else {})
    for each in report.those(Fate.DONE):
        if each.action in _MAKING and _is_missing(each, known):
            yield _made(each, known, place)
        elif each.action == "delete" and each.address in known:
            yield f"Destroyed, but still in the state: `{each.address}`. The next plan finds that out."


def _known(content: Mapping[str, Any]) -> dict[str, str | None]:
    """The id of every object that a state has, by its address; what is deposed is on its way out."""
    return {
        f"{_place(resource)}{_key(instance)}": _id(instance)
        for resource in _dicts(content.get("resources"))
        for instance in _dicts(resource.get("instances"))
        if "deposed" not in instance
    }


def _dicts(found: Any) -> Iterator[dict[str, Any]]:
    return (each for each in found if isinstance(each, dict)) if isinstance(found, list) else iter(())


def _place(resource: Mapping[str, Any]) -> str:
    module = f"{resource['module']}." if resource.get("module") else ""
    kind = "data." if resource.get("mode") == "data" else ""
    return f"{module}{kind}{resource.get('type')}.{resource.get('name')}"


def _key(instance: Mapping[str, Any]) -> str:
    key = instance.get("index_key")
    if key is None:
        return ""
    # What would begin a template is doubled.
    return f"[{json.dumps(key, ensure_ascii=False)}]".replace("${", "$${").replace("%{", "%%{")


def _id(instance: Mapping[str, Any]) -> str | None:
    attributes = instance.get("attributes")
    found = attributes.get("id") if isinstance(attributes, dict) else None
    return found if isinstance(found, str) else None


def _is_missing(each: ResourceFate, known: Mapping[str, str | None]) -> bool:
    if each.address not in known:
        return True
    other = known[each.address]
    return None not in (each.id, other) and each.id != other


def _made(each: ResourceFate, known: Mapping[str, str | None], place: str) -> str:
    named = f"`{each.address}`" + (f", id `{each.id}`" if each.id else "")
    command = f"hereya-tf tf{place and f' {place}'} -- import {shlex.join((each.address, each.id or 'ID'))}"
    if each.address in known:
        return (
            f"Done, but the state has another object there: {named}. Nothing will look after it: if it exists,"
            f" import it in the other's place, or remove it:\n  {command}"
        )
    return (
        f"Done, but not in the state: {named}. It would be made a second time: if it exists, import it, or remove"
        f" it:\n  {command}"
    )
