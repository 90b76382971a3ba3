"""The provider of fixtures/providers, installed where an engine finds providers without a network."""

import json
import platform
import random
import shlex
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

from hereya_tf.engine import EngineName
from tests.command_line import REPOSITORY

PROVIDERS = """
terraform {
  required_providers {
    file = {
      source = "registry.terraform.io/hereya/file"
    }
  }
}
"""
"""What a package says to have the resource `file_record`."""

SHORT_PROVIDERS = PROVIDERS.replace("registry.terraform.io/", "")
"""The same without a host, which each engine completes with its own."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_PLATFORM = f"{sys.platform}_{_MACHINES.get(platform.machine(), platform.machine())}"
INSTALLED = f"registry.terraform.io/hereya/file/1.0.0/{_PLATFORM}/terraform-provider-file_v1.0.0"
"""The provider's program, below a mirror or a package's `.terraform/providers`."""


def make_mirror(directory: Path) -> Path:
    """A filesystem mirror that has the provider for each engine, run by this interpreter."""
    program = directory / "mirror" / INSTALLED
    program.parent.mkdir(parents=True)
    home = directory / "home"
    home.mkdir()
    command = shlex.join((sys.executable, str(REPOSITORY / "fixtures/providers/file.py")))
    # `tf` keeps its certificate in the home directory, which each test has anew. Coverage is about hereya_tf.
    program.write_text(
        "#!/bin/sh\n"
        "unset COVERAGE_PROCESS_START COVERAGE_PROCESS_CONFIG\n"
        f'HOME={shlex.quote(str(home))} exec {command} "$@"\n'
    )
    program.chmod(0o755)
    shutil.copytree(directory / "mirror/registry.terraform.io", directory / "mirror/registry.opentofu.org")
    return directory / "mirror"


def pack_mirror(mirror: Path, directory: Path, *, size: int) -> Path:
    """The same mirror with archives of at least `size` bytes, which engines unpack as they do a registry's."""
    for program in mirror.glob("*/hereya/file/*/*/*"):
        host = program.parts[-6]
        archive = directory / host / f"hereya/file/terraform-provider-file_1.0.0_{_PLATFORM}.zip"
        archive.parent.mkdir(parents=True)
        entry = zipfile.ZipInfo(program.name)
        entry.external_attr = 0o100755 << 16
        with zipfile.ZipFile(archive, "w") as file:
            # A shell never reads what stands behind the last command.
            file.writestr(entry, program.read_bytes() + random.Random(1).randbytes(size))
    return directory


def mirror_settings(mirror: Path) -> str:
    """A CLI configuration that knows no other source of providers."""
    return (
        "disable_checkpoint = true\n"
        f"provider_installation {{\n  filesystem_mirror {{\n    path = {json.dumps(str(mirror))}\n  }}\n}}\n"
    )


def record(name: str, path: Path | str, **attributes: Any) -> str:
    """The configuration of a `file_record`."""
    lines = {"path": str(path), **attributes}
    body = "".join(f"  {key} = {json.dumps(value)}\n" for key, value in lines.items())
    return f'resource "file_record" "{name}" {{\n{body}}}\n'


def written_by(engine: EngineName, secret: str) -> dict[str, Any]:
    """A state with a resource of the provider as this engine names it, and with a secret output."""
    resource = {
        "mode": "managed",
        "type": "file_record",
        "name": "a",
        "provider": f'provider["{engine.registry}/hereya/file"]',
        "instances": [],
    }
    return {
        "version": 4,
        "terraform_version": "1.8.0",
        "serial": 1,
        "lineage": "8a7b6c5d-0000-0000-0000-000000000000",
        "outputs": {"password": {"value": secret, "type": "string", "sensitive": True}},
        "resources": [resource],
        "check_results": None,
    }


def change(path: Path, **fields: str) -> None:
    """Change a record behind the engine's back."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
