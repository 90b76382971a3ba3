"""Where packages come from: addresses, commits, digests, credentials, and their places in the cache."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.checkouts import (
    Archive,
    Credentials,
    GitRevision,
    PackageSource,
    parse_credentials,
    read_credentials,
    read_source,
)
from hereya_tf.checkouts.git_settings import git_environment
from hereya_tf.checkouts.layout import Layout
from hereya_tf.checkouts.sources import identity
from hereya_tf.errors import BadConfig, BadInput, HereyaError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "ab" * 32


@pytest.mark.parametrize(
    ("given_url", "url"),
    [
        ("https://git.example.com/owner/infra.git", "https://git.example.com/owner/infra.git"),
        ("HTTPS://Git.Example.com:443/owner/infra", "https://git.example.com/owner/infra"),
        ("http://gitea:3000/owner/infra", "http://gitea:3000/owner/infra"),
        ("https://git.example.com/a b".replace(" ", "%20"), "https://git.example.com/a%20b"),
        ("ssh://git@git.example.com:2222/owner/infra.git", "ssh://git@git.example.com:2222/owner/infra.git"),
        ("git@git.example.com:owner/infra.git", "git@git.example.com:owner/infra.git"),
        ("file:///srv/infra.git", "file:///srv/infra.git"),
        ("file://localhost/srv/infra.git", "file:///srv/infra.git"),
    ],
)
def test_the_address_of_a_repository(given_url: str, url: str) -> None:
    assert url == GitRevision(url=given_url, commit=COMMIT).url


@pytest.mark.parametrize(
    "url",
    [
        *("", "infra", "/srv/infra", "../infra", "C:\\infra", "-oProxyCommand=x:y", "--upload-pack=x"),
        *("ext::sh -c x", "ext::sh", "fd::17", "git://git.example.com/x", "ftp://git.example.com/x"),
        *(
            "https://",
            "https:///x",
            "https://git example.com/x",
            "https://git.example.com/x\n",
            "https://[::1/x",
        ),
        *(
            "ssh://-oProxyCommand=x/x",
            "ssh://-l@h/x",
            "ssh:///x",
            "ssh://h:port/x",
            "ssh://h/x?y",
            "ssh://h/x#y",
        ),
        *(
            "file://host/x",
            "file:x",
            "file://",
            "git@:x",
            "git@host:",
            "host:x",
            "a@-h:x",
            "https://h/x?ref=y",
        ),
        *("https://h/\ud800", f"https://h/{'x' * 5000}", "https://h/a\tb", "::x", "host::x"),
    ],
)
def test_what_is_no_address_of_a_repository(url: str) -> None:
    with pytest.raises(BadInput):
        GitRevision(url=url, commit=COMMIT)


@pytest.mark.parametrize(
    "url",
    [
        *("https://bob:hunter22@git.example.com/x", "https://hunter22@git.example.com/x"),
        *("ssh://bob:hunter22@git.example.com/x", "https://git.example.com/x?token=hunter22"),
        *("https://bob:hunter22@git.example.com:port/x", "ssh://bob:hunter22@git.example.com:port/x"),
        *("ftp://bob:hunter22@git.example.com/x", "bob:hunter22@git.example.com/x y"),
    ],
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        GitRevision(url=url, commit=COMMIT)

    assert "hunter22" not in f"{caught.value!r} {caught.value.hints}"


@pytest.mark.behaviour("P10")
@pytest.mark.parametrize(
    "commit", ["", "main", "HEAD", COMMIT[:12], COMMIT + "0", "0" * 40, "0" * 64, COMMIT + "\n", "-" * 40]
)
def test_a_commit_is_named_by_its_whole_sha(commit: str) -> None:
    with pytest.raises(BadInput, match="is not a commit"):
        GitRevision(url="https://git.example.com/x", commit=commit)


def test_a_sha_is_the_same_in_capitals() -> None:
    source = GitRevision(url="https://git.example.com/x", commit=COMMIT.upper())

    assert (source.commit, source.shown) == (COMMIT, "https://git.example.com/x at 0123456789ab")


@pytest.mark.parametrize("ref", ["", "-x", "+x", "a:b", "a b", "a..b", "x.lock", "@", "a\0b", "*", "^x"])
def test_what_is_no_branch_or_tag(ref: str) -> None:
    with pytest.raises(BadInput, match="branch or tag"):
        GitRevision(url="https://git.example.com/x", commit=COMMIT, ref=ref)


@pytest.mark.parametrize("digest", [DIGEST, DIGEST.upper(), f"sha256:{DIGEST}", f" SHA256:{DIGEST} "])
def test_the_digest_of_an_archive(digest: str) -> None:
    archive = Archive(url="https://example.com/p.zip?sig=hunter22", digest=digest)

    assert archive.digest == DIGEST
    assert archive.shown == "https://example.com/p.zip"
    assert archive.url == "https://example.com/p.zip?sig=hunter22"
    assert "hunter22" not in repr(archive)


@pytest.mark.parametrize("digest", ["", "sha256:", DIGEST[:-1], f"md5:{DIGEST}", f"{DIGEST}\n0", "g" * 64])
def test_what_is_no_digest(digest: str) -> None:
    with pytest.raises(BadInput, match="is not the digest"):
        Archive(url="https://example.com/p.zip", digest=digest)


@pytest.mark.parametrize(
    "url", ["p.zip", "git@h:p", "ssh://h/p", "https://a:b@h/p", "file://h/p", "https://"]
)
def test_what_is_no_address_of_an_archive(url: str) -> None:
    with pytest.raises(BadInput):
        Archive(url=url, digest=DIGEST)


def test_a_local_archive_is_at_a_path() -> None:
    archive = Archive(url="file:///srv/a%20b.zip", digest=DIGEST)

    assert (archive.is_local, archive.path, archive.shown) == (True, "/srv/a b.zip", "file:///srv/a%20b.zip")


@pytest.mark.parametrize(
    ("members", "source"),
    [
        (
            {"url": "https://h/x", "commit": COMMIT, "ref": "main", "submodules": True, "other": 1},
            GitRevision(url="https://h/x", commit=COMMIT, ref="main", with_submodules=True),
        ),
        ({"url": "https://h/x", "commit": COMMIT}, GitRevision(url="https://h/x", commit=COMMIT)),
        ({"url": "https://h/x", "digest": DIGEST}, Archive(url="https://h/x", digest=DIGEST)),
    ],
)
def test_a_source_is_read_from_a_document(members: dict[str, object], source: PackageSource) -> None:
    assert source == read_source(members)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({}, "no `url`"),
        ({"url": 1}, "no `url`"),
        ({"url": "https://h/x"}, "either a `commit` or a `digest`"),
        ({"url": "https://h/x", "commit": COMMIT, "digest": DIGEST}, "either a `commit` or a `digest`"),
        ({"url": "https://h/x", "commit": 1}, "either a `commit` or a `digest`"),
        ({"url": "https://h/x", "commit": COMMIT, "ref": 1}, "`ref` is not a text"),
        ({"url": "https://h/x", "commit": COMMIT, "submodules": 1}, "neither true nor false"),
    ],
)
def test_a_document_that_names_no_source(members: dict[str, object], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_source(members)


@given(st.dictionaries(st.sampled_from(["url", "commit", "digest", "ref"]), st.text(), max_size=4))
def test_whatever_a_document_says_it_is_read_or_refused(members: dict[str, object]) -> None:
    with contextlib.suppress(BadInput):
        assert read_source(members).url


@given(
    st.text(alphabet="htps:/@.-?#[]%ab1 \\\n", max_size=30),
    st.sampled_from(["", "https://", "ssh://", "file://"]),
)
def test_an_address_is_taken_or_refused(text: str, start: str) -> None:
    try:
        source = GitRevision(url=start + text, commit=COMMIT)
    except BadInput:
        return
    assert not source.url.startswith("-")
    assert " " not in source.url


TEXTS = st.text(alphabet="ab/ 0\"'", max_size=6)


@given(TEXTS, TEXTS)
def test_trees_of_distinct_workspaces_are_apart(one: str, other: str) -> None:
    layout, source = Layout(Path("/cache")), Archive(url="https://h/x", digest=DIGEST)

    assert (one == other) == (layout.tree(source, one) == layout.tree(source, other))


def test_places_in_the_cache_say_what_they_are() -> None:
    layout = Layout(Path("/cache"))
    revision = GitRevision(url="git@h:owner/My_Infra.git", commit=COMMIT)
    names = [layout.tree(revision, "w").name, layout.repository(revision).name]

    assert all(name.startswith("my-infra-") and len(name) == 33 for name in names)
    assert Path("/cache/checkouts/archives", DIGEST) == layout.archive(
        Archive(url="https://h/", digest=DIGEST)
    )
    assert layout.tree(Archive(url="https://h/", digest=DIGEST), "w").name.startswith("h-")


def test_submodules_make_another_tree() -> None:
    plain = GitRevision(url="https://h/x", commit=COMMIT)
    whole = GitRevision(url="https://h/x", commit=COMMIT, with_submodules=True)

    assert identity(plain) != identity(whole)


def test_an_archive_is_the_same_from_everywhere() -> None:
    here, there = (Archive(url=f"https://{host}/x", digest=DIGEST) for host in ("here", "there"))

    assert identity(here) == identity(there)


CREDENTIALS = """
# the operator's
https://bob:pa%3Ass%40word@git.example.com
https://carol:secret-of-carol@git.example.com/team
https://dave:secret-of-dave@git.example.com:8443/
"""


@pytest.mark.parametrize(
    ("url", "basic"),
    [
        ("https://git.example.com/x", "bob:pa:ss@word"),
        ("https://git.example.com/", "bob:pa:ss@word"),
        ("https://git.example.com/team", "carol:secret-of-carol"),
        ("https://git.example.com/team/x?y", "carol:secret-of-carol"),
        ("https://git.example.com/teams/x", "bob:pa:ss@word"),
        ("https://git.example.com:8443/x", "dave:secret-of-dave"),
        ("http://git.example.com/x", None),
        ("https://git.example.com.evil.example/x", None),
        ("https://example.com/x", None),
    ],
)
def test_a_credential_is_for_its_host_and_the_longest_path(url: str, basic: str | None) -> None:
    assert basic == parse_credentials(CREDENTIALS, "f").basic(url)


def test_credentials_never_show() -> None:
    credentials = parse_credentials(CREDENTIALS, "f")
    shown = f"{credentials} {credentials.entries}"

    assert {"pa:ss@word", "secret-of-carol", "secret-of-dave"} == set(credentials.secrets())
    assert not any(secret in shown for secret in (*credentials.secrets(), "pa%3Ass", "bob"))
    assert "https://git.example.com/team" in shown


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hunter22", "it has no scheme"),
        ("https://git.example.com", "no user name and password"),
        ("https://bob@git.example.com", "no password"),
        ("https://bob:@git.example.com", "no password"),
        ("https://bob:hunter22%0Ahost=evil@git.example.com", "a control character"),
        ("https://bob:hunter22@git.example.com/?x", "a query"),
        ("ssh://bob:hunter22@git.example.com", "its scheme is `ssh`"),
    ],
)
def test_a_line_that_is_no_credential_is_named_by_its_number(line: str, why: str) -> None:
    with pytest.raises(BadConfig) as caught:
        parse_credentials(f"\n{line}\n", "git-credentials")

    assert str(caught.value).startswith("line 2 of `git-credentials` is not a credential: ")
    assert why in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_a_file_of_credentials_is_nobody_elses(tmp_path: Path) -> None:
    file = tmp_path / "git-credentials"
    file.write_text(CREDENTIALS)
    file.chmod(0o640)
    with pytest.raises(BadConfig) as caught:
        read_credentials(file)
    file.chmod(0o600)

    assert f"`{file}` holds credentials, and others may read it" == str(caught.value)
    assert read_credentials(file).basic("https://git.example.com/team/x") == "carol:secret-of-carol"


def test_a_file_of_credentials_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HereyaError, match="cannot be read"):
        read_credentials(tmp_path / "none")


def settings(environment: dict[str, str]) -> list[tuple[str, str]]:
    count = int(environment["GIT_CONFIG_COUNT"])
    return [(environment[f"GIT_CONFIG_KEY_{n}"], environment[f"GIT_CONFIG_VALUE_{n}"]) for n in range(count)]


def test_git_gets_the_operators_environment_less_what_would_lead_it_astray() -> None:
    operators = {"PATH": "/bin", "HTTPS_PROXY": "http://p:1", "GIT_SSL_CAINFO": "/ca", "GIT_SSH": "s"}
    astray = {
        "GIT_DIR": "/x",
        "GIT_TRACE_CURL": "/x",
        "HEREYA_TOKEN": "t",
        "SSH_ASKPASS": "x",
        "LANGUAGE": "de",
    }
    configured = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "http.proxy", "GIT_CONFIG_VALUE_0": "p"}
    environment = git_environment(operators | astray | configured, Credentials(), allow_local=False)
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_CONFIG_")}

    assert kept == operators | {
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "https:http:ssh",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
    }
    assert settings(environment)[0] == ("http.proxy", "p")
    assert ("core.hooksPath", "/dev/null") in settings(environment)


@pytest.mark.parametrize("count", ["", "x", "-1", "³"])
def test_a_count_of_settings_that_is_none_is_left_out(count: str) -> None:
    environment = git_environment({"GIT_CONFIG_COUNT": count}, Credentials(), allow_local=True)

    assert settings(environment)[0][0] == "core.hooksPath"
    assert environment["GIT_ALLOW_PROTOCOL"] == "https:http:ssh:file"
    assert "BatchMode=yes" in environment["GIT_SSH_COMMAND"]


def test_of_two_credentials_for_a_host_git_hears_the_more_exact_one_last() -> None:
    environment = git_environment({}, parse_credentials(CREDENTIALS, "f"), allow_local=False)
    helpers = [
        (name, bool(value)) for name, value in settings(environment) if name.startswith("credential.http")
    ]
    values = " ".join(value for _, value in settings(environment))

    assert helpers == [
        ("credential.https://git.example.com.helper", False),
        ("credential.https://git.example.com.helper", True),
        ("credential.https://git.example.com/team.helper", False),
        ("credential.https://git.example.com/team.helper", True),
        ("credential.https://git.example.com:8443.helper", False),
        ("credential.https://git.example.com:8443.helper", True),
    ]
    assert "secret-of" not in values
