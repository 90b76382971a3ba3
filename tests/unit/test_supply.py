"""Which releases there are, and one of them installed, from a directory, a mirror or nowhere."""

from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.engine.demand import Demand
from hereya_tf.errors import EngineUnavailable, EngineUnverified, NotPublished
from hereya_tf.releases.supply import Listeners, Supply
from tests.engine_choice import Chooser
from tests.installing import Installing
from tests.release_site import ReleaseSite, status

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
NINE = Demand((TERRAFORM,), constraints=(parse_constraint("~> 1.9.0", "VERSION"),))


def test_the_newest_that_will_do_is_found_and_installed(chooser: Chooser) -> None:
    chooser.mirror.publish(TERRAFORM, "1.9.0", "1.9.8", "1.14.0")
    supply = chooser.supply()

    version = supply.newest(NINE, TERRAFORM)
    installed = supply.install(TERRAFORM, version)

    assert version == supply.resolve(NINE, TERRAFORM) == Version(1, 9, 8)
    assert installed.path == chooser.cache / "engines/terraform/1.9.8/terraform"
    assert (chooser.downloaded, chooser.told) == (["Terraform 1.9.8"], [])


def test_what_is_installed_will_do_for_whoever_asks_to_resolve_alone(chooser: Chooser) -> None:
    chooser.mirror.publish(TERRAFORM, "1.9.0")
    chooser.installed(TERRAFORM, "1.9.0")
    chooser.source = "http://127.0.0.1:1"  # nobody is there
    supply = chooser.supply()

    assert supply.resolve(NINE, TERRAFORM) == Version(1, 9, 0)
    assert chooser.told[-1].endswith("; Terraform 1.9.0, which is installed, is taken")
    with pytest.raises(EngineUnavailable):
        supply.newest(NINE, TERRAFORM)


@pytest.mark.parametrize(("hurried", "requests"), [(False, 6), (True, 2)])
def test_whoever_is_in_a_hurry_asks_twice(chooser: Chooser, hurried: bool, requests: int) -> None:
    with ReleaseSite() as site:
        site.always("/terraform/index.json", status(503))
        chooser.source = site.address

        with pytest.raises(EngineUnavailable, match="it answered 503"):
            chooser.supply().newest(NINE, TERRAFORM, hurried=hurried)

        assert len(site.requests) == requests


def test_a_password_of_the_mirror_is_sent_to_it(chooser: Chooser) -> None:
    with ReleaseSite() as site:
        Installing(site, chooser.cache).publish(version=Version(1, 9, 0))
        chooser.source = site.address.replace("//", "//user:secret@")

        assert chooser.supply().newest(NINE, TERRAFORM) == Version(1, 9, 0)

        assert [request.headers.get("authorization") for request in site.requests] == [
            "Basic dXNlcjpzZWNyZXQ="
        ]


def test_without_the_key_of_the_mirror_nothing_of_it_counts(chooser: Chooser) -> None:
    chooser.mirror.publish(TERRAFORM, "1.9.0")
    supply = chooser.supply({"HEREYA_TF_ENGINE_KEYS": ""})

    with pytest.raises(EngineUnverified):
        supply.install(TERRAFORM, Version(1, 9, 0))


def test_whoever_waits_may_end_it(chooser: Chooser, tmp_path: Path) -> None:
    def stop(_seconds: float) -> None:
        raise KeyboardInterrupt

    chooser.mirror.publish(TERRAFORM, "1.9.0")
    listeners = Listeners(stop, chooser.told.append, lambda *_progress: None)
    supply = Supply(chooser.source, chooser.supply().environment, tmp_path / "other", listeners)

    with pytest.raises(KeyboardInterrupt):
        supply.install(TERRAFORM, Version(1, 9, 0))
    assert not list((tmp_path / "other").rglob("terraform/1.9.0"))


def test_what_there_never_was_is_not_looked_for(chooser: Chooser) -> None:
    chooser.source = "/no/such/mirror"
    supply = chooser.supply()
    exact = Demand((OPENTOFU,), constraints=(parse_constraint("1.5.7", "--engine-version"),))

    with pytest.raises(NotPublished, match=r"^there is no OpenTofu 1\.5\.7: it begins with 1\.6\.0$"):
        supply.newest(exact, OPENTOFU)
    assert supply.newest(exact, TERRAFORM) == Version(1, 5, 7)
