"""A run on a machine without an engine: it is selected, downloaded, verified, told of, and does its work."""

import base64
import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine import Version
from hereya_tf.engine.identity import Identity
from hereya_tf.engine.pins import VERSION_FILES
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes, terminals
from tests.engine.driving import failure, succeeded, warnings
from tests.engine.supplying import PACKAGE, Cache, Machine, Release, pin, ready
from tests.fake_engine import wait_for
from tests.installing import HERE, pretender
from tests.published_releases import archive
from tests.release_site import status
from tests.site_faults import dripping, gated, stalled

pytestmark = pytest.mark.real_engine


def why(release: Release) -> str:
    """What is told of a release that the file has chosen."""
    return f"satisfies `{release.version}` of {VERSION_FILES[release.engine]}:2"


@pytest.mark.parametrize("is_pinned", [True, False], ids=["pinned", "without-a-wish"])
def test_a_missing_engine_is_downloaded_once_and_does_the_work(
    machine: Machine, make_package: MakePackage, *, is_pinned: bool
) -> None:
    cache, release = machine.cache, machine.cache.release
    package = make_package({**PACKAGE, **(pin(release) if is_pinned else {})})
    first = machine.provision(package)
    asked = cache.asked()
    second = machine.provision(package)
    cache.site.close()
    third = machine.provision(package)

    assert succeeded(first)["engine"] == {"name": release.engine, "version": str(release.version)}
    assert first.result["env"] == {"o": "hello"}
    kinds = [kind for kind, _ in groupby(event["type"] for event in first.events)]
    assert kinds[:3] == ["run_started", "engine_download", "engine_ready"]
    assert (kinds[4], kinds[-1]) == ("step_started", "result")
    assert ready(first)["chosen_by"] == f"downloaded: {why(release) if is_pinned else 'no other is here'}"
    found = cache.found()
    assert found is not None
    assert ready(first)["path"] == str(found.path)
    arrived = [event for event in first.events if event["type"] == "engine_download"]
    size = len(release.archive)
    assert {(event["engine"], event["version"], event["total"]) for event in arrived} == {
        (release.engine, str(release.version), size)
    }
    bytes_ = [event["bytes"] for event in arrived]
    assert (sorted(set(bytes_)), bytes_[-1]) == (bytes_, size)
    told = [datetime.fromisoformat(event["ts"]) for event in arrived[:-1]]
    assert all(later - earlier > timedelta(seconds=0.1) for earlier, later in pairwise(told))
    files = [cache.path_of(kind) for kind in ("checksums", "signature", "archive")]
    assert (asked[-3:], asked == files) == (files, is_pinned)
    for again in (second, third):
        assert succeeded(again)["engine"] == first.result["engine"]
        assert ready(again)["chosen_by"] == (f"installed: {why(release)}" if is_pinned else "installed")
        assert warnings(again) == []
    assert cache.asked() == asked


def test_what_was_chosen_and_why_is_a_line_and_the_download_a_few(
    machine: Machine, make_package: MakePackage
) -> None:
    release = machine.cache.release
    package = make_package({**PACKAGE, **pin(release)})
    ran = machine("provision", package, "--yes")

    found = machine.cache.found()
    assert found is not None
    assert (ran.exit_code, ran.stdout) == (0, "o=hello\n")
    lines = [line[18:] for line in ran.stderr.splitlines()]
    assert f"{release.engine} {release.version} at {found.path} (downloaded: {why(release)})" in lines
    downloading = [line for line in lines if line.startswith("downloading ")]
    assert 1 <= len(downloading) <= 5
    megabytes = f"{len(release.archive) / 1_000_000:.1f}"
    assert downloading[-1] == (
        f"downloading {release.engine} {release.version}: {megabytes} of {megabytes} MB"
    )


def test_twenty_at_once_download_once(machine: Machine, make_package: MakePackage) -> None:
    packages = [make_package(PACKAGE) for _ in range(20)]
    running = [machine.start_provision(package) for package in packages]
    ended = [each.finish(150) for each in running]

    assert [succeeded(each)["env"] for each in ended] == [{"o": "hello"}] * 20
    assert machine.cache.asked().count(machine.cache.path_of("archive")) == 1
    assert machine.cache.names() == [str(machine.cache.release.version)]


Halt = Callable[[Machine, threading.Event], None]


def halt_archive(machine: Machine, gate: threading.Event) -> None:
    """Half of it comes, and the rest when the gate is open."""
    half = len(machine.cache.release.archive) // 2
    machine.cache.site.fault(machine.cache.path_of("archive"), gated(gate, half))


def drip_archive(machine: Machine, _gate: threading.Event) -> None:
    machine.cache.site.fault(machine.cache.path_of("archive"), dripping(0.05, 2_000))


def halt_checksums(machine: Machine, _gate: threading.Event) -> None:
    machine.cache.site.fault(machine.cache.path_of("checksums"), stalled())


def halt_list(machine: Machine, _gate: threading.Event) -> None:
    machine.cache.site.always("/tofu/api.json", stalled())


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


def wait_until_halted(machine: Machine, running: Any, halt: Halt) -> None:
    if halt in (halt_archive, drip_archive):
        running.wait_for_event("engine_download")
    else:
        assert machine.cache.site.stalls.wait(60)


@pytest.mark.parametrize(
    ("halt", "number", "exit_code"),
    [
        pytest.param(drip_archive, signal.SIGINT, 130, id="SIGINT while it drips"),
        pytest.param(halt_archive, signal.SIGTERM, 143, id="SIGTERM while nothing comes"),
        pytest.param(halt_checksums, signal.SIGINT, 130, id="SIGINT before an answer"),
        pytest.param(halt_list, signal.SIGTERM, 143, id="SIGTERM before there is a list"),
    ],
)
def test_a_signal_ends_the_download_at_once(
    small: Machine,
    make_package: MakePackage,
    gate: threading.Event,
    halt: Halt,
    number: signal.Signals,
    exit_code: int,
) -> None:
    halt(small, gate)
    running = small.start_provision(make_package(PACKAGE))
    wait_until_halted(small, running, halt)
    began = time.monotonic()
    running.send_signal(number)
    ended = running.finish()

    assert time.monotonic() - began < 5
    assert (ended.exit_code, ended.result["status"]) == (exit_code, "cancelled")
    assert failure(ended)[1:] == ("cancelled", f"the run was cancelled by {number.name}")
    assert ended.result["engine"] is None
    assert small.cache.names() == []


def test_the_time_limit_ends_the_download(
    small: Machine, make_package: MakePackage, gate: threading.Event
) -> None:
    halt_archive(small, gate)
    began = time.monotonic()
    ended = small.provision(make_package(PACKAGE), "--timeout", "2s")

    assert time.monotonic() - began < 10
    assert failure(ended) == (124, "timed-out", "the run did not end within `--timeout 2s`")
    assert ended.result["status"] == "timed_out"
    assert small.cache.names() == []


def test_a_download_that_stands_still_has_a_heartbeat_and_ends_when_it_is_cancelled(
    small: Machine, make_package: MakePackage, gate: threading.Event
) -> None:
    halt_archive(small, gate)
    running = small.start_provision(make_package(PACKAGE))
    run = str(running.wait_for_event("engine_download")["run"])
    beat = running.wait_for_event("heartbeat")
    cancelled = small("runs", "cancel", run)
    ended = running.finish()

    assert (beat["step"], beat["in_flight"]) == ("engine", [])
    assert 9 < beat["seconds"] < 15
    assert cancelled.exit_code == 0, cancelled.stderr
    assert failure(ended) == (130, "cancelled", "the run was cancelled on request")
    assert ended.result["status"] == "cancelled"
    assert small.cache.names() == []


def test_after_a_run_that_was_killed_while_it_downloaded_the_next_one_installs(
    machine: Machine, cli: CommandLine, make_package: MakePackage, gate: threading.Event
) -> None:
    package = make_package(PACKAGE)
    halt_archive(machine, gate)
    running = machine.start_provision(package)
    running.wait_for_event("engine_download")
    dead = scenes.kill(running)
    left = machine.cache.names()
    listed = machine("engine", "list").stdout
    ended = machine.provision(package)

    assert [name.partition("_")[0] for name in left] == [f".{machine.cache.release.version}"]
    assert listed == "no engine is installed\n"
    assert succeeded(ended)["env"] == {"o": "hello"}
    assert machine.cache.names() == [str(machine.cache.release.version)]
    states = scenes.states(cli)
    assert states == {dead: "died", ended.result["run"]: "succeeded"}
    shown = cli("runs", "show", dead).stdout
    assert f"run `{dead}` was killed while no engine of it was at work" in shown
    assert scenes.files_of(dead) == scenes.KEPT


def test_what_is_on_path_and_too_old_gives_way_to_a_download(
    machine: Machine, make_package: MakePackage
) -> None:
    release = machine.cache.release
    old = Path(machine.environment["PATH"]) / release.engine.executable
    old.write_text(f"#!/bin/sh\necho {release.engine.title} v1.0.0\n")
    old.chmod(0o755)
    package = make_package({"main.tf": 'terraform {\n  required_version = "> 1.1"\n}\n'})
    ended = machine.provision(package, "--engine", release.engine)

    assert succeeded(ended)["engine"] == {"name": release.engine, "version": str(release.version)}
    assert ready(ended)["chosen_by"].startswith("downloaded: --engine asks for ")
    assert warnings(ended) == []


def test_stdout_has_the_outputs_alone_while_it_downloads(
    machine: Machine, make_package: MakePackage, gate: threading.Event
) -> None:
    halt_archive(machine, gate)
    running = machine.start("provision", make_package(PACKAGE), "--yes")
    wait_for(lambda: b"downloading" in running.stderr_file.read_bytes() or None, what="the download")
    meanwhile = running.stdout_file.read_text()
    gate.set()
    ended = running.finish()

    assert (ended.exit_code, meanwhile, ended.stdout) == (0, "", "o=hello\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_the_download_while_it_lasts(
    machine: Machine, make_package: MakePackage, gate: threading.Event, tmp_path: Path
) -> None:
    halt_archive(machine, gate)
    release = machine.cache.release
    package = make_package(PACKAGE)
    with terminals.terminals(tmp_path, NO_COLOR="1", **machine.environment) as start:
        child = start(sys.executable, ("-m", "hereya_tf", "provision", str(package), "--yes"))
        child.expect_exact(f"downloading {release.engine}")
        child.expect_exact(f" of {len(release.archive) / 1_000_000:.1f} MB")
        gate.set()
        exit_code, shown = terminals.ended(child)

    assert exit_code == 0, shown
    assert shown.rstrip().endswith("o  hello"), shown


def test_which_says_what_a_run_would_download_and_then_what_it_has(
    machine: Machine, make_package: MakePackage
) -> None:
    release = machine.cache.release
    package = make_package({**PACKAGE, **pin(release)})
    before = machine("engine", "which", package)
    asked = machine.cache.asked()
    succeeded(machine.provision(package))
    after = machine("engine", "which", package)

    name = release.engine.executable
    assert (before.exit_code, before.stdout) == (5, "")
    assert before.stderr == (
        f"error: the engine is not here yet: a run would download {release.title} ({why(release)})\n"
        f"hint: have it now: `hereya-tf engine install {name} {release.version}`\n"
    )
    assert asked == []
    found = machine.cache.found()
    assert found is not None
    assert after == Result(0, f"{found.path}\n", f"{release.title}: installed: {why(release)}\n")


def test_what_a_live_run_has_downloaded_is_neither_removed_nor_pruned(
    machine: Machine, make_package: MakePackage
) -> None:
    release = machine.cache.release
    package = make_package({**scenes.GATED, **pin(release)})
    newer = Version(release.version.major, release.version.minor + 1, 0)
    binary = pretender(release.engine, newer)
    machine.cache.publish(Release(Identity(release.engine, newer), archive(binary, release.engine, HERE)))
    installed = machine("engine", "install", release.engine.executable, str(newer))
    running = machine.start_provision(package)
    run = str(running.wait_for_event("run_started")["run"])
    scenes.wait_for_file(package / "started")
    words = (release.engine.executable, str(release.version))
    refused = machine("engine", "remove", *words)
    kept = machine("engine", "prune", "--keep", "1")
    (package / "go").touch()
    ended = running.finish()
    removed = machine("engine", "remove", *words)

    assert (installed.exit_code, refused.exit_code) == (0, 4)
    assert refused.stderr == (
        f"error: run `{run}` is at work with {release.title}\n"
        f"hint: wait for it, or end it: `hereya-tf runs cancel {run}`\n"
    )
    assert (kept.exit_code, kept.stdout) == (0, "")
    assert f"{release.title} stays: run `{run}` uses it\n" in kept.stderr
    assert succeeded(ended)["success"]
    assert (removed.exit_code, machine.cache.names()) == (0, [str(newer)])


def test_a_plan_is_applied_by_the_version_that_has_made_it_though_there_is_a_newer_one(
    machine: Machine, cli: CommandLine, make_package: MakePackage, tmp_path: Path
) -> None:
    release, site = machine.cache.release, machine.cache.site
    bundle = tmp_path / "bundle"
    planned = machine("plan", make_package(PACKAGE), "--out", bundle, "--json")
    newer = Version(release.version.major, release.version.minor + 1, 0)
    fresh = Machine(cli, Cache(site, release, tmp_path / "fresh cache"), tmp_path / "another machine")
    binary = pretender(release.engine, newer)
    fresh.cache.publish(Release(Identity(release.engine, newer), archive(binary, release.engine, HERE)))
    site.requests.clear()
    applied = fresh("apply", make_package(PACKAGE), bundle, "--yes", "--json")
    others = fresh(
        "engine", "which", make_package(PACKAGE), "--engine", release.engine, "--engine-version", "latest"
    )

    assert succeeded(planned)["engine"] == {"name": release.engine, "version": str(release.version)}
    assert succeeded(applied)["engine"] == planned.result["engine"]
    assert applied.result["env"] == {"o": "hello"}
    assert ready(applied)["chosen_by"] == f"downloaded: satisfies `{release.version}` of the plan"
    files = [fresh.cache.path_of(kind) for kind in ("checksums", "signature", "archive")]
    assert fresh.cache.asked()[:3] == files
    assert f"a run would download {release.engine.title} {newer}" in others.stderr


USER, PASSWORD, TOKEN = "mirror-reader", "correct-horse-battery", "S3cretT0kenInTheQuery"
REPORTS = ("report.md", "report.txt", "report.json", "report.xml", "report.html")


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("by", ["config.toml", "HEREYA_TF_FROM", "--from"])
def test_the_mirror_is_taken_from_wherever_it_was_said_and_its_password_is_nowhere(
    machine: Machine, make_package: MakePackage, tmp_path: Path, by: str
) -> None:
    assert telling(machine, make_package, tmp_path, by).exit_code == 0


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("by", ["config.toml", "--from"])
def test_the_password_of_a_mirror_that_refuses_it_is_nowhere(
    small: Machine, make_package: MakePackage, tmp_path: Path, by: str
) -> None:
    small.cache.site.always(small.cache.path_of("archive"), status(403))
    ran = telling(small, make_package, tmp_path, by)

    assert ran.exit_code == 5
    assert "`: it answered 403\n" in ran.stderr
    assert "hint: a mirror's address may hold `USER:PASSWORD@`\n" in ran.stderr
    (line,) = (line for line in ran.stderr.splitlines() if line.startswith("reproduce: "))
    assert line.endswith(' --from "${from:?}"')


def telling(machine: Machine, make_package: MakePackage, tmp_path: Path, by: str) -> Result:
    """Provision with a secret in the mirror's address, and look for it in all that is told and left."""
    site, package = machine.cache.site, make_package({**PACKAGE, **pin(machine.cache.release)})
    address = site.address.replace("://", f"://{USER}:{PASSWORD}@") + f"/?sig={TOKEN}"
    settings = tmp_path / "settings"
    settings.mkdir()
    env = {
        "HEREYA_TF_CONFIG_DIR": str(settings),
        "HEREYA_TF_FROM": address if by == "HEREYA_TF_FROM" else None,
    }
    if by == "config.toml":
        (settings / "config.toml").write_text(f"from = {json.dumps(address)}\n")
    words = ["--from", address] if by == "--from" else []
    left = tmp_path / "left"
    left.mkdir()
    words += [word for name in REPORTS for word in ("--report-file", str(left / name))]
    words += ["--events-file", str(left / "events"), "--result-file", str(left / "result")]
    ran = machine("provision", package, "--yes", *words, env=env)
    talked = [
        ran,
        machine.provision(package, *words[:2], "-v", env=env),
        *(
            machine("runs", *told.split(), env=env)
            for told in ("list", "show last", "log last", "report last")
        ),
        machine("runs", "list", "--json", env=env),
        machine("runs", "log", "last", "--json", env=env),
        machine("config", "show", package, env=env),
        machine("config", "show", package, "--json", env=env),
        machine("engine", "which", package, env=env),
        machine("engine", "list", "--json", env=env),
    ]

    asked = {request.headers.get("authorization") for request in site.requests}
    assert asked == {f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"}
    places = [left, package, machine.cache.directory, scenes.state_directory()]
    told = "".join(
        (*(scenes.everything_in(place) for place in places), *("".join(map(str, each)) for each in talked))
    )
    for secret in (USER, PASSWORD, TOKEN, base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()):
        assert secret not in told, [line for line in told.splitlines() if secret in line]
    return ran
