"""Credentials reach the host they are for, and nobody and nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.checkouts import CheckoutFailed, Credentials, GitRevision, NoAccess, parse_credentials
from tests.checking_out import Place, contents
from tests.git_host import Author, GitHost

PASSWORD = "hunter22 'quoted\" $(x) @:/%"
QUOTED = "hunter22%20'quoted%22%20$(x)%20%40%3A%2F%25"
BASIC = "Basic Ym9iOmh1bnRlcjIyICdxdW90ZWQiICQoeCkgQDovJQ=="


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "served")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "served", user_info=f"bob:{PASSWORD}") as host:
        yield host


def operators(host: GitHost) -> Credentials:
    return parse_credentials(f"http://bob:{QUOTED}@{host.place}", "f")


def recording_git(directory: Path) -> Path:
    """A git that writes down the arguments of itself, and of every process that git starts."""
    program = directory / "git"
    program.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$@" >>{directory}/arguments\n'
        f"export GIT_TRACE2_PERF={directory}/arguments GIT_TRACE_CURL={directory}/curl\n"
        'exec "$REAL_GIT" "$@"\n'
    )
    program.chmod(0o755)
    return program


def test_a_password_is_in_no_argument_no_file_and_no_address(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    program = recording_git(tmp_path)
    real = next(found for part in os.environ["PATH"].split(":") if (found := Path(part, "git")).is_file())

    with place.checkout(
        GitRevision(url=host.url(), commit=commit),
        environment={"REAL_GIT": str(real)},
        credentials=operators(host),
        git=str(program),
    ) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
    written = b"".join(
        path.read_bytes() for path in (*place.files(), tmp_path / "arguments", tmp_path / "curl")
    )

    assert host.credentials == (None, BASIC)
    assert b"fetch" in written
    assert b"username=%s" in written
    assert b"hunter22" not in written
    assert BASIC.split()[1].encode() not in written


def test_a_password_that_is_wrong(place: Place, author: Author, host: GitHost) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    credentials = parse_credentials(f"http://bob:hunter23@{host.place}", "f")

    error = place.failure(GitRevision(url=host.url(), commit=commit), credentials=credentials)

    assert (type(error), str(error)) == (
        NoAccess,
        f"`{host.url()}` refuses the credentials that it was given",
    )
    assert "hunter23" not in f"{error!r}{error.hints}"


def test_a_helper_of_the_operators_is_neither_asked_nor_told(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    (tmp_path / "home/.gitconfig").write_text(
        f'[credential]\n\thelper = "!f() {{ cat >>{tmp_path}/told; echo asked >>{tmp_path}/told; }}; f"\n'
    )

    with place.checkout(GitRevision(url=host.url(), commit=commit), credentials=operators(host)):
        assert not (tmp_path / "told").exists()


def test_without_a_setting_the_operators_own_helper_is_asked(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    host.user_info = "bob:simple"
    (tmp_path / "home/.gitconfig").write_text(
        '[credential]\n\thelper = "!f() { echo username=bob; echo password=simple; }; f"\n'
    )

    with place.checkout(GitRevision(url=host.url(), commit=commit)) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}


@pytest.mark.parametrize("first_wants_it", [True, False])
def test_where_a_redirect_leads_no_password_goes(
    place: Place, tmp_path: Path, author: Author, host: GitHost, *, first_wants_it: bool
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    with GitHost(tmp_path / "served", user_info="eve:listens") as other:
        other.elsewhere = None
        host.elsewhere = f"http://{other.place}"
        host.asks_before_it_redirects = first_wants_it

        error = place.failure(GitRevision(url=host.url(), commit=commit), credentials=operators(host))

    assert isinstance(error, CheckoutFailed)
    assert other.credentials == (None,)


def test_a_password_that_the_host_says_back_is_hidden(place: Place, host: GitHost) -> None:
    host.user_info = None
    host.body = b"001e# service=git-upload-pack\n00000036ERR your password is hunter22 'quoted\" $(x) @:/%"

    error = place.failure(GitRevision(url=host.url(), commit="1" * 40), credentials=operators(host))

    assert "hunter22" not in f"{error!r}{place.said}"
    assert host.url() in str(error)


def test_no_credential_of_one_host_is_for_another(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    with GitHost(tmp_path / "served", user_info="eve:listens") as other:
        error = place.failure(GitRevision(url=other.url(), commit=commit), credentials=operators(host))

    assert type(error) is NoAccess
    assert other.credentials == (None,)
