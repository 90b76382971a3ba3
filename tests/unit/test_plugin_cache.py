"""The provider cache without an engine: what is vouched for, whose directory it is, how entries come and go."""

import base64
import fcntl
import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName
from hereya_tf.plugins.cache import PluginCache, Staging
from hereya_tf.plugins.hashes import Contents, Hashes, package_hash
from hereya_tf.plugins.selections import Selection, read_selections
from hereya_tf.plugins.settings import CacheWish, find_cache
from hereya_tf.plugins.turn import read_holder, take_turn

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
ADDRESS = "registry.terraform.io/hereya/file"
PLATFORM = "linux_amd64"
PLACE = f"{ADDRESS}/1.0.0/{PLATFORM}"
PROGRAM = "terraform-provider-file_v1.0.0"
LOCK_FILE = """
# This file is maintained automatically by "terraform init".
provider "registry.terraform.io/hashicorp/null" {
  version     = "3.2.2"
  constraints = "~> 3.0"
  hashes = [
    "h1:IMVAUHKoydFrlPrl9OzasDnw/8ntZFerCC9iXw1rXQY=",
    "h1:vWAsYRd7MjYr3adj8BVKRohVfHpWQdvkIwUQ2Jf5FVM=",
    "zh:3248aae6a2198f3ec8394218d05bd5e42be59f43a3a7c0b71c66ec0df08b69e7",
  ]
}
provider "registry.opentofu.org/hereya/file" {
  version = "1.0.0-rc1+build"
}
"""


def test_a_lock_file_vouches_for_what_an_unpacked_package_may_be() -> None:
    null = frozenset(
        (
            "h1:IMVAUHKoydFrlPrl9OzasDnw/8ntZFerCC9iXw1rXQY=",
            "h1:vWAsYRd7MjYr3adj8BVKRohVfHpWQdvkIwUQ2Jf5FVM=",
        )
    )
    assert read_selections(LOCK_FILE.encode()) == (
        Selection("registry.opentofu.org/hereya/file", "1.0.0-rc1+build", frozenset()),
        Selection("registry.terraform.io/hashicorp/null", "3.2.2", null),
    )


@pytest.mark.parametrize(
    ("address", "version"),
    [
        ("../../etc", "1.0.0"),
        ("a/b", "1.0.0"),
        ("a/b/c/d", "1.0.0"),
        ("a/../c", "1.0.0"),
        (".hereya-tf/b/c", "1.0.0"),
        ("/b/c", "1.0.0"),
        ("a b/b/c", "1.0.0"),
        ("a/b/c", ".."),
        ("a/b/c", "../../../../x"),
        ("a/b/c", ""),
    ],
)
def test_a_lock_file_names_no_place_outside_of_a_cache(address: str, version: str) -> None:
    text = f'provider "{address}" {{\n  version = "{version}"\n  hashes = ["h1:AAAA="]\n}}\n'

    assert read_selections(text.encode()) == ()


@given(st.binary())
def test_whatever_is_no_lock_file_selects_nothing(source: bytes) -> None:
    assert read_selections(source) == ()


def write(directory: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return directory


def test_the_hash_of_a_package_is_the_one_that_lock_files_have(tmp_path: Path) -> None:
    files = {"b": b"two", "a/z": b"nested", "a.txt": b"one", "Ä": b""}
    write(tmp_path / "package", files)
    (tmp_path / "package/link").symlink_to("b")
    (tmp_path / "entry").symlink_to(tmp_path / "package")
    # Byte by byte, capitals first, and `.` before `/`.
    order = ["a.txt", "a/z", "b", "link", "Ä"]
    contents = {**files, "link": b"two"}
    lines = "".join(f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in order)
    expected = "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()

    assert package_hash(tmp_path / "package") == expected
    assert package_hash(tmp_path / "entry") == expected


def test_what_cannot_be_read_as_an_engine_reads_it_has_no_hash(tmp_path: Path) -> None:
    write(tmp_path / "package", {"a": b"one"})
    (tmp_path / "package/link").symlink_to(tmp_path)

    with pytest.raises(OSError, match="directory"):
        package_hash(tmp_path / "package")
    with pytest.raises(FileNotFoundError):
        package_hash(tmp_path / "nothing")
    hashes = Hashes(tmp_path, tmp_path / "records")
    (tmp_path / "file").write_text("")
    assert [hashes.look(place) for place in ("package", "nothing", "file")] == [None] * 3


def test_an_entry_is_trusted_as_long_as_it_is_what_was_vouched_for(tmp_path: Path) -> None:
    entry = write(tmp_path / "entry", {PROGRAM: b"right"})
    hashes = Hashes(tmp_path, tmp_path / "records")
    right = package_hash(entry)
    assert hashes.look("entry") == Contents(right, False)

    hashes.trust("entry", right)
    assert hashes.look("entry") == Contents(right, True)
    # Copied back from somewhere: it takes a look at its content, and only one.
    os.utime(entry / PROGRAM, ns=(1, 1))
    assert hashes.look("entry") == Contents(right, True)
    (entry / PROGRAM).write_bytes(b"wrong")
    assert hashes.look("entry") == Contents(package_hash(entry), False)
    (entry / PROGRAM).unlink()
    assert hashes.look("entry") == Contents(package_hash(entry), False)
    write(entry, {PROGRAM: b"right"})
    assert hashes.look("entry") == Contents(right, True)


def test_what_is_known_is_not_read_again(tmp_path: Path) -> None:
    entry = write(tmp_path / "entry", {PROGRAM: b"right"})
    hashes = Hashes(tmp_path, tmp_path / "records")
    hashes.trust("entry", "h1:said-so")

    assert hashes.look("entry") == Contents("h1:said-so", True)
    assert package_hash(entry) != "h1:said-so"


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"hash": 1, "files": []}', b"\xff", b"[" * 100_000])
def test_a_record_that_is_none_counts_for_nothing(tmp_path: Path, record: bytes) -> None:
    entry = write(tmp_path / "entry", {PROGRAM: b"right"})
    hashes = Hashes(tmp_path, tmp_path / "records")
    hashes.trust("entry", package_hash(entry))
    (file,) = (tmp_path / "records").iterdir()
    file.write_bytes(record)

    assert hashes.look("entry") == Contents(package_hash(entry), False)


def test_records_that_cannot_be_written_only_cost_time(tmp_path: Path) -> None:
    entry = write(tmp_path / "entry", {PROGRAM: b"right"})
    (tmp_path / "records").write_text("no directory")
    hashes = Hashes(tmp_path, tmp_path / "records")

    hashes.trust("entry", package_hash(entry))

    assert hashes.look("entry") == Contents(package_hash(entry), False)


class World:
    """A cache, a package's data directory, and an engine that fetches into it."""

    def __init__(self, directory: Path) -> None:
        self.warned: list[str] = []
        self.root = directory / "cache"
        self.root.mkdir()
        self.providers = directory / ".terraform/providers"
        self.cache = PluginCache(self.root, PLATFORM, self.warned.append)

    @property
    def entry(self) -> Path:
        return self.root / PLACE

    @property
    def link(self) -> Path:
        return self.providers / PLACE

    def fetch(self, content: bytes, *, mirror: Path | None = None) -> Staging:
        """What an engine does that has fetched a provider: unpack or link it, and link to that."""
        staging = self.cache.stage("run")
        staged = staging.path / PLACE
        staged.parent.mkdir(parents=True)
        if mirror is None:
            write(staged, {PROGRAM: content})
        else:
            staged.symlink_to(write(mirror, {PROGRAM: content}))
        self.link.parent.mkdir(parents=True, exist_ok=True)
        if self.link.is_symlink():
            self.link.unlink()
        self.link.symlink_to(staged)
        return staging

    def publish(self, content: bytes, *, mirror: Path | None = None) -> None:
        staging = self.fetch(content, mirror=mirror)
        assert self.cache.has_fetched(staging, self.providers)
        self.cache.publish(staging, self.providers)
        staging.close()

    def selection(self, *contents: bytes, version: str = "1.0.0") -> tuple[Selection, ...]:
        """What a lock file says that knows these."""
        hashes = set()
        for number, content in enumerate(contents):
            directory = self.root.parent / "known" / str(number)
            hashes.add(package_hash(write(directory, {PROGRAM: content})))
        return (Selection(ADDRESS, version, frozenset(hashes)),)

    def own(self) -> list[str]:
        """What lies beside the entries."""
        return sorted(entry.name for entry in (self.root / ".hereya-tf").iterdir())


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_was_fetched_becomes_an_entry_in_one_step(world: World) -> None:
    world.publish(b"right")

    assert (world.entry / PROGRAM).read_bytes() == b"right"
    assert world.link.readlink() == world.entry
    assert (world.warned, world.own()) == ([], ["hashes"])


def test_the_same_again_changes_no_entry(world: World) -> None:
    world.publish(b"right")
    before = (world.entry.stat(), (world.entry / PROGRAM).stat().st_ino)

    world.publish(b"right")

    assert (world.entry.stat(), (world.entry / PROGRAM).stat().st_ino) == before
    assert world.link.readlink() == world.entry


def test_what_a_mirror_has_unpacked_becomes_a_link_to_it(world: World, tmp_path: Path) -> None:
    world.publish(b"right", mirror=tmp_path / "mirror")

    assert (world.link.readlink(), world.entry.readlink()) == (world.entry, tmp_path / "mirror")


@pytest.mark.parametrize("of_a_mirror", [False, True])
def test_two_sources_that_differ_are_kept_apart(world: World, tmp_path: Path, of_a_mirror: bool) -> None:
    world.publish(b"one", mirror=tmp_path / "mirror" if of_a_mirror else None)

    world.publish(b"other")
    assert (world.link.is_symlink(), (world.link / PROGRAM).read_bytes()) == (False, b"other")
    (world.link / PROGRAM).unlink()
    world.link.rmdir()
    world.publish(b"other", mirror=tmp_path / "another mirror")
    assert world.link.readlink() == tmp_path / "another mirror"

    assert (world.entry / PROGRAM).read_bytes() == b"one"
    assert (world.warned, world.own()) == ([], ["hashes"])


@pytest.mark.parametrize("is_known", [True, False])
def test_an_entry_that_is_damaged_is_replaced_and_that_is_told(world: World, is_known: bool) -> None:
    if is_known:
        world.publish(b"right")
    write(world.entry, {PROGRAM: b"rig"})

    world.publish(b"right")

    assert (world.entry / PROGRAM).read_bytes() == b"right"
    assert world.link.readlink() == world.entry
    assert world.warned == [
        f"`{PLACE}` in the provider cache `{world.root}` was damaged, and has been replaced"
    ]
    assert world.own() == ["hashes"]


def test_somebody_without_the_lock_may_be_faster(world: World) -> None:
    write(world.entry, {PROGRAM: b"rig"})

    def be_faster(_told: str) -> None:
        write(world.entry, {PROGRAM: b"right"})

    # Between the removal of the damaged one and what comes in its place.
    cache = PluginCache(world.root, PLATFORM, be_faster)
    staging = world.fetch(b"right")

    cache.publish(staging, world.providers)
    staging.close()

    assert (world.entry / PROGRAM).read_bytes() == b"right"
    assert world.link.readlink() == world.entry


def test_who_is_never_the_faster_one_keeps_its_own(world: World) -> None:
    write(world.entry, {PROGRAM: b"rig"})

    def be_faster(_told: str) -> None:
        write(world.entry, {PROGRAM: b"rig"})

    cache = PluginCache(world.root, PLATFORM, be_faster)
    staging = world.fetch(b"right")

    cache.publish(staging, world.providers)
    staging.close()

    assert (world.link.is_symlink(), (world.link / PROGRAM).read_bytes()) == (False, b"right")


def test_a_cache_that_cannot_take_it_leaves_it_to_the_package(world: World) -> None:
    (world.root / "registry.terraform.io").write_text("no directory")

    world.publish(b"right")

    assert (world.link.is_symlink(), (world.link / PROGRAM).read_bytes()) == (False, b"right")
    assert world.warned == [
        f"`{PLACE}` was not added to the provider cache in `{world.root}`: Not a directory"
    ]


def test_what_nobody_can_take_stays_where_it_is(world: World) -> None:
    staging = world.fetch(b"right")
    copy = world.link.with_name(f".{world.link.name}.{os.getpid()}")
    copy.write_text("in the way")

    world.cache.keep_apart(staging, world.providers)
    staging.close()

    assert (world.link / PROGRAM).read_bytes() == b"right"


def test_a_package_may_keep_all_to_itself(world: World) -> None:
    staging = world.fetch(b"right")

    world.cache.keep_apart(staging, world.providers)
    staging.close()

    assert (world.link.is_symlink(), (world.link / PROGRAM).read_bytes()) == (False, b"right")
    assert (world.entry.exists(), world.own()) == (False, [])


def test_only_what_the_lock_file_vouches_for_is_linked(world: World) -> None:
    world.publish(b"right")
    world.link.unlink()

    assert world.cache.link(world.selection(b"other"), world.providers) is False
    assert not os.path.lexists(world.link)
    assert world.cache.link(world.selection(b"other", b"right"), world.providers) is True
    assert world.link.readlink() == world.entry
    # Once more, as there is nothing to do.
    assert world.cache.link(world.selection(b"right"), world.providers) is True
    assert world.cache.link(world.selection(b"right", version="2.0.0"), world.providers) is False
    assert not os.path.lexists(world.link)


def test_what_others_have_put_there_is_trusted_once_a_lock_file_vouches_for_it(world: World) -> None:
    write(world.entry, {PROGRAM: b"right"})

    assert world.cache.link(world.selection(b"right"), world.providers) is True
    world.publish(b"other")

    assert (world.entry / PROGRAM).read_bytes() == b"right"
    assert (world.link.is_symlink(), world.warned) == (False, [])


def test_a_directory_that_cannot_be_staged_in_keeps_nothing_open(world: World) -> None:
    opened = len(list(Path("/dev/fd").iterdir()))
    world.root.joinpath(".hereya-tf").write_text("no directory")

    with pytest.raises(FileExistsError):
        world.cache.stage("run")

    assert len(list(Path("/dev/fd").iterdir())) == opened


def test_without_a_lock_file_nothing_is_known_to_be_there(world: World) -> None:
    world.publish(b"right")

    assert world.cache.link((), world.providers) is False
    # An engine without a cache would unpack through it, into the entry.
    assert not os.path.lexists(world.link)


def test_a_link_to_what_is_damaged_or_left_by_a_dead_run_is_taken_away(world: World) -> None:
    selection = world.selection(b"right")
    world.publish(b"right")
    (world.entry / PROGRAM).write_bytes(b"rig")
    assert world.cache.link(selection, world.providers) is False
    assert not os.path.lexists(world.link)

    staging = world.fetch(b"right")
    assert world.cache.link(selection, world.providers) is False
    assert not os.path.lexists(world.link)
    staging.close()


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_is_a_package_s_own_stays(world: World, tmp_path: Path, kind: str) -> None:
    world.publish(b"right")
    world.link.unlink()
    theirs = write(world.link if kind == "directory" else tmp_path / "theirs", {PROGRAM: b"theirs"})
    if kind == "link":
        world.link.symlink_to(theirs)

    assert world.cache.link(world.selection(b"right"), world.providers) is True
    assert world.cache.link((), world.providers) is False

    assert (world.link / PROGRAM).read_bytes() == b"theirs"


def test_a_package_that_cannot_be_written_gets_no_link(world: World) -> None:
    world.publish(b"right")
    world.providers = world.root.parent / "file"
    world.providers.write_text("no directory")

    assert world.cache.link(world.selection(b"right"), world.providers) is False


def test_what_dead_runs_have_left_is_removed_and_what_lives_stays(world: World) -> None:
    alive = world.cache.stage("alive")
    dead = world.cache.stage("dead")
    os.close(dead.descriptor)
    strange = world.root / ".hereya-tf/run-without-lock"
    strange.mkdir()

    new = world.cache.stage("new")

    assert (alive.path.exists(), dead.path.exists(), strange.exists()) == (True, False, True)
    for staging in (alive, new):
        staging.close()
    assert world.own() == ["run-without-lock"]


def test_an_offer_is_all_but_what_the_lock_file_knows_otherwise(world: World) -> None:
    other = "registry.terraform.io/hereya/other/2.0.0"
    write(world.root / other / PLATFORM, {"p": b"x"})
    write(world.root / other / "darwin_arm64", {"p": b"x"})
    world.publish(b"right")
    staging = world.cache.stage("run")

    world.cache.offer(staging, world.selection(b"other"))

    assert [path.relative_to(staging.path) for path in staging.path.glob("*/*/*/*/*")] == [
        Path(other, PLATFORM)
    ]
    # What is taken of it is linked to where it is.
    link = world.providers / other / PLATFORM
    link.parent.mkdir(parents=True)
    link.symlink_to(staging.path / other / PLATFORM)
    world.cache.publish(staging, world.providers)
    staging.close()
    assert link.readlink() == world.root / other / PLATFORM


def test_one_at_a_time_has_the_turn(tmp_path: Path) -> None:
    lock, told = tmp_path / "lock", list[str]()
    paused: list[float] = []
    first = take_turn(lock, "run `one`", patience=0, pause=paused.append, tell=told.append)
    assert first is not None

    assert take_turn(lock, "run `two`", patience=0, pause=paused.append, tell=told.append) is None
    assert (paused, told, read_holder(lock)) == ([], [], "run `one`")
    clock = iter((0.0, 0.5, 1.5, 1.8, 2.0)).__next__
    second = take_turn(lock, "run `two`", patience=2, pause=paused.append, tell=told.append, clock=clock)
    assert second is None
    assert (paused, told) == ([0.04, 0.04, 0.04], ["run `one`"])

    first.release()
    assert read_holder(lock) == "another process"
    third = take_turn(lock, "run `three`", patience=None, pause=paused.append, tell=told.append)
    assert third is not None
    assert (paused, read_holder(lock)) == ([0.04, 0.04, 0.04], "run `three`")
    third.release()


def test_a_wait_without_end_ends_with_the_other_s_turn(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    first = take_turn(lock, "run `one`", patience=None, pause=time.sleep, tell=print)
    assert first is not None

    second = take_turn(lock, "run `two`", patience=None, pause=lambda _seconds: first.release(), tell=print)

    assert second is not None
    second.release()


def test_a_turn_lasts_as_long_as_whoever_has_inherited_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    turn = take_turn(lock, "run `one`", patience=0, pause=time.sleep, tell=print)
    assert turn is not None
    inherited = os.dup(turn.descriptor)
    os.close(turn.descriptor)

    assert take_turn(lock, "run `two`", patience=0, pause=time.sleep, tell=print) is None
    os.close(inherited)
    again = take_turn(lock, "run `two`", patience=0, pause=time.sleep, tell=print)
    assert again is not None
    again.release()


def test_a_wait_that_is_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    before = len(list(Path("/dev/fd").iterdir()))
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def pause(seconds: float) -> None:
            raise InterruptedError

        with pytest.raises(InterruptedError):
            take_turn(lock, "run `two`", patience=None, pause=pause, tell=print)
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.parametrize("text", ["", "a\x1b[31m", "\n"])
def test_a_holder_that_cannot_be_shown_is_another_process(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock.holder").write_text(text)

    assert read_holder(tmp_path / "lock") == "another process"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "home"
    (directory / ".terraform.d").mkdir(parents=True)
    return directory


def find(home: Path, of: EngineName = TERRAFORM, /, **environment: str) -> CacheWish | None:
    return find_cache({"HOME": str(home), **environment}, of, Path("/package"), Path("/ours"))


OURS = CacheWish(Path("/ours"), is_ours=True)


def theirs(path: str, *, may_break: bool = False) -> CacheWish:
    return CacheWish(Path(path), is_ours=False, may_break_lock_file=may_break)


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, OURS),
        ({"TF_PLUGIN_CACHE_DIR": ""}, OURS),
        ({"TF_PLUGIN_CACHE_DIR": "/theirs/"}, theirs("/theirs")),
        ({"TF_PLUGIN_CACHE_DIR": "../theirs"}, theirs("/theirs")),
        ({"TF_PLUGIN_CACHE_DIR": "$X/theirs"}, theirs("/package/$X/theirs")),
        ({"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "0"}, OURS),
        (
            {"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "no"},
            OURS._replace(may_break_lock_file=True),
        ),
    ],
)
def test_the_environment_may_name_a_cache(
    home: Path, environment: Mapping[str, str], found: CacheWish
) -> None:
    assert find(home, **environment) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", OURS),
        ('# plugin_cache_dir = "/theirs"', OURS),
        ('plugin_cache_dir = "/theirs"', theirs("/theirs")),
        ('plugin_cache_dir   = "$X/${Y}/$Z"', theirs("/x/y")),
        ('credentials "a.b" {\n  token = "t"\n}\nplugin_cache_dir="/theirs"', theirs("/theirs")),
        (
            'plugin_cache_dir = "/theirs"\nplugin_cache_may_break_dependency_lock_file = true',
            theirs("/theirs", may_break=True),
        ),
        # What only the engine understands, or refuses, is the engine's.
        ("plugin_cache_dir = [", None),
        ("plugin_cache_dir = 1", None),
        ("plugin_cache_dir = a.b", None),
        ('plugin_cache_dir = "/theirs"\nplugin_cache_may_break_dependency_lock_file = "true"', None),
    ],
)
def test_the_engine_s_settings_may_name_a_cache(home: Path, text: str, found: CacheWish | None) -> None:
    (home / ".terraformrc").write_text(text)

    assert find(home, X="/x", Y="y") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"plugin_cache_dir": "/theirs"}', theirs("/theirs")),
        ('{"plugin_cache_dir": 1}', None),
        ('["plugin_cache_dir"]', None),
        ("plugin_cache_dir", None),
    ],
)
def test_settings_may_be_json(home: Path, text: str, found: CacheWish | None) -> None:
    (home / ".terraform.d/more.tfrc.json").write_text(text)

    assert find(home) == found


def test_settings_are_looked_for_where_the_engine_looks(home: Path, tmp_path: Path) -> None:
    def write_settings(file: Path, name: str) -> str:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'plugin_cache_dir = "/{name}"\n')
        return str(file)

    xdg = str(tmp_path / "xdg")
    write_settings(tmp_path / "xdg/opentofu/tofurc", "xdg")
    assert (find(home, OPENTOFU, XDG_CONFIG_HOME=xdg), find(home, XDG_CONFIG_HOME=xdg)) == (
        theirs("/xdg"),
        OURS,
    )
    write_settings(home / ".terraform.d/b.tfrc", "b")
    write_settings(home / ".terraform.d/a.tfrc", "a")
    write_settings(home / ".terraform.d/c.txt", "c")
    assert find(home) == theirs("/a")
    write_settings(home / ".terraformrc", "terraform")
    assert (find(home), find(home, OPENTOFU)) == (theirs("/terraform"), theirs("/terraform"))
    write_settings(home / ".tofurc", "tofu")
    assert (find(home), find(home, OPENTOFU)) == (theirs("/terraform"), theirs("/tofu"))
    named = write_settings(tmp_path / "named", "named")
    assert find(home, TF_CLI_CONFIG_FILE=named) == theirs("/named")
    assert find(home, TERRAFORM_CONFIG=named) == theirs("/named")
    assert find(home, TF_CLI_CONFIG_FILE=named, TF_PLUGIN_CACHE_DIR="/theirs") == theirs("/theirs")
    assert find(home, TF_CLI_CONFIG_FILE=str(tmp_path / "missing")) == OURS
    assert find(home, HOME="") == OURS
