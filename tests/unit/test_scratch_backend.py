"""What an engine finds in a directory where it is to read a generated backend's state, and nothing else."""

import json
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.errors import NoRoom
from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, plain_settings, prepare_scratch
from hereya_tf.workspace import BackendKind, GeneratedBackend, override_text

LOCAL = GeneratedBackend(BackendKind.LOCAL, "app", path="/states/é ${x}.tfstate")
BUCKET = GeneratedBackend(BackendKind.S3, "app/prod", bucket="states", region="eu-west-1")
TABLE = BUCKET._replace(lock_table="locks")

pytestmark = pytest.mark.behaviour("T10")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir()
    return directory


@pytest.mark.parametrize(
    ("backend", "config"),
    [
        pytest.param(LOCAL, {"path": LOCAL.path}, id="local"),
        pytest.param(
            BUCKET,
            {
                "bucket": "states",
                "key": "app/prod/terraform.tfstate",
                "region": "eu-west-1",
                "use_lockfile": True,
            },
            id="bucket",
        ),
        pytest.param(
            TABLE,
            {
                "bucket": "states",
                "key": "app/prod/terraform.tfstate",
                "region": "eu-west-1",
                "dynamodb_table": "locks",
            },
            id="bucket and table",
        ),
    ],
)
def test_what_is_configured_is_what_was_saved(
    scratch: Path, backend: GeneratedBackend, config: Mapping[str, object]
) -> None:
    prepare_scratch(scratch, backend, {}, engine_version="1.11.4")

    assert (scratch / "main.tf").read_text() == override_text(backend)
    assert json.loads((scratch / SCRATCH_ENVIRONMENT["TF_DATA_DIR"] / "terraform.tfstate").read_bytes()) == {
        "version": 3,
        "terraform_version": "1.11.4",
        "backend": {"type": str(backend.kind), "config": config, "hash": 0},
    }
    assert SCRATCH_ENVIRONMENT == {"TF_WORKSPACE": "default", "TF_DATA_DIR": ".terraform"}


def test_settings_win_in_both_and_are_nobodys_to_read(scratch: Path) -> None:
    prepare_scratch(scratch, BUCKET, {"region": "eu-north-1", "secret_key": "${s}"}, engine_version="1.11.4")

    files = [file for file in scratch.rglob("*.tf*") if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((scratch / ".terraform").stat().st_mode) == 0o700
    configured, saved = (scratch / name for name in ("main.tf", ".terraform/terraform.tfstate"))
    lines = configured.read_text().splitlines()
    assert [line.strip() for line in lines if "region" in line or "secret" in line] == [
        'region = "eu-north-1"',
        'secret_key = "$${s}"',
    ]
    config = json.loads(saved.read_bytes())["backend"]["config"]
    assert (config["region"], config["secret_key"]) == ("eu-north-1", "${s}")


@pytest.mark.parametrize(
    ("entries", "arguments", "settings"),
    [
        pytest.param((), (), {}, id="none"),
        pytest.param((" a = b=c", "a=d", "e="), ("-upgrade",), {"a": "d", "e": ""}, id="pairs"),
        pytest.param(("a=b", "/prod.tfbackend"), (), None, id="a file"),
        pytest.param(("a=b",), ("-backend-config=c=d",), None, id="an argument"),
        pytest.param((), ("--backend-config", "c=d"), None, id="an argument of two words"),
    ],
)
def test_which_settings_are_known_without_an_init(
    entries: tuple[str, ...], arguments: tuple[str, ...], settings: Mapping[str, str] | None
) -> None:
    assert plain_settings(entries, arguments) == settings


def test_a_directory_that_has_gone_is_told(scratch: Path) -> None:
    shutil.rmtree(scratch)

    with pytest.raises(NoRoom) as error:
        prepare_scratch(scratch, LOCAL, {}, engine_version="1.11.4")

    assert str(error.value) == (
        f"the state's backend cannot be noted in `{scratch}`: No such file or directory"
    )
