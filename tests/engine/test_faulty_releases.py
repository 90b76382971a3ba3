"""What is wrong with a site, a release or the cache ends the run that needs them, and is its reason."""

import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hereya_tf.engine import Version
from hereya_tf.engine.identity import Identity, read_answer
from hereya_tf.engine.pins import VERSION_FILES
from hereya_tf.releases.platforms import Platform
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine.conftest import Mount
from tests.engine.driving import failure, succeeded, warnings
from tests.engine.supplying import PACKAGE, Machine, Release, pin, pretending, ready
from tests.installing import HERE, TERRAFORM, VERSION, pretender
from tests.openpgp_signer import signing_key
from tests.published_releases import archive, publish
from tests.release_site import Fault as SiteFault
from tests.release_site import ReleaseSite, status
from tests.site_faults import corrupt, truncated

pytestmark = pytest.mark.real_engine

PIN = VERSION_FILES[TERRAFORM]
SIGNED = "Mirror <mirror@example.com>"


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
            (
                5,
                "engine-unavailable",
                NONE_TO_BE_HAD + "there is no room for Terraform 1.11.4 in `{where}`",
            ),
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
        f"`api.json` could not be downloaded from `{away}`: Connection refused; after 2 attempts;"
        f" Terraform {version} is taken, embedded"
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
        f" after 2 attempts; Terraform {version} is taken, embedded"
    ]
