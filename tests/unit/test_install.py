"""An engine is installed once it is proven, whole and running, and not before; whatever goes wrong on the way."""

import errno
import hashlib
import os
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.identity import ask_version
from hereya_tf.errors import (
    BadInput,
    Busy,
    Cancelled,
    EngineUnavailable,
    EngineUnsupported,
    EngineUnverified,
    HereyaError,
)
from hereya_tf.releases.installed import STAMP, Installed, find_installed
from hereya_tf.releases.keys import pinned_keys
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.sites import mirror_site
from hereya_tf.releases.version_lock import hold_version
from tests.installing import HERE, TERRAFORM, VERSION, Installing, pretender
from tests.openpgp_signer import signing_key
from tests.release_site import ReleaseSite, status
from tests.site_faults import corrupt, hung_up_after, stalled, truncated


@pytest.fixture
def installing(tmp_path: Path) -> Iterator[Installing]:
    with ReleaseSite() as site:
        yield Installing(site, tmp_path / "cache")


def refused(installing: Installing, error: type[HereyaError], **options: object) -> HereyaError:
    """The error of an installation; nothing may be left of it, and the next one must work."""
    with pytest.raises(error) as raised:
        installing.install(**options)  # type: ignore[arg-type]

    assert installing.left() == []
    return raised.value


@pytest.mark.parametrize("engine", EngineName)
def test_an_engine_is_installed_with_all_that_proves_it(installing: Installing, engine: EngineName) -> None:
    binary = pretender(engine, VERSION, size=700_000)
    body = installing.publish(binary, engine=engine)

    found = installing.install(engine=engine)

    assert found == Installed(
        engine=engine,
        version=VERSION,
        platform=HERE,
        path=installing.directory(engine=engine) / engine.executable,
        size=len(binary),
        binary_digest=hashlib.sha256(binary).hexdigest(),
        archive=f"{engine.executable}_1.11.4_{HERE.os}_{HERE.arch}.zip",
        archive_digest=hashlib.sha256(body).hexdigest(),
        source=installing.site.url(installing.path_of("archive", engine=engine)),
        key=installing.key.fingerprint,
        owner="Mirror <mirror@example.com>",
        installed=found.installed,
    )
    assert found.path.read_bytes() == binary
    assert subprocess.run([found.path], capture_output=True, text=True).stdout == f"{engine.title} v1.11.4\n"
    assert sorted(each.name for each in found.path.parent.iterdir()) == sorted([STAMP, engine.executable])
    assert installing.left(engine) == ["1.11.4"]
    assert installing.progress[-1] == (len(body), len(body))
    assert find_installed(installing.cache, engine, VERSION) == found


def test_nobody_else_may_read_it_and_its_owner_may_run_it_whatever_the_umask(installing: Installing) -> None:
    installing.publish()
    mask = os.umask(0o077)
    try:
        path = installing.install().path
    finally:
        os.umask(mask)

    modes = {name: stat.S_IMODE(file.stat().st_mode) for name, file in (("", path.parent), ("binary", path))}
    assert modes == {"": 0o700, "binary": 0o755}
    assert stat.S_IMODE((path.parent / STAMP).stat().st_mode) == 0o600


def test_what_is_installed_needs_neither_network_nor_lock_nor_a_cache_that_can_be_written(
    installing: Installing,
) -> None:
    installing.publish()
    first = installing.install()
    asked = len(installing.site.requests)
    with hold_version(
        installing.directory().parent, "1.11.4", title="", pause=installing.pause, tell=installing.told.append
    ):
        again = installing.install(keys=(), patience=0.0)

    assert again == first
    assert len(installing.site.requests) == asked


def test_an_exact_version_needs_no_list(installing: Installing) -> None:
    installing.publish()
    installing.install()

    assert sorted(request.path for request in installing.site.requests) == sorted(
        installing.path_of(kind) for kind in ("archive", "checksums", "signature")
    )


@pytest.mark.parametrize("kind", ["archive", "checksums", "signature"])
def test_what_is_not_there_is_not_installed(installing: Installing, kind: str) -> None:
    installing.publish()
    installing.site.always(installing.path_of(kind), status(404))

    wanted = EngineUnverified if kind == "signature" else EngineUnavailable
    error = refused(installing, wanted)

    assert "it answered 404" in str(error)
    assert error.hints


def test_a_release_without_a_signature_proves_nothing(installing: Installing) -> None:
    installing.publish()
    path = installing.path_of("signature")
    installing.site.always(path, status(404))
    name, host = path.rpartition("/")[2], installing.site.address.partition("//")[2]

    assert str(refused(installing, EngineUnverified)) == (
        "the checksums of Terraform 1.11.4 have no signature that could be checked:"
        f" `{name}` could not be downloaded from `{host}`: it answered 404"
    )


def test_a_platform_that_is_not_listed_is_named_with_those_that_are(installing: Installing) -> None:
    installing.publish()
    error = refused(installing, EngineUnavailable, platform=Platform("solaris", "amd64"))

    assert str(error) == f"Terraform 1.11.4 is not published for `solaris/amd64`, only for `{HERE}`"


def test_checksums_that_list_something_else_altogether_are_none(installing: Installing) -> None:
    path = installing.path_of("checksums")
    checksums = b"0" * 64 + b"  other.zip\n"
    installing.publish()
    installing.site.put(path, checksums)
    installing.site.put(installing.path_of("signature"), installing.key.sign(checksums))

    assert "the checksums do not list" in str(refused(installing, EngineUnverified))


def test_a_signature_by_a_key_that_is_not_trusted_is_none(installing: Installing) -> None:
    installing.publish()
    error = refused(installing, EngineUnverified, keys=pinned_keys(TERRAFORM))

    assert str(error) == (
        f"the checksums are signed by `{installing.key.fingerprint}`, which is no key that is trusted here"
    )
    assert not installing.site.asked(installing.path_of("archive")), "nothing unproven is downloaded"


def test_checksums_that_were_changed_are_refused(installing: Installing) -> None:
    installing.publish()
    path = installing.path_of("checksums")
    installing.site.put(path, installing.site.files[path].body.replace(b"a", b"b"))

    assert "the checksums are not those that" in str(refused(installing, EngineUnverified))
    assert not installing.site.asked(installing.path_of("archive"))


def test_an_archive_with_one_wrong_bit_is_refused(installing: Installing) -> None:
    body = installing.publish()
    installing.site.fault(installing.path_of("archive"), corrupt)
    wrong = bytearray(body)
    wrong[len(body) // 2] ^= 1
    error = refused(installing, EngineUnverified)

    assert str(error) == (
        f"`terraform_1.11.4_{HERE.os}_{HERE.arch}.zip` has SHA-256 {hashlib.sha256(wrong).hexdigest()},"
        f" and {hashlib.sha256(body).hexdigest()} was signed"
    )
    assert installing.install().archive_digest == hashlib.sha256(body).hexdigest()


def test_a_download_that_breaks_goes_on_where_it_was(installing: Installing) -> None:
    body = installing.publish(pretender(size=400_000), method=0)
    path = installing.path_of("archive")
    installing.site.fault(path, hung_up_after(100_000), truncated(50_000))

    assert installing.install().archive_digest == hashlib.sha256(body).hexdigest()
    ranges = [request.headers.get("range") for request in installing.site.asked(path)]
    assert ranges == [None, "bytes=100000-", f"bytes={len(body) - 50_000}-"]


def test_a_download_that_stays_broken_is_no_engine(installing: Installing) -> None:
    installing.publish()
    installing.site.always(installing.path_of("archive"), truncated(10))

    assert str(refused(installing, EngineUnavailable)).endswith("; after 3 attempts")


def test_too_many_requests_are_waited_for(installing: Installing) -> None:
    installing.publish()
    installing.site.fault(installing.path_of("checksums"), status(429, retry_after="7"))

    installing.install()

    assert [seconds for seconds in installing.paused if seconds] == [7.0]


@pytest.mark.parametrize("kind", ["checksums", "signature"])
def test_small_files_may_not_be_large(installing: Installing, kind: str) -> None:
    installing.publish()
    installing.site.put(installing.path_of(kind), bytes(2 * 1024 * 1024))

    assert "it is larger than" in str(refused(installing, EngineUnavailable))


@pytest.mark.parametrize("wish", ["0.12.31", "0.15.2"])
def test_what_is_too_old_is_not_even_asked_for(installing: Installing, wish: str) -> None:
    error = refused(installing, EngineUnsupported, version=Version.parse(wish))

    assert str(error) == f"Terraform {wish} is too old: `apply -json` needs 0.15.3 or newer"
    assert installing.site.requests == []


def test_the_oldest_that_has_messages_is_installed(installing: Installing) -> None:
    oldest = Version(0, 15, 3)
    installing.publish(version=oldest)

    assert installing.install(oldest).version == oldest


def test_on_apples_processors_an_old_terraform_is_that_for_intel(installing: Installing) -> None:
    old, intel = Version(1, 0, 1), Platform("darwin", "amd64")
    installing.publish(version=old, platform=intel)

    found = installing.install(old, platform=Platform("darwin", "arm64"))
    again = installing.install(old, platform=Platform("darwin", "arm64"))

    assert (found.platform, again) == (intel, found)
    assert installing.told == [
        "Terraform 1.0.1 is not built for `darwin/arm64`: that for `darwin/amd64` is taken"
    ]


def test_what_another_machine_has_put_there_is_replaced(installing: Installing) -> None:
    other = Platform("darwin", "arm64")
    installing.publish(platform=other)
    installing.install(platform=other)
    installing.publish()

    assert installing.install().platform == HERE
    assert installing.left() == ["1.11.4"]


@pytest.mark.parametrize("kind", ["empty", "a file", "half", "a link"])
def test_what_stands_in_the_way_and_does_not_count_is_replaced(
    installing: Installing, kind: str, tmp_path: Path
) -> None:
    installing.publish()
    final = installing.directory()
    final.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    match kind:
        case "a file":
            final.write_text("x")
        case "a link":
            final.symlink_to(elsewhere)
        case _:
            final.mkdir()
            if kind == "half":
                (final / "terraform").write_text("x")

    found = installing.install()

    assert (found.path.read_bytes(), installing.left()) == (pretender(), ["1.11.4"])
    assert list(elsewhere.iterdir()) == []


# Binaries that do not run.


def test_a_binary_for_another_processor_is_refused(installing: Installing) -> None:
    installing.publish(b"\x7fELF" + bytes(200))
    error = refused(installing, EngineUnavailable)

    assert str(error) == f"Terraform 1.11.4 for `{HERE}` cannot run here: Exec format error"
    assert error.hints == (
        f"this machine may not be `{HERE}`: name a binary that runs here with `--engine PATH`",
    )


def test_a_binary_that_is_another_version_is_refused(installing: Installing) -> None:
    installing.publish(pretender(TERRAFORM, Version(1, 11, 3)))

    assert str(refused(installing, EngineUnverified)) == (
        "what was signed as Terraform 1.11.4 says that it is Terraform 1.11.3"
    )


def test_a_binary_that_says_nothing_is_refused(installing: Installing) -> None:
    installing.publish(b"#!/bin/sh\nexit 1\n")
    error = refused(installing, EngineUnavailable)

    assert str(error) == "Terraform 1.11.4 was tried out, and does not say what it is"
    assert error.hints[0] == "it said nothing"


def test_the_users_settings_of_the_engine_play_no_part(installing: Installing) -> None:
    script = '#!/bin/sh\necho "$TF_CLI_CONFIG_FILE $TF_LOG $CHECKPOINT_DISABLE" >&2\n'
    installing.publish(f"{script}test $TF_CLI_CONFIG_FILE = /dev/null && echo 'Terraform v1.11.4'\n".encode())

    installing.install(environment={"TF_CLI_CONFIG_FILE": "/no/such", "TF_LOG": "TRACE"})


class Asks:
    """Fails to run a program so many times."""

    def __init__(self, times: int, number: int) -> None:
        self._left = times
        self._number = number

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        self._left -= 1
        if self._left >= 0:
            raise OSError(self._number, os.strerror(self._number), argv[0])
        return ask_version(argv, environment, directory)


def test_a_file_that_another_process_still_holds_open_is_tried_again(installing: Installing) -> None:
    installing.publish()
    installing.install(ask=Asks(3, errno.ETXTBSY))

    assert [seconds for seconds in installing.paused if seconds] == [0.1, 0.1, 0.1]


def test_a_file_that_is_held_open_for_good_is_no_engine(installing: Installing) -> None:
    installing.publish()
    error = refused(installing, EngineUnavailable, ask=Asks(1000, errno.ETXTBSY))

    assert str(error) == "Terraform 1.11.4 cannot be started: Text file busy"


def test_a_place_that_no_program_runs_from_is_named(installing: Installing) -> None:
    installing.publish()
    error = refused(installing, EngineUnavailable, ask=Asks(1, errno.EACCES))

    where = installing.cache / "engines/terraform"
    assert str(error) == f"nothing can be run from `{where}`: Permission denied"
    assert error.hints == (
        "the file system may be mounted `noexec`: point `HEREYA_TF_CACHE_DIR` to one that programs run from",
    )


def test_an_engine_that_hangs_is_no_engine(installing: Installing) -> None:
    def ask(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        raise TimeoutError("no answer within 30 s")

    installing.publish()
    error = refused(installing, EngineUnavailable, ask=ask)

    assert str(error) == "Terraform 1.11.4 was tried out, and gave no answer within 30 s"


# Disks.


def test_a_cache_that_cannot_be_made_is_named(installing: Installing) -> None:
    installing.publish()
    installing.cache.write_text("a file")
    with pytest.raises(EngineUnavailable) as raised:
        installing.install()

    where = installing.cache / "engines/terraform"
    assert str(raised.value) == f"Terraform 1.11.4 cannot be installed in `{where}`: Not a directory"
    assert raised.value.hints == ("point `HEREYA_TF_CACHE_DIR` to a directory that you can write to",)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_disk_that_takes_no_more_is_named(installing: Installing, number: int) -> None:
    class Full:
        """A pause in the midst of writing, at which the disk is full."""

        def __call__(self, _seconds: float) -> None:
            if list(installing.directory().parent.glob(".1.11.4_*/terraform")):
                raise OSError(number, os.strerror(number))

    installing.publish(pretender(size=3_000_000))
    error = refused(installing, EngineUnavailable, pause=Full())

    assert str(installing.cache / "engines/terraform") in str(error)
    assert error.hints


# Others at the same time.


def test_what_dead_installations_left_is_taken_away(installing: Installing) -> None:
    installing.publish()
    parent = installing.directory().parent
    for name in (".1.11.4_abc", ".1.9.0_abc", ".1.8.0_held"):
        (parent / name).mkdir(parents=True)
        (parent / name / "terraform").write_text("x")
    with hold_version(parent, "1.8.0", title="", pause=installing.pause, tell=installing.told.append):
        installing.install()

    assert installing.left() == [".1.8.0_held", "1.11.4"]


def test_many_at_once_download_once_and_all_have_it(installing: Installing) -> None:
    installing.publish(pretender(size=2_000_000))
    found: list[Installed] = []
    gate = threading.Barrier(8)

    def run() -> None:
        gate.wait()
        found.append(installing.install(pause=time.sleep))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(installing.site.asked(installing.path_of("archive"))) == 1


def test_who_waits_is_told_for_whom_and_not_for_ever(installing: Installing) -> None:
    installing.publish()
    parent = installing.directory().parent
    parent.mkdir(parents=True)
    with hold_version(parent, "1.11.4", title="", pause=installing.pause, tell=lambda _text: None):
        with pytest.raises(Busy) as raised:
            installing.install(patience=0.05)
        waiting = list(installing.told)

    holder = f"process {os.getpid()} on `{os.uname().nodename}`"
    assert waiting == [f"Terraform 1.11.4 is being installed by {holder}: waiting for it"]
    assert str(raised.value) == f"Terraform 1.11.4 is being installed by {holder}, for longer than 50ms"
    assert installing.left() == []


def test_a_wait_is_told_every_ten_seconds(tmp_path: Path) -> None:
    told: list[str] = []
    clock = iter(range(1000))
    (tmp_path / ".1.0.0.holder").write_text("nothing\x1b[1m of ours")
    with hold_version(tmp_path, "1.0.0", title="", pause=lambda _seconds: None, tell=told.append):
        (tmp_path / ".1.0.0.holder").write_text("nothing\x1b[1m of ours")
        with (
            pytest.raises(Busy),
            hold_version(
                tmp_path,
                "1.0.0",
                title="Terraform 1.0.0",
                pause=lambda _seconds: None,
                tell=told.append,
                patience=25,
                clock=lambda: float(next(clock)),
            ),
        ):
            pytest.fail("it is held")

    sentence = "Terraform 1.0.0 is being installed by another process: waiting for it"
    assert told == [f"{sentence}, for 1s now", f"{sentence}, for 11s now", f"{sentence}, for 21s now"]


# Interrupted.


class EndsAt:
    """A pause at which the run is ended, as soon as a condition holds."""

    def __init__(self, condition: Callable[[], object]) -> None:
        self._condition = condition

    def __call__(self, _seconds: float) -> None:
        if self._condition():
            raise Cancelled("the run was cancelled by SIGINT")


def test_an_end_while_nothing_comes_any_more_leaves_nothing(installing: Installing) -> None:
    installing.publish(pretender(size=300_000), method=0)
    installing.site.fault(installing.path_of("archive"), stalled(100_000))
    partial = EndsAt(installing.site.stalls.is_set)

    refused(installing, Cancelled, pause=partial)


def test_an_end_while_it_is_unpacked_leaves_nothing(installing: Installing) -> None:
    installing.publish(pretender(size=3_000_000))
    unpacking = EndsAt(lambda: list(installing.directory().parent.glob(".1.11.4_*/terraform")))

    refused(installing, Cancelled, pause=unpacking)
    assert installing.install().version == VERSION


def test_an_end_while_another_one_installs_leaves_that_alone(installing: Installing) -> None:
    parent = installing.directory().parent
    parent.mkdir(parents=True)
    with hold_version(parent, "1.11.4", title="", pause=installing.pause, tell=lambda _text: None):
        with pytest.raises(Cancelled):
            installing.install(pause=EndsAt(lambda: installing.told))
        assert installing.left() == [".1.11.4.holder"]


def test_a_thousand_ends_leave_nothing_that_counts(installing: Installing) -> None:
    """At every single pause, one after the other, until there is none left to end at."""
    installing.publish(pretender(size=1_500_000))
    for last in range(1000):
        left = iter(range(last))
        try:
            found = installing.install(pause=EndsAt(lambda left=left: next(left, None) is None))  # type: ignore[misc]
        except Cancelled:
            assert find_installed(installing.cache, TERRAFORM, VERSION) is None
            assert installing.left() == []
        else:
            break

    assert last > 3
    assert installing.left() == ["1.11.4"]
    assert found == find_installed(installing.cache, TERRAFORM, VERSION)


# Records.


def test_passwords_and_queries_of_a_mirror_stand_in_no_stamp(installing: Installing) -> None:
    installing.publish()
    host = installing.site.address.partition("//")[2]
    site = mirror_site(TERRAFORM, f"http://user:secret@{host}/?token=secret")

    found = installing.install(site=site)

    assert found.source == installing.site.url(installing.path_of("archive"))
    assert "secret" not in (found.path.parent / STAMP).read_text()


def test_a_directory_is_a_mirror_too(installing: Installing, tmp_path: Path) -> None:
    installing.publish()
    mirror = tmp_path / "mirror"
    for path, file in installing.site.files.items():
        if path.startswith("/terraform/"):
            copy = mirror / path.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.body)
    found = installing.install(site=mirror_site(TERRAFORM, mirror))

    assert found.source == str(mirror / installing.path_of("archive").lstrip("/"))
    assert installing.site.requests == []


def test_an_address_that_is_none_is_the_users_mistake(installing: Installing) -> None:
    with pytest.raises(BadInput):
        installing.install(site=mirror_site(TERRAFORM, "ftp://example.com"))


def test_the_keys_of_a_mirror_and_the_vendors_count_together(installing: Installing) -> None:
    installing.publish()
    other = signing_key("Other <other@example.com>")

    assert installing.install(keys=(*pinned_keys(TERRAFORM), other.public, installing.key.public))
