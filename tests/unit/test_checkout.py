"""A package from a repository: exactly the commit, from every kind of server, whatever was there before."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.checkouts import (
    CheckoutFailed,
    GitRevision,
    NoAccess,
    PackageNotFound,
    RefusedPackage,
    UnknownCommit,
    Unreachable,
    parse_credentials,
)
from hereya_tf.errors import BadInput, FailureClass
from tests.checking_out import Place, contents
from tests.git_host import Author, GitHost, git

OLD_PROTOCOL = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "protocol.version",
    "GIT_CONFIG_VALUE_0": "0",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path / "served")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with GitHost(tmp_path / "served") as host:
        yield host


@pytest.mark.behaviour("P10")
def test_what_is_checked_out_is_the_commit_and_not_the_tip(
    place: Place, author: Author, host: GitHost
) -> None:
    first = author.commit({"main.tf": "# 1\n", "modules/a/a.tf": "# a\n"})
    second = author.commit({"main.tf": "# 2\n"})
    author.commit({"main.tf": "# the tip\n"})

    with place.checkout(GitRevision(url=host.url(), commit=first)) as one:
        assert contents(one.root) == {"main.tf": "# 1\n", "modules/a/a.tf": "# a\n"}
        assert git(one.root, "rev-parse", "HEAD") == first
        assert git(one.root, "status", "--porcelain") == ""
        with place.checkout(GitRevision(url=host.url(), commit=second)) as other:
            assert contents(other.root) == {"main.tf": "# 2\n", "modules/a/a.tf": "# a\n"}


def test_a_commit_that_is_there_needs_no_network(place: Place, author: Author, host: GitHost) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    with place.checkout(source, "one") as checkout:
        one = checkout.root
    host.status = 500

    with place.checkout(source, "one") as again, place.checkout(source, "other") as other:
        assert again.root == one
        assert other.root != one
        assert contents(other.root) == contents(one) == {"main.tf": "# 1\n"}


def test_what_a_run_has_changed_is_as_in_the_commit_again(
    place: Place, author: Author, host: GitHost
) -> None:
    files = {"main.tf": "# 1\n", "run.sh": "true\n", "conf/x.auto.tfvars": "a = 1\n"}
    source = GitRevision(url=host.url(), commit=author.commit(files, links={"link.tf": "main.tf"}))
    with place.checkout(source) as checkout:
        root = checkout.root
        (root / "main.tf").write_text("# changed\n")
        (root / "run.sh").unlink()
        (root / "conf/x.auto.tfvars").unlink()
        (root / "conf").rmdir()
        (root / "conf").symlink_to("/")
        left = {
            ".terraform/modules/m/m.tf": "# installed\n",
            "terraform.tfstate": "{}\n",
            "errored.tfstate": "{}\n",
            ".terraform.lock.hcl": "# lock\n",
            "sub/out.txt": "x\n",
        }
        astray = {"more.tf": "x", "sub/b.tf.json": "{}", "a.auto.tfvars": "x", "hereya-tf.toml": "x"}
        for name, text in {**left, **astray}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "dir.tf").symlink_to("/")

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {**files, **left, "link.tf": "-> main.tf"}


def test_git_of_a_checkout_may_be_broken_by_a_run(place: Place, author: Author, host: GitHost) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    with place.checkout(source) as checkout:
        (checkout.root / ".git").unlink()
        (checkout.root / ".git").mkdir()
        (checkout.root / ".git/config").write_text("[core]\n\tfsmonitor = touch /nowhere\n")
    (lock,) = (path for path in place.files() if path.name == "index")
    lock.with_name("index.lock").write_text("")
    lock.write_text("no index")

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
        assert git(checkout.root, "status", "--porcelain") == ""


def test_a_lock_that_a_killed_git_has_left_is_in_nobodys_way(
    place: Place, author: Author, host: GitHost
) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n"}))
    with place.checkout(source) as checkout:
        (checkout.root / "main.tf").write_text("# changed\n")
    (index,) = (path for path in place.files() if path.name == "index")
    for name in ("index.lock", "HEAD.lock"):
        index.with_name(name).write_text("")

    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
    assert place.said == []


@pytest.mark.parametrize("kept", [0, 100], ids=["empty", "cut"])
def test_a_cached_repository_that_is_broken_is_made_anew(
    place: Place, author: Author, host: GitHost, kept: int
) -> None:
    source = GitRevision(url=host.url(), commit=author.commit({"main.tf": "# 1\n" * 1000}))
    with place.checkout(source):
        pass
    for path in place.files():
        if path.suffix == ".pack":
            path.chmod(0o600)
            path.write_bytes(path.read_bytes()[:kept])

    with place.checkout(source, "other") as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n" * 1000}
    assert [sentence.rpartition(": ")[2] for sentence in place.said] == ["the cached repository is made anew"]


def test_a_server_that_gives_no_bare_commits(place: Place, author: Author, host: GitHost) -> None:
    first = author.commit({"main.tf": "# 1\n"})
    author.commit({"main.tf": "# 2\n"})
    tip = author.commit({"main.tf": "# 3\n"})

    # The tip alone, without its history; then what lies in that history.
    for commit, text in ((tip, "# 3\n"), (first, "# 1\n")):
        with place.checkout(GitRevision(url=host.url(), commit=commit), environment=OLD_PROTOCOL) as checkout:
            assert contents(checkout.root) == {"main.tf": text}
    unknown = place.failure(GitRevision(url=host.url(), commit="1" * 40), environment=OLD_PROTOCOL)

    assert type(unknown) is UnknownCommit


def test_a_branch_helps_where_bare_commits_are_not_given(place: Place, author: Author, host: GitHost) -> None:
    author.commit({"main.tf": "# 1\n"})
    author.run("checkout", "--quiet", "-b", "pull")
    wanted = author.commit({"main.tf": "# 2\n"})
    author.commit({"main.tf": "# 3\n"})
    author.run("update-ref", "refs/pull/7/head", "HEAD")
    author.run("checkout", "--quiet", "main")
    author.run("branch", "--quiet", "-D", "pull")

    assert (
        type(place.failure(GitRevision(url=host.url(), commit=wanted), environment=OLD_PROTOCOL))
        is UnknownCommit
    )
    gone = GitRevision(url=host.url(), commit=wanted, ref="gone")
    assert type(place.failure(gone, environment=OLD_PROTOCOL)) is UnknownCommit
    source = GitRevision(url=host.url(), commit=wanted, ref="refs/pull/7/head")
    with place.checkout(source, environment=OLD_PROTOCOL) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 2\n"}


def test_a_server_of_files(place: Place, author: Author, host: GitHost) -> None:
    first = author.commit({"main.tf": "# 1\n"})
    author.commit({"main.tf": "# 2\n"})
    git(host.directory, "clone", "--quiet", "--bare", str(author.directory), "bare.git")
    git(host.directory / "bare.git", "update-server-info")
    host.dumb = True

    with place.checkout(GitRevision(url=host.url("bare.git"), commit=first)) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}


def test_a_repository_of_the_longer_kind_of_sha(place: Place, tmp_path: Path, host: GitHost) -> None:
    commit = Author(tmp_path / "served", "new.git", form="sha256").commit({"main.tf": "# 1\n"})

    with place.checkout(GitRevision(url=host.url("new.git"), commit=commit)) as checkout:
        assert (len(commit), contents(checkout.root)) == (64, {"main.tf": "# 1\n"})


@pytest.mark.parametrize("environment", [{}, OLD_PROTOCOL], ids=["new", "old"])
def test_branches_may_have_any_name(
    place: Place, author: Author, host: GitHost, environment: dict[str, str], tmp_path: Path
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    for name in (
        "$(touch\u00a0x)",
        "-x",
        "--upload-pack=x",
        "a'b",
        "`x`",
        "caf\N{LATIN SMALL LETTER E WITH ACUTE}",
        "a;b",
    ):
        author.run("update-ref", f"refs/heads/{name}", commit)
    author.commit({"main.tf": "# 2\n"})
    author.run("update-ref", "refs/heads/was", commit)
    source = GitRevision(url=host.url(), commit=commit)
    with place.checkout(source, environment=environment) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
    unknown = GitRevision(url=host.url(), commit="1" * 40)
    assert type(place.failure(unknown, environment=environment)) is UnknownCommit
    author.run("update-ref", "-d", "refs/heads/was")
    author.run("update-ref", "refs/heads/was/one", commit)
    author.run("checkout", "--quiet", "--detach")
    unnamed = author.commit({"main.tf": "# 3\n"})
    author.run("checkout", "--quiet", "main")

    assert type(place.failure(unknown, environment=environment)) is UnknownCommit
    assert place.said == [], "nothing had to be fetched anew"
    if not environment:
        with place.checkout(GitRevision(url=host.url(), commit=unnamed)) as checkout:
            assert contents(checkout.root) == {"main.tf": "# 3\n"}


def test_a_tag_is_no_commit(place: Place, author: Author, host: GitHost) -> None:
    author.commit({"main.tf": "# 1\n"})
    author.run("tag", "--annotate", "--message=a", "v1")
    tag = author.run("rev-parse", "v1")
    tree = author.run("rev-parse", "HEAD^{tree}")

    for sha, kind in ((tag, "tag"), (tree, "tree")):
        for _ in range(2):
            error = place.failure(GitRevision(url=host.url(), commit=sha))
            assert type(error) is UnknownCommit
            assert str(error) == f"`{sha}` in `{host.url()}` is no commit, but a {kind}"


def test_ssh_is_asked_as_the_operator_wants(place: Place, author: Author, tmp_path: Path) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\ntest "$1" = -G && exit 0\nunset GIT_TRACE2_EVENT\n'
        f'cd {author.directory.parent} && for last; do :; done && eval "$last"\n'
    )
    ssh.chmod(0o755)
    source = GitRevision(url="git@git.invalid:infra.git", commit=commit)
    with place.checkout(source, environment={"GIT_SSH_COMMAND": str(ssh)}) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}

    missing = GitRevision(url="ssh://git@git.invalid/none.git", commit=commit)
    sentences = []
    for answer in (ssh.read_text(), "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n"):
        ssh.write_text(answer)
        error = place.failure(missing, environment={"GIT_SSH_COMMAND": str(ssh)})
        assert type(error) is Unreachable
        sentences.append(str(error))
    assert sentences == [
        "`ssh://git@git.invalid/none.git` cannot be had through ssh:"
        " fatal: '/none.git' does not appear to be a git repository",
        "`ssh://git@git.invalid/none.git` cannot be had through ssh: Permission denied (publickey)",
    ]


@pytest.mark.parametrize(
    ("status", "kind", "sentence", "failure_class"),
    [
        (401, NoAccess, "`{}` wants credentials, and there are none for it", FailureClass.CREDENTIALS),
        (403, NoAccess, "`{}` answers 403: it is not for us", FailureClass.CREDENTIALS),
        (404, PackageNotFound, "`{}` is not there, or not for us to see", FailureClass.BAD_PACKAGE),
        (410, PackageNotFound, "`{}` is not there, or not for us to see", FailureClass.BAD_PACKAGE),
        (500, Unreachable, "`{}` cannot be reached: it answers 500", FailureClass.MODULE_UNAVAILABLE),
        (503, Unreachable, "`{}` cannot be reached: it answers 503", FailureClass.MODULE_UNAVAILABLE),
    ],
)
def test_why_a_repository_cannot_be_had(
    place: Place,
    author: Author,
    host: GitHost,
    status: int,
    kind: type[CheckoutFailed],
    sentence: str,
    failure_class: FailureClass,
) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    host.status = status

    error = place.failure(GitRevision(url=host.url(), commit=commit))

    assert (type(error), str(error), error.failure_class) == (
        kind,
        sentence.format(host.url()),
        failure_class,
    )
    assert error.hints


def test_a_commit_that_the_repository_does_not_have(place: Place, author: Author, host: GitHost) -> None:
    author.commit({"main.tf": "# 1\n"})

    error = place.failure(GitRevision(url=host.url(), commit="1" * 40))

    assert (type(error), str(error)) == (UnknownCommit, f"`{host.url()}` has no commit `{'1' * 40}`")


def test_a_host_that_is_not_there(place: Place, tmp_path: Path) -> None:
    with GitHost(tmp_path) as host:
        url = host.url()

    error = place.failure(GitRevision(url=url, commit="1" * 40))

    assert type(error) is Unreachable
    assert str(error).startswith(f"`{url}` cannot be reached: Failed to connect to 127.0.0.1 port ")


def test_an_answer_that_is_not_gits(place: Place, host: GitHost) -> None:
    host.body = b"<html>Log in, please</html>"

    error = place.failure(GitRevision(url=host.url(), commit="1" * 40))

    assert isinstance(error, CheckoutFailed)
    assert host.url() in str(error)


def test_a_repository_of_this_machine_only_where_the_operator_allows_it(place: Place, author: Author) -> None:
    source = GitRevision(url=f"file://{author.directory}", commit=author.commit({"main.tf": "# 1\n"}))

    error = place.failure(source)
    assert type(error) is BadInput
    assert str(error).endswith("is on this machine, and packages are not fetched from there")
    with place.checkout(source, allow_local=True) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}
    none = GitRevision(url=f"file://{author.directory}-none", commit="1" * 40)
    assert type(place.failure(none, allow_local=True)) is PackageNotFound


def test_submodules_come_when_they_are_asked_for(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    inner = Author(tmp_path / "served", "module.git")
    pinned = inner.commit({"module.tf": "# pinned\n"})
    inner.commit({"module.tf": "# the tip\n"})
    (author.directory / ".gitmodules").write_text('[submodule "m"]\n\tpath = m\n\turl = ../module.git\n')
    author.run("update-index", "--add", "--cacheinfo", f"160000,{pinned},m")
    author.run("add", ".gitmodules")
    author.run("commit", "--quiet", "--message=a")
    host.user_info = "bob:hunter22"
    credentials = parse_credentials(f"http://bob:hunter22@{host.place}", "f")

    with place.checkout(GitRevision(url=host.url(), commit=author.head()), credentials=credentials) as plain:
        assert sorted(contents(plain.root)) == [".gitmodules"]
    source = GitRevision(url=host.url(), commit=author.head(), with_submodules=True)
    for _ in range(2):
        with place.checkout(source, credentials=credentials) as whole:
            assert contents(whole.root)["m/module.tf"] == "# pinned\n"
            (whole.root / "m/module.tf").write_text("# changed\n")


@pytest.mark.parametrize(
    ("url", "kind"),
    [("ext::touch pwned", CheckoutFailed), ("../none.git", PackageNotFound), ("/etc", CheckoutFailed)],
)
def test_a_submodule_that_cannot_be_had(
    place: Place, author: Author, host: GitHost, url: str, kind: type[CheckoutFailed]
) -> None:
    inner = author.commit({"main.tf": "# 1\n"})
    (author.directory / ".gitmodules").write_text(f'[submodule "m"]\n\tpath = m\n\turl = {url}\n')
    author.run("update-index", "--add", "--cacheinfo", f"160000,{inner},m")
    author.run("add", ".gitmodules")
    author.run("commit", "--quiet", "--message=a")

    error = place.failure(GitRevision(url=host.url(), commit=author.head(), with_submodules=True))

    assert type(error) is kind
    assert "cannot be checked out: a submodule cannot be had: git says: " in str(error)


def test_a_path_in_a_checkout_stays_in_it(place: Place, author: Author, host: GitHost) -> None:
    links = {"up": "../../..", "etc": "/etc", "inner": "packages/a", "round": "round", "gone": "none"}
    commit = author.commit({"packages/a/main.tf": "# a\n", "packages/b/x": ""}, links=links)

    with place.checkout(GitRevision(url=host.url(), commit=commit)) as checkout:
        assert checkout.directory() == checkout.root.resolve()
        assert checkout.directory("packages/a") == checkout.directory("inner")
        assert checkout.path("inner/main.tf").read_text() == "# a\n"
        for astray in ("up", "etc", "etc/passwd", "..", "/etc", "packages/../..", ".git", "./.git"):
            with pytest.raises(RefusedPackage, match="leads out of"):
                checkout.path(astray)
        for missing in ("none", "round", "gone", "packages/a\0", "packages/a/main.tf/x"):
            with pytest.raises(RefusedPackage, match="there is no"):
                checkout.path(missing)
        with pytest.raises(RefusedPackage, match="is not a directory"):
            checkout.directory("packages/a/main.tf")


def test_hooks_do_not_run_and_filters_of_the_operator_do(
    place: Place, tmp_path: Path, author: Author, host: GitHost
) -> None:
    hook = f"#!/bin/sh\ntouch {tmp_path}/hooked\n"
    for name in ("template/hooks", "hooks"):
        (tmp_path / name).mkdir(parents=True)
        for kind in ("post-checkout", "reference-transaction", "post-index-change"):
            (tmp_path / name / kind).write_text(hook)
            (tmp_path / name / kind).chmod(0o755)
    commit = author.commit({"main.tf": "# 1\n", ".gitattributes": "*.bin filter=big\n", "a.bin": "pointer\n"})
    (tmp_path / "home/.gitconfig").write_text(
        f"[init]\n\ttemplateDir = {tmp_path}/template\n[core]\n\thooksPath = {tmp_path}/hooks\n"
        '[filter "big"]\n\tsmudge = "sed s/pointer/content/"\n\trequired = true\n'
    )

    with place.checkout(GitRevision(url=host.url(), commit=commit)) as checkout:
        assert contents(checkout.root)["a.bin"] == "content\n"
    assert not (tmp_path / "hooked").exists()


def test_a_cache_that_cannot_be_written(tmp_path: Path, host: GitHost, author: Author) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    place = Place(tmp_path)
    place.cache.write_text("a file")

    error = place.failure(GitRevision(url=host.url(), commit=commit))

    assert type(error) is CheckoutFailed
    assert str(error).endswith("Not a directory")


def test_everything_in_the_cache_is_private(place: Place, author: Author, host: GitHost) -> None:
    commit = author.commit({"main.tf": "# 1\n"})
    with place.checkout(GitRevision(url=host.url(), commit=commit)):
        modes = {
            path: path.stat().st_mode & 0o77 for path in (place.cache, *place.cache.glob("checkouts/*/*"))
        }
        stamps = [path for path in place.files() if path.name in ("checkout.json", "lock")]

    assert set(modes.values()) == {0}
    assert {path.stat().st_mode & 0o77 for path in stamps} == {0}
    assert (
        subprocess.run(("git", "fsck"), cwd=author.directory, check=False, capture_output=True).returncode
        == 0
    )
