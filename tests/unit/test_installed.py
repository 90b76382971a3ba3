"""In the cache only what has a complete stamp counts; it can be listed, verified again and removed."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import BadInput, EngineUnverified
from hereya_tf.releases.installed import (
    STAMP,
    Installed,
    Unusable,
    all_installed,
    directory_of,
    entries,
    find_installed,
    leftover_prefix,
    leftovers,
    no_such_engine,
    remove,
    stamp_text,
    verify,
)
from hereya_tf.releases.platforms import Platform

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
VERSION = Version(1, 11, 4)
CONTENT = b"a program"


def installed(
    cache: Path, engine: EngineName = TERRAFORM, version: Version = VERSION, **fields: Any
) -> Installed:
    """Put an engine into the cache, as an installation does."""
    directory = directory_of(cache, engine, version)
    directory.mkdir(parents=True)
    binary = directory / engine.executable
    binary.write_bytes(CONTENT)
    binary.chmod(0o755)
    found = Installed(
        engine=engine,
        version=version,
        platform=Platform("linux", "amd64"),
        path=binary,
        size=len(CONTENT),
        binary_digest="c30d2cad2cc1a3f16e2f2d3bd4f7c3ed5e5e0ee1e39e0dcd87f1f1a4e0b2ea07",
        archive=f"{engine.executable}_{version}_linux_amd64.zip",
        archive_digest="1" * 64,
        source="https://example.com/x.zip",
        key="A" * 40,
        owner="HashiCorp",
        installed="2026-11-30T10:00:00Z",
    )._replace(**{"binary_digest": digest_of(CONTENT), **fields})
    (directory / STAMP).write_text(stamp_text(found))
    return found


def digest_of(content: bytes) -> str:
    from hashlib import sha256

    return sha256(content).hexdigest()


def no_pause(_seconds: float) -> None:
    """Go on."""


def test_what_was_put_there_is_found(tmp_path: Path) -> None:
    found = installed(tmp_path)

    assert find_installed(tmp_path, TERRAFORM, VERSION) == found
    assert find_installed(tmp_path, OPENTOFU, VERSION) is None
    assert find_installed(tmp_path, TERRAFORM, Version(1, 11, 3)) is None


def test_all_are_listed_the_newest_first(tmp_path: Path) -> None:
    texts = ("1.9.0", "1.10.0-rc2", "1.10.0", "1.10.0-rc10")
    found = {text: installed(tmp_path, version=Version.parse(text)) for text in texts}
    tofu = installed(tmp_path, OPENTOFU, Version(1, 6))
    (tmp_path / "engines/terraform/.1.9.0_abc").mkdir()
    (tmp_path / "engines/terraform/.1.9.0.lock").touch()
    (tmp_path / "engines/terraform/v1.8.0").mkdir()
    (tmp_path / "engines/terraform/1.8").mkdir()

    ordered = [found[text] for text in ("1.10.0", "1.10.0-rc10", "1.10.0-rc2", "1.9.0")]
    assert all_installed(tmp_path) == (*ordered, tofu)
    assert entries(tmp_path) == all_installed(tmp_path)


def test_without_a_cache_nothing_is_installed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert (all_installed(tmp_path), all_installed(tmp_path / "file"), leftovers(tmp_path / "no")) == (
        (),
        (),
        (),
    )


def without_stamp(directory: Path) -> None:
    (directory / STAMP).unlink()


def other_stamp(directory: Path) -> None:
    (directory / STAMP).write_text("{")


def stamp_is_a_directory(directory: Path) -> None:
    (directory / STAMP).unlink()
    (directory / STAMP).mkdir()


def stamp_of_another(directory: Path) -> None:
    text = (directory / STAMP).read_text()
    (directory / STAMP).write_text(text.replace('"1.11.4"', '"1.11.3"'))


def without_binary(directory: Path) -> None:
    (directory / "terraform").unlink()


def shorter(directory: Path) -> None:
    (directory / "terraform").write_bytes(CONTENT[1:])


def not_executable(directory: Path) -> None:
    (directory / "terraform").chmod(0o644)


def a_link(directory: Path) -> None:
    (directory / "terraform").rename(directory.parent / "elsewhere")
    (directory / "terraform").symlink_to(directory.parent / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (without_stamp, "it has no stamp"),
        (other_stamp, "its stamp makes no sense"),
        (stamp_is_a_directory, "its stamp cannot be read: it is not a regular file"),
        (stamp_of_another, "its stamp is that of another engine"),
        (without_binary, "its binary cannot be found: No such file or directory"),
        (shorter, "its binary is another file"),
        (not_executable, "its binary is not executable"),
        (a_link, "its binary is another file"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_not_complete_does_not_count(
    tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    directory = installed(tmp_path).path.parent
    damage(directory)

    assert find_installed(tmp_path, TERRAFORM, VERSION) is None
    assert all_installed(tmp_path) == ()
    assert entries(tmp_path) == (Unusable(directory, reason),)


def values() -> Iterator[Any]:
    yield from (None, 1, "", "x", [], {}, "../../bin/sh", "/bin/sh", "..", float("nan"), "\0", "1.11.3")


@pytest.mark.parametrize("value", list(values()), ids=repr)
@pytest.mark.parametrize(
    "field",
    [*json.loads(stamp_text(Installed(*[""] * 12)._replace(platform=Platform("", ""), path=Path("x"))))],  # type: ignore[arg-type]
)
def test_a_stamp_with_another_value_leads_nowhere_else(tmp_path: Path, field: str, value: Any) -> None:
    found = installed(tmp_path)
    stamp = found.path.parent / STAMP
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), field: value}))

    again = find_installed(tmp_path, TERRAFORM, VERSION)

    assert again is None or (again.path, again.version, again.engine) == (found.path, VERSION, TERRAFORM)


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers(), st.lists).map(repr).map(str.encode))
def test_whatever_stands_in_a_stamp_is_no_fault_of_ours(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    directory = installed(cache).path.parent
    (directory / STAMP).write_bytes(data)

    assert entries(cache) == (Unusable(directory, "its stamp makes no sense"),)


def test_a_deep_stamp_is_no_fault_of_ours(tmp_path: Path) -> None:
    directory = installed(tmp_path).path.parent
    (directory / STAMP).write_text("[" * 60_000)

    assert entries(tmp_path) == (Unusable(directory, "its stamp makes no sense"),)


def test_an_engine_for_another_processor_is_known_as_such(tmp_path: Path) -> None:
    found = installed(tmp_path)
    intel = installed(tmp_path, version=Version(1, 0, 1), platform=Platform("darwin", "amd64"))
    apple = Platform("darwin", "arm64")

    assert found.is_for(Platform("linux", "amd64"))
    assert not found.is_for(Platform("linux", "arm64"))
    assert intel.is_for(apple)
    assert not intel._replace(version=VERSION).is_for(apple)


def test_what_is_unchanged_is_verified(tmp_path: Path) -> None:
    paused: list[float] = []
    verify(installed(tmp_path), paused.append)

    assert paused == [0.0]


def test_a_binary_that_was_changed_is_noticed(tmp_path: Path) -> None:
    found = installed(tmp_path)
    changed = b"A" + CONTENT[1:]
    found.path.write_bytes(changed)

    with pytest.raises(EngineUnverified) as raised:
        verify(found, no_pause)

    assert str(raised.value) == (
        f"`{found.path}` has been changed: its SHA-256 is {digest_of(changed)}, and"
        f" {digest_of(CONTENT)} was installed"
    )
    assert raised.value.hints == (
        "remove it and install it again: `hereya-tf engine remove terraform 1.11.4`",
    )


def test_a_binary_that_has_gone_is_not_verified(tmp_path: Path) -> None:
    found = installed(tmp_path)
    found.path.unlink()

    with pytest.raises(EngineUnverified, match="cannot be read: No such file or directory"):
        verify(found, no_pause)


def test_what_is_removed_is_gone_and_the_rest_is_there(tmp_path: Path) -> None:
    found, other = installed(tmp_path), installed(tmp_path, version=Version(1, 11, 3))
    (found.path.parent / "more").mkdir()
    remove(found.path.parent)

    assert all_installed(tmp_path) == (other,)
    assert [entry.name for entry in (tmp_path / "engines/terraform").iterdir()] == ["1.11.3"]


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").touch()
    link = directory_of(tmp_path, TERRAFORM, VERSION)
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    remove(link)

    assert not os.path.lexists(link)
    assert (elsewhere / "file").exists()


def test_leftovers_are_known_by_their_names(tmp_path: Path) -> None:
    for name in (".1.9.0_x", ".1.9.0-rc.1_y_z", ".1.9.0.lock", "1.9.0", "1.9.0_a", ".holder"):
        (tmp_path / name).mkdir()

    assert leftovers(tmp_path) == (
        ("1.9.0-rc.1", tmp_path / ".1.9.0-rc.1_y_z"),
        ("1.9.0", tmp_path / ".1.9.0_x"),
    )
    assert leftover_prefix("1.9.0") == ".1.9.0_"


def test_what_is_not_installed_is_named_with_what_is(tmp_path: Path) -> None:
    nothing = no_such_engine(tmp_path, TERRAFORM, VERSION)
    installed(tmp_path, version=Version(1, 9))
    installed(tmp_path, version=Version(1, 10))
    something = no_such_engine(tmp_path, TERRAFORM, VERSION)

    assert isinstance(nothing, BadInput)
    assert (str(nothing), nothing.hints) == (
        "Terraform 1.11.4 is not installed",
        ("`hereya-tf engine list` shows what is there",),
    )
    assert something.hints == ("installed: 1.10.0, 1.9.0",)
