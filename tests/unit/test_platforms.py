"""Platforms: what uname says, in the words of the vendors' file names."""

import contextlib
import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.platforms import Platform, fallback, this_platform


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("Linux", "x86_64", Platform("linux", "amd64")),
        ("Linux", "aarch64", Platform("linux", "arm64")),
        ("Linux", "armv7l", Platform("linux", "arm")),
        ("Linux", "armv6l", Platform("linux", "arm")),
        ("Linux", "armv8l", Platform("linux", "arm")),
        ("Linux", "i686", Platform("linux", "386")),
        ("Darwin", "arm64", Platform("darwin", "arm64")),
        ("Darwin", "x86_64", Platform("darwin", "amd64")),
        ("FreeBSD", "amd64", Platform("freebsd", "amd64")),
        ("OpenBSD", "i386", Platform("openbsd", "386")),
        ("SunOS", "i86pc", Platform("solaris", "amd64")),
        ("Windows", "AMD64", Platform("windows", "amd64")),
        ("Windows", "ARM64", Platform("windows", "arm64")),
    ],
)
def test_uname_names_the_platform_of_a_file_name(system: str, machine: str, expected: Platform) -> None:
    assert this_platform(system, machine) == expected


@pytest.mark.parametrize(
    ("system", "machine"), [("Linux", "riscv64"), ("Linux", "s390x"), ("Haiku", "x86_64"), ("", "")]
)
def test_what_no_engine_is_built_for_is_named(system: str, machine: str) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        this_platform(system, machine)

    assert (str(caught.value), caught.value.hints) == (
        f"no engine is published for `{system}/{machine}`",
        ("name a binary that runs here with `--engine PATH`",),
    )


@given(st.text(), st.text())
def test_any_words_of_uname_are_a_platform_or_refused(system: str, machine: str) -> None:
    with contextlib.suppress(EngineUnavailable):
        assert this_platform(system, machine).arch in {"386", "amd64", "arm", "arm64"}


def test_this_machine_has_a_platform() -> None:
    assert str(this_platform(platform.system(), platform.machine())).count("/") == 1


@pytest.mark.parametrize(
    ("engine", "version", "platform", "expected"),
    [
        (EngineName.TERRAFORM, "1.0.1", Platform("darwin", "arm64"), Platform("darwin", "amd64")),
        (EngineName.TERRAFORM, "0.15.5", Platform("darwin", "arm64"), Platform("darwin", "amd64")),
        (EngineName.TERRAFORM, "1.0.2", Platform("darwin", "arm64"), None),
        (EngineName.TERRAFORM, "1.0.1", Platform("linux", "arm64"), None),
        (EngineName.TERRAFORM, "1.0.1", Platform("darwin", "amd64"), None),
        (EngineName.OPENTOFU, "1.0.1", Platform("darwin", "arm64"), None),
    ],
)
def test_terraform_before_1_0_2_runs_on_apple_silicon_through_rosetta(
    engine: EngineName, version: str, platform: Platform, expected: Platform | None
) -> None:
    assert fallback(engine, Version.parse(version), platform) == expected
