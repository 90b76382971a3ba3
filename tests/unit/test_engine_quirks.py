"""What not every version can do: the whole table at its edges, and nothing in it that nobody asks for."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.quirks import Quirk

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
OLDEST = {TERRAFORM: "0.0.1", OPENTOFU: "1.6.0-alpha1"}

# The last version without it and the first with it; None for "all have it", `-` for "none has".
EDGES: dict[Quirk, tuple[str | None, str | None]] = {
    Quirk.RELEASES: (None, "1.5.9 1.6.0-alpha1"),
    Quirk.MESSAGES: ("0.15.2 0.15.3", None),
    Quirk.MIGRATION_ON_DEMAND: ("0.15.3 0.15.4", None),
    Quirk.APPLE_SILICON: ("1.0.1 1.0.2", None),
    Quirk.DRIFT_MESSAGES: ("1.0.2 1.0.3", None),
    Quirk.INIT_LOCKS: ("1.0.9 1.0.10", None),
    Quirk.INIT_JSON: ("1.8.5 1.9.0-alpha20240404", "1.6.3 1.7.0-beta1"),
    Quirk.S3_LOCK_FILE: ("1.9.8 1.10.0", "1.9.9 1.10.0"),
    Quirk.EARLY_VARIABLES: ("1.14.9 1.15.0-rc1", "1.7.9 1.8.0"),
    Quirk.BACKEND_VARIABLES: ("-", "1.7.9 1.8.0"),
    Quirk.OWN_FILES: ("-", "1.7.9 1.8.0-rc1"),
    Quirk.EXCLUDE: ("-", "1.8.9 1.9.0"),
    Quirk.LANGUAGE_BLOCK: ("-", "1.11.9 1.12.0-beta1"),
}


def test_the_whole_table_is_looked_at() -> None:
    assert list(EDGES) == list(Quirk)


@pytest.mark.parametrize("quirk", Quirk)
@pytest.mark.parametrize("engine", EngineName)
def test_a_version_has_what_came_with_it_or_before(quirk: Quirk, engine: EngineName) -> None:
    def has(version: str) -> bool:
        return quirks.has(quirk, engine, Version.parse(version))

    edge = EDGES[quirk][0 if engine is TERRAFORM else 1]
    match (edge or "").split():
        case []:
            assert (has(OLDEST[engine]), has("99.0.0")) == (True, True)
        case ["-"]:
            assert (has("99.0.0"), quirks.since(quirk, engine)) == (False, None)
        case [last_without, first]:
            assert (has(last_without), has(first), has("99.0.0")) == (False, True, True)
            assert quirks.since(quirk, engine) == Version.parse(first)._replace(prerelease="")
        case other:
            pytest.fail(f"{other} is no edge")


@given(
    st.sampled_from(Quirk),
    st.sampled_from(EngineName),
    st.builds(Version, st.integers(0, 2), st.integers(0, 20), st.integers(0, 20)),
    st.sampled_from(["alpha20240404", "beta1", "rc2", "dev"]),
)
def test_a_pre_release_has_what_its_release_has(
    quirk: Quirk, engine: EngineName, version: Version, prerelease: str
) -> None:
    assert quirks.has(quirk, engine, version) is quirks.has(
        quirk, engine, version._replace(prerelease=prerelease)
    )


@pytest.mark.parametrize(
    ("quirk", "words"),
    [
        (Quirk.MESSAGES, "Terraform 0.15.3 or newer, or OpenTofu"),
        (Quirk.INIT_JSON, "Terraform 1.9 or newer, or OpenTofu 1.7 or newer"),
        (Quirk.S3_LOCK_FILE, "an engine of version 1.10 or newer"),
        (Quirk.EXCLUDE, "OpenTofu 1.9 or newer"),
    ],
)
def test_who_has_it_is_said_in_words(quirk: Quirk, words: str) -> None:
    assert words == quirks.who_has(quirk)


def test_every_row_says_what_it_is_and_how_that_is_known() -> None:
    assert [row.name for row in Quirk if not (row.value.meaning and row.value.source)] == []


def test_no_row_is_there_for_its_own_sake(repository: Path) -> None:
    files = (repository / "hereya_tf").rglob("*.py")
    text = "".join(file.read_text(encoding="utf-8") for file in files if file.name != "quirks.py")

    assert set(re.findall(r"\bQuirk\.([A-Z0-9_]+)", text)) == {quirk.name for quirk in Quirk}


def test_no_version_of_an_engine_is_written_down_elsewhere(repository: Path) -> None:
    written = {
        file.relative_to(repository).as_posix()
        for file in (repository / "hereya_tf").rglob("*.py")
        if re.search(r"\bVersion\(\d+, [1-9]", file.read_text(encoding="utf-8"))
    }

    assert written == {"hereya_tf/engine/quirks.py"}
