"""What init is to begin with, so that no state of the package's own goes along into a generated backend."""

import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.errors import BadPackage
from hereya_tf.saved_backend import Move, choose_move, prepare_move
from hereya_tf.workspace import BackendKind, GeneratedBackend

LOCAL = GeneratedBackend(BackendKind.LOCAL, "app", path="/states/é.tfstate")
BUCKET = GeneratedBackend(BackendKind.S3, "app/prod", bucket="states", region="eu-west-1")
SAVED = {
    "version": 3,
    "terraform_version": "1.11.4",
    "backend": {"type": "local", "config": {"path": LOCAL.path, "workspace_dir": None}, "hash": 0},
}

pytestmark = pytest.mark.behaviour("T10", "T13")


def chosen(
    package: Path, backend: GeneratedBackend, *, has_settings: bool = False, arguments: Sequence[str] = ()
) -> Move:
    return choose_move(package, backend, has_settings=has_settings, arguments=arguments)


def file_of(package: Path, backend: GeneratedBackend) -> Path:
    return package / backend.data_directory / "terraform.tfstate"


def prepared(package: Path, backend: GeneratedBackend, move: Move) -> Any:
    prepare_move(package, backend, move, engine_version="1.11.4")
    return json.loads(file_of(package, backend).read_bytes())


@pytest.mark.parametrize("backend", [LOCAL, BUCKET], ids=["local", "bucket"])
def test_without_a_state_in_the_package_what_was_saved_is_forgotten(
    tmp_path: Path, backend: GeneratedBackend
) -> None:
    (tmp_path / ".terraform").mkdir()

    assert chosen(tmp_path, backend) is Move.RECONFIGURE
    prepare_move(tmp_path, backend, Move.RECONFIGURE, engine_version="1.11.4")
    assert list((tmp_path / ".terraform").iterdir()) == []


@pytest.mark.parametrize("name", ["terraform.tfstate", "terraform.tfstate.d", "a link to nowhere"])
def test_with_one_nothing_is_to_be_copied(tmp_path: Path, name: str) -> None:
    match name:
        case "terraform.tfstate":
            (tmp_path / name).touch()
        case "terraform.tfstate.d":
            (tmp_path / name).mkdir()
        case _:
            (tmp_path / "terraform.tfstate").symlink_to("nowhere")

    assert chosen(tmp_path, LOCAL) is Move.KEEP
    assert chosen(tmp_path, BUCKET) is Move.MIGRATE_NOTHING
    # Then the path is not all that is to be saved.
    assert chosen(tmp_path, LOCAL, has_settings=True) is Move.MIGRATE_NOTHING
    assert chosen(tmp_path, LOCAL, arguments=("-backend-config=path=x",)) is Move.MIGRATE_NOTHING
    for backend in (LOCAL, BUCKET):
        assert chosen(tmp_path, backend, arguments=("-upgrade", "--reconfigure")) is Move.RECONFIGURE


@pytest.mark.parametrize(
    "before",
    [
        None,
        b"",
        b"[]",
        b'{"backend": 1}',
        b"\xff",
        b"[" * 100_000,
        json.dumps({"backend": {"type": "local", "config": {"path": "/other"}, "hash": 7}}).encode(),
    ],
)
def test_a_local_backend_is_noted_as_the_engine_would(tmp_path: Path, before: bytes | None) -> None:
    file = file_of(tmp_path, LOCAL)
    if before is not None:
        file.parent.mkdir(parents=True)
        file.write_bytes(before)

    assert prepared(tmp_path, LOCAL, Move.KEEP) == SAVED
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_one_that_the_engine_has_noted_itself_is_left_as_it_is(tmp_path: Path) -> None:
    file = file_of(tmp_path, LOCAL)
    file.parent.mkdir(parents=True)
    text = json.dumps({**SAVED, "backend": {**SAVED["backend"], "hash": 819456666}})  # type: ignore[dict-item]
    file.write_text(text)

    prepare_move(tmp_path, LOCAL, Move.KEEP, engine_version="1.15.5")

    assert file.read_text() == text


def test_what_is_migrated_is_nowhere(tmp_path: Path) -> None:
    settings = [prepared(tmp_path, BUCKET, Move.MIGRATE_NOTHING)["backend"]["config"] for _ in range(2)]

    places = {place for config in settings for place in (config["path"], config["workspace_dir"])}
    assert len(places) == 4
    for place in places:
        assert place.startswith(f"{BUCKET.data_directory}/nothing-")
        assert not (tmp_path / place).exists()


def test_a_data_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".terraform").touch()

    with pytest.raises(BadPackage) as caught:
        prepare_move(tmp_path, LOCAL, Move.KEEP, engine_version="1.11.4")

    assert str(caught.value) == (
        f"the generated backend cannot be noted in `{file_of(tmp_path, LOCAL)}`: Not a directory"
    )
