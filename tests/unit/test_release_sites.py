"""Where releases are, at the vendors' and in mirrors, and which versions an index lists."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.directory import directory_site, versions_in_directory
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.index import is_withdrawn, versions_in
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.sites import (
    Release,
    Site,
    below,
    mirror_site,
    newest_stable,
    platforms_of_names,
    vendor_site,
    versions_of_names,
)
from tests.published_releases import archive, publish
from tests.release_site import ReleaseSite

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
LINUX = Platform("linux", "amd64")
_names = st.sampled_from(("versions", "id", "version", "status", "state", "1.9.0")) | st.text()
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(("versions", "id", "status")) | st.text(), inner)
    ),
    max_leaves=20,
)


def version(text: str) -> Version:
    return Version.parse(text)


def versions(*texts: str) -> tuple[Version, ...]:
    return tuple(map(Version.parse, texts))


def test_terraform_is_at_hashicorps_site() -> None:
    site = vendor_site(TERRAFORM)
    root = "https://releases.hashicorp.com/terraform"

    assert site == Site(
        engine=TERRAFORM,
        base=root,
        listing=f"{root}/index.json",
        other_listing="https://api.releases.hashicorp.com/v1/releases/terraform?limit=20",
    )
    assert site.release(version("1.11.4"), LINUX) == Release(
        archive=f"{root}/1.11.4/terraform_1.11.4_linux_amd64.zip",
        archive_name="terraform_1.11.4_linux_amd64.zip",
        checksums=f"{root}/1.11.4/terraform_1.11.4_SHA256SUMS",
        signature=f"{root}/1.11.4/terraform_1.11.4_SHA256SUMS.72D7468F.sig",
        member="terraform",
    )
    assert site.status(version("1.11.4")) == (
        "https://api.releases.hashicorp.com/v1/releases/terraform/1.11.4"
    )


def test_opentofu_is_at_github_and_its_index_elsewhere() -> None:
    site = vendor_site(OPENTOFU)
    root = "https://github.com/opentofu/opentofu/releases/download"

    assert site == Site(
        engine=OPENTOFU, base=root, listing="https://get.opentofu.org/tofu/api.json", other_listing=None
    )
    assert site.release(version("1.9.0-beta1"), Platform("windows", "amd64")) == Release(
        archive=f"{root}/v1.9.0-beta1/tofu_1.9.0-beta1_windows_amd64.zip",
        archive_name="tofu_1.9.0-beta1_windows_amd64.zip",
        checksums=f"{root}/v1.9.0-beta1/tofu_1.9.0-beta1_SHA256SUMS",
        signature=f"{root}/v1.9.0-beta1/tofu_1.9.0-beta1_SHA256SUMS.gpgsig",
        member="tofu.exe",
    )
    assert site.status(version("1.9.0")) is None


@pytest.mark.parametrize("engine", EngineName)
def test_a_mirror_is_all_there_is(engine: EngineName) -> None:
    site = mirror_site(engine, "https://mirror.example/hashicorp/")
    release = site.release(version("1.9.0"), LINUX)
    addresses = (site.base, site.listing, release.archive, release.checksums, release.signature)

    assert all(str(address).startswith("https://mirror.example/hashicorp/") for address in addresses)
    assert (site.is_mirror, site.other_listing, site.status(version("1.9.0"))) == (True, None, None)


@pytest.mark.parametrize("engine", EngineName)
def test_a_mirror_has_the_paths_of_the_vendor(engine: EngineName) -> None:
    vendor, mirror = vendor_site(engine), mirror_site(engine, "https://mirror.example")
    pairs = [
        (vendor.listing, mirror.listing),
        *zip(vendor.release(version("1.9.0"), LINUX), mirror.release(version("1.9.0"), LINUX), strict=True),
    ]

    assert [str(one).split("/")[3:] for one, _ in pairs] == [str(other).split("/")[3:] for _, other in pairs]


def test_a_query_of_a_mirrors_address_stays_behind_the_path() -> None:
    assert below("https://mirror.example/a/?token=x", "b", "c") == "https://mirror.example/a/b/c?token=x"


def test_a_directory_with_the_vendors_layout_serves_as_a_mirror(tmp_path: Path) -> None:
    for name in ("1.9.0", "1.10.0", "1.10.0-rc1", "index.json", "notes"):
        (tmp_path / "terraform" / name).mkdir(parents=True)
    site = directory_site(TERRAFORM, tmp_path)

    assert versions_in_directory(site) == versions("1.10.0", "1.10.0-rc1", "1.9.0")
    assert site.release(version("1.9.0"), LINUX).checksums == (
        tmp_path / "terraform/1.9.0/terraform_1.9.0_SHA256SUMS"
    )
    assert site.listing == tmp_path / "terraform/index.json"


def test_a_directory_with_the_layout_of_opentofus_releases_has_their_versions(tmp_path: Path) -> None:
    for name in ("v1.9.0", "v1.10.0", "1.8.0"):
        (tmp_path / "opentofu/opentofu/releases/download" / name).mkdir(parents=True)

    assert versions_in_directory(directory_site(OPENTOFU, tmp_path)) == versions("1.10.0", "1.9.0")


def test_a_directory_may_hold_the_files_themselves(tmp_path: Path) -> None:
    for name in ("tofu_1.9.0_SHA256SUMS", "tofu_1.9.0_SHA256SUMS.gpgsig", "tofu_1.9.0_linux_amd64.zip", "x"):
        (tmp_path / name).touch()
    site = directory_site(OPENTOFU, tmp_path)

    assert versions_in_directory(site) == versions("1.9.0")
    assert site.release(version("1.9.0"), LINUX).signature == tmp_path / "tofu_1.9.0_SHA256SUMS.gpgsig"
    assert versions_in_directory(directory_site(TERRAFORM, tmp_path)) == ()


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        directory_site(OPENTOFU, tmp_path / "nothing")

    assert str(caught.value) == f"the mirror `{tmp_path}/nothing` cannot be read: No such file or directory"


def test_the_index_of_terraform_lists_its_versions() -> None:
    names = (
        "1.9.0",
        "1.10.0",
        "1.10.0-rc2",
        "1.10.0-rc10",
        "0.11.15-oci",
        "1.10.0+ent",
        "v1.2.3",
        "1.2",
        "x",
    )
    document = {"name": "terraform", "versions": {name: {"version": name} for name in names}}

    assert versions_in(TERRAFORM, json.dumps(document).encode()) == versions(
        "1.10.0", "1.10.0-rc10", "1.10.0-rc2", "1.9.0", "0.11.15-oci"
    )


def test_the_index_of_opentofu_lists_its_versions() -> None:
    document = {"versions": [{"id": "1.9.0", "files": ["x"]}, {"id": "1.10.0-alpha1"}, {"id": "1.9.0"}]}

    assert versions_in(OPENTOFU, json.dumps(document).encode()) == versions("1.10.0-alpha1", "1.9.0")


def test_what_was_withdrawn_is_left_out_where_the_index_says_so() -> None:
    document = [
        {"version": "1.10.1", "status": {"state": "withdrawn"}},
        {"version": "1.10.0", "status": {"state": "supported"}},
        {"version": "1.9.9", "status": {"state": "unsupported"}},
        {"version": "1.9.8"},
        {"version": "1.9.7", "status": "withdrawn"},
    ]

    assert versions_in(TERRAFORM, json.dumps(document).encode()) == versions(
        "1.10.0", "1.9.9", "1.9.8", "1.9.7"
    )


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b'{"version":"1.10.1","status":{"state":"withdrawn"}}', True),
        (b'{"version":"1.10.0","status":{"state":"supported"}}', False),
        (b'{"status":[{"state":"withdrawn"}]}', False),
        (b"<html>", False),
        (b"[]", False),
    ],
)
def test_a_version_is_withdrawn_when_the_vendor_says_so(document: bytes, expected: bool) -> None:
    assert is_withdrawn(document) is expected


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(b"<!DOCTYPE html><title>Log in</title>", id="a log-in page"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"versions":', id="cut off"),
        pytest.param(b"\xff\xfe\xfd", id="no text"),
        pytest.param(b"[" * 200_000, id="nested without an end"),
        pytest.param(b'{"versions":{}}', id="no versions"),
        pytest.param(b'{"versions":[{"id":"latest"},{"id":7},"1.9.0",null]}', id="no version among them"),
        pytest.param(b'{"versions":"1.9.0"}', id="a text"),
        pytest.param(b"1" * 5000, id="a number over the limit"),
    ],
)
def test_what_is_not_an_index_is_refused(document: bytes) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        versions_in(OPENTOFU, document)

    assert str(caught.value) == "what was found in place of the list of OpenTofu's versions is not one"


@given(st.one_of(st.binary(), _json.map(lambda value: json.dumps(value).encode())))
def test_any_document_is_an_index_or_refused(document: bytes) -> None:
    try:
        found = versions_in(TERRAFORM, document)
    except EngineUnavailable:
        return
    assert found == tuple(sorted(set(found), reverse=True))


_numbers = st.tuples(
    st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.sampled_from(("", "rc1", "rc10"))
)
_states = st.sampled_from(("withdrawn", "supported", "unsupported", None, 7))


@given(st.dictionaries(_numbers.map(lambda numbers: Version(*numbers)), _states, min_size=1), st.randoms())
def test_all_but_the_withdrawn_are_found_the_newest_first(
    states: dict[Version, Any], order: random.Random
) -> None:
    releases = [{"version": str(one), "status": {"state": state}} for one, state in states.items()]
    releases += [{"version": "junk", "status": {"state": "supported"}}, {"version": "99.0.0+ent"}]
    order.shuffle(releases)
    expected = tuple(sorted((one for one, state in states.items() if state != "withdrawn"), reverse=True))
    document = json.dumps(releases).encode()

    if expected:
        assert versions_in(TERRAFORM, document) == expected
    else:
        with pytest.raises(EngineUnavailable):
            versions_in(TERRAFORM, document)


def test_the_newest_stable_version_is_no_pre_release() -> None:
    assert newest_stable(versions("1.9.0", "1.10.0", "1.11.0-rc1")) == version("1.10.0")
    assert newest_stable(versions("1.11.0-rc1")) is None


def test_checksums_tell_what_a_version_is_built_for() -> None:
    names = (
        "tofu_1.9.0_linux_amd64.zip",
        "tofu_1.9.0_darwin_arm64.zip",
        "tofu_1.9.0_darwin_arm64.tar.gz",
        "tofu_1.9.1_linux_386.zip",
        "tofu_1x9x0_linux_386.zip",
        "terraform_1.9.0_linux_386.zip",
        "tofu_1.9.0_SHA256SUMS",
    )

    assert platforms_of_names(OPENTOFU, version("1.9.0"), names) == (
        Platform("darwin", "arm64"),
        Platform("linux", "amd64"),
    )
    assert versions_of_names(OPENTOFU, names) == versions("1.9.0")


@pytest.mark.parametrize("engine", EngineName)
def test_what_is_published_is_found_where_the_site_says(engine: EngineName) -> None:
    with ReleaseSite() as server, Fetcher(environment={}, pause=lambda _seconds: None) as fetcher:
        for text in ("1.9.0", "1.10.0-rc1", "1.10.0"):
            body = archive(text.encode(), engine, LINUX)
            publish(server, engine, version(text), {LINUX: body}, lambda checksums: checksums[::-1])
        site = mirror_site(engine, server.address)
        release = site.release(version("1.10.0"), LINUX)
        checksums = fetcher.get(release.checksums, limit=10_000)

        assert versions_in(engine, fetcher.get(site.listing, limit=10_000)) == versions(
            "1.10.0", "1.10.0-rc1", "1.9.0"
        )
        assert fetcher.get(release.archive, limit=10_000) == archive(b"1.10.0", engine, LINUX)
        assert fetcher.get(release.signature, limit=10_000) == checksums[::-1]
        assert checksums.decode().split()[1] == release.archive_name


def test_a_withdrawn_version_is_known_from_the_vendors_other_list() -> None:
    with ReleaseSite() as server, Fetcher(environment={}, pause=lambda _seconds: None) as fetcher:
        for text, is_withdrawn_ in (("1.10.0", False), ("1.10.1", True)):
            publish(server, TERRAFORM, version(text), {}, bytes, withdrawn=is_withdrawn_)
        documents = {
            name: fetcher.get(server.url(f"/v1/releases/terraform{name}"), limit=10_000)
            for name in ("", "/1.10.0", "/1.10.1")
        }

    assert versions_in(TERRAFORM, documents[""]) == versions("1.10.0")
    assert [is_withdrawn(documents[f"/{text}"]) for text in ("1.10.0", "1.10.1")] == [False, True]
