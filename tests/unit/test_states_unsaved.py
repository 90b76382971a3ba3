import json
import os
from pathlib import Path

import pytest

from hereya_tf.errors import ErroredState
from hereya_tf.states.unsaved import Unsaved, note_path, note_unsaved, settle, unsaved_of

KEY = "/srv/shop#default"
LOST = Unsaved(
    "run-1", "/srv/shop", "default", KEY, "/runs/1/errored-1.tfstate", 7, "lin", "2026-11-30T01:00:00.000Z"
)


def test_nothing_is_noted_for_anybody_at_first(tmp_path: Path) -> None:
    assert unsaved_of(tmp_path, KEY) == ()
    (tmp_path / "unsaved").mkdir()
    assert unsaved_of(tmp_path, KEY) == ()


def test_a_note_is_private_and_found_by_its_key_alone(tmp_path: Path) -> None:
    note_unsaved(tmp_path, LOST)

    path = note_path(tmp_path, LOST)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert unsaved_of(tmp_path, KEY) == (LOST,)
    assert unsaved_of(tmp_path, "/srv/shop#blue") == ()
    assert "/" not in path.name.removesuffix(".json")


def test_each_state_has_a_note_and_the_same_one_has_one(tmp_path: Path) -> None:
    later = LOST._replace(
        file="/runs/2/emergency.tfstate", since="2026-11-30T02:00:00.000Z", serial=None, lineage=""
    )
    for unsaved in (later, LOST, LOST):
        note_unsaved(tmp_path, unsaved)

    assert unsaved_of(tmp_path, KEY) == (LOST, later)
    settle(tmp_path, LOST)
    settle(tmp_path, LOST)
    assert unsaved_of(tmp_path, KEY) == (later,)


@pytest.mark.parametrize(
    ("noted", "asked"), [("prod", KEY), (KEY, "prod"), ("prod", "other")], ids=["written", "asked", "both"]
)
def test_a_key_that_a_user_has_chosen_hides_no_note(tmp_path: Path, noted: str, asked: str) -> None:
    chosen = LOST._replace(key=noted)
    note_unsaved(tmp_path, chosen)

    assert unsaved_of(tmp_path, asked) == ()
    assert unsaved_of(tmp_path, asked, package="/srv/shop", workspace="default") == (chosen,)
    assert unsaved_of(tmp_path, asked, package="/srv/shop", workspace="blue") == ()
    assert unsaved_of(tmp_path, asked, package="/srv/else", workspace="default") == ()


def test_two_places_with_one_id_are_two_states(tmp_path: Path) -> None:
    note_unsaved(tmp_path, LOST._replace(workspace="x", key="s3://a/x/terraform.tfstate#x"))

    assert unsaved_of(tmp_path, "s3://b/x/terraform.tfstate#x", package="/srv/shop", workspace="x") == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "\x00" * 100,
        "[" * 100_000,
        json.dumps({**LOST._asdict(), "file": None}),
        json.dumps({**LOST._asdict(), "serial": "7"}),
        json.dumps({**LOST._asdict(), "serial": True}),
    ],
    ids=["empty", "cut off", "list", "no fields", "hole", "deep", "no file", "text", "truth"],
)
def test_a_note_that_makes_no_sense_refuses(tmp_path: Path, text: str) -> None:
    note_unsaved(tmp_path, LOST)
    path = note_path(tmp_path, LOST)
    path.write_text(text)

    with pytest.raises(ErroredState, match="may tell of a state that could not be saved") as refused:
        unsaved_of(tmp_path, KEY)

    assert f"`{path}`" in str(refused.value)
    # Whose it is its name tells: nobody else is refused.
    assert unsaved_of(tmp_path, "other", package="/srv/shop", workspace="default") == ()


def test_a_pipe_in_the_place_of_a_note_refuses_and_never_hangs(tmp_path: Path) -> None:
    path = note_path(tmp_path, LOST)
    path.parent.mkdir()
    os.mkfifo(path)

    with pytest.raises(ErroredState, match="it is not a regular file"):
        unsaved_of(tmp_path, KEY)


def test_a_directory_of_notes_that_cannot_be_read_refuses(tmp_path: Path) -> None:
    (tmp_path / "unsaved").write_text("")

    with pytest.raises(ErroredState, match="cannot be read, and may tell"):
        unsaved_of(tmp_path, KEY)


def test_what_is_only_being_written_is_no_note(tmp_path: Path) -> None:
    note_unsaved(tmp_path, LOST)
    path = note_path(tmp_path, LOST)
    path.rename(path.with_name(f".{path.name}.77"))

    assert unsaved_of(tmp_path, KEY) == ()


def test_a_note_that_leads_nowhere_refuses(tmp_path: Path) -> None:
    path = note_path(tmp_path, LOST)
    path.parent.mkdir()
    path.symlink_to("gone")

    with pytest.raises(ErroredState, match="No such file"):
        unsaved_of(tmp_path, KEY)


def test_a_later_version_may_note_more(tmp_path: Path) -> None:
    note_unsaved(tmp_path, LOST)
    path = note_path(tmp_path, LOST)
    path.write_text(json.dumps({**json.loads(path.read_text()), "more": [1]}))

    assert unsaved_of(tmp_path, KEY) == (LOST,)
