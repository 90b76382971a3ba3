"""`recover` where states are elsewhere than on an `http` server: in a bucket, and in a real Postgres."""

import json
from pathlib import Path

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.buckets import Aws, Locking, in_bucket
from tests.engine.databases import Database
from tests.engine.driving import Driver, failure, names, succeeded
from tests.engine.recovering import (
    VALUE,
    content,
    crashed,
    left,
    notes,
    recovery,
    refused,
    repaired,
    repairs,
    who,
)
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

KEY = "app/terraform.tfstate"
DATABASE = 'terraform {\n  backend "pg" {}\n}\n'


def recover(hereya: Driver, package: Path, *arguments: str | Path) -> Result:
    return hereya.cli("recover", package, "--json", "--yes", "--engine", hereya.wish, *arguments)


@pytest.mark.behaviour("T10")
def test_the_lock_of_a_dead_run_on_a_bucket_is_released(
    hereya: Driver, make_package: MakePackage, bucket: str, locking: Locking
) -> None:
    where = in_bucket(bucket, "app", *locking.options)
    package = make_package(scenes.GATED)
    dead = crashed(hereya.start("provision", package, *where), package)
    assert len(locking.held()) == 1

    # As from a fresh clone, on the same machine.
    result = recover(hereya, make_package(scenes.GATED), *where)

    assert repaired(result) == {"unlock": True}
    (repair,) = recovery(result)["repairs"]
    assert f"proven to be of run `{dead}`, which is dead: taken by `{who()}`" in repair["because"]
    assert locking.held() == []
    (package / "go").touch()
    succeeded(hereya.provision(package, *where))


@pytest.mark.behaviour("T10")
def test_a_foreign_lock_on_a_bucket_is_told_and_stays(
    hereya: Driver, make_package: MakePackage, bucket: str, locking: Locking
) -> None:
    where = in_bucket(bucket, "app", *locking.options)
    package = make_package({"main.tf": VALUE})
    succeeded(hereya.provision(package, *where))
    locking.hold(KEY)

    result = recover(hereya, package, *where)

    assert refused(result) == (4, "state-locked")
    assert left(result).endswith(
        "it was taken by `somebody@elsewhere`, and the runs that are known here ran as others or elsewhere"
    )
    assert len(locking.held()) == 1
    assert f"tf {package} --state-bucket {bucket}" in str(recovery(result)["left"])


@pytest.mark.behaviour("T10")
def test_a_state_that_could_not_be_saved_is_stored_in_the_bucket(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str, locking: Locking
) -> None:
    where = in_bucket(bucket, "app", *locking.options)
    package = make_package({"main.tf": VALUE})
    succeeded(hereya.provision(package, *where, "-p", "v=one"))
    there = json.loads(aws.get(bucket, KEY))
    lost = {**there, "serial": there["serial"] + 1, "outputs": {"v": {"value": "two", "type": "string"}}}
    (package / "errored.tfstate").write_text(json.dumps(lost))

    result = recover(hereya, package, *where)

    assert repaired(result) == {"push": True}
    assert aws.outputs(bucket, KEY) == {"v": "two"}
    assert (locking.held(), "errored.tfstate" in names(package)) == ([], False)
    succeeded(hereya.provision(package, *where, "-p", "v=two"))


def test_the_lock_of_a_dead_run_on_a_database_is_gone_with_its_connection(
    hereya: Driver, make_package: MakePackage, database: Database
) -> None:
    package = make_package({"main.tf": DATABASE + scenes.GATED["main.tf"]})
    crashed(hereya.start("provision", package), package)
    wait_for(lambda: True if database.locks() == 0 else None, what="the connection to end")

    result = recover(hereya, package)

    assert repaired(result) == {}
    story = "\n".join(recovery(result)["story"])
    assert "In flight: `terraform_data.second` was being created." in story
    (package / "go").touch()
    succeeded(hereya.provision(package))


def test_a_database_that_is_locked_by_somebody_says_not_by_whom_and_is_left_alone(
    hereya: Driver, make_package: MakePackage, database: Database
) -> None:
    """The engine shows what it would have written into the lock itself, with our own name."""
    package = make_package({"main.tf": DATABASE + scenes.GATED["main.tf"]})
    clone = make_package({"main.tf": DATABASE + VALUE})
    hereya.plain(package, "init")
    somebody = hereya.start_plain(package, "apply", "-auto-approve")
    scenes.wait_for_file(package / "started")

    result = recover(hereya, clone)

    assert refused(result) == (4, "state-locked")
    assert repairs(result) == {}
    assert left(result).endswith("the engine does not say who holds it")
    (package / "go").touch()
    assert somebody.wait(60) == 0


def test_a_state_that_a_database_did_not_take_is_stored(
    hereya: Driver, make_package: MakePackage, database: Database
) -> None:
    away = f"{database.psql} -Xq -c 'alter table terraform_remote_state.states rename to gone' $PG_CONN_STR"
    breaking = f'resource "terraform_data" "b" {{\n  provisioner "local-exec" {{ command = "{away}" }}\n}}\n'
    package = make_package({"main.tf": DATABASE + VALUE})
    succeeded(hereya.provision(package, "-p", "v=one"))
    (package / "breaking.tf").write_text(breaking)
    assert failure(hereya.provision(package, "-p", "v=two"))[1] == "state-not-saved"
    database.ask("alter table terraform_remote_state.gone rename to states")

    result = recover(hereya, package)

    assert repaired(result) == {"push": True}
    assert notes() == []
    assert content(json.loads(hereya.plain(package, "state", "pull"))) == {"v": "two"}
    assert set(succeeded(hereya.provision(package, "-p", "v=two"))["changes"].values()) == {0}
