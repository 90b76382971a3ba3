"""Where the files of a job come from."""

import pytest

from hereya_tf.checkouts.sources import Archive, GitRevision
from hereya_tf.errors import BadInput
from hereya_tf.executor.sources import (
    Directory,
    Fetched,
    Source,
    Tagged,
    canonical,
    has_changing_address,
    read_source,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "ab" * 32
URL = "https://git.example.com/acme/shop.git"


def source(
    package: str, *, commit: str | None = None, version: str | None = None, digest: str | None = None
) -> Source:
    return read_source(package, commit=commit, version=version, digest=digest)


@pytest.mark.parametrize(
    ("package", "path"),
    [
        ("/srv/network", "/srv/network"),
        ("//srv/./network//", "/srv/network"),
        ("/srv/../opt", "/opt"),
        ("network", "network"),
        ("./modules/a:b/", "modules/a:b"),
        (".", "."),
        ("archive.zip", "archive.zip"),
    ],
)
def test_a_path_is_a_directory(package: str, path: str) -> None:
    assert source(package) == Directory(path)
    assert canonical(package) == path


@pytest.mark.parametrize(
    ("package", "address", "directory"),
    [
        (URL, URL, "."),
        (f"{URL}/", URL, "."),
        (f"{URL}//modules/./vpc/", URL, "modules/vpc"),
        (f"{URL}//.", URL, "."),
        ("git@git.example.com:acme/shop.git//a", "git@git.example.com:acme/shop.git", "a"),
        ("ssh://git@git.example.com:22/acme/shop", "ssh://git@git.example.com:22/acme/shop", "."),
        ("file:///srv/shop.git//a/b", "file:///srv/shop.git", "a/b"),
    ],
)
def test_an_address_and_a_commit_are_a_repository(package: str, address: str, directory: str) -> None:
    revision = GitRevision(url=address, commit=COMMIT)

    assert source(package, commit=COMMIT.upper()) == Fetched(revision, directory)
    assert canonical(package) == (address if directory == "." else f"{address}//{directory}")


def test_a_version_is_where_a_commit_is_looked_for() -> None:
    expected = Fetched(GitRevision(url=URL, commit=COMMIT, ref="v1.2"), ".")

    assert source(URL, commit=COMMIT, version="v1.2") == expected


def test_a_version_alone_is_a_tag() -> None:
    assert source(f"{URL}//a", version="v1.2") == Tagged(URL, "v1.2", "a")


@pytest.mark.parametrize("digest", [DIGEST, f"sha256:{DIGEST.upper()}"])
def test_an_address_and_a_digest_are_an_archive(digest: str) -> None:
    package = "https://files.example.com/shop.tgz//modules/vpc?signature=abc//d"
    address = "https://files.example.com/shop.tgz?signature=abc//d"

    found = source(package, digest=digest)

    assert found == Fetched(Archive(url=address, digest=DIGEST), "modules/vpc")
    assert has_changing_address(found)


def test_an_archive_may_be_called_anything() -> None:
    found = source("https://files.example.com/download", digest=DIGEST)

    assert found == Fetched(Archive(url="https://files.example.com/download", digest=DIGEST), ".")
    assert not has_changing_address(found)
    assert not has_changing_address(Directory("a"))


REFUSED = [
    pytest.param(
        "/srv/a", {"commit": COMMIT},
        "the package is a directory, and `commit`, `version` and `digest` are of repositories and archives",
        id="a directory at a commit",
    ),
    pytest.param("../a", {}, "the package is a relative directory that leads out of where those begin", id="out"),
    pytest.param("a\\b", {}, "the package is a relative directory that leads out of where those begin", id="\\"),
    *(
        pytest.param(
            f"{URL}//{inside}", {"commit": COMMIT},
            "what stands behind `//` names no directory inside of the package", id=f"inside {inside!r}",
        )
        for inside in ("", "/etc", "a/../../b", "..\\b")
    ),
    pytest.param(
        URL, {}, "a repository needs `commit` or `version`: what runs is one exact commit", id="no commit"
    ),
    pytest.param(
        "https://x.example.com/a.ZIP", {}, "an archive needs its `digest`: `sha256:` and 64 hexadecimal digits",
        id="no digest",
    ),
    pytest.param(
        "https://x.example.com/a.zip", {"digest": DIGEST, "commit": COMMIT},
        "an archive has a `digest`, and neither `commit` nor `version`", id="an archive at a commit",
    ),
    pytest.param(
        "https://x.example.com/a.zip", {"digest": "md5:00"}, "`md5:00` is not the digest of an archive", id="md5"
    ),
    pytest.param(URL, {"commit": "main"}, "`main` is not a commit", id="a branch for a commit"),
    pytest.param(URL, {"commit": COMMIT[:12]}, "`0123456789ab` is not a commit", id="half a commit"),
    pytest.param(URL, {"version": "-x"}, "`-x` is not the name of a branch or tag", id="an option"),
]  # fmt: skip


@pytest.mark.parametrize(("package", "more", "sentence"), REFUSED)
def test_what_names_nothing_is_refused(package: str, more: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        source(package, **more)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "package",
    [
        "ext::sh -c id",
        "ssh://-oProxyCommand=id/x",
        "-oProxyCommand=id:x",
        "ftp://example.com/x",
        "https:///x",
        "https://[::1/x",
        f"{URL}?ref=main",
        "file://server/share",
    ],
)
@pytest.mark.parametrize("more", [{"commit": COMMIT}, {"version": "v1"}], ids=["commit", "version"])
def test_what_git_may_not_get_is_refused(package: str, more: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        source(package, **more)


@pytest.mark.parametrize("user", ["alice", "alice:hunter2", "hunter2:", ":hunter2"])
@pytest.mark.parametrize(
    ("name", "more"), [("x.git", {"commit": COMMIT}), ("x", {"version": "v1"}), ("x.zip", {"digest": DIGEST})]
)
def test_an_address_with_a_credential_is_refused_without_repeating_it(
    user: str, name: str, more: dict[str, str]
) -> None:
    with pytest.raises(BadInput) as caught:
        source(f"https://{user}@example.com/{name}", **more)

    assert "hunter2" not in str(caught.value)
    assert "user name or a password" in str(caught.value)
