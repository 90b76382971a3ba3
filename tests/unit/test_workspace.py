"""Which state a run works on, the key it is locked under, and the override file that says so to the engine."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadInput, BadPackage, HereyaError
from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.workspace import (
    MARK,
    BackendKind,
    GeneratedBackend,
    Workspace,
    backend_settings_text,
    generate_backend,
    identify_workspace,
    override_text,
    remove_override,
    write_override,
)

BUCKET = GeneratedBackend(BackendKind.S3, "app/prod", bucket="states", region="eu-west-1")
VALID_IDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="/"), min_size=1),
    min_size=1,
    max_size=4,
).map("/".join)


def generated(
    *,
    state: str | Path | None = None,
    bucket: str | None = None,
    region: str | None = None,
    lock_table: str | None = None,
    identifier: str | None = None,
) -> GeneratedBackend | None:
    return generate_backend(
        state=None if state is None else Path(state),
        bucket=bucket,
        region=region,
        lock_table=lock_table,
        identifier=identifier,
    )


def identified(
    package: Path,
    *,
    wish: str | None = None,
    backend: GeneratedBackend | None = None,
    lock_key: str | None = None,
    environment: dict[str, str] | None = None,
) -> Workspace:
    return identify_workspace(
        package, wish=wish, backend=backend, lock_key=lock_key, environment=environment or {}
    )


def refusal(error: pytest.ExceptionInfo[HereyaError]) -> tuple[str, tuple[str, ...]]:
    return str(error.value), error.value.hints


@pytest.mark.behaviour("T10")
def test_a_local_path_selects_a_local_backend_and_wins_over_a_bucket(tmp_path: Path) -> None:
    path = tmp_path / "a.tfstate"

    backend = generated(state=path, bucket="states", region="eu-west-1", lock_table="locks", identifier="app")

    assert backend == GeneratedBackend(BackendKind.LOCAL, "app", path=str(path))
    assert override_text(backend) == (
        f'{MARK}\nterraform {{\n  backend "local" {{\n    path = "{path}"\n  }}\n}}\n'
    )


@pytest.mark.behaviour("T10")
def test_a_relative_path_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    backend = generated(state="a.tfstate", identifier="app")

    assert backend == GeneratedBackend(BackendKind.LOCAL, "app", path=str(tmp_path / "a.tfstate"))


@pytest.mark.behaviour("T10", "F1")
def test_a_file_by_several_paths_is_one_state_with_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path.resolve()
    (base / "real").mkdir()
    (base / "link").symlink_to("real")
    (base / "file").symlink_to("real/a")
    monkeypatch.chdir(base / "link")

    backends = [generated(state=path) for path in ("a", base / "real/a", base / "link/a", "../file")]

    assert [backend.path for backend in backends if backend is not None] == [str(base / "real/a")] * 4
    assert len({identified(tmp_path, backend=backend).key for backend in backends}) == 1


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("loop/a", "Too many levels of symbolic links"),
        ("loop", "Too many levels of symbolic links"),
        ("x" * 256, "File name too long"),
        ("a\0b", "embedded null"),
    ],
    ids=["below a loop", "a loop", "too long", "no name"],
)
def test_a_path_that_no_file_can_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(BadInput) as caught:
        generated(state=state)

    sentence, hints = refusal(caught)
    assert sentence.startswith(f"`--state {state}` cannot be the path of a file: {why}")
    assert hints == ("check the links on its way and its name",)


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize("state", ["\ud800.tfstate", "link/a.tfstate"], ids=["given", "found"])
def test_a_path_that_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if state.startswith("link"):
        (tmp_path / "link").symlink_to(os.fsdecode(b"\xff"))

    with pytest.raises(BadInput, match=r"is not UTF-8 text, as the engine's files are"):
        generated(state=state)


def test_without_an_id_the_path_is_the_id(tmp_path: Path) -> None:
    one, same, other = (generated(state=tmp_path / name) for name in ("a", "a", "b"))

    assert one is not None
    assert other is not None
    assert re.fullmatch(r"[0-9a-f]{16}", one.id)
    assert one == same
    assert one.id != other.id


@pytest.mark.behaviour("T10")
def test_a_bucket_keeps_the_state_below_the_id_and_locks_by_a_file() -> None:
    backend = generated(bucket="states", region="eu-west-1", identifier="app/prod")

    assert backend == BUCKET
    assert (backend.state_key, backend.location, backend.needs_lock_file) == (
        "app/prod/terraform.tfstate",
        "s3://states/app/prod/terraform.tfstate",
        True,
    )
    assert override_text(backend) == (
        f"{MARK}\n"
        "terraform {\n"
        '  backend "s3" {\n'
        '    bucket = "states"\n'
        '    key = "app/prod/terraform.tfstate"\n'
        '    region = "eu-west-1"\n'
        "    use_lockfile = true\n"
        "  }\n"
        "}\n"
    )


@pytest.mark.behaviour("T10")
def test_a_lock_table_is_used_when_given() -> None:
    backend = generated(bucket="states", region="eu-west-1", lock_table="locks", identifier="app")

    assert backend is not None
    assert not backend.needs_lock_file
    assert 'dynamodb_table = "locks"' in override_text(backend)
    assert "use_lockfile" not in override_text(backend)


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize(
    ("options", "sentence", "hint"),
    [
        (
            {"bucket": "states", "identifier": "app"},
            "a state bucket needs its region",
            "add `--state-region REGION`",
        ),
        (
            {"bucket": "states", "region": "", "identifier": "app"},
            "a state bucket needs its region",
            "add `--state-region REGION`",
        ),
        (
            {"bucket": "states", "region": "eu-west-1"},
            "a state bucket needs an id for the state in it",
            "add `--id ID`",
        ),
        (
            {"region": "eu-west-1"},
            "`--state-region` was given without a bucket",
            "add `--state-bucket NAME`",
        ),
        (
            {"lock_table": "locks"},
            "`--state-lock-table` was given without a bucket",
            "add `--state-bucket NAME`",
        ),
        (
            {"identifier": "app"},
            "`--id` names a state of a generated backend, and none was asked for",
            "add `--state PATH` or `--state-bucket NAME --state-region REGION`",
        ),
    ],
)
def test_half_a_backend_is_refused(options: dict[str, str], sentence: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        generated(**options)

    assert refusal(caught) == (sentence, (hint,))


def test_a_directory_is_no_state(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        generated(state=tmp_path)

    assert refusal(caught) == (
        f"`--state {tmp_path}` is a directory, and a state is a file",
        (f"use `--state {tmp_path}/terraform.tfstate`",),
    )


@pytest.mark.parametrize(
    "identifier", ["", "/a", "a/", "a//b", "..", "a/../b", ".", "a/./b", "a\nb", "x" * 501]
)
def test_an_id_that_cannot_name_a_state_is_refused(identifier: str) -> None:
    with pytest.raises(BadInput) as caught:
        generated(state="a.tfstate", identifier=identifier)

    assert refusal(caught) == (
        f"`--id {identifier}` cannot name a state",
        ("use letters, digits, `-`, `_`, `.` and single `/` between them",),
    )


def test_nothing_asked_generates_nothing() -> None:
    assert generated() is None


@pytest.mark.behaviour("F1")
@pytest.mark.parametrize(
    ("identifier", "directory"),
    [
        ("app", ".terraform/hereya/app"),
        ("app-prod.eu_1", ".terraform/hereya/app-prod.eu_1"),
        ("app/prod/eu", ".terraform/hereya/app-prod-eu-eec80cf078ea15e1"),
    ],
)
def test_an_id_in_a_directory_name(identifier: str, directory: str) -> None:
    assert GeneratedBackend(BackendKind.LOCAL, identifier).data_directory == directory


@pytest.mark.behaviour("F1")
def test_ids_whose_names_would_collide_stay_apart() -> None:
    first = GeneratedBackend(BackendKind.LOCAL, "a/b").data_directory
    ids = ("a/b", "a-b", "A-b", "a-b-", "-a/b", "a b", "a:b", "A/b", "a/B", first.rsplit("/", 1)[1])

    # Some file systems do not tell capitals from small letters.
    made = {GeneratedBackend(BackendKind.LOCAL, name).data_directory.lower() for name in ids}
    assert len(made) == len(ids)


@pytest.mark.behaviour("F1")
@given(VALID_IDS, VALID_IDS)
def test_any_two_ids_have_directories_of_their_own(one: str, other: str) -> None:
    first, second = (GeneratedBackend(BackendKind.LOCAL, name).data_directory for name in (one, other))

    assert (first == second) is (one == other)
    for directory in (first, second):
        assert directory.startswith(".terraform/hereya/")
        assert directory.count("/") == 2
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,100}", directory.rsplit("/", 1)[1])
        assert directory.rsplit("/", 1)[1] not in (".", "..")


def test_the_engines_own_selection_is_followed_in_its_own_order(tmp_path: Path) -> None:
    key = f"{tmp_path.resolve()}#"
    assert identified(tmp_path) == Workspace("default", f"{key}default", None, None, ".terraform")

    data = tmp_path / ".terraform"
    data.mkdir()
    (data / "environment").write_text("filed\n")
    assert identified(tmp_path) == Workspace("filed", f"{key}filed", None, None, ".terraform")

    named = identified(tmp_path, environment={"TF_WORKSPACE": "named"})
    assert named == Workspace("named", f"{key}named", None, None, ".terraform")

    wished = identified(tmp_path, wish="wished", environment={"TF_WORKSPACE": "named"})
    assert wished == Workspace("wished", f"{key}wished", None, "wished", ".terraform")


def test_the_selection_is_in_the_users_data_directory(tmp_path: Path) -> None:
    elsewhere = tmp_path / "data"
    elsewhere.mkdir()
    (elsewhere / "environment").write_text("filed")

    found = identified(tmp_path, environment={"TF_DATA_DIR": str(elsewhere)})

    assert (found.name, found.data_directory) == ("filed", str(elsewhere))


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_selection_that_makes_no_sense_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform/environment").write_bytes(content)

    assert identified(tmp_path).name == "default"


def test_one_package_by_two_paths_has_one_key(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    link = tmp_path / "link"
    link.symlink_to(package)

    assert identified(link).key == identified(package).key


def test_a_lock_key_of_the_users_replaces_the_own(tmp_path: Path) -> None:
    assert identified(tmp_path, lock_key="mine").key == "mine"
    assert identified(tmp_path, lock_key="mine", backend=BUCKET).key == "mine"


def test_a_generated_backend_is_its_own_workspace(tmp_path: Path) -> None:
    (tmp_path / ".terraform").mkdir()
    (tmp_path / ".terraform/environment").write_text("filed")

    found = identified(tmp_path, backend=BUCKET, environment={"TF_WORKSPACE": "named", "TF_DATA_DIR": "/d"})

    assert found == Workspace(
        "app/prod",
        "s3://states/app/prod/terraform.tfstate#app/prod",
        BUCKET,
        "default",
        BUCKET.data_directory,
    )


def test_a_workspace_of_the_engines_and_a_generated_backend_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        identified(tmp_path, wish="prod", backend=BUCKET)

    assert refusal(caught) == (
        "`--workspace` and a generated backend exclude each other",
        ("name the state by `--id`, or leave the backend to the package",),
    )


@pytest.mark.parametrize("name", ["a/b", "a b", "a\\b", "a\nb", 'a"b', "a'b"])
def test_a_name_that_no_workspace_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        identified(tmp_path, wish=name)

    assert refusal(caught) == (
        f"`{name}` cannot be the name of a workspace",
        ("use letters, digits, `-`, `_` and `.`",),
    )


@pytest.mark.behaviour("T13")
def test_an_override_is_written_and_removed(tmp_path: Path) -> None:
    path = write_override(tmp_path, BUCKET)

    assert path == tmp_path / GENERATED_OVERRIDE
    assert path.name.endswith("_override.tf")
    assert path.read_text() == override_text(BUCKET)
    assert remove_override(tmp_path)
    assert not path.exists()
    assert not remove_override(tmp_path)


@pytest.mark.behaviour("T13")
def test_the_override_of_a_killed_run_is_replaced(tmp_path: Path) -> None:
    write_override(tmp_path, BUCKET)
    other = GeneratedBackend(BackendKind.LOCAL, "app", path="/a.tfstate")

    assert write_override(tmp_path, other).read_text() == override_text(other)


@pytest.mark.behaviour("T13")
def test_an_override_that_a_killed_run_could_not_even_write_is_replaced(tmp_path: Path) -> None:
    (tmp_path / GENERATED_OVERRIDE).touch()

    assert write_override(tmp_path, BUCKET).read_text() == override_text(BUCKET)


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("content", ["\n", MARK, "# mine\n", f" {MARK}\n", f"{MARK} \n", f"\n{MARK}\n"])
def test_a_file_of_that_name_that_is_not_ours_is_never_touched(tmp_path: Path, content: str) -> None:
    path = tmp_path / GENERATED_OVERRIDE
    path.write_text(content)

    assert not remove_override(tmp_path)
    with pytest.raises(BadPackage) as caught:
        write_override(tmp_path, BUCKET)

    assert refusal(caught) == (
        f"`{path}` is not a file of ours, and a generated backend needs its name",
        ("rename that file",),
    )
    assert path.read_text() == content


@pytest.mark.behaviour("T13")
def test_an_override_goes_through_no_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / GENERATED_OVERRIDE).symlink_to(target)

    with pytest.raises(BadPackage):
        write_override(tmp_path / "package", BUCKET)

    assert not target.exists()


@pytest.mark.behaviour("T13")
def test_a_package_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "nowhere"

    with pytest.raises(BadPackage) as caught:
        write_override(package, BUCKET)

    assert refusal(caught) == (
        f"the generated backend cannot be written to `{package / GENERATED_OVERRIDE}`:"
        " No such file or directory",
        ("a generated backend needs a package directory that can be written to; a copy of it will do",),
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_not_ours(tmp_path: Path) -> None:
    path = write_override(tmp_path, BUCKET)
    path.chmod(0)

    assert not remove_override(tmp_path)


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text(), max_size=5))
def test_backend_settings_say_their_values_and_nothing_else(settings: dict[str, str]) -> None:
    *lines, _ = backend_settings_text(settings).split("\n")

    assert len(lines) == len(settings)
    for line, (name, value) in zip(lines, settings.items(), strict=True):
        left, _, right = line.partition(" = ")
        assert left == name
        # HCL reads `$${` and `%%{` as the characters they stand for; nothing else is a template.
        assert not re.search(r"(?<!\$)\$\{|(?<!%)%\{", right)
        assert json.loads(right.replace("$${", "${").replace("%%{", "%{")) == value
