"""The provider of fixtures/providers, installed where an engine finds providers without a network."""

import platform
import shlex
import sys
from pathlib import Path

from tests.command_line import REPOSITORY

PACKAGE = """
terraform {
  required_providers {
    lab = {
      source = "registry.terraform.io/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name = "a"
}

output "name" {
  value = lab_thing.a.name
}
"""
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
PLATFORM = f"{sys.platform}_{_MACHINES.get(platform.machine(), platform.machine())}"
INSTALLED = f"registry.terraform.io/lab/lab/1.0.0/{PLATFORM}/terraform-provider-lab_v1.0.0"


def make_mirror(directory: Path) -> Path:
    """A filesystem mirror that has the provider."""
    program = directory / INSTALLED
    program.parent.mkdir(parents=True)
    script = REPOSITORY / "fixtures/providers/lab.py"
    program.write_text(f'#!/bin/sh\nexec {shlex.join((sys.executable, str(script)))} "$@"\n')
    program.chmod(0o755)
    return directory


def mirror_settings(mirror: Path) -> str:
    """A CLI configuration that knows no other source of providers."""
    return (
        "disable_checkpoint = true\n"
        f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n'
    )
