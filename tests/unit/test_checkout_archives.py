"""A package from an archive: what has the digest, inside of its directory, and nothing else."""

import base64
import bz2
import contextlib
import gzip
import hashlib
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hereya_tf.checkouts import (
    Archive,
    CheckoutFailed,
    CheckoutTimedOut,
    Limits,
    NoAccess,
    PackageNotFound,
    RefusedPackage,
    Unreachable,
    parse_credentials,
)
from hereya_tf.checkouts.unpacking import unpack
from hereya_tf.errors import Cancelled
from tests.checking_out import Place, contents
from tests.git_host import GitHost

SMALL = Limits(files=50, tree_bytes=100_000)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    (tmp_path / "served").mkdir()
    with GitHost(tmp_path / "served") as host:
        host.dumb = True
        yield host


Entry = tuple[tarfile.TarInfo, bytes]


def entry(
    name: str, text: str = "", kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> Entry:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, link, mode, len(text)
    return info, text.encode()


def tar_of(*entries: Entry, form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as opened:
        for info, data in entries:
            opened.addfile(info, io.BytesIO(data))
    return made.getvalue()


def zip_of(files: Mapping[str, str], kinds: Mapping[str, int] = {}) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = kinds.get(name, stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(info, text)
    return made.getvalue()


def published(host: GitHost, data: bytes, name: str = "p.zip") -> Archive:
    (host.directory / name).write_bytes(data)
    return Archive(url=host.url(name), digest=hashlib.sha256(data).hexdigest())


FILES = {"main.tf": "# 1\n", "modules/a/a.tf": "# a\n", "run.sh": "true\n"}
PLAIN = tar_of(entry("./", kind=tarfile.DIRTYPE), *(entry(f"./{name}", text) for name, text in FILES.items()))


@pytest.mark.parametrize(
    "data",
    [zip_of(FILES), PLAIN, gzip.compress(PLAIN, mtime=0), bz2.compress(PLAIN)],
    ids=["zip", "tar", "tar.gz", "tar.bz2"],
)
def test_an_archive_is_unpacked_whatever_it_is_called(place: Place, host: GitHost, data: bytes) -> None:
    source = published(host, data, "package")

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == FILES
        assert checkout.directory("modules/a").name == "a"


def test_an_archive_is_downloaded_once(place: Place, host: GitHost) -> None:
    source = published(host, zip_of(FILES))
    for workspace in ("one", "other", "one"):
        with place.checkout(source, workspace) as checkout:
            assert contents(checkout.root) == FILES

    assert [path for path, _ in host.requests] == ["/p.zip"]


def test_a_cached_archive_that_has_changed_is_downloaded_again(place: Place, host: GitHost) -> None:
    source = published(host, zip_of(FILES))
    with place.checkout(source):
        pass
    (cached,) = (path for path in place.files() if path.name == "archive")
    cached.write_bytes(zip_of({"main.tf": "# another\n"}))

    with place.checkout(source, "other") as checkout:
        assert contents(checkout.root) == FILES


def test_what_a_run_has_changed_is_as_in_the_archive_again(
    place: Place, host: GitHost, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    source = published(host, PLAIN)
    with place.checkout(source) as checkout:
        root = checkout.root
        (root / "main.tf").unlink()
        (root / "main.tf").symlink_to(outside / "main.tf")
        (root / "modules/a/a.tf").unlink()
        (root / "modules/a").rmdir()
        (root / "modules/a").symlink_to(outside)
        (root / "run.sh").unlink()
        (root / "run.sh/x").mkdir(parents=True)
        (root / "terraform.tfstate").write_text("{}")
        (root / "more.tf").write_text("x")

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {**FILES, "terraform.tfstate": "{}"}
    assert list(outside.iterdir()) == []


def test_an_archive_with_another_digest(place: Place, host: GitHost) -> None:
    source = published(host, zip_of(FILES))
    other = zip_of({"main.tf": "# another\n"})
    (host.directory / "p.zip").write_bytes(other)

    error = place.failure(source)

    assert type(error) is RefusedPackage
    assert str(error) == (
        f"`{source.url}` has SHA-256 `{hashlib.sha256(other).hexdigest()}`, and `{source.digest}` was asked for"
    )
    assert not any("tree" in path.parts for path in place.files())


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, NoAccess), (403, NoAccess), (404, PackageNotFound), (410, PackageNotFound), (501, Unreachable)],
)
def test_why_an_archive_cannot_be_had(
    place: Place, host: GitHost, status: int, kind: type[CheckoutFailed]
) -> None:
    source = published(host, zip_of(FILES))
    host.status = status

    error = place.failure(source)

    assert type(error) is kind
    assert str(error) == f"`p.zip` could not be downloaded from `{host.place}`: it answered {status}"
    assert error.hints
    assert "--from" not in " ".join(error.hints)


def test_an_archive_behind_a_password(place: Place, host: GitHost) -> None:
    source = published(host, zip_of(FILES))
    host.user_info = "bob:pa:ss"
    credentials = parse_credentials(f"http://bob:pa%3Ass@{host.place}/", "f")

    assert type(place.failure(source)) is NoAccess
    with place.checkout(source, credentials=credentials) as checkout:
        assert contents(checkout.root) == FILES
    assert host.credentials == (None, f"Basic {base64.b64encode(b'bob:pa:ss').decode()}")


def test_where_a_redirect_of_an_archive_leads_no_password_goes(
    place: Place, host: GitHost, tmp_path: Path
) -> None:
    source = published(host, zip_of(FILES))
    credentials = parse_credentials(f"http://bob:secret@{host.place}/", "f")
    with GitHost(tmp_path / "served") as other:
        other.dumb = True
        host.elsewhere = f"http://{other.place}"
        with place.checkout(source, credentials=credentials) as checkout:
            assert contents(checkout.root) == FILES

    assert (host.credentials, other.credentials) == (("Basic Ym9iOnNlY3JldA==",), (None,))


def test_an_archive_of_this_machine_only_where_the_operator_allows_it(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "a b.zip"
    file.write_bytes(zip_of(FILES))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    source = Archive(url=f"file://{tmp_path}/a%20b.zip", digest=digest)

    assert str(place.failure(source)).endswith("is on this machine, and packages are not fetched from there")
    with place.checkout(source, allow_local=True) as checkout:
        assert contents(checkout.root) == FILES
    missing = Archive(url=f"file://{tmp_path}/none.zip", digest="1" * 64)
    assert type(place.failure(missing, allow_local=True)) is PackageNotFound
    directory = Archive(url=f"file://{tmp_path}", digest="1" * 64)
    assert str(place.failure(directory, allow_local=True)) == f"`{tmp_path}` is not a file"


def test_certificates_that_cannot_be_read(place: Place) -> None:
    source = Archive(url="https://localhost:1/p.zip", digest="1" * 64)

    error = place.failure(source, environment={"SSL_CERT_FILE": "/none"})

    assert type(error) is CheckoutFailed
    assert "`SSL_CERT_FILE`" in str(error)


def test_an_archive_that_does_not_come_in_time_or_is_too_large(place: Place, host: GitHost) -> None:
    source = published(host, b"x" * 10_000)

    too_large = place.failure(source, limits=Limits(transfer_bytes=9_999))
    host.silent = True
    late = place.failure(source, limits=Limits(seconds=0.3))

    assert str(too_large) == f"`p.zip` could not be downloaded from `{host.place}`: it is larger than 10 kB"
    assert (type(late), str(late)) == (CheckoutTimedOut, f"`{source.url}` was not here within 300ms")
    assert [path.name for path in place.files() if "archives" in path.parts] == ["lock"]


def test_unpacking_can_be_interrupted_and_begins_anew(place: Place, host: GitHost) -> None:
    source = published(host, PLAIN)
    with place.checkout(source, "another"):
        pass

    def pause(_seconds: float) -> None:
        if any(
            path.name == "a.tf" and "trees" in path.parts
            for path in place.cache.glob("checkouts/trees/*/tree/modules/a/a.tf")
            if path.parts[-5] not in known
        ):
            raise Cancelled("enough")

    known = {path.name for path in place.cache.glob("checkouts/trees/*")}
    assert str(place.failure(source, pause=pause)) == "enough"
    with place.checkout(source) as checkout:
        assert contents(checkout.root) == FILES


def taken(data: bytes, root: Path, limits: Limits = SMALL) -> frozenset[str]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        return unpack(file, root, limits, lambda _seconds: None)


OUT = [
    *("../x", "a/../../x", "/x", "a\\x", "a/.git/config", ".GIT", "x" * 256, "/".join(["d" * 200] * 25)),
]


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("make", [lambda name: tar_of(entry(name, "x")), lambda name: zip_of({name: "x"})])
def test_a_name_that_leads_out_or_is_none(tmp_path: Path, name: str, make: Callable[[str], bytes]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(RefusedPackage, match=r"^the archive's `.*` is refused: "):
        taken(make(name), root)

    assert list(root.iterdir()) == []
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("links", "is_refused"),
    [
        ({"a": "main.tf", "b/c": "../main.tf", "d": ".", "gone": "none"}, False),
        ({"a": "/etc/passwd"}, True),
        ({"a": ".."}, True),
        ({"a": "b/..", "b": "c/d", "c/d/e": "../../main.tf"}, False),
        ({"b": "c/d", "c/d": "../..", "x": "main.tf"}, True),
        ({"a": "b/x", "b": "c", "c": ".."}, True),
        ({"a": "a"}, None),
    ],
)
def test_links_stay_inside(tmp_path: Path, links: dict[str, str], is_refused: bool | None) -> None:
    root = tmp_path / "root"
    root.mkdir()
    members = [
        entry("main.tf", "x"),
        *(entry(name, kind=tarfile.SYMTYPE, link=to) for name, to in links.items()),
    ]
    if is_refused is None:  # a circle leads nowhere, which differs between versions of Python
        with contextlib.suppress(RefusedPackage):
            taken(tar_of(*members), root)
    elif is_refused:
        with pytest.raises(RefusedPackage, match="a link that leads out of the package"):
            taken(tar_of(*members), root)
        assert not any(path.is_symlink() for path in root.rglob("*"))
    else:
        assert taken(tar_of(*members), root) == {"main.tf", *links}
        assert {name: f"-> {to}" for name, to in links.items()}.items() <= contents(root).items()


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    kinds = {"link": stat.S_IFLNK | 0o777}
    root = tmp_path / "root"
    root.mkdir()

    assert taken(zip_of({"a/main.tf": "x", "link": "a/main.tf"}, kinds), root) == {"a/main.tf", "link"}
    assert contents(root) == {"a/main.tf": "x", "link": "-> a/main.tf"}
    for target in ("", "x\0y", "x" * 5000, "../x"):
        with pytest.raises(RefusedPackage):
            taken(zip_of({"link": target}, kinds), root)


def test_nothing_is_unpacked_through_a_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    archives = (
        tar_of(entry("a", kind=tarfile.SYMTYPE, link=str(outside)), entry("a/x", "pwned")),
        tar_of(entry("a/x", "pwned"), entry("a", kind=tarfile.SYMTYPE, link=str(outside))),
        tar_of(entry("a", kind=tarfile.SYMTYPE, link=str(outside)), entry("a", "pwned")),
        tar_of(entry("a", "1"), entry("a", "2")),
        tar_of(entry("a", "1"), entry("a/b", "2")),
        tar_of(entry("a", "1"), entry("./a/", kind=tarfile.DIRTYPE)),
        zip_of({"a": str(outside), "a/x": "pwned"}, {"a": stat.S_IFLNK | 0o777}),
    )
    for data in archives:
        with pytest.raises(RefusedPackage, match=r"(a file, and a directory as well|has it twice)"):
            taken(data, root)

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        tar_of(entry("x", kind=tarfile.CHRTYPE)),
        tar_of(entry("x", kind=tarfile.BLKTYPE)),
        tar_of(entry("x", kind=tarfile.FIFOTYPE)),
        tar_of(entry("a", "x"), entry("x", kind=tarfile.LNKTYPE, link="a")),
        tar_of(entry("x", kind=tarfile.SYMTYPE, link="")),
        zip_of({"x": ""}, {"x": stat.S_IFIFO | 0o644}),
        zip_of({"x": ""}, {"x": stat.S_IFCHR | 0o644}),
        zip_of({"x": ""}).replace(b"x", b"\0"),
    ],
)
def test_what_is_no_file_directory_or_link(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(RefusedPackage, match="is refused: it is "):
        taken(data, tmp_path)

    assert not (tmp_path / "x").exists()


def test_only_whether_it_can_be_run_is_kept_of_a_mode(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    os.umask(umask := os.umask(0o22))
    taken(tar_of(entry("run", mode=0o6777), entry("secret", mode=0o4000)), root)
    taken(zip_of({"also": ""}, {"also": stat.S_IFREG | 0o7755}), root)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}

    assert modes == {"run": 0o777 & ~umask, "secret": 0o666 & ~umask, "also": 0o777 & ~umask}


def bomb(size: int) -> bytes:
    return gzip.compress(tar_of(entry("x", "\0" * size)), mtime=0)


def header_bomb() -> bytes:
    """A tar whose first header says that a text of a gigabyte follows, which is zeros."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * (4 << 20), mtime=0)


def size_bomb() -> bytes:
    """A tar whose first member says that it is as large as no disk."""
    info = tarfile.TarInfo("x")
    info.size = 1 << 60
    return info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024


def negative_size() -> bytes:
    info = tarfile.TarInfo("x")
    info.size = -512 * 3
    return (
        tar_of(entry("a", "x")).rstrip(b"\0").ljust(1024, b"\0")
        + info.tobuf(tarfile.GNU_FORMAT)
        + b"\0" * 1024
    )


def directory_bomb() -> bytes:
    data = bytearray(zip_of({"x": "x"}))
    at = data.rindex(b"PK\x05\x06")
    comment = 40_000_000
    data[at + 12 : at + 16] = comment.to_bytes(4, "little")
    return b"\0" * comment + bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        bomb(200_000),
        bomb(3_000_000),
        tar_of(*(entry(f"f{number}") for number in range(51))),
        zip_of({f"f{number}": "" for number in range(51)}),
        zip_of({"x": "\0" * 200_000}),
        header_bomb(),
        size_bomb(),
        negative_size(),
        b"PK\x03\x04" + directory_bomb(),
    ],
    ids=["gzip", "more", "files", "zip files", "zip", "header", "size", "negative", "directory"],
)
def test_bombs_do_not_go_off(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(RefusedPackage):
        taken(data, tmp_path)

    assert sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file()) <= SMALL.tree_bytes


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"PK\x03\x04",
            b"PK\x05\x06",
            b"\x1f\x8b",
            b"BZh",
            b"hello" * 1000,
            b"\xfd7zXZ\0" + b"x" * 600,
        ),
        *(
            zip_of(FILES)[:-30],
            zip_of(FILES)[:100],
            PLAIN[:600],
            gzip.compress(PLAIN, mtime=0)[:60],
            gzip.compress(PLAIN, mtime=0)[:-8],
        ),
        *(b"\x1f\x8b" + b"x" * 100, b"BZh9" + b"x" * 100, tar_of(entry("a", "x" * 5000))[:3000]),
    ],
)
def test_bytes_that_are_no_archive(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(RefusedPackage):
        taken(data, tmp_path)


def test_a_zip_that_nobody_could_open(tmp_path: Path) -> None:
    encrypted = bytearray(zip_of({"x": "x"}))
    encrypted[encrypted.rindex(b"PK\x01\x02") + 8] |= 1
    strange = io.BytesIO()
    with zipfile.ZipFile(strange, "w", zipfile.ZIP_BZIP2) as opened:
        opened.writestr("x", "x")
    for data, why in ((bytes(encrypted), "encrypted"), (strange.getvalue(), "only some programs know")):
        with pytest.raises(RefusedPackage, match=why):
            taken(data, tmp_path)


SEEDS = (
    zip_of({**FILES, "l": "main.tf"}, {"l": stat.S_IFLNK | 0o777}),
    tar_of(entry("main.tf", "x"), entry("l", kind=tarfile.SYMTYPE, link="main.tf"), entry("d/e", "y" * 700)),
    tar_of(entry("a" * 150, "x"), entry("caf\u00e9", "x"), form=tarfile.GNU_FORMAT),
    gzip.compress(PLAIN, mtime=0),
)


@example(seed=SEEDS[0], changes=[(404, 177)], cut=0)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.sampled_from(SEEDS),
    changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.integers(0, 3000),
)
def test_an_archive_with_faults_is_unpacked_or_refused(
    seed: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(seed)
    for at, value in changes:
        data[at % len(data)] = value
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory, "root")
        root.mkdir()
        with contextlib.suppress(RefusedPackage):
            taken(bytes(data[: len(data) - cut] if cut < 1000 else data), root)

        assert [path.name for path in Path(directory).iterdir()] == ["root"]
        inside = [path.resolve() for path in root.rglob("*") if not path.is_symlink()]
        assert all(path.is_relative_to(root.resolve()) for path in inside)
