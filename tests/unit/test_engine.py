import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU


@pytest.mark.parametrize(
    ("engine", "title", "executable", "registry"),
    [
        pytest.param(TERRAFORM, "Terraform", "terraform", "registry.terraform.io", id="terraform"),
        pytest.param(OPENTOFU, "OpenTofu", "tofu", "registry.opentofu.org", id="opentofu"),
    ],
)
def test_an_engine_knows_its_names(engine: EngineName, title: str, executable: str, registry: str) -> None:
    assert (title, executable, registry) == (engine.title, engine.executable, engine.registry)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("1.11.4", Version(1, 11, 4), id="release"),
        pytest.param("v1.6", Version(1, 6, 0), id="two numbers and a v"),
        pytest.param("1.12.0-beta1", Version(1, 12, 0, "beta1"), id="pre-release"),
        pytest.param("1.13.0-dev+abc.1", Version(1, 13, 0, "dev"), id="build metadata"),
    ],
)
def test_a_version_is_read(text: str, version: Version) -> None:
    assert version == Version.parse(text)


@pytest.mark.parametrize(
    "text", ["", "1", "latest", "1.2.3.4", "1.2.3-", " 1.2.3", "1.2.3\n", "¹.2", "1." + "9" * 99]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version such as"):
        Version.parse(text)


IN_ORDER = [
    Version.parse(text)
    for text in (
        "1.9.9",
        "1.10.0-alpha20250101",
        "1.10.0-beta1",
        "1.10.0-rc2",
        "1.10.0-rc10",
        "1.10.0",
        "1.10.1",
    )
]


@given(st.permutations(IN_ORDER))
def test_versions_sort_with_pre_releases_before_their_release(versions: list[Version]) -> None:
    assert sorted(versions) == IN_ORDER
    assert sorted(versions, reverse=True) == IN_ORDER[::-1]
    assert max(versions) == Version(1, 10, 1)


def test_a_version_compares_with_numbers_too() -> None:
    release, candidate = Version(1, 10, 0), Version(1, 10, 0, "rc10")

    assert (release >= (1, 10), release <= (1, 10)) == (True, True)
    assert (release > (1, 10), release < (1, 10)) == (False, False)
    assert (candidate >= (1, 10), candidate < (1, 10)) == (False, True)


@given(
    st.builds(
        Version,
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(0, 99),
        st.from_regex(r"\A([0-9A-Za-z][0-9A-Za-z.-]{0,9})?\Z"),
    )
)
def test_a_version_survives_its_own_spelling(version: Version) -> None:
    assert version == Version.parse(str(version))


@pytest.mark.parametrize(
    ("word", "engine"),
    [
        pytest.param("terraform", TERRAFORM, id="terraform"),
        pytest.param("opentofu", OPENTOFU, id="opentofu"),
        pytest.param("tofu", OPENTOFU, id="its executable"),
        pytest.param("auto", None, id="another word"),
        pytest.param("Terraform", None, id="its title"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_an_engine_is_named_by_its_name_or_its_executable(
    word: str | None, engine: EngineName | None
) -> None:
    assert EngineName.named(word) is engine
