"""One cache of providers for all packages: filled by one at a time, never changed under a reader, healed."""

import fcntl
import hashlib
import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.plugins.hashes import package_hash
from tests.command_line import Result, Running
from tests.conftest import MakePackage
from tests.engine import provider
from tests.engine.conftest import Mount
from tests.engine.driving import Driver, failure, names, skipped, steps, succeeded, warnings
from tests.engine.provider import record
from tests.fake_engine import FakeEngine, wait_for

pytestmark = pytest.mark.real_engine

PLACE = Path(provider.INSTALLED).parent
OWN = ".hereya-tf"
LOCK = f"{OWN}/lock"
Damage = Callable[[Path], Any]


@pytest.fixture(scope="session")
def packed_mirror(provider_mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mirror with archives, as large as a small provider."""
    return provider.pack_mirror(provider_mirror, tmp_path_factory.mktemp("packed"), size=4_000_000)


@pytest.fixture
def packed(packed_mirror: Path, isolation: None) -> Path:
    """Every engine of this test takes its providers from the archives, and nowhere else."""
    return use(packed_mirror)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where our cache is."""
    return tmp_path / "cache/plugins"


@pytest.fixture
def make(make_package: MakePackage, tmp_path: Path) -> Callable[[], Path]:
    """Makes packages with a resource of the provider."""

    def make() -> Path:
        name = os.urandom(4).hex()
        return make_package(
            {"main.tf": provider.SHORT_PROVIDERS + record("a", tmp_path / f"{name}.json", content="one")}
        )

    return make


def use(mirror: Path) -> Path:
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(provider.mirror_settings(mirror))
    return mirror


def init(hereya: Driver, package: Path, *words: str, **how: Any) -> Result:
    return hereya.cli("init", package, "--json", "--engine", hereya.wish, *words, **how)


def plan(hereya: Driver, package: Path, *words: str, **how: Any) -> Result:
    return hereya.cli("plan", package, "--json", "--engine", hereya.wish, *words, **how)


def place(hereya: Driver, package: Path) -> Path:
    """Where the engine under test keeps the provider, below a cache."""
    (host,) = names(package / ".terraform/providers")
    return Path(host, *PLACE.parts[1:])


def installed(hereya: Driver, package: Path) -> Path:
    return package / ".terraform/providers" / place(hereya, package)


def lock_file(package: Path) -> Path:
    return package / ".terraform.lock.hcl"


def alone(hereya: Driver, package: Path) -> bytes:
    """The lock file that the package gets without any cache."""
    copy = package.with_name(f"{package.name}-alone")
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns(".terraform*"))
    hereya.plain(copy, "init", "-input=false")
    return lock_file(copy).read_bytes()


def seen(entry: Path) -> list[tuple[str, int, int, int]]:
    """What would not stay as it is if anybody wrote to an entry."""
    statuses = [(path.name, path.stat()) for path in (entry, *sorted(entry.iterdir()))]
    return [(name, status.st_ino, status.st_mtime_ns, status.st_size) for name, status in statuses]


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Somebody else is filling the cache."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lock.with_name("lock.holder").write_text("run `another`")
        yield


@pytest.mark.parametrize("layout", ["packed", "unpacked"])
def test_many_cold_inits_at_once_and_the_plans_after_them_all_succeed(
    hereya: Driver,
    make: Callable[[], Path],
    packed_mirror: Path,
    provider_mirror: Path,
    cache: Path,
    layout: str,
) -> None:
    use(packed_mirror if layout == "packed" else provider_mirror)
    packages = [make() for _ in range(4)]
    for has_lock_files in (False, True):
        for package in packages:
            shutil.rmtree(package / ".terraform", ignore_errors=True)
            assert lock_file(package).exists() is has_lock_files
        shutil.rmtree(cache, ignore_errors=True)

        for command in ("init", "plan"):
            running = [hereya.cli.start(command, package, "--engine", hereya.wish) for package in packages]
            assert [run.finish().exit_code for run in running] == [0] * len(packages)

        entry = cache / place(hereya, packages[0])
        assert {installed(hereya, package).readlink() for package in packages} == {entry}
        assert names(cache / OWN) == ["hashes", "lock"]
        assert len({lock_file(package).read_bytes() for package in packages}) == 1


def test_a_package_without_a_lock_file_gets_the_one_it_had_got_without_a_cache_and_changes_no_entry(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    first, second = make(), make()
    succeeded(init(hereya, first))
    entry = cache / place(hereya, first)
    before = seen(entry)

    succeeded(init(hereya, second))

    assert lock_file(second).read_bytes() == alone(hereya, second)
    assert seen(entry) == before
    assert installed(hereya, second).readlink() == entry


def test_what_the_lock_file_vouches_for_is_not_fetched_again(
    hereya: Driver, make: Callable[[], Path], packed_mirror: Path, tmp_path: Path, cache: Path
) -> None:
    mirror = use(Path(shutil.copytree(packed_mirror, tmp_path / "mirror")))
    first, second = make(), make()
    succeeded(init(hereya, first))
    shutil.copy(lock_file(first), lock_file(second))
    for archive in mirror.rglob("*.zip"):
        archive.write_bytes(b"")

    # Nobody waits for others to fetch what is there.
    with held(cache / LOCK):
        succeeded(init(hereya, second, "--no-wait", "--lockfile", "readonly"))

    assert installed(hereya, second).readlink() == cache / place(hereya, first)


def test_a_lock_file_made_on_another_system_is_completed_and_no_entry_is_changed(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    first, second = make(), make()
    succeeded(init(hereya, first))
    entry, right = cache / place(hereya, first), lock_file(first).read_text()
    before = seen(entry)
    # Only hashes that say nothing of this platform's directory: its archive's, and another platform's.
    (archive,) = (path for path in packed.rglob("*.zip") if place(hereya, first).parts[0] in path.parts)
    zipped = f"zh:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    elsewhere = "h1:" + "A" * 43 + "="
    content = package_hash(entry)
    lock_file(second).write_text(right.replace(f'"{content}",', f'"{elsewhere}",\n    "{zipped}",'))

    succeeded(init(hereya, second))

    assert all(text in lock_file(second).read_text() for text in (content, elsewhere, zipped))
    assert seen(entry) == before
    assert installed(hereya, second).readlink() == entry


def truncate(entry: Path) -> None:
    (program,) = entry.iterdir()
    os.truncate(program, 1000)


def remove_program(entry: Path) -> None:
    (program,) = entry.iterdir()
    program.unlink()


def add_file(entry: Path) -> None:
    (entry / "left-over").write_text("half")


def overwrite(entry: Path) -> None:
    (program,) = entry.iterdir()
    program.write_bytes(program.read_bytes()[:-1] + b"?")


def become_a_file(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.write_text("what is this")


def become_a_dangling_link(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.symlink_to("/nowhere")


DAMAGES: Mapping[str, Damage] = {
    "truncated": truncate,
    "no program": remove_program,
    "one file more": add_file,
    "other bytes": overwrite,
    "a file": become_a_file,
    "a dangling link": become_a_dangling_link,
    "gone": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_entry_heals(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path, damage: Damage
) -> None:
    first = make()
    succeeded(hereya.provision(first))
    entry = cache / place(hereya, first)
    right = package_hash(entry)
    damage(entry)

    # Its init is skipped, and the engine finds out.
    healed = hereya.provision(first)

    succeeded(healed)
    assert steps(healed)[-2:] == ["init", "apply"]
    assert package_hash(entry) == right
    was_told = f"`{place(hereya, first)}` in the provider cache `{cache}` was damaged, and has been replaced"
    assert (was_told in warnings(healed)) is (damage not in (become_a_dangling_link, shutil.rmtree))


@pytest.mark.parametrize("has_lock_file", [True, False], ids=["with a lock file", "without one"])
@pytest.mark.parametrize("damage", [truncate, add_file, become_a_dangling_link])
def test_whoever_comes_first_after_a_damage_heals_it(
    hereya: Driver,
    make: Callable[[], Path],
    packed: Path,
    cache: Path,
    damage: Damage,
    has_lock_file: bool,
) -> None:
    first, second = make(), make()
    succeeded(init(hereya, first))
    entry = cache / place(hereya, first)
    right = package_hash(entry)
    damage(entry)
    if has_lock_file:
        shutil.copy(lock_file(first), lock_file(second))

    succeeded(init(hereya, second))

    assert package_hash(entry) == right
    assert lock_file(second).read_bytes() == lock_file(first).read_bytes()
    assert names(cache / OWN) == ["hashes", "lock"]
    succeeded(plan(hereya, first))


def test_a_lock_file_that_is_wrong_still_fails_and_costs_no_entry(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    first, second = make(), make()
    succeeded(init(hereya, first))
    entry = cache / place(hereya, first)
    before = seen(entry)
    wrong = lock_file(first).read_text().replace(package_hash(entry), "h1:" + "A" * 43 + "=")
    lock_file(second).write_text(wrong)

    failed = init(hereya, second)

    assert failure(failed)[:2] == (1, "provider-checksum")
    assert lock_file(second).read_text() == wrong
    assert (seen(entry), warnings(failed)) == (before, [])


def test_sources_that_differ_are_kept_apart(
    hereya: Driver,
    make: Callable[[], Path],
    provider_mirror: Path,
    packed: Path,
    tmp_path: Path,
    cache: Path,
) -> None:
    first, second = make(), make()
    succeeded(init(hereya, first))
    entry = cache / place(hereya, first)
    before = seen(entry)
    use(provider.pack_mirror(provider_mirror, tmp_path / "another", size=1000))

    succeeded(plan(hereya, second))
    use(packed)

    assert seen(entry) == before
    assert not installed(hereya, second).is_symlink()
    assert lock_file(second).read_bytes() != lock_file(first).read_bytes()
    succeeded(plan(hereya, first))


class Slow:
    """An engine under test whose `init` can be seen at work: its provider takes a while to unpack."""

    def __init__(self, hereya: Driver, mirror: Path, directory: Path, cache: Path) -> None:
        self._hereya = hereya
        self._cache = cache
        use(provider.pack_mirror(mirror, directory / "large", size=150_000_000))

    def start(self, package: Path) -> tuple[Running, int]:
        """An init that has begun to unpack; and the engine's process."""
        running = self._hereya.cli.start(
            "init", package, "--json", "--engine", self._hereya.wish, start_new_session=True
        )
        wait_for(lambda: next(iter(self.unpacked()), None), what="a file that is being unpacked")
        return running, self._engine(running)

    def unpacked(self) -> list[Path]:
        return [path for path in (self._cache / OWN).glob("run-*/*/*/*/*/*/*") if path.stat().st_size]

    def _engine(self, running: Running) -> int:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        if not children.exists():
            pytest.skip("the children of a process are not told here")
        return int(children.read_text().split()[0])


@pytest.fixture
def slow(hereya: Driver, provider_mirror: Path, tmp_path: Path, cache: Path) -> Slow:
    return Slow(hereya, provider_mirror, tmp_path, cache)


def test_an_engine_that_is_killed_while_it_unpacks_leaves_nothing_half_done(
    hereya: Driver, make: Callable[[], Path], slow: Slow, cache: Path
) -> None:
    first, second = make(), make()
    running, engine = slow.start(first)

    os.kill(engine, signal.SIGKILL)
    assert running.finish().exit_code == 1

    assert names(cache) == [OWN]
    assert names(cache / OWN) == ["lock"]
    for package in (first, second):
        succeeded(plan(hereya, package))
    assert installed(hereya, second).readlink() == cache / place(hereya, second)


def test_an_engine_whose_runner_is_killed_goes_on_alone_and_others_wait_for_it(
    hereya: Driver, make: Callable[[], Path], slow: Slow, cache: Path
) -> None:
    first, second = make(), make()
    running, engine = slow.start(first)
    # Both are stopped, so that neither comes to an end before it should.
    os.kill(engine, signal.SIGSTOP)
    os.kill(running.pid, signal.SIGKILL)
    running.finish()
    other = hereya.start("plan", second)
    waiting = other.wait_for_event("diagnostic", severity="warning")
    os.kill(engine, signal.SIGCONT)

    succeeded(other.finish())

    assert waiting["summary"].startswith("run `")
    assert waiting["summary"].endswith(f" fetches providers into the cache `{cache}`: waiting for it")
    succeeded(plan(hereya, first))
    links = {installed(hereya, package).readlink() for package in (first, second)}
    assert links == {cache / place(hereya, second)}
    assert names(cache / OWN) == ["hashes", "lock"]


@pytest.mark.parametrize("how", ["environment", "--env", "settings", "relative", "a link to it"])
def test_a_cache_of_the_user_s_own_gets_the_same_care(
    hereya: Driver, make: Callable[[], Path], packed: Path, tmp_path: Path, cache: Path, how: str
) -> None:
    theirs = tmp_path / "theirs"
    first, second = make(), make()
    words: tuple[str, ...] = ()
    env: dict[str, str | None] = {}
    match how:
        case "environment":
            env = {"TF_PLUGIN_CACHE_DIR": str(theirs)}
        case "--env":
            words = ("--env", f"TF_PLUGIN_CACHE_DIR={theirs}")
        case "a link to it":
            (tmp_path / "link").symlink_to(theirs)
            env = {"TF_PLUGIN_CACHE_DIR": str(tmp_path / "link")}
            theirs.mkdir()
        case "relative":
            env = {"TF_PLUGIN_CACHE_DIR": "../theirs"}
        case _:
            settings = Path(os.environ["TF_CLI_CONFIG_FILE"])
            settings.write_text(f'plugin_cache_dir = "${{CACHES}}/theirs"\n{settings.read_text()}')
            env = {"CACHES": str(tmp_path)}

    succeeded(init(hereya, first, *words, env=env))
    entry = theirs / place(hereya, first)
    before = seen(entry)
    succeeded(init(hereya, second, *words, env=env))

    assert (names(theirs), cache.exists()) == ([OWN, place(hereya, first).parts[0]], False)
    assert {installed(hereya, package).readlink() for package in (first, second)} == {entry}
    assert seen(entry) == before
    truncate(entry)
    succeeded(plan(hereya, second, *words, env=env))
    assert seen(entry)[1][3] == before[1][3]
    # And it is as good to an engine without us.
    third = make()
    shutil.copy(lock_file(first), lock_file(third))
    said = hereya.plain(third, "init", "-no-color", env={**env, "TF_PLUGIN_CACHE_DIR": str(theirs)})
    assert "from the shared cache directory" in said


def test_a_cache_that_may_break_the_lock_file_may(
    hereya: Driver, make: Callable[[], Path], packed_mirror: Path, tmp_path: Path
) -> None:
    mirror = use(Path(shutil.copytree(packed_mirror, tmp_path / "mirror")))
    env = {
        "TF_PLUGIN_CACHE_DIR": str(tmp_path / "theirs"),
        "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "1",
    }
    first, second = make(), make()
    succeeded(init(hereya, first, env=env))
    for archive in mirror.rglob("*.zip"):
        archive.write_bytes(b"")

    succeeded(init(hereya, second, env=env))

    assert installed(hereya, second).readlink() == tmp_path / "theirs" / place(hereya, first)


def test_without_a_plugin_cache_nothing_is_shared(
    hereya: Driver, make: Callable[[], Path], packed: Path, tmp_path: Path, cache: Path
) -> None:
    package = make()

    succeeded(hereya.provision(package, "--no-plugin-cache"))

    assert not installed(hereya, package).is_symlink()
    assert not cache.exists()
    # The user's own is the engine's business then.
    another, theirs = make(), tmp_path / "theirs"
    theirs.mkdir()
    env = {"TF_PLUGIN_CACHE_DIR": str(theirs)}
    succeeded(hereya.provision(another, "--no-plugin-cache", env=env))
    assert names(theirs) == [place(hereya, another).parts[0]]


def test_a_package_that_shared_providers_gets_its_own_when_that_is_not_wanted_any_more(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    package = make()
    succeeded(hereya.provision(package))
    link = installed(hereya, package)
    assert link.is_symlink()
    entry = seen(link)

    result = hereya.provision(package, "--no-plugin-cache")

    succeeded(result)
    assert (link.is_symlink(), names(link)) == (False, [name for name, *_ in entry[1:]])
    assert seen(cache / place(hereya, package)) == entry
    assert skipped(hereya.provision(package, "--no-plugin-cache")) == ["init"]


def test_a_cache_that_was_removed_is_filled_again(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    package = make()
    succeeded(hereya.provision(package))
    shutil.rmtree(cache)

    succeeded(hereya.provision(package))

    assert installed(hereya, package).readlink() == cache / place(hereya, package)


def test_a_cache_that_cannot_be_written_is_gone_without_with_one_warning(
    hereya: Driver, make: Callable[[], Path], packed: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("no directory")
    package = make()

    result = hereya.provision(package, env={"TF_PLUGIN_CACHE_DIR": str(blocked / "cache")})

    succeeded(result)
    (told,) = (text for text in warnings(result) if "provider cache" in text)
    assert told.startswith(f"the provider cache `{blocked}/cache` was not used: ")
    assert not installed(hereya, package).is_symlink()


def test_a_cache_that_is_a_package_s_own_directory_is_none(
    hereya: Driver, make: Callable[[], Path], packed: Path
) -> None:
    package = make()
    theirs = package / ".terraform/providers"

    result = init(hereya, package, env={"TF_PLUGIN_CACHE_DIR": str(theirs)})

    succeeded(result)
    told = [text for text in warnings(result) if "provider cache" in text]
    assert told == [f"the provider cache `{theirs}` was not used: the package keeps its own providers there"]
    assert not installed(hereya, package).is_symlink()


def test_a_cache_for_reading_alone_serves_what_it_has(
    hereya: Driver, make: Callable[[], Path], packed: Path, mount: Mount
) -> None:
    theirs = mount("size=64m")
    first, second, third = make(), make(), make()
    env = {"TF_PLUGIN_CACHE_DIR": str(theirs)}
    succeeded(init(hereya, first, env=env))
    shutil.copy(lock_file(first), lock_file(second))
    os.system(f"mount -o remount,ro {theirs}")

    served, fetched = init(hereya, second, env=env), init(hereya, third, env=env)

    for result in (served, fetched):
        succeeded(result)
    assert installed(hereya, second).readlink() == theirs / place(hereya, first)
    assert not installed(hereya, third).is_symlink()
    told = [[text for text in warnings(result) if "provider cache" in text] for result in (served, fetched)]
    assert told == [[], [f"the provider cache `{theirs}` was not used: Read-only file system"]]


def test_a_cache_on_a_full_disk_is_gone_without_with_one_warning(
    hereya: Driver, make: Callable[[], Path], packed: Path, mount: Mount
) -> None:
    theirs = mount("size=1m")
    package = make()

    result = init(hereya, package, env={"TF_PLUGIN_CACHE_DIR": str(theirs)})

    succeeded(result)
    told = [text for text in warnings(result) if "provider cache" in text]
    assert told == [f"the provider cache `{theirs}` was not used: its disk is full"]
    assert not installed(hereya, package).is_symlink()
    assert names(theirs / OWN) == ["lock"]


def test_a_package_on_another_disk_is_linked_too(
    hereya: Driver, make: Callable[[], Path], packed: Path, mount: Mount, cache: Path
) -> None:
    package = Path(shutil.copytree(make(), mount("size=1m") / "package"))

    succeeded(init(hereya, package))

    assert installed(hereya, package).readlink() == cache / place(hereya, package)


def test_who_would_wait_too_long_for_the_cache_goes_without_it(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path
) -> None:
    package = make()

    with held(cache / LOCK):
        result = hereya.provision(package, "--no-wait")

    succeeded(result)
    told = [text for text in warnings(result) if "provider cache" in text]
    assert told == [f"the provider cache `{cache}` was not used: run `another` is still filling it"]
    assert not installed(hereya, package).is_symlink()
    assert names(cache) == [OWN]


@pytest.mark.parametrize("end", ["signal", "timeout"])
def test_a_wait_for_the_cache_can_be_ended(
    hereya: Driver, make: Callable[[], Path], packed: Path, cache: Path, end: str
) -> None:
    with held(cache / LOCK):
        running = hereya.start("provision", make(), *(("--timeout", "2s") if end == "timeout" else ()))
        told = running.wait_for_event("diagnostic", severity="warning")
        if end == "signal":
            running.send_signal(signal.SIGINT)
        result = running.finish()

    assert told["summary"] == f"run `another` fetches providers into the cache `{cache}`: waiting for it"
    assert (result.exit_code, steps(result)) == ({"signal": 130, "timeout": 124}[end], [])
    assert names(cache / OWN) == ["lock", "lock.holder"]


@pytest.mark.parametrize("command", ["tf", "validate", "plan"])
def test_every_init_uses_the_cache(
    hereya: Driver, make: Callable[[], Path], packed_mirror: Path, tmp_path: Path, cache: Path, command: str
) -> None:
    mirror = use(Path(shutil.copytree(packed_mirror, tmp_path / "mirror")))
    first, second = make(), make()
    words = ("--", "init", "-no-color") if command == "tf" else ()

    def run(package: Path) -> Result:
        return hereya.cli(command, package, "--engine", hereya.wish, *words)

    assert run(first).exit_code == 0
    shutil.copy(lock_file(first), lock_file(second))
    for archive in mirror.rglob("*.zip"):
        archive.write_bytes(b"")

    assert run(second).exit_code == 0

    assert len(list(cache.glob("*/*/*/*/*/*"))) == 1
    assert names(cache / OWN) == ["hashes", "lock"]


def test_two_cold_inits_are_never_at_work_at_once(
    hereya: Driver, make_package: MakePackage, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    fake_engine.plays({"init": [{"sleep": 0.7}]})
    packages = [make_package({"main.tf": ""}) for _ in range(3)]

    started = [
        hereya.cli.start(
            "init",
            package,
            "--json",
            "--engine",
            fake_engine.path,
            # Not the lock of a state directory that all share.
            env={"HEREYA_TF_STATE_DIR": f"{package}-state"},
        )
        for package in packages
    ]
    results = [running.finish() for running in started]

    for result in results:
        succeeded(result)
        assert not [text for text in warnings(result) if "was not used" in text]
    inits = [record for record in fake_engine.records("start") if record["command"] == "init"]
    ends = {record["pid"]: record["time"] for record in fake_engine.records("end")}
    turns = sorted((record["time"], ends[record["pid"]]) for record in inits)
    assert all(ended <= began for (_, ended), (began, _) in itertools.pairwise(turns))
    # Each has a directory of its own to fetch into.
    assert len({record["env"]["TF_PLUGIN_CACHE_DIR"] for record in inits}) == 3
