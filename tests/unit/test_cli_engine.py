"""`engine`: what each command prints, where, and how it ends."""

import itertools
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hereya_tf.cli.engine_install import Progress
from hereya_tf.engine import Version
from hereya_tf.releases.installed import all_installed
from tests.command_line import CommandLine, Result, environment
from tests.installing import HERE, OPENTOFU, TERRAFORM, Installing, eventually, pretender
from tests.release_site import ReleaseSite, status
from tests.site_faults import stalled


class Engines:
    """`hereya-tf engine …` with a mirror that signs for itself."""

    def __init__(self, cli: CommandLine, installing: Installing, keys: Path) -> None:
        self._cli = cli
        self.installing = installing
        self.environment = {
            "HEREYA_TF_FROM": installing.site.address,
            "HEREYA_TF_ENGINE_KEYS": str(keys),
            "HEREYA_TF_CACHE_DIR": str(installing.cache),
        }

    def __call__(self, *arguments: str | Path, env: Mapping[str, str | None] | None = None) -> Result:
        return self._cli("engine", *arguments, env={**self.environment, **(env or {})})

    def path(self, version: str, name: str = "terraform") -> str:
        directory = "opentofu" if name == "tofu" else name
        return str(self.installing.cache / "engines" / directory / version / name)


@pytest.fixture
def engines(cli: CommandLine, tmp_path: Path) -> Iterator[Engines]:
    with ReleaseSite() as site:
        installing = Installing(site, tmp_path / "cache")
        keys = tmp_path / "keys.asc"
        keys.write_bytes(installing.key.public_file())
        yield Engines(cli, installing, keys)


def publish(engines: Engines, *texts: str) -> None:
    for text in texts:
        engines.installing.publish(version=Version.parse(text))
        engines.installing.publish(engine=OPENTOFU, version=Version.parse(text))


def test_an_exact_version_is_installed_and_its_path_is_printed(engines: Engines) -> None:
    publish(engines, "1.11.4")
    ran = engines("install", "terraform", "1.11.4")
    again = engines("install", "terraform", "v1.11.4", env={"HEREYA_TF_ENGINE_KEYS": "/no/such/file"})

    path = f"{engines.path('1.11.4')}\n"
    size = len(engines.installing.site.files[engines.installing.path_of("archive")].body)
    signed = f"signed by Mirror <mirror@example.com> ({engines.installing.key.fingerprint})"
    assert ran == Result(
        0,
        path,
        f"downloading Terraform 1.11.4: {size} B of {size} B (100 %)\nTerraform 1.11.4 is installed, {signed}\n",
    )
    assert again == Result(0, path, "Terraform 1.11.4 is installed already\n")


@pytest.mark.parametrize(
    ("words", "name", "version"),
    [
        (("latest",), "tofu", "1.10.0"),
        (("tofu",), "tofu", "1.10.0"),
        (("opentofu", "~> 1.9.0"), "tofu", "1.9.8"),
        (("terraform", "latest"), "terraform", "1.10.0"),
        (("terraform", ">= 1.9, < 1.10"), "terraform", "1.9.8"),
        (("1.9.0",), "tofu", "1.9.0"),
    ],
)
def test_what_can_be_wished_for(engines: Engines, words: tuple[str, ...], name: str, version: str) -> None:
    publish(engines, "1.9.0", "1.9.8", "1.10.0", "1.11.0-beta1")

    ran = engines("install", *words)

    assert (ran.exit_code, ran.stdout) == (0, f"{engines.path(version, name)}\n"), ran.stderr


def test_the_newest_that_is_there_already_is_not_downloaded_again(engines: Engines) -> None:
    publish(engines, "1.9.0")
    engines("install", "terraform", "latest")
    ran = engines("install", "terraform", "latest")

    assert ran == Result(0, f"{engines.path('1.9.0')}\n", "Terraform 1.9.0 is installed already\n")


def test_a_directory_is_a_mirror(engines: Engines, tmp_path: Path) -> None:
    publish(engines, "1.9.0")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    for path, file in engines.installing.site.files.items():
        if path.startswith("/terraform/1.9.0/"):
            (mirror / path.rpartition("/")[2]).write_bytes(file.body)

    ran = engines("install", "terraform", "latest", "--from", mirror)

    assert (ran.exit_code, ran.stdout) == (0, f"{engines.path('1.9.0')}\n"), ran.stderr
    assert engines.installing.site.requests == []


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ((), 64, "`[terraform|tofu] VERSION` is missing"),
        (("terraform", "1.9", "1.10"), 64, "`1.9 1.10` is more than one version"),
        (("terrafrom",), 3, "`terrafrom` of `VERSION` is not a version constraint"),
        (("terrafrom", "1.9.0"), 64, "`terrafrom` is not an engine"),
        (
            ("terraform", "1.9.0", "--from", "user:s3cret@host/x"),
            3,
            "`host/x` cannot be downloaded from: it has",
        ),
        (("terraform", "1.9.0", "--from", "/no/such"), 5, "the mirror `/no/such` cannot be read"),
        (("terraform", "1.9.0", "--from", "ftp://x"), 3, "its scheme is `ftp`"),
        (("terraform", "0.12.0"), 5, "Terraform 0.12.0 is too old"),
        (("terraform", "9.9.9"), 5, "it answered 404"),
        (("terraform", "~> 9.0"), 5, "no release of Terraform satisfies `~> 9.0` of VERSION"),
    ],
)
def test_what_cannot_be_had_is_refused(
    engines: Engines, words: tuple[str, ...], code: int, sentence: str
) -> None:
    publish(engines, "1.9.0")
    ran = engines("install", *words)

    assert (ran.exit_code, ran.stdout) == (code, "")
    assert ran.stderr.startswith("error: ")
    assert sentence in ran.stderr
    assert "hint: " in ran.stderr
    assert "s3cret" not in ran.stderr
    assert all_installed(engines.installing.cache) == ()


def test_what_a_version_of_two_numbers_means_is_told_where_it_is_not_there(engines: Engines) -> None:
    publish(engines, "1.9.4")
    ran = engines("install", "terraform", "1.9")

    assert (ran.exit_code, ran.stdout) == (5, "")
    assert "\nhint: `1.9` is 1.9.0 alone; what begins with it is `~> 1.9.0`\n" in ran.stderr
    assert engines("install", "terraform", "~> 1.9.0").stdout == f"{engines.path('1.9.4')}\n"


def test_the_variable_of_a_key_file_that_is_not_there_is_named(engines: Engines) -> None:
    ran = engines("install", "terraform", "1.9.0", env={"HEREYA_TF_ENGINE_KEYS": "/no/such"})

    assert ran == Result(
        3,
        "",
        "error: `/no/such` cannot be read: No such file or directory\n"
        "hint: it is what `HEREYA_TF_ENGINE_KEYS` names\n"
        "hint: check the path and its permissions\n",
    )


def test_without_its_keys_a_mirror_proves_nothing(engines: Engines) -> None:
    publish(engines, "1.9.0")
    ran = engines("install", "terraform", "1.9.0", env={"HEREYA_TF_ENGINE_KEYS": None})

    assert (ran.exit_code, ran.stdout) == (5, "")
    assert "which is no key that is trusted here" in ran.stderr
    assert "`HEREYA_TF_ENGINE_KEYS`" in ran.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_download_ends_at_once_and_leaves_nothing(
    engines: Engines, cli: CommandLine, number: signal.Signals, code: int
) -> None:
    engines.installing.publish(pretender(size=300_000), method=0)
    engines.installing.site.always(engines.installing.path_of("archive"), stalled(100_000))
    running = cli.start("engine", "install", "terraform", "1.11.4", env=engines.environment)
    eventually(engines.installing.site.stalls.is_set, "the download")
    eventually(lambda: b"downloading" in running.stderr_file.read_bytes(), "the first line")
    running.send_signal(number)
    ran = running.finish(20)

    assert (ran.exit_code, ran.stdout) == (code, "")
    assert ran.stderr.splitlines()[-1] == f"error: the installation was cancelled by {number.name}"
    assert engines.installing.left() == []


def test_on_a_terminal_there_is_one_line_that_goes_away(engines: Engines) -> None:
    engines.installing.publish(pretender(size=300_000), method=0)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "hereya_tf", "engine", "install", "terraform", "1.11.4"],
        env=environment(engines.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
        os.close(ours)

    assert process.returncode == 0
    first, *_, blanks, last = said.decode().rstrip("\r\n").split("\r")
    assert first.startswith("downloading Terraform 1.11.4: ")
    assert blanks.strip() == ""
    assert last.startswith("Terraform 1.11.4 is installed, signed by")


def test_in_a_log_lines_are_sparse(capsys: pytest.CaptureFixture[str]) -> None:
    clock = itertools.count(0, 3)
    with Progress(clock=lambda: float(next(clock)), is_terminal=False) as progress:
        for size in range(0, 60_000, 5000):
            progress(TERRAFORM, Version(1, 11, 4), size, 60_000 if size < 50_000 else None)

    assert capsys.readouterr() == (
        "",
        "downloading Terraform 1.11.4: 0 B of 60 kB (0 %)\n"
        "downloading Terraform 1.11.4: 20 kB of 60 kB (33 %)\n"
        "downloading Terraform 1.11.4: 40 kB of 60 kB (66 %)\n",
    )


def test_the_line_on_a_terminal_makes_room_for_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(clock=lambda: 1.0, is_terminal=True) as progress:
        progress.tell("first")
        progress(TERRAFORM, Version(1, 11, 4), 1, None)
        progress(TERRAFORM, Version(1, 11, 4), 2, None)
        progress.tell("a\x1b[1msentence")

    line = "downloading Terraform 1.11.4: 1 B"
    erased = f"\r{' ' * len(line)}\r"
    assert capsys.readouterr().err == f"warning: first\n{line}{erased}warning: a\\x1b[1msentence\n"


def install(engines: Engines, *texts: str) -> None:
    publish(engines, *texts)
    for text in texts:
        engines.installing.install(Version.parse(text))


def test_what_is_installed_is_listed(engines: Engines) -> None:
    nothing = engines("list")
    install(engines, "1.9.0", "1.10.0")
    table, document = engines("list"), json.loads(engines("list", "--json").stdout)

    assert nothing == Result(0, "no engine is installed\n", "")
    newest, _ = all_installed(engines.installing.cache)
    head, first, second = table.stdout.splitlines()
    assert head.split("  ")[0] == "ENGINE"
    assert [first.split()[:3], second.split()[:3]] == [
        ["Terraform", "1.10.0", str(HERE)],
        ["Terraform", "1.9.0", str(HERE)],
    ]
    assert first.endswith(engines.path("1.10.0"))
    assert document["unusable"] == []
    assert document["engines"][0] == {
        "engine": "terraform",
        "version": "1.10.0",
        "platform": str(HERE),
        "path": engines.path("1.10.0"),
        "size": newest.size,
        "binary_sha256": newest.binary_digest,
        "archive": newest.archive,
        "archive_sha256": newest.archive_digest,
        "source": newest.source,
        "key": newest.key,
        "owner": newest.owner,
        "installed": newest.installed,
    }


def test_what_does_not_count_is_told_of(engines: Engines) -> None:
    half = engines.installing.directory()
    half.mkdir(parents=True)

    assert engines("list") == Result(0, "", f"warning: `{half}` does not count: it has no stamp\n")
    document = json.loads(engines("list", "--json").stdout)
    assert document == {
        "engines": [],
        "unusable": [{"directory": str(half), "reason": "it has no stamp"}],
    }


def test_what_is_unchanged_is_verified(engines: Engines) -> None:
    nothing = engines("verify")
    install(engines, "1.9.0", "1.10.0")

    said = "is what Mirror <mirror@example.com> has signed"
    assert nothing == Result(0, "no engine is installed\n", "")
    assert engines("verify") == Result(0, f"Terraform 1.10.0 {said}\nTerraform 1.9.0 {said}\n", "")
    assert engines("verify", "terraform", "1.9.0") == Result(0, f"Terraform 1.9.0 {said}\n", "")


def test_what_was_changed_is_named(engines: Engines) -> None:
    install(engines, "1.9.0", "1.10.0")
    path = Path(engines.path("1.10.0"))
    path.write_bytes(path.read_bytes().replace(b"echo", b"ECHO"))
    one = engines("verify")
    Path(engines.path("1.9.0")).unlink()
    both = engines("verify")

    assert (one.exit_code, one.stdout) == (
        5,
        "Terraform 1.9.0 is what Mirror <mirror@example.com> has signed\n",
    )
    assert one.stderr.startswith(f"error: `{path}` has been changed: its SHA-256 is ")
    assert (both.exit_code, both.stdout) == (5, "")
    assert both.stderr.startswith("error: 2 of 2 engines are not what was installed\nhint: ")
    assert "does not count: its binary cannot be found" in both.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("verify", "terraform"), 64, "`terraform` is not an engine and a version"),
        (("verify", "x", "1.9.0"), 64, "`x` is not an engine"),
        (("verify", "terraform", "latest"), 3, "`latest` is not a version such as `1.11.4`"),
        (("verify", "terraform", "1.9.1"), 3, "Terraform 1.9.1 is not installed"),
        (("remove", "terraform", "1.9.1"), 3, "Terraform 1.9.1 is not installed"),
        (("remove", "tofu", "1.9.0"), 3, "OpenTofu 1.9.0 is not installed"),
        (("remove", "terraform"), 64, "`VERSION` is missing"),
    ],
)
def test_what_is_not_there_is_not_touched(
    engines: Engines, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    install(engines, "1.9.0")
    ran = engines(*arguments)

    assert (ran.exit_code, ran.stdout) == (code, "")
    assert ran.stderr.startswith(f"error: {sentence}\nhint: ")
    assert len(all_installed(engines.installing.cache)) == 1


def test_one_is_removed(engines: Engines) -> None:
    install(engines, "1.9.0", "1.10.0")

    assert engines("remove", "terraform", "1.9.0") == Result(0, "removed Terraform 1.9.0\n", "")
    assert engines.installing.left() == ["1.10.0"]


def test_all_but_the_newest_are_removed(engines: Engines) -> None:
    install(engines, "1.9.0", "1.10.0", "1.8.0")
    engines.installing.install(Version(1, 8), engine=OPENTOFU)
    (engines.installing.cache / "engines/terraform/1.7.0").mkdir()
    (engines.installing.cache / "engines/terraform/.1.6.0_dead").mkdir()
    nothing = len(all_installed(engines.installing.cache))

    assert engines("prune", "--keep", "2").stdout == "removed Terraform 1.8.0\nremoved Terraform 1.7.0\n"
    assert (nothing, engines.installing.left()) == (4, ["1.10.0", "1.9.0"])
    assert engines("prune", "--keep", "1").stdout == "removed Terraform 1.9.0\n"
    assert engines("prune") == Result(0, "", "nothing more to remove\n")
    assert engines.installing.left(OPENTOFU) == ["1.8.0"]


def test_what_a_live_run_uses_stays(engines: Engines, cli: CommandLine, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = (
        "#!/bin/sh\n"
        "case $1 in version) echo 'Terraform v1.9.0';;\n"
        f"init) while ! test -e '{go}'; do sleep 0.05; done; exit 1;;\nesac\n"
    )
    engines.installing.publish(script.encode(), version=Version(1, 9))
    path = engines.installing.install(Version(1, 9)).path
    package = tmp_path / "package"
    package.mkdir()
    (package / "main.tf").touch()
    env = engines.environment
    running = cli.start("plan", package, "--engine", path, "--json", env=env)
    run = running.wait_for_event("step_started", step="init")["run"]

    removed, pruned = engines("remove", "terraform", "1.9.0"), engines("prune", "--keep", "1")
    publish(engines, "1.10.0")
    engines.installing.install(Version(1, 10))
    spared = engines("prune", "--keep", "1")
    go.touch()
    running.finish()

    assert (removed.exit_code, pruned.exit_code) == (4, 0)
    assert removed.stderr.startswith(f"error: run `{run}` is at work with Terraform 1.9.0\n")
    assert spared == Result(0, "", f"Terraform 1.9.0 stays: run `{run}` uses it\nnothing more to remove\n")
    assert path.exists()
    assert engines("prune", "--keep", "1").stdout == "removed Terraform 1.9.0\n"


def test_what_a_run_would_take_is_printed_with_the_reason(
    engines: Engines, tmp_path: Path, make_engine_on_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "main.tf").touch()
    engine = make_engine_on_path
    env = {"PATH": str(engine.parent)}

    assert engines("which", package, env=env) == Result(0, f"{engine}\n", "Terraform 1.11.4: found on PATH\n")
    document = json.loads(engines("which", package, "--engine", "terraform", "--json", env=env).stdout)
    assert document == {
        "engine": "terraform",
        "version": "1.11.4",
        "path": str(engine),
        "argv": [str(engine)],
        "chosen_by": "found on PATH: --engine asks for Terraform",
    }


@pytest.fixture
def make_engine_on_path(tmp_path: Path) -> Path:
    file = tmp_path / "bin/terraform"
    file.parent.mkdir()
    file.write_bytes(pretender())
    file.chmod(0o755)
    return file


def test_who_has_asked_for_an_engine_is_named(
    engines: Engines, tmp_path: Path, make_engine_on_path: Path
) -> None:
    package, settings = tmp_path / "package", tmp_path / "settings"
    for directory in (package, settings):
        directory.mkdir()
    (settings / "config.toml").write_text('engine-version = "~> 2.0"\n')
    env: dict[str, str | None] = {
        "PATH": f"{make_engine_on_path.parent}:{os.environ['PATH']}",
        "HEREYA_TF_CONFIG_DIR": str(settings),
        "HEREYA_TF_ENGINE": str(make_engine_on_path),
    }
    by_user = engines("which", package, env=env)
    (package / "hereya-tf.toml").write_text('engine-version = "~> 1.9"\n')
    by_package = engines("which", package, env=env)
    by_caller = engines("which", package, "--engine-version", "> 5", env=env)

    assert (by_user.exit_code, by_package.exit_code, by_caller.exit_code) == (5, 0, 5)
    assert by_user.stderr.startswith(f"error: `{settings}/config.toml:1` asks for `~> 2.0`, but `")
    assert by_package.stderr == (
        "Terraform 1.11.4: HEREYA_TF_ENGINE: satisfies `~> 1.9` of hereya-tf.toml:1\n"
    )
    assert by_caller.stderr.startswith("error: `--engine-version` asks for `> 5`, but `")


def test_opentofu_is_found_where_the_package_asks_for_it(engines: Engines, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "hereyarc.yaml").write_text("iac: opentofu\n")
    ran = engines("which", package, env={"PATH": "/nowhere"})

    assert (ran.exit_code, ran.stdout) == (5, "")
    sentence = "error: `hereyarc.yaml` asks for OpenTofu; there is none here, and none can be had: "
    assert ran.stderr.startswith(sentence)


def test_a_package_that_is_not_there_is_refused(engines: Engines) -> None:
    ran = engines("which", "/no/such")

    assert (ran.exit_code, ran.stdout) == (3, "")
    assert ran.stderr.startswith("error: there is no directory `/no/such`\n")


def test_a_package_that_cannot_be_read_is_refused(engines: Engines) -> None:
    name = "x" * 300
    ran = engines("which", f"/{name}")

    said = f"error: `/{name}` cannot be read: File name too long\nhint: check the path and its permissions\n"
    assert ran == Result(3, "", said)


@pytest.mark.parametrize(
    ("mirror", "shown"),
    [
        (None, ""),
        ("{address}", " --from {address}"),
        ("{address}/?key=s3cret", " --from URL"),
    ],
    ids=["by a variable", "by a flag", "with a secret"],
)
def test_a_missing_engine_is_to_be_had_from_the_same_mirror(
    engines: Engines, tmp_path: Path, mirror: str | None, shown: str
) -> None:
    publish(engines, "1.9.0")
    address = engines.installing.site.address
    flag = () if mirror is None else ("--from", mirror.format(address=address))
    ran = engines("which", tmp_path, *flag, env={"PATH": "/nowhere"})

    assert (ran.exit_code, ran.stdout) == (5, "")
    hint = f"hint: have it now: `hereya-tf engine install tofu 1.9.0{shown.format(address=address)}`\n"
    assert ran.stderr.endswith(hint)


def test_when_the_site_is_down_an_old_list_serves(engines: Engines) -> None:
    publish(engines, "1.9.0")
    engines("install", "terraform", "latest")
    (copy,) = engines.installing.directory().parent.glob(".versions-*.json")
    copy.write_text(json.dumps({**json.loads(copy.read_text()), "at": 1_700_000_000}))
    engines.installing.site.always("/terraform/index.json", status(404))

    ran = engines("install", "terraform", "latest")

    assert (ran.exit_code, ran.stdout) == (0, f"{engines.path('1.9.0')}\n")
    assert "a list of Terraform's versions that is " in ran.stderr
