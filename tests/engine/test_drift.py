"""`drift` on a real engine: what has changed behind the engine's back, and only that."""

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import provider, scenes
from tests.engine.driving import Driver, failure, names, steps, succeeded
from tests.engine.provider import record

pytestmark = [pytest.mark.real_engine, pytest.mark.usefixtures("providers")]

NO_DRIFT = "No drift: what is there is as the state says.\n"
SECRET = "token-of-somebody-else"


class Site:
    """A package with the records `a` and `b`, provisioned; what it says, and the files it has made."""

    def __init__(self, hereya: Driver, package: Path, directory: Path) -> None:
        self._hereya = hereya
        self.package = package
        self.a, self.b = (directory / name for name in ("a.json", "b.json"))
        self.declare(record("a", self.a, content="one"), record("b", self.b, content="one"))

    def declare(self, *blocks: str) -> None:
        (self.package / "main.tf").write_text(provider.PROVIDERS + "".join(blocks))

    def provision(self, *arguments: str | Path) -> dict[str, Any]:
        return succeeded(self._hereya.provision(self.package, *arguments))

    def drift(self, *arguments: str | Path) -> Result:
        return self._hereya.start("drift", self.package, *arguments).finish()

    def drift_for_people(self) -> Result:
        return self._hereya.cli("drift", self.package, "--engine", self._hereya.wish)


@pytest.fixture
def site(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> Site:
    return Site(hereya, make_package({}), tmp_path)


def changes(result: Result) -> set[tuple[str, str, str | None]]:
    return {
        (event["address"], event["action"], event["reason"])
        for event in result.events
        if event["type"] == "change"
    }


def verdict(result: Result) -> tuple[int, bool, str, bool | None]:
    """Exit code, success, status and drift of a run whose result says the same exit code."""
    ended = result.result
    assert ended["exit_code"] == result.exit_code
    return result.exit_code, ended["success"], ended["status"], ended["drift"]


NONE = (0, True, "succeeded", False)
SOME = (2, True, "succeeded", True)


def test_where_nothing_has_changed_there_is_no_drift(site: Site) -> None:
    site.provision()

    looked = site.drift()

    assert (verdict(looked), changes(looked)) == (NONE, set())
    assert site.drift_for_people()[:2] == (0, NO_DRIFT)


def test_where_nothing_was_ever_made_there_is_no_drift(site: Site) -> None:
    assert verdict(site.drift()) == NONE
    assert not (site.package / "terraform.tfstate").exists()


def test_what_was_changed_and_what_was_removed_by_others_is_drift(site: Site) -> None:
    site.provision()
    provider.change(site.a, content="two")
    site.b.unlink()

    looked = site.drift()

    assert verdict(looked) == SOME
    assert changes(looked) == {("file_record.a", "update", "drift"), ("file_record.b", "delete", "drift")}
    assert looked.result["changes"] == dict.fromkeys(
        ("add", "change", "destroy", "replace", "import", "forget"), 0
    )
    assert steps(looked) == ["plan"]


def test_people_get_the_engines_own_words_and_a_table(site: Site) -> None:
    site.provision()
    provider.change(site.a, content="two")
    site.b.unlink()

    looked = site.drift_for_people()

    words, table = looked.stdout[: looked.stdout.index("    - deleted")], looked.stdout.splitlines()[-4:]
    assert '~ content = "one" -> "two"' in words
    assert "# file_record.b has been deleted" in words
    assert table == [
        "    - deleted  file_record.b",
        "    ~ changed  file_record.a",
        "",
        "Drift: 1 deleted, 1 changed outside of the engine",
    ]
    assert looked.exit_code == 2


def test_looking_changes_neither_the_state_nor_what_is_there(site: Site) -> None:
    site.provision()
    provider.change(site.a, content="two")
    site.b.unlink()
    before = names(site.package), (site.package / "terraform.tfstate").read_bytes(), site.a.read_bytes()

    assert verdict(site.drift()) == SOME

    after = names(site.package), (site.package / "terraform.tfstate").read_bytes(), site.a.read_bytes()
    assert after == before
    assert not site.b.exists()


def test_a_changed_configuration_alone_is_no_drift(site: Site, tmp_path: Path) -> None:
    site.provision()
    # One changed, one gone, one new, and an output.
    site.declare(
        record("a", site.a, content="two"),
        record("c", tmp_path / "c.json"),
        'output "token" {\n  value     = file_record.a.token\n  sensitive = true\n}\n',
    )

    looked = site.drift()

    assert (verdict(looked), changes(looked)) == (NONE, set())


def test_what_a_moved_block_moves_the_engine_calls_drift(site: Site) -> None:
    site.provision()
    site.declare(
        record("z", site.a, content="one"),
        record("b", site.b, content="one"),
        "moved {\n  from = file_record.a\n  to   = file_record.z\n}\n",
    )

    looked = site.drift()

    assert (verdict(looked), changes(looked)) == (SOME, {("file_record.z", "move", "drift")})


def test_where_reading_fails_nothing_is_claimed(site: Site) -> None:
    site.declare(record("a", site.a, fail="read"), record("b", site.b, content="one"))
    site.provision()
    provider.change(site.b, content="two")

    looked = site.drift()

    assert failure(looked) == (
        1,
        "provider-error",
        f"The record cannot read: It is at {site.a} (`file_record.a`)",
    )
    assert looked.result["drift"] is None
    assert changes(looked) == set()


def test_a_target_narrows_the_look(site: Site) -> None:
    site.provision()
    provider.change(site.b, content="two")

    assert verdict(site.drift("--target", "file_record.a")) == NONE
    assert verdict(site.drift("--target", "file_record.b")) == SOME


def test_a_generated_backend_is_looked_at(site: Site, tmp_path: Path) -> None:
    state = tmp_path / "kept" / "site.tfstate"
    state.parent.mkdir()
    site.provision("--state", state)
    site.b.unlink()
    before = state.read_bytes()

    looked = site.drift("--state", state)

    assert (verdict(looked), changes(looked)) == (SOME, {("file_record.b", "delete", "drift")})
    assert state.read_bytes() == before
    assert names(state.parent) == ["site.tfstate"]
    assert "terraform.tfstate" not in names(site.package)


def test_each_workspace_has_its_own_drift(site: Site) -> None:
    site.provision("-w", "blue", "--create-workspace")
    provider.change(site.a, content="two")

    looked = site.drift("-w", "blue")

    assert (verdict(looked), looked.result["workspace"]) == (SOME, "blue")
    assert verdict(site.drift("-w", "default")) == NONE


def test_a_workspace_that_is_not_there_is_no_answer(site: Site) -> None:
    site.provision()

    looked = site.drift("-w", "blue")

    assert failure(looked)[:2] == (1, "workspace-unknown")
    assert looked.result["drift"] is None


def test_provision_puts_drift_right(site: Site) -> None:
    site.provision()
    provider.change(site.a, content="two")
    site.b.unlink()

    repaired = site.provision()

    assert (repaired["changes"]["add"], repaired["changes"]["change"], repaired["drift"]) == (1, 1, None)
    assert verdict(site.drift()) == NONE


def test_a_secret_that_has_drifted_is_not_shown(site: Site) -> None:
    site.provision()
    provider.change(site.a, token=SECRET)

    for_programs, for_people = site.drift("--verbose"), site.drift_for_people()

    assert verdict(for_programs) == SOME
    assert "~ token   = (sensitive value)" in for_people.stdout
    shown = "".join((*for_programs[1:], *for_people[1:]))
    assert SECRET not in shown
    assert SECRET not in scenes.everything_in(scenes.state_directory())
    # The plan that was looked at holds it, compressed.
    assert scenes.files_of(for_programs.result["run"]) == scenes.KEPT


def test_a_plan_does_not_speak_of_drift(site: Site, hereya: Driver) -> None:
    site.provision()
    provider.change(site.a, content="two")
    site.b.unlink()

    planned = hereya.start("plan", site.package, "--engine-messages").finish()

    messages = [event["message"] for event in planned.events if event["type"] == "engine_message"]
    assert [message["type"] for message in messages].count("resource_drift") == 2
    assert verdict(planned) == (0, True, "succeeded", None)
    assert changes(planned) == {("file_record.a", "update", None), ("file_record.b", "create", None)}
