"""What a provider that runs as a program of its own has to say, and to finish, on a real engine."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver, failure, succeeded
from tests.engine.provider import PROVIDERS, record

pytestmark = [pytest.mark.real_engine, pytest.mark.usefixtures("providers")]


def said(result: Result, severity: str) -> list[tuple[str, str, str | None, str | None]]:
    """Summary, detail, address and code of the diagnostics."""
    return [
        (event["summary"], event["detail"], event["address"], event["snippet"] and event["snippet"]["code"])
        for event in result.events
        if event["type"] == "diagnostic" and event["severity"] == severity
    ]


@pytest.mark.parametrize("operation", ["create", "update", "delete"])
def test_an_error_of_a_provider_is_the_failure(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, operation: str
) -> None:
    file = tmp_path / "a.json"
    package = make_package({"main.tf": PROVIDERS + record("a", file, content="one", fail=operation)})
    run = hereya.provision
    if operation != "create":
        succeeded(hereya.provision(package))
        (package / "main.tf").write_text(PROVIDERS + record("a", file, content="two", fail=operation))
        run = hereya.destroy if operation == "delete" else hereya.provision

    failed = run(package)

    # The engine does not say of which resource the error of a delete is; only one has failed.
    where: tuple[str | None, str | None] = (None, None)
    if operation != "delete":
        where = ("file_record.a", f'  fail = "{operation}"')
    sentence = f"The record cannot {operation}: It is at {file} (`file_record.a`)"
    assert failure(failed) == (1, "provider-error", sentence)
    assert said(failed, "error") == [(f"The record cannot {operation}", f"It is at {file}.", *where)]
    assert [found["summary"] for found in failed.result["failure"]["diagnostics"]] == [
        f"The record cannot {operation}"
    ]
    assert file.exists() is (operation != "create")


def test_a_provider_that_cannot_be_configured_is_the_failure(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {"main.tf": PROVIDERS + 'provider "file" {\n  fail = "configure"\n}\n' + record("a", tmp_path / "a")}
    )

    failed = hereya.provision(package)

    assert failure(failed)[:2] == (1, "provider-error")
    assert said(failed, "error") == [
        (
            "The provider cannot be configured",
            "fail = configure",
            'provider["registry.terraform.io/hereya/file"]',
            '  fail = "configure"',
        )
    ]


def test_warnings_of_a_provider_reach_the_diagnostics_once(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {
            "main.tf": PROVIDERS
            + 'provider "file" {\n  warn = "an old region"\n}\n'
            + record("a", tmp_path / "a.json", warn="an old size")
        }
    )

    done = hereya.provision(package)

    succeeded(done)
    of_provider = [warning for warning in said(done, "warning") if warning[0].endswith("has a remark")]
    assert sorted(of_provider) == [
        (
            "The provider has a remark",
            "an old region",
            'provider["registry.terraform.io/hereya/file"]',
            '  warn = "an old region"',
        ),
        ("The record has a remark", "an old size", "file_record.a", '  warn = "an old size"'),
    ]


def test_what_a_provider_is_at_is_finished_and_saved_after_an_interrupt(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    slow, next_one = tmp_path / "slow.json", tmp_path / "next.json"
    later = record("next", next_one).replace("{\n", "{\n  depends_on = [file_record.slow]\n", 1)
    package = make_package({"main.tf": PROVIDERS + record("slow", slow, seconds=3) + later})
    running = hereya.start("provision", package, start_new_session=True)
    running.wait_for_event("resource", address="file_record.slow", status="started")

    # As a terminal does it: to everyone in the group.
    scenes.signal_group(running.pid, signal.SIGINT)
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert scenes.resources(package / "terraform.tfstate") == {"file_record.slow": "complete"}
    assert _token_in_state(package) == json.loads(slow.read_text())["token"]
    assert not next_one.exists()


def _token_in_state(package: Path) -> Any:
    state = json.loads((package / "terraform.tfstate").read_text())
    return state["resources"][0]["instances"][0]["attributes"]["token"]
