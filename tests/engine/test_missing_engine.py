"""A run on a machine without an engine: it is selected, downloaded, verified, told of, and does its work."""

import base64
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hereya_tf.engine import Version
from hereya_tf.engine.identity import Identity, read_answer
from hereya_tf.engine.pins import VERSION_FILES
from hereya_tf.releases.platforms import Platform
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes, terminals
from tests.engine.conftest import Mount
from tests.engine.driving import failure, succeeded, warnings
from tests.engine.supplying import Cache, Machine, Release
from tests.fake_engine import wait_for
from tests.installing import HERE, TERRAFORM, VERSION, pretender
from tests.openpgp_signer import signing_key
from tests.published_releases import archive, publish
from tests.release_site import Fault as SiteFault
from tests.release_site import ReleaseSite, status
from tests.site_faults import corrupt, dripping, gated, stalled, truncated

pytestmark = pytest.mark.real_engine

PACKAGE = {"main.tf": 'output "o" { value = "hello" }\n'}
PIN = VERSION_FILES[TERRAFORM]
SIGNED = "Mirror <mirror@example.com>"


@pytest.fixture
def machine(cli: CommandLine, site: ReleaseSite, release: Release, tmp_path: Path) -> Machine:
    """It takes the engine under test from the site."""
    return Machine(cli, Cache(site, release, tmp_path / "engines cache"), tmp_path / "machine")


@pytest.fixture
def small(cli: CommandLine, site: ReleaseSite, tmp_path: Path) -> Machine:
    """It takes a small engine from the site, that can do no more than to say its name."""
    return pretending(cli, site, tmp_path)


def pretending(cli: CommandLine, site: ReleaseSite, directory: Path, **how: Any) -> Machine:
    made = Release(Identity(TERRAFORM, VERSION), archive(pretender(size=300_000), TERRAFORM, HERE))
    return Machine(cli, Cache(site, made, directory / "small cache"), directory / "small machine", **how)


def ready(result: Result) -> dict[str, Any]:
    (event,) = (event for event in result.events if event["type"] == "engine_ready")
    return event


def pin(release: Release) -> dict[str, str]:
    """The file that asks for exactly this release, in its second line."""
    return {VERSION_FILES[release.engine]: f"# for everybody\n{release.version}\n"}


def why(release: Release) -> str:
    """What is told of a release that the file has chosen."""
    place = f"{VERSION_FILES[release.engine]}:2"
    return f"{place} asks for {release.engine.title}, satisfies `{release.version}` of {place}"


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


class Fault(NamedTuple):
    """What is wrong, and what a run says of it; `{site}` stands for the site's host and port."""

    arrange: Callable[[Machine], None]
    failure_class: str
    reason: str
    hint: str


def always(kind: str, fault: SiteFault) -> Callable[[Machine], None]:
    return lambda machine: machine.cache.site.always(machine.cache.path_of(kind), fault)


def holds(binary: bytes) -> Callable[[Machine], None]:
    """The archive holds something else."""
    identity = Identity(TERRAFORM, VERSION)
    return lambda machine: machine.cache.publish(Release(identity, archive(binary, TERRAFORM, HERE)))


def is_cut(machine: Machine) -> None:
    site, path = machine.cache.site, machine.cache.path_of("archive")
    site.put(path, site.files[path].body[:-1])


def is_signed_by_another(machine: Machine) -> None:
    site, path = machine.cache.site, machine.cache.path_of("checksums")
    other = signing_key("Somebody <else@example.com>").sign(site.files[path].body)
    site.put(machine.cache.path_of("signature"), other)


def is_changed(machine: Machine) -> None:
    site, path = machine.cache.site, machine.cache.path_of("checksums")
    site.put(path, site.files[path].body + b"\n")


def is_for_another_platform(machine: Machine) -> None:
    site, elsewhere = machine.cache.site, Platform("plan9", "mips")
    site.files.clear()
    publish(site, TERRAFORM, VERSION, {elsewhere: b"an archive"}, signing_key().sign)


NONE_TO_BE_HAD = f"`{PIN}:1` asks for `1.11.4`; there is none here, and none can be had: "
ZIP, SUMS = f"terraform_1.11.4_{HERE.os}_{HERE.arch}.zip", "terraform_1.11.4_SHA256SUMS"
AGAIN = "download it again; if it repeats, suspect the mirror or proxy it comes through"
FAULTS = {
    "not for this platform": Fault(
        is_for_another_platform,
        "engine-unavailable",
        f"{NONE_TO_BE_HAD}Terraform 1.11.4 is not published for `{HERE}`, only for `plan9/mips`",
        "take another version, or name a binary that runs here with `--engine PATH`",
    ),
    "no archive": Fault(
        always("archive", status(404)),
        "engine-unavailable",
        f"{NONE_TO_BE_HAD}`{ZIP}` could not be downloaded from `{{site}}`: it answered 404",
        "look which files there are at `http://{site}/terraform/1.11.4/`",
    ),
    "left alone for long": Fault(
        always("checksums", status(429, retry_after="3600")),
        "engine-unavailable",
        f"{NONE_TO_BE_HAD}`{SUMS}` could not be downloaded from `{{site}}`: it answered 429 and wants to be left"
        " alone for `1h`",
        "behind a proxy, set `HTTPS_PROXY`",
    ),
    "no signature": Fault(
        always("signature", status(404)),
        "engine-unverified",
        f"the checksums of Terraform 1.11.4 have no signature that could be checked: `{SUMS}.72D7468F.sig` could"
        " not be downloaded from `{site}`: it answered 404",
        "take another version, or a mirror that has the signature as well",
    ),
    "another digest": Fault(
        always("archive", corrupt), "engine-unverified", f"`{ZIP}` has SHA-256 {{digest}} was signed", AGAIN
    ),
    "cut": Fault(is_cut, "engine-unverified", f"`{ZIP}` has SHA-256 {{digest}} was signed", AGAIN),
    "a wrong signature": Fault(
        is_changed,
        "engine-unverified",
        f"the checksums are not those that `{SIGNED}` has signed with the key `{signing_key().fingerprint}`",
        AGAIN,
    ),
    "an unknown key": Fault(
        is_signed_by_another,
        "engine-unverified",
        "the checksums are signed by `{other}`, which is no key that is trusted here",
        AGAIN,
    ),
    "another processor": Fault(
        holds(b"\x7fELF" + bytes(200)),
        "engine-unavailable",
        f"{NONE_TO_BE_HAD}Terraform 1.11.4 for `{HERE}` cannot run here: Exec format error",
        f"this machine may not be `{HERE}`: name a binary that runs here with `--engine PATH`",
    ),
    "another version": Fault(
        holds(pretender(version=Version(1, 11, 3))),
        "engine-unverified",
        "what was signed as Terraform 1.11.4 says that it is Terraform 1.11.3",
        "whoever made the release or mirror has to mend it",
    ),
}


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in FAULTS.items()])
def test_what_is_wrong_with_a_release_is_the_end_of_the_run_and_nothing_is_left_of_it(
    small: Machine, make_package: MakePackage, fault: Fault
) -> None:
    fault.arrange(small)
    ended = small.provision(make_package({**PACKAGE, PIN: "1.11.4\n"}))

    host = small.cache.site.address.removeprefix("http://")
    other = signing_key("Somebody <else@example.com>").fingerprint
    exit_code, failure_class, reason = failure(ended)
    reason = re.sub(r"[0-9a-f]{64}, and [0-9a-f]{64}", "{digest}", reason)
    assert (exit_code, failure_class, reason) == (
        5,
        fault.failure_class,
        fault.reason.replace("{site}", host).replace("{other}", other),
    )
    result = ended.result
    assert result["failure"]["hint"].splitlines()[0] == fault.hint.format(site=host)
    assert (result["status"], result["engine"]) == ("failed", None)
    assert small.cache.names() == []
    assert small("engine", "list").stdout == "no engine is installed\n"


def test_a_version_that_is_too_old_is_not_even_downloaded(small: Machine, make_package: MakePackage) -> None:
    ended = small.provision(make_package({**PACKAGE, PIN: "0.14.11\n"}))

    assert failure(ended) == (
        5,
        "engine-unsupported",
        "Terraform 0.14.11 is too old: `apply -json` needs 0.15.3 or newer",
    )
    assert small.cache.asked() == []


def test_a_site_that_is_not_there_is_tried_for_a_while(
    small: Machine, make_package: MakePackage, tmp_path: Path
) -> None:
    """And so is one that never sends all of it; both at once, for it takes some seconds."""
    small.cache.site.always(small.cache.path_of("archive"), truncated(5))
    away = f"http://127.0.0.1:{closed_port()}"
    packages = [make_package({**PACKAGE, PIN: "1.11.4\n"}) for _ in range(2)]
    elsewhere = {"HEREYA_TF_CACHE_DIR": str(tmp_path / "another cache")}
    runs = [
        small.start_provision(packages[0], "--from", away, env=elsewhere),
        small.start_provision(packages[1]),
    ]
    unreachable, cut = (running.finish() for running in runs)

    reasons = {
        f"`{SUMS}` could not be downloaded from `{away[7:]}`: Connection refused": unreachable,
        f"`{ZIP}` could not be downloaded from `{small.cache.site.address[7:]}`: the connection broke, 300 kB had"
        " come": cut,
    }
    for reason, ended in reasons.items():
        assert failure(ended) == (5, "engine-unavailable", f"{NONE_TO_BE_HAD}{reason}; after 6 attempts")
        assert [warning.partition("; another attempt")[0] for warning in warnings(ended)] == [reason] * 5
        assert "take it from a mirror: `--from DIR|URL`" in ended.result["failure"]["hint"].splitlines()
    assert small.cache.names() == []


def closed_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


def test_a_site_that_wants_to_be_left_alone_for_a_second_is_asked_again(
    machine: Machine, make_package: MakePackage
) -> None:
    machine.cache.site.fault(machine.cache.path_of("archive"), status(429, retry_after="1"), truncated(5))
    ended = machine.provision(make_package({**PACKAGE, **pin(machine.cache.release)}))

    assert succeeded(ended)["env"] == {"o": "hello"}
    first, second = warnings(ended)
    assert first.endswith("it answered 429; another attempt follows in 1.0 s")
    assert "the connection broke" in second
    assert machine.cache.asked().count(machine.cache.path_of("archive")) == 3


@pytest.mark.parametrize(
    ("options", "expected", "hint"),
    [
        pytest.param(
            "size=400k",
            (1, "disk-full", "there is no room for Terraform 1.11.4 in `{where}`"),
            "see which disk is full, make room there, and run it again: `df -h`",
            id="full",
        ),
        pytest.param(
            "size=4m,noexec",
            (
                5,
                "engine-unavailable",
                NONE_TO_BE_HAD + "nothing can be run from `{where}`: Permission denied",
            ),
            "the file system may be mounted `noexec`",
            id="noexec",
        ),
        pytest.param(
            "size=4m",
            (
                5,
                "engine-unavailable",
                NONE_TO_BE_HAD + "Terraform 1.11.4 cannot be installed in `{where}`: Read-only file system",
            ),
            "point `HEREYA_TF_CACHE_DIR` to a directory that you can write to",
            id="read-only",
        ),
    ],
)
def test_a_cache_that_cannot_take_it_is_told(
    cli: CommandLine,
    site: ReleaseSite,
    mount: Mount,
    make_package: MakePackage,
    options: str,
    expected: tuple[int, str, str],
    hint: str,
) -> None:
    disk = mount(options)
    machine = pretending(cli, site, disk)
    if "Read-only" in expected[2]:
        subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True)
    ended = machine.provision(make_package({**PACKAGE, PIN: "1.11.4\n"}))

    exit_code, failure_class, reason = expected
    where = machine.cache.directory / "engines/terraform"
    assert failure(ended) == (exit_code, failure_class, reason.format(where=where))
    assert hint in ended.result["failure"]["hint"]
    assert machine.cache.names() == []


@pytest.fixture
def two(cli: CommandLine, site: ReleaseSite, tmp_path: Path, embedded_engine: tuple[str, ...]) -> Machine:
    """It has the embedded engine, and takes another one from the site."""
    del embedded_engine
    return pretending(cli, site, tmp_path, has_embedded=True)


@pytest.mark.parametrize("name", ["another digest", "a wrong signature", "an unknown key", "no signature"])
def test_what_is_not_proven_is_not_replaced_by_another_engine(
    two: Machine, make_package: MakePackage, name: str
) -> None:
    FAULTS[name].arrange(two)
    package = make_package({"main.tf": 'terraform {\n  required_version = "~> 1.1"\n}\n'})
    ended = two.provision(package)

    assert failure(ended)[:2] == (5, "engine-unverified")
    assert [event["type"] for event in ended.events if event["type"] == "step_started"] == []
    assert not (package / "terraform.tfstate").exists()


def test_without_a_site_the_embedded_engine_is_taken_with_one_warning(
    two: Machine, make_package: MakePackage
) -> None:
    away = f"127.0.0.1:{closed_port()}"
    began = time.monotonic()
    ended = two.provision(make_package(PACKAGE), env={"HEREYA_TF_FROM": f"http://{away}"})

    assert time.monotonic() - began < 10
    assert succeeded(ended)["env"] == {"o": "hello"}
    version = ended.result["engine"]["version"]
    assert warnings(ended) == [
        f"`api.json` could not be downloaded from `{away}`: Connection refused; Terraform {version} is taken,"
        " embedded"
    ]
    assert ready(ended)["chosen_by"] == "embedded: no other is here"


def test_the_version_that_the_embedded_engine_has_is_not_waited_for(
    two: Machine, make_package: MakePackage, embedded_engine: tuple[str, ...]
) -> None:
    said = subprocess.run([*embedded_engine, "version"], capture_output=True, text=True).stdout
    version = read_answer(said, Path(embedded_engine[0])).version
    away = f"127.0.0.1:{closed_port()}"
    package = make_package({**PACKAGE, PIN: f"{version}\n"})
    ended = two.provision(package, env={"HEREYA_TF_FROM": f"http://{away}"})

    assert succeeded(ended)["engine"] == {"name": "terraform", "version": str(version)}
    assert warnings(ended) == [
        f"`terraform_{version}_SHA256SUMS` could not be downloaded from `{away}`: Connection refused;"
        f" Terraform {version} is taken, embedded"
    ]


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
    assert ready(applied)["chosen_by"] == (
        f"downloaded: the plan asks for {release.engine.title}, satisfies `{release.version}` of the plan"
    )
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
