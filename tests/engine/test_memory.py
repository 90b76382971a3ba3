"""An engine that the kernel ends for its memory, in a control group of its own."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import environment
from tests.conftest import MakePackage

HIERARCHIES = Path("/sys/fs/cgroup")
LIMIT_BYTES = 200 << 20
ENGINE = f"""#!/bin/sh
case "$1" in
  version) echo 'Terraform v1.11.4' ;;
  apply) exec '{sys.executable}' -c 'kept = bytearray(1 << 30); kept[::4096] = b"x" * (len(kept) // 4096)' ;;
esac
"""


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group with little memory, empty again at the end."""
    is_first_version = (HIERARCHIES / "memory").is_dir()
    group = HIERARCHIES / ("memory" if is_first_version else "") / f"hereya-tf-{os.getpid()}"
    limit = "memory.limit_in_bytes" if is_first_version else "memory.max"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT_BYTES))
        with contextlib.suppress(OSError):  # where nothing is swapped there is no such limit
            (group / ("memory.memsw.limit_in_bytes" if is_first_version else "memory.swap.max")).write_text(
                str(LIMIT_BYTES) if is_first_version else "0"
            )
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"this machine lets us make no control group: {error}")
    yield group
    group.rmdir()


def test_an_engine_that_the_kernel_ends_for_its_memory_is_out_of_memory(
    memory_group: Path, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": ""})
    engine = tmp_path / "engine"
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    command = [sys.executable, "-m", "hereya_tf", "provision", str(package), "--yes", "--json"]

    ended = subprocess.run(
        [
            *("/bin/sh", "-c", f'echo $$ > "{memory_group}/cgroup.procs" && exec "$@"', "sh", *command),
            *("--engine", str(engine)),
        ],
        env=environment({}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    result = json.loads(ended.stdout.splitlines()[-1])
    assert (ended.returncode, result["failure"]["class"]) == (1, "out-of-memory"), ended.stderr
    assert result["reason"] == "Terraform ran out of memory"
