"""Many cold inits at once that share a cache of providers, then as many plans: how many fail.

    python -m tests.bench.plugin_storm [--engine ENGINE] [--packages N] [--rounds N] [--bare-rounds N]

The bare rounds are for comparison: there the engines share a TF_PLUGIN_CACHE_DIR without us in between.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.command_line import REPOSITORY
from tests.engine import provider

PROVIDER_BYTES = 20_000_000


class Round(NamedTuple):
    """What came of one round: failed inits and plans, and its seconds."""

    inits: int
    plans: int
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--packages", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bare-rounds", type=int, default=3)
    wish = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        storm = Storm(Path(name), wish.engine, wish.packages)
        cared = [storm.blow(number, bare=False) for number in range(wish.rounds)]
        bare = [storm.blow(number, bare=True) for number in range(wish.bare_rounds)]
    print(f"{wish.packages} packages, engine {wish.engine}, a provider of {PROVIDER_BYTES // 1_000_000} MB")
    print(f"{'':<12}{'rounds':>8}{'inits failed':>14}{'plans failed':>14}{'s/round':>9}")
    for label, rounds in (("with us", cared), ("without us", bare)):
        if rounds:
            seconds = sum(one.seconds for one in rounds) / len(rounds)
            inits, plans = sum(one.inits for one in rounds), sum(one.plans for one in rounds)
            print(f"{label:<12}{len(rounds):>8}{inits:>14}{plans:>14}{seconds:>9.1f}")
    return 1 if any(one.inits or one.plans for one in cared) else 0


class Storm:
    """Packages with one provider, whose archive lies in a mirror."""

    def __init__(self, directory: Path, engine: str, packages: int) -> None:
        self._directory = directory
        self._engine = engine
        mirror = provider.pack_mirror(
            provider.make_mirror(directory), directory / "packed", size=PROVIDER_BYTES
        )
        (directory / "cli.tfrc").write_text(provider.mirror_settings(mirror))
        self._packages = [directory / f"package{number}" for number in range(packages)]
        for package in self._packages:
            package.mkdir()
            body = provider.record("a", package / "record.json", content="one")
            (package / "main.tf").write_text(provider.SHORT_PROVIDERS + body)

    def blow(self, number: int, *, bare: bool) -> Round:
        """One round in an empty cache: every second one with the lock files of the one before."""
        for name in ("cache", "shared"):
            shutil.rmtree(self._directory / name, ignore_errors=True)
        (self._directory / "shared").mkdir()
        for package in self._packages:
            shutil.rmtree(package / ".terraform", ignore_errors=True)
            if number % 2 == 0:
                (package / ".terraform.lock.hcl").unlink(missing_ok=True)
        began = time.monotonic()
        inits, plans = (self._failures(command, bare=bare) for command in ("init", "plan"))
        done = Round(inits, plans, time.monotonic() - began)
        print(f"{'bare ' if bare else ''}round {number + 1}: {done}", file=sys.stderr, flush=True)
        return done

    def _failures(self, command: str, *, bare: bool) -> int:
        words = ["--no-plugin-cache"] if bare else []
        running = [self._start(command, package, words, bare=bare) for package in self._packages]
        failed = 0
        for process in running:
            said, _ = process.communicate()
            if process.returncode:
                failed += 1
                print(said[-600:] if failed == 1 and not bare else "", file=sys.stderr, end="")
        return failed

    def _start(
        self, command: str, package: Path, words: Sequence[str], *, bare: bool
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "hereya_tf", command, str(package), "--engine", self._engine, *words],
            env=self._environment(bare=bare),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _environment(self, *, bare: bool) -> Mapping[str, str]:
        own = {
            "HOME": str(self._directory),
            "PYTHONPATH": str(REPOSITORY),
            "HEREYA_TF_STATE_DIR": str(self._directory / "state"),
            "HEREYA_TF_CACHE_DIR": str(self._directory / "cache"),
            "TF_CLI_CONFIG_FILE": str(self._directory / "cli.tfrc"),
        }
        shared = {"TF_PLUGIN_CACHE_DIR": str(self._directory / "shared")} if bare else {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "HEREYA_"))}
        return {**kept, **own, **shared}


if __name__ == "__main__":
    sys.exit(main())
