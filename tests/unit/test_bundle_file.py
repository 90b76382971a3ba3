"""A bundle is one private file; whatever else is given as one is refused in a sentence."""

import errno
import io
import os
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hereya_tf.bundle import file as bundle_file
from hereya_tf.bundle.file import Bundle, check_destination, read_bundle, write_bundle
from hereya_tf.bundle.manifest import encode_manifest
from hereya_tf.errors import BadInput, HereyaError, NoRoom
from tests.bundles import IDENTITY, MANIFEST, SALT

# It ends as every plan of an engine does.
PLAN = b"the engine's plan\0" * 1000 + b"PK\5\6" + bytes(18)
LOCK = b'provider "registry.terraform.io/hashicorp/null" {\n  version = "3.2.2"\n}\n'
VALID = {"manifest.json": encode_manifest(MANIFEST).encode(), "salt": SALT, "plan": PLAN}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "tfplan").write_bytes(PLAN)
    return tmp_path / "tfplan"


@pytest.fixture
def bundle(tmp_path: Path, plan: Path) -> Path:
    return write_bundle(tmp_path / "bundle", plan=plan, lock_file=LOCK, manifest=MANIFEST)


def archive(
    path: Path, members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED, again: str = ""
) -> Path:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as made:
        warnings.simplefilter("ignore")
        for name, data in members.items():
            made.writestr(name, data)
        if again:
            made.writestr(again, members[again])
    return path


def refusal(path: Path, action: Callable[[Path], object] = read_bundle) -> str:
    """The sentence, without the path."""
    with pytest.raises(BadInput) as caught:
        action(path)
    assert caught.value.hints
    return str(caught.value).replace(str(path), "…")


DAMAGED = "`…` is a plan bundle that is cut off or damaged"
NONE = "`…` is not a plan bundle"
ODD = "`…` holds something that no plan bundle holds"


@pytest.mark.parametrize(("lock_file", "providers"), [(LOCK, IDENTITY.providers), (b"", {}), (None, None)])
def test_a_bundle_holds_what_was_put_into_it_and_the_providers_of_its_lock_file(
    tmp_path: Path, plan: Path, lock_file: bytes | None, providers: Mapping[str, str] | None
) -> None:
    path = tmp_path / "ünï.bundle"
    noted_before_init = MANIFEST._replace(identity=IDENTITY._replace(providers={"a/b/c": "0"}))

    written = write_bundle(path, plan=plan, lock_file=lock_file, manifest=noted_before_init)
    read = read_bundle(path)

    manifest = MANIFEST._replace(identity=IDENTITY._replace(providers=providers))
    assert (written, read) == (path, Bundle(path, manifest, lock_file))
    assert read.extract_plan(tmp_path / "out").read_bytes() == PLAN


def test_nothing_but_a_bundle_is_written_over(tmp_path: Path, bundle: Path) -> None:
    configuration, empty = tmp_path / "main.tf", tmp_path / "empty"
    configuration.write_text('resource "terraform_data" "x" {}\n')
    empty.touch()

    sentence = "`…` is there already, and is not a plan bundle"
    assert refusal(configuration, check_destination) == sentence
    assert (check_destination(empty), check_destination(bundle)) == (empty, bundle)


@pytest.mark.parametrize("length", [0, 1000, len(PLAN) - 1])
def test_half_a_plan_is_no_plan(tmp_path: Path, plan: Path, length: int) -> None:
    plan.write_bytes(PLAN[:length])

    with pytest.raises(NoRoom, match="the engine has written half a plan"):
        write_bundle(tmp_path / "b", plan=plan, lock_file=None, manifest=MANIFEST)
    assert not (tmp_path / "b").exists()


def test_it_is_readable_for_the_user_alone_whatever_the_umask(tmp_path: Path, plan: Path) -> None:
    before = os.umask(0)
    try:
        path = write_bundle(tmp_path / "b", plan=plan, lock_file=None, manifest=MANIFEST)
        extracted = read_bundle(path).extract_plan(tmp_path / "out")
    finally:
        os.umask(before)

    assert [stat.S_IMODE(file.stat().st_mode) for file in (path, extracted)] == [0o600, 0o600]


def test_it_takes_the_place_of_an_older_one_in_one_step(bundle: Path, plan: Path) -> None:
    bundle.chmod(0o644)
    with bundle.open("rb") as older:
        write_bundle(bundle, plan=plan, lock_file=None, manifest=MANIFEST._replace(run="new"))
        assert zipfile.ZipFile(io.BytesIO(older.read())).read("plan") == PLAN

    assert (read_bundle(bundle).manifest.run, stat.S_IMODE(bundle.stat().st_mode)) == ("new", 0o600)
    assert sorted(entry.name for entry in bundle.parent.iterdir() if "hereya-tf-" in entry.name) == []


def test_a_link_stays_a_link(tmp_path: Path, bundle: Path, plan: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(bundle.name)

    assert write_bundle(link, plan=plan, lock_file=LOCK, manifest=MANIFEST) == bundle
    assert link.is_symlink()
    assert read_bundle(link).manifest == MANIFEST


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(Path.mkdir, "`…` is a directory, and a bundle is a file", id="directory"),
        pytest.param(make_pipe, "`…` is not a regular file", id="pipe"),
        pytest.param(lambda path: path.symlink_to("/dev/null"), "`…` is not a regular file", id="device"),
        pytest.param(
            lambda path: path.symlink_to("no/where"),
            "`…` cannot be written: there is no directory for it",
            id="no directory",
        ),
    ],
)
def test_a_place_that_cannot_hold_a_bundle_is_refused_beforehand(
    tmp_path: Path, plan: Path, make: Callable[[Path], None], sentence: str
) -> None:
    path = tmp_path / "target"
    make(path)

    assert refusal(path, check_destination) == sentence
    assert (
        refusal(path, lambda _: write_bundle(path, plan=plan, lock_file=None, manifest=MANIFEST)) == sentence
    )
    assert Path("/dev/null").is_char_device()


def test_a_directory_without_permission_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may everything

    assert refusal(tmp_path / "b", check_destination) == "`…` cannot be written: its directory is read-only"


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, NoRoom), (errno.EDQUOT, NoRoom), (errno.EROFS, BadInput)]
)
def test_a_bundle_that_cannot_be_finished_leaves_nothing(
    bundle: Path, plan: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[HereyaError]
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    before = bundle.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(kind, match="cannot be written"):
        write_bundle(bundle, plan=plan, lock_file=None, manifest=MANIFEST)

    assert bundle.read_bytes() == before
    assert {entry.name for entry in bundle.parent.iterdir() if entry.is_file()} == {"bundle", "tfplan"}


def test_a_plan_that_is_not_there_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate((1 << 30) + 1)

    def write(plan: Path) -> object:
        return write_bundle(tmp_path / "b", plan=plan, lock_file=None, manifest=MANIFEST)

    assert refusal(huge, write) == "the plan is larger than 1 GiB, which is too much for a bundle"
    with pytest.raises(BadInput, match="No such file"):
        write(tmp_path / "missing")
    assert not (tmp_path / "b").exists()


def test_a_file_system_that_cannot_sync_directories_will_do(
    tmp_path: Path, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)

    assert read_bundle(write_bundle(tmp_path / "b", plan=plan, lock_file=None, manifest=MANIFEST))


ENGINE_PLAN = "`…` is an engine's own plan file, not a bundle: it says nothing of workspace and backend"


def test_an_engines_own_plan_has_its_own_sentence(tmp_path: Path) -> None:
    members = {"tfplan": b"x", "tfstate": b"{}", "tfconfig/m-/main.tf": b"", ".terraform.lock.hcl": b""}
    plain = archive(tmp_path / "plain", members, zipfile.ZIP_DEFLATED)
    cloud = tmp_path / "cloud"
    cloud.write_text('{"remote_plan_format":1,"run_id":"run-1","hostname":"app.terraform.io"}')

    assert (refusal(plain), refusal(cloud)) == (ENGINE_PLAN, ENGINE_PLAN)
    with pytest.raises(BadInput) as caught:
        read_bundle(plain)
    assert caught.value.hints == ("make a bundle: `hereya-tf plan --out BUNDLE`",)


def test_a_newer_bundle_says_so_even_with_members_that_are_not_known(tmp_path: Path) -> None:
    members = {"manifest.json": b'{"format": 2}', "plan.zst": b""}

    assert (
        refusal(archive(tmp_path / "b", members))
        == "`…` is a plan bundle of format 2, which this version cannot read"
    )


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        pytest.param({}, NONE, id="empty archive"),
        pytest.param({"a": b""}, NONE, id="another archive"),
        pytest.param({**VALID, "../../evil": b""}, ODD, id="one more"),
        pytest.param({**VALID, "sub/": b""}, ODD, id="a directory"),
        pytest.param({"manifest.json": VALID["manifest.json"], "salt": SALT}, ODD, id="no plan"),
        pytest.param({"manifest.json": VALID["manifest.json"], "plan": PLAN}, ODD, id="no salt"),
        pytest.param({**VALID, "salt": b""}, ODD, id="empty salt"),
        pytest.param({**VALID, "salt": b"x" * 65}, ODD, id="long salt"),
        pytest.param({**VALID, "manifest.json": b"{}"}, ODD, id="no manifest"),
        pytest.param({**VALID, "manifest.json": b"\xff"}, ODD, id="no text"),
        pytest.param({**VALID, "manifest.json": b"[" * 100_000}, ODD, id="deep"),
        pytest.param({**VALID, "manifest.json": b" " * ((16 << 20) + 1)}, ODD, id="long manifest"),
        pytest.param({**VALID, ".terraform.lock.hcl": b" " * ((4 << 20) + 1)}, ODD, id="long lock file"),
    ],
)
def test_what_no_bundle_holds_is_refused(tmp_path: Path, members: Mapping[str, bytes], sentence: str) -> None:
    assert refusal(archive(tmp_path / "b", members)) == sentence


@pytest.mark.parametrize("again", VALID)
def test_a_member_must_be_there_once(tmp_path: Path, again: str) -> None:
    assert refusal(archive(tmp_path / "b", VALID, again=again)) == ODD


def test_what_is_compressed_is_never_unpacked(tmp_path: Path) -> None:
    bomb = {**VALID, "plan": bytes(64 << 20)}

    assert refusal(archive(tmp_path / "b", bomb, zipfile.ZIP_DEFLATED)) == ODD


def test_a_size_that_is_not_true_is_refused(bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    at = data.rindex(b"PK\1\2")  # the directory's entry of the plan
    data[at + 20 : at + 28] = struct.pack("<LL", 1 << 29, 1 << 29)
    bundle.write_bytes(data)

    assert refusal(bundle, lambda path: read_bundle(path).extract_plan(path.with_name("out"))) == DAMAGED
    assert not bundle.with_name("out").exists()


def test_an_encrypted_member_is_refused(bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    bundle.write_bytes(data)

    assert refusal(bundle) == ODD


def test_a_directory_of_the_archive_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    many = {f"{number:0100}": b"" for number in range(8000)}

    assert refusal(archive(tmp_path / "b", {**VALID, **dict.fromkeys(list(many)[:9], b"")})) == ODD
    assert refusal(archive(tmp_path / "b", {**VALID, **many})) == DAMAGED


def test_a_file_larger_than_any_bundle_is_none(tmp_path: Path) -> None:
    with (tmp_path / "b").open("wb") as file:
        file.truncate(2 << 30)

    assert refusal(tmp_path / "b") == NONE


@pytest.mark.parametrize("size", [0, 10, 50, 1000, -1, -22, -100])
def test_a_bundle_that_is_cut_off_is_refused(bundle: Path, size: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:size])

    assert refusal(bundle) == (NONE if 0 <= size < 43 else DAMAGED)


def test_a_plan_that_has_rotted_is_noticed_before_it_is_used(bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[data.index(PLAN[:20]) + 500] ^= 1
    bundle.write_bytes(data)
    out = bundle.with_name("out")

    assert refusal(bundle, lambda path: read_bundle(path).extract_plan(out)) == DAMAGED
    assert not out.exists()


def test_a_bundle_that_is_exchanged_meanwhile_is_noticed(bundle: Path, plan: Path) -> None:
    read = read_bundle(bundle)
    write_bundle(bundle, plan=plan, lock_file=LOCK, manifest=MANIFEST._replace(salt=b"another"))

    assert (
        refusal(bundle, lambda path: read.extract_plan(path.with_name("out")))
        == "`…` has changed while it was in use"
    )


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(lambda _: None, "`…` cannot be read: No such file or directory", id="missing"),
        pytest.param(Path.mkdir, NONE, id="directory"),
        pytest.param(make_pipe, NONE, id="pipe"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), NONE, id="device"),
        pytest.param(lambda path: path.touch(), NONE, id="empty"),
        pytest.param(
            lambda path: path.symlink_to(path.name),
            "`…` cannot be read: Too many levels of symbolic links",
            id="loop",
        ),
    ],
)
def test_what_is_no_file_is_no_bundle(tmp_path: Path, make: Callable[[Path], None], sentence: str) -> None:
    path = tmp_path / "b"
    make(path)

    assert refusal(path) == sentence


def test_a_path_that_no_file_can_have_is_refused() -> None:
    assert refusal(Path("a\0b")) == "`…` cannot be read: embedded null byte"


def test_a_disk_that_cannot_be_read_is_a_reason(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.BytesIO):
        def fileno(self) -> int:
            return descriptor

        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with bundle.open("rb") as opened:
        descriptor = opened.fileno()
        with pytest.raises(BadInput, match="cannot be read: Input/output error"):
            bundle_file._check_frame(Broken(), bundle)


def test_a_plan_that_has_no_room_is_taken_away_again(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    read = read_bundle(bundle)
    with pytest.raises(NoRoom, match="cannot be written"):
        read.extract_plan(tmp_path / "nowhere/out")
    monkeypatch.setattr(bundle_file, "write_all", full)
    with pytest.raises(NoRoom, match="No space left on device"):
        read.extract_plan(tmp_path / "out")

    assert not (tmp_path / "out").exists()


def survives(path: Path, data: bytes) -> None:
    """Either it is a bundle with its plan, or there is a sentence; nothing else."""
    path.write_bytes(data)
    try:
        read_bundle(path).extract_plan(path.with_name("out"))
    except BadInput:
        return


ANYTHING = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@ANYTHING
@given(data=st.binary(max_size=200), end=st.binary(max_size=22))
def test_any_bytes_are_a_bundle_or_a_sentence(tmp_path: Path, data: bytes, end: bytes) -> None:
    survives(tmp_path / "b", data)
    survives(tmp_path / "b", b"PK\3\4" + data + b"PK\5\6" + end)


@ANYTHING
@given(
    changes=st.lists(
        st.tuples(st.integers(min_value=1, max_value=600), st.integers(0, 255)), min_size=1, max_size=6
    )
)
def test_any_damage_to_the_directory_is_a_bundle_or_a_sentence(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(archive(tmp_path / "b", {**VALID, "plan": b"x"}).read_bytes())
    for back, byte in changes:
        data[-min(back, len(data))] = byte

    survives(tmp_path / "b", bytes(data))


@ANYTHING
@given(at=st.integers(min_value=0), length=st.integers(0, 50), more=st.binary(max_size=50))
def test_any_cut_or_addition_is_a_bundle_or_a_sentence(
    tmp_path: Path, at: int, length: int, more: bytes
) -> None:
    data = archive(tmp_path / "b", {**VALID, "plan": b"x"}).read_bytes()
    at %= len(data)

    survives(tmp_path / "b", data[:at] + more + data[at + length :])
