"""A broken state is found where the engine has looked for it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.failure.broken_state import find_broken_state

GOOD = '{"version": 4}'
BAD = '{"version": 4, '


def write(package: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)


def saved(kind: str, **settings: str | None) -> str:
    return json.dumps({"version": 3, "backend": {"type": kind, "config": settings}})


@pytest.mark.parametrize(
    ("files", "environment", "expected"),
    [
        ({}, {}, None),
        ({"terraform.tfstate": GOOD}, {}, None),
        ({"terraform.tfstate": ""}, {}, None),
        ({"terraform.tfstate": BAD}, {}, "terraform.tfstate"),
        ({"terraform.tfstate": "[" * 100_000}, {}, "terraform.tfstate"),
        ({"terraform.tfstate": "\x00"}, {}, "terraform.tfstate"),
        ({"terraform.tfstate": "{}"}, {}, "terraform.tfstate"),
        ({"terraform.tfstate": "[]"}, {}, "terraform.tfstate"),
        ({"terraform.tfstate": BAD, ".terraform/terraform.tfstate": saved("s3")}, {}, None),
        (
            {
                "shared/a.tfstate": BAD,
                ".terraform/terraform.tfstate": saved("local", path="shared/a.tfstate"),
            },
            {},
            "shared/a.tfstate",
        ),
        (
            {"x/prod/terraform.tfstate": BAD, "data/terraform.tfstate": saved("local", workspace_dir="x")},
            {"TF_WORKSPACE": "prod", "TF_DATA_DIR": "data"},
            "x/prod/terraform.tfstate",
        ),
        (
            {"terraform.tfstate.d/dev/terraform.tfstate": BAD, ".terraform/environment": "dev\n"},
            {},
            "terraform.tfstate.d/dev/terraform.tfstate",
        ),
        (
            {"terraform.tfstate": BAD, ".terraform/terraform.tfstate": '{"backend": {"type": "local"}}'},
            {},
            "terraform.tfstate",
        ),
    ],
)
def test_the_file_that_is_broken(
    tmp_path: Path, files: Mapping[str, str], environment: Mapping[str, str], expected: str | None
) -> None:
    write(tmp_path, files)

    assert find_broken_state(tmp_path, environment) == expected


def test_a_directory_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "terraform.tfstate").mkdir()

    assert find_broken_state(tmp_path, {}) is None
