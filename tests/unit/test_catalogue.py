"""Which version is wanted is found out by asking, by what was heard before, or by what is there."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.engine.demand import Demand
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.catalogue import FRESH_SECONDS, NoSuchRelease, known_versions, newest, resolve
from hereya_tf.releases.directory import directory_site
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.sites import Site, mirror_site
from tests.installing import HERE, OPENTOFU, TERRAFORM, Installing
from tests.release_site import ReleaseSite, status

TEXTS = ("1.9.0", "1.9.8", "1.10.0", "1.11.0-rc1")
NOW = 1_800_000_000.0


@pytest.fixture
def installing(tmp_path: Path) -> Iterator[Installing]:
    with ReleaseSite() as site:
        yield Installing(site, tmp_path / "cache")


class Asking:
    """Asks a site for versions, at a time."""

    def __init__(self, installing: Installing, engine: EngineName = TERRAFORM) -> None:
        self.installing = installing
        self.site = mirror_site(engine, installing.site.address)
        self.told: list[str] = []
        self.now = NOW

    def fetcher(self) -> Fetcher:
        address = self.installing.site.address
        return Fetcher(environment={}, pause=self.installing.pause, mirror=address, retries=0)

    def versions(self) -> list[str]:
        with self.fetcher() as fetcher:
            found = known_versions(
                self.site, fetcher, self.installing.cache, tell=self.told.append, now=self.now
            )
        return [str(version) for version in found]

    def newest(self, wish: str | None) -> str:
        with self.fetcher() as fetcher:
            return str(
                newest(
                    self.demand(wish),
                    self.site,
                    fetcher,
                    self.installing.cache,
                    tell=self.told.append,
                    now=self.now,
                )
            )

    def demand(self, wish: str | None) -> Demand:
        said = () if wish is None else (parse_constraint(wish, "VERSION"),)
        return Demand((self.site.engine,), constraints=said)

    def resolve(self, wish: str, *, site: Site | None = None) -> str:
        demand = self.demand(wish)
        with self.fetcher() as fetcher:
            return str(
                resolve(
                    demand,
                    site or self.site,
                    fetcher,
                    self.installing.cache,
                    platform=HERE,
                    tell=self.told.append,
                    now=self.now,
                )
            )


@pytest.fixture(params=list(EngineName))
def asking(request: pytest.FixtureRequest, installing: Installing) -> Asking:
    for text in TEXTS:
        installing.publish(b"", engine=request.param, version=Version.parse(text))
    return Asking(installing, request.param)


def listing(asking: Asking) -> str:
    return str(asking.site.listing).removeprefix(asking.installing.site.address)


def test_all_versions_are_listed_the_newest_first(asking: Asking) -> None:
    assert asking.versions() == ["1.11.0-rc1", "1.10.0", "1.9.8", "1.9.0"]


@pytest.mark.parametrize(
    ("wish", "version"),
    [
        ("latest", "1.10.0"),
        ("~> 1.9.0", "1.9.8"),
        ("< 1.9.8", "1.9.0"),
        ("!= 1.10.0", "1.9.8"),
        (">= 1.11.0-rc1", "1.11.0-rc1"),
    ],
)
def test_the_newest_that_will_do_is_wanted(asking: Asking, wish: str, version: str) -> None:
    assert asking.resolve(wish) == asking.newest(wish) == version


def test_where_nothing_is_said_the_newest_release_is_wanted(asking: Asking) -> None:
    assert asking.newest(None) == "1.10.0"


def test_what_is_exact_is_not_looked_for(asking: Asking) -> None:
    assert asking.resolve("4.5.6") == asking.newest("4.5.6") == "4.5.6"
    assert asking.installing.site.requests == []


def test_what_there_is_not_is_refused(asking: Asking) -> None:
    for look in (asking.resolve, asking.newest):
        with pytest.raises(NoSuchRelease) as raised:
            look("~> 2.0")

        title = asking.site.engine.title
        assert str(raised.value) == f"no release of {title} satisfies `~> 2.0` of VERSION"
        assert raised.value.hints == ("the newest is 1.11.0-rc1",)


def test_where_there_are_only_pre_releases_nobody_needs_to_have_asked_for_more(
    installing: Installing,
) -> None:
    installing.publish(b"", version=Version.parse("1.11.0-rc1"))

    with pytest.raises(NoSuchRelease) as raised:
        Asking(installing).newest(None)

    assert str(raised.value) == "no release of Terraform was found"
    assert raised.value.hints == ("the newest is 1.11.0-rc1",)


def test_a_list_is_good_for_a_while(asking: Asking) -> None:
    asking.versions()
    asking.now += FRESH_SECONDS - 1
    again = asking.versions()
    asked = len(asking.installing.site.asked(listing(asking)))
    asking.now += 1
    asking.versions()

    assert (again, asked) == (["1.11.0-rc1", "1.10.0", "1.9.8", "1.9.0"], 1)
    assert len(asking.installing.site.asked(listing(asking))) == 2
    assert asking.told == []


def test_a_list_from_the_future_is_asked_for_again(asking: Asking) -> None:
    asking.versions()
    asking.now -= 1
    asking.versions()

    assert len(asking.installing.site.asked(listing(asking))) == 2


def test_an_old_list_serves_while_the_site_is_down(asking: Asking) -> None:
    first = asking.versions()
    asking.installing.site.always(listing(asking), status(502))
    asking.now += 3 * 86_400 + 30

    assert asking.versions() == first
    (sentence,) = asking.told
    assert sentence.startswith("`")
    assert sentence.endswith(
        f"it answered 502; a list of {asking.site.engine.title}'s versions that is 3d old is taken"
    )


def test_without_any_list_what_is_installed_will_do(installing: Installing) -> None:
    for text in ("1.9.0", "1.9.8"):
        installing.publish(version=Version.parse(text))
        installing.install(Version.parse(text))
    asking = Asking(installing)
    installing.site.always("/terraform/index.json", status(404))

    assert asking.resolve("~> 1.9") == "1.9.8"
    with pytest.raises(EngineUnavailable, match="it answered 404"):
        asking.newest("~> 1.9")
    (sentence,) = asking.told
    assert sentence.endswith("it answered 404; Terraform 1.9.8, which is installed, is taken")
    with pytest.raises(EngineUnavailable, match="it answered 404"):
        asking.resolve("~> 1.10")


def test_a_page_in_place_of_a_list_is_none(installing: Installing) -> None:
    installing.site.put("/terraform/index.json", b"<html>log in</html>")

    with pytest.raises(EngineUnavailable, match="what was found in place of the list") as caught:
        Asking(installing).versions()
    assert caught.value.hints[0] == f"look at what is there: `{installing.site.address}/terraform/index.json`"
    assert not list(installing.cache.rglob("*"))


def test_what_was_withdrawn_is_not_the_newest(installing: Installing) -> None:
    for text in ("1.9.0", "1.9.1"):
        installing.publish(b"", version=Version.parse(text), withdrawn=text == "1.9.1")

    class Knowing(Site):
        """A site that says what was withdrawn, as the vendor's does."""

        def status(self, version: Version) -> str | None:
            return installing.site.url(f"/v1/releases/terraform/{version}")

    asking = Asking(installing)
    knowing = Knowing(*asking.site)

    assert asking.resolve("latest", site=knowing) == "1.9.0"
    installing.site.always("/v1/releases/terraform/1.9.1", status(503))
    assert asking.resolve("latest", site=knowing) == "1.9.1", "who says nothing has not withdrawn it"


def test_the_other_list_serves_while_the_first_is_down(installing: Installing) -> None:
    installing.publish(b"", version=Version(1, 9, 0))
    installing.site.always("/terraform/index.json", status(504))
    asking = Asking(installing)
    other = installing.site.url("/v1/releases/terraform?limit=20")
    asking.site = asking.site._replace(other_listing=other)

    assert asking.versions() == ["1.9.0"]
    installing.site.always("/v1/releases/terraform", status(504))
    asking.now += FRESH_SECONDS
    asking.versions()
    assert "`index.json` could not be downloaded" in asking.told[0], "the first fault is told"


def test_a_directory_is_read_as_it_is(installing: Installing, tmp_path: Path) -> None:
    for name in ("terraform_1.9.0_SHA256SUMS", "terraform_1.10.0_SHA256SUMS"):
        (tmp_path / name).touch()
    asking = Asking(installing)
    flat = directory_site(TERRAFORM, tmp_path)

    assert asking.resolve("latest", site=flat) == "1.10.0"
    with pytest.raises(EngineUnavailable) as raised:
        asking.resolve("latest", site=directory_site(OPENTOFU, tmp_path))
    assert raised.value.hints == ("its list is empty: is it the right place?",)


def test_a_cache_that_cannot_be_written_is_no_reason_not_to_know(installing: Installing) -> None:
    installing.publish(b"", version=Version(1, 9, 0))
    installing.cache.touch()

    assert Asking(installing).versions() == ["1.9.0"]


def test_mirrors_with_passwords_leave_none_in_the_cache(installing: Installing) -> None:
    installing.publish(b"", version=Version(1, 9, 0))
    asking = Asking(installing)
    host = installing.site.address.partition("//")[2]
    asking.site = mirror_site(TERRAFORM, f"http://user:secret@{host}")
    asking.versions()

    (file,) = (installing.cache / "engines/terraform").iterdir()
    assert "secret" not in file.name + file.read_text()


@given(
    st.binary(max_size=100)
    | st.fixed_dictionaries(
        {
            "v": st.sampled_from((1, 2, None)),
            "at": st.sampled_from((NOW, "x", None, 1e300, 10**400, math.inf, math.nan)),
            "versions": st.sampled_from(([], ["x"], [1], None, "1.9.0", ["1.9.0"])),
        }
    ).map(lambda document: json.dumps(document).encode())
)
def test_whatever_stands_in_a_copy_is_no_fault_of_ours(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    with ReleaseSite() as site:
        installing = Installing(site, cache)
        installing.publish(b"", version=Version(1, 9, 0))
        asking = Asking(installing)
        asking.versions()
        (file,) = (cache / "engines/terraform").iterdir()
        file.write_bytes(data)

        assert asking.versions() == ["1.9.0"]
