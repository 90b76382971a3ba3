"""What is decided before a lock is taken: values, engine, support, and what must never be shown."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.assigning import prepare_assignment
from hereya_tf.bundle.file import write_bundle
from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.commands import EngineOptions, InitOptions
from hereya_tf.engine.wish import EngineWish
from hereya_tf.errors import (
    BadConfig,
    BadInput,
    BadPackage,
    CliArgsSet,
    EngineMismatch,
    EngineUnavailable,
    EngineUnsupported,
    HereyaError,
)
from hereya_tf.events import Operation
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.values import VariableFile
from hereya_tf.operations.assignment import Assignment
from hereya_tf.preparation import Prepared, prepare
from hereya_tf.redaction import Redactor
from hereya_tf.releases.sources import KEYS_VARIABLE
from hereya_tf.releases.supply import Listeners, Supply
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.workspace import BackendKind, GeneratedBackend
from tests.bundles import IDENTITY, MANIFEST
from tests.conftest import MakePackage
from tests.directory_mirror import DirectoryMirror
from tests.engine_choice import write_script

OPENTOFU = EngineName.OPENTOFU
LOCKED_BY_TERRAFORM = 'provider "registry.terraform.io/hashicorp/null" {\n  version = "3.2.3"\n}\n'
CONFIGURATION = """
variable "name" {
  default = ""
}
variable "password" {
  default   = ""
  sensitive = true
}
variable "zones" {
  type    = list(string)
  default = []
}
"""


class Desk:
    """Where requests are prepared, with engines that say who they are and nothing else."""

    def __init__(self, directory: Path, package: Path) -> None:
        self.directory = directory
        self.package = package
        self.redactor = Redactor()
        self.mirror = DirectoryMirror(directory / "mirror")
        self.told: list[str] = []
        self.run_directory: RunDirectory | None = None
        self.engine = self.install("terraform", "Terraform v1.11.4")

    def install(self, name: str, answer: str) -> Path:
        return write_script(self.directory / "bin" / name, f"echo asked >> {self.asked}; echo '{answer}'")

    @property
    def asked(self) -> Path:
        """Exists as soon as an engine was started."""
        return self.directory / "asked"

    def request(self, **request: Any) -> RunRequest:
        return RunRequest(
            **{
                "operation": Operation.PROVISION,
                "package": self.package,
                "approved": True,
                "engine_options": EngineOptions(),
                **request,
            }
        )

    def prepare(self, *, environment: Mapping[str, str] | None = None, **request: Any) -> Prepared:
        given = {
            "PATH": f"{self.directory}/bin",
            KEYS_VARIABLE: str(self.mirror.keys),
            **(environment or {}),
        }
        listeners = Listeners(lambda _seconds: None, self.told.append, lambda *_progress: None)
        supply = Supply(str(self.mirror.directory), given, self.directory / "cache", listeners)
        return prepare(self.request(**request), given, supply, self.redactor, tell=self.told.append)

    def plan(self, **request: Any) -> tuple[Assignment, Path]:
        wanted = self.request(**request)
        prepared = self.prepare(**request)
        self.run_directory = RunDirectory(self.directory / "runs", "run-1", pytest.fail)
        plan = prepare_assignment(wanted, prepared, self.run_directory, self.directory / "cache", None)
        return plan, self.run_directory.path


@pytest.fixture
def desk(tmp_path: Path, make_package: MakePackage) -> Iterator[Desk]:
    desk = Desk(tmp_path, make_package({"main.tf": CONFIGURATION}))
    yield desk
    if desk.run_directory is not None:
        desk.run_directory.close()


def refusal(error: pytest.ExceptionInfo[HereyaError]) -> tuple[str, tuple[str, ...]]:
    return str(error.value), error.value.hints


def test_what_is_found(desk: Desk) -> None:
    prepared = desk.prepare(
        additions=(("AWS_PROFILE", "prod"),),
        inputs=(Given("name", "a", True, Source.FLAG, "-p"),),
        warnings=("an unknown key",),
    )

    assert prepared.package.directory == desk.package
    assert (prepared.binary.engine, prepared.binary.version) == (EngineName.TERRAFORM, Version(1, 11, 4))
    assert prepared.workspace.name == "default"
    assert prepared.environment["AWS_PROFILE"] == "prod"
    assert prepared.warnings == ("an unknown key",)
    assert prepared.explicit_engine is False


@pytest.mark.parametrize(
    ("engine", "explicit"), [(None, False), ("auto", False), ("terraform", True), ("PATH", True)]
)
def test_whether_an_engine_was_named(desk: Desk, engine: str | None, explicit: bool) -> None:
    wish = EngineWish(str(desk.engine) if engine == "PATH" else engine)

    assert desk.prepare(engine=wish).explicit_engine is explicit


def test_a_request_that_could_not_be_built_is_refused_before_anything_else(desk: Desk) -> None:
    refused = BadInput("`--state-region` was given without a bucket", "add one")

    with pytest.raises(BadInput) as caught:
        desk.prepare(refusal=refused, environment={"TF_CLI_ARGS": "-destroy"}, package=Path("/nowhere"))

    assert caught.value is refused
    assert not desk.asked.exists()


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"environment": {"TF_CLI_ARGS_apply": "-destroy"}}, id="environment"),
        pytest.param({"additions": (("TF_CLI_ARGS_apply", "-destroy"),)}, id="--env"),
    ],
)
def test_arguments_from_the_environment_are_refused_wherever_they_come_from(
    desk: Desk, request_: dict[str, Any]
) -> None:
    with pytest.raises(CliArgsSet):
        desk.prepare(**request_)

    assert not desk.asked.exists()


def test_they_never_reach_the_engine_when_they_are_ignored(desk: Desk) -> None:
    prepared = desk.prepare(environment={"TF_CLI_ARGS_apply": "-destroy"}, ignore_cli_args=True)

    assert "TF_CLI_ARGS_apply" not in prepared.environment


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        pytest.param({"package": Path("/nowhere")}, BadPackage, id="no package"),
        pytest.param({"workspace": "a b"}, BadInput, id="workspace"),
        pytest.param(
            {"inputs": (Given("nmae", "a", True, Source.FLAG, "-p"),)}, BadInput, id="unknown parameter"
        ),
        pytest.param({"redact": ("@/nowhere",)}, BadInput, id="no file of secrets"),
    ],
)
def test_bad_input_is_refused_before_an_engine_is_started(
    desk: Desk, request_: dict[str, Any], error: type[HereyaError]
) -> None:
    with pytest.raises(error) as caught:
        desk.prepare(**request_)

    assert caught.value.failure_class.exit_code == 3
    assert caught.value.hints
    assert not desk.asked.exists()


@pytest.mark.behaviour("F7")
def test_every_secret_is_known_before_the_engine_says_a_word(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("from-a-file\n\nand-another\n")
    desk.prepare(
        environment={
            "TF_VAR_password": "of-a-variable",
            "TF_VAR_name": "of-no-secret-variable",
            "AWS_SECRET_ACCESS_KEY": "of-a-credential-name",
            "CUSTOM": "of-the-users-choice",
        },
        additions=(("GITLAB_PASSWORD", "of-an-addition"),),
        inputs=(
            Given("password", "of-a-parameter", True, Source.FLAG, "-p"),
            Given("name", "of-a-named-parameter", True, Source.FLAG, "-p"),
        ),
        backend_config=("bucket=of-no-secret-setting", "secret_key=of-a-backend", "/some/file"),
        redact=("CUSTOM", "name", "NOWHERE", f"@{tmp_path}/secrets"),
    )

    assert set(desk.redactor.secrets()) >= {
        "of-a-variable",
        "of-a-credential-name",
        "of-the-users-choice",
        "of-an-addition",
        "of-a-parameter",
        "of-a-named-parameter",
        "of-a-backend",
        "from-a-file",
        "and-another",
    }
    assert not set(desk.redactor.secrets()) & {"of-no-secret-setting", "/some/file", "NOWHERE"}


def test_terraform_cannot_exclude(desk: Desk) -> None:
    with pytest.raises(EngineUnsupported) as caught:
        desk.prepare(engine_options=EngineOptions(excludes=("a.b",)))

    assert refusal(caught) == (
        "Terraform 1.11.4 has no `-exclude`",
        ("use OpenTofu 1.9 or newer, or `--target`",),
    )


def test_an_old_engine_cannot_lock_a_state_in_a_bucket(desk: Desk) -> None:
    desk.install("terraform", "Terraform v1.9.8")
    backend = GeneratedBackend(BackendKind.S3, "app", bucket="b", region="r")

    with pytest.raises(EngineUnsupported) as caught:
        desk.prepare(backend=backend)

    assert refusal(caught) == (
        "Terraform 1.9.8 cannot lock a state in a bucket without a lock table",
        ("add `--state-lock-table NAME`, or use an engine of version 1.10 or newer",),
    )
    assert desk.prepare(backend=backend._replace(lock_table="locks")).binary.version == Version(1, 9, 8)


def test_opentofu_reads_its_own_files(desk: Desk) -> None:
    desk.install("tofu", "OpenTofu v1.9.0")
    (desk.package / "main.tofu").write_text('variable "only_tofu" {}')
    given = (Given("only_tofu", "a", True, Source.FLAG, "-p"),)

    assert set(desk.prepare(engine=EngineWish("tofu"), inputs=given).package.variables) == {"only_tofu"}
    with pytest.raises(BadInput):
        desk.prepare(engine=EngineWish("terraform"), inputs=given)


def test_opentofu_is_expected_where_it_would_be_chosen(desk: Desk) -> None:
    (desk.package / "main.tofu").write_text('variable "only_tofu" {}')
    desk.install("tofu", "OpenTofu v1.9.0")
    given = (Given("only_tofu", "a", True, Source.FLAG, "-p"),)

    with pytest.raises(BadInput):
        desk.prepare(inputs=given)

    (desk.package / ".terraform.lock.hcl").write_text('provider "registry.opentofu.org/a/b" {\n}\n')
    assert desk.prepare(inputs=given).binary.engine is EngineName.OPENTOFU

    (desk.package / ".terraform.lock.hcl").unlink()
    desk.engine.unlink()
    assert desk.prepare(inputs=given).binary.engine is EngineName.OPENTOFU


def test_a_package_for_opentofu_alone_needs_no_flag_where_it_is_all_there_is(desk: Desk) -> None:
    (desk.package / "main.tf").rename(desk.package / "main.tofu")
    desk.engine.unlink()
    desk.install("tofu", "OpenTofu v1.9.0")

    assert desk.prepare().binary.engine is EngineName.OPENTOFU


def test_an_opentofu_of_another_name_reads_them_too(desk: Desk) -> None:
    engine = desk.install("my-engine", "OpenTofu v1.9.0")
    (desk.package / "main.tofu").write_text('variable "only_tofu" {}')

    prepared = desk.prepare(engine=EngineWish(str(engine)), inputs=())

    assert prepared.binary.engine is EngineName.OPENTOFU
    assert set(prepared.package.variables) == {"only_tofu"}


@pytest.mark.behaviour("T15")
@pytest.mark.parametrize(
    ("request_", "file"),
    [
        pytest.param({}, "terraform.tfstate", id="local state"),
        pytest.param({"workspace": "prod"}, "terraform.tfstate.d/prod/terraform.tfstate", id="workspace"),
        pytest.param({"backend": "../app.tfstate"}, "../app.tfstate", id="generated backend"),
    ],
)
def test_a_state_of_the_other_engine_is_found_where_this_run_would_write(
    desk: Desk, request_: dict[str, Any], file: str
) -> None:
    if "backend" in request_:
        path = str(desk.package / "../app.tfstate")
        request_ = {"backend": GeneratedBackend(BackendKind.LOCAL, "app", path=path)}
    prepared = desk.prepare(**request_)
    prepared.check_engine()

    state = desk.package / file
    state.parent.mkdir(parents=True, exist_ok=True)
    provider = r"provider[\"registry.opentofu.org/hashicorp/random\"]"
    state.write_text(f'{{"resources": [{{"provider": "{provider}"}}]}}')

    with pytest.raises(EngineMismatch):
        prepared.check_engine()


def test_a_state_in_a_bucket_cannot_be_looked_at(desk: Desk) -> None:
    backend = GeneratedBackend(BackendKind.S3, "app", bucket="b", region="r")

    desk.prepare(backend=backend).check_engine()


@pytest.mark.behaviour("T8")
def test_values_become_private_files_in_their_order(desk: Desk, tmp_path: Path) -> None:
    theirs = tmp_path / "prod.tfvars"
    theirs.write_text('name = "theirs"\n')

    plan, directory = desk.plan(
        additions=(("name", "env"), ("OTHER", "x")),
        inputs=(
            Given("zones", '["a"]', True, Source.FLAG, "-p"),
            VariableFile(theirs),
            Given("name", "last", True, Source.FLAG, "-p"),
        ),
    )

    contents = [path.read_text() for path in plan.variable_files]
    assert contents == ['{"name":"env"}', '{"zones":["a"]}', 'name = "theirs"\n', '{"name":"last"}']
    assert plan.variable_contents == tuple(contents)
    ours = [path for path in plan.variable_files if path != theirs]
    assert {(path.parent, path.stat().st_mode & 0o777) for path in ours} == {(directory, 0o600)}


def test_backend_settings_become_private_files_in_their_order(desk: Desk, tmp_path: Path) -> None:
    theirs = tmp_path / "prod.tfbackend"
    theirs.write_text('region = "r"\n')

    plan, directory = desk.plan(
        backend_config=("bucket=a", "key=${k}", str(theirs), "bucket=b", "token = x=y"),
    )

    files = [Path(file) for file in plan.backend_files]
    assert [file.read_text() for file in files] == [
        'bucket = "a"\nkey = "$${k}"\n',
        'region = "r"\n',
        'bucket = "b"\ntoken = " x=y"\n',
    ]
    assert plan.backend_contents == tuple(file.read_text() for file in files)
    assert [(file.parent, file.stat().st_mode & 0o777) for file in files if file != theirs] == [
        (directory, 0o600),
        (directory, 0o600),
    ]


def test_nothing_given_is_no_file(desk: Desk) -> None:
    plan, directory = desk.plan()

    assert (plan.variable_files, plan.backend_files) == ((), ())
    assert [file.name for file in directory.iterdir()] == ["events.ndjson"]


def test_a_file_of_the_users_that_has_gone_is_the_engines_to_miss(desk: Desk, tmp_path: Path) -> None:
    theirs = tmp_path / "prod.tfvars"

    plan, _ = desk.plan(inputs=(VariableFile(theirs),))

    assert (plan.variable_files, plan.variable_contents) == ((theirs,), ("",))


def test_what_the_package_says_of_versions_is_heard_with_where_it_stands(desk: Desk) -> None:
    (desk.package / "hereya-tf.toml").write_text('# what it was tried with\nengine-version = "~> 1.11"\n')

    assert desk.prepare().binary.chosen_by == "found on PATH: satisfies `~> 1.11` of hereya-tf.toml:2"
    callers = EngineWish(version="< 1.12")
    assert desk.prepare(engine=callers).binary.chosen_by == (
        "found on PATH: satisfies `< 1.12` of --engine-version"
    )


@pytest.mark.behaviour("T14")
def test_a_package_for_opentofu_gets_it(desk: Desk) -> None:
    desk.mirror.publish(OPENTOFU, "1.9.0")
    (desk.package / "hereyarc.yaml").write_text("iac: tofu\n")
    (desk.package / "main.tofu").write_text('variable "only_tofu" {}')

    prepared = desk.prepare(inputs=(Given("only_tofu", "a", True, Source.FLAG, "-p"),))

    assert prepared.binary.chosen_by == "downloaded: hereyarc.yaml asks for OpenTofu"
    assert desk.prepare(engine=EngineWish("terraform")).binary.engine is EngineName.TERRAFORM


def test_what_is_passed_over_is_told(desk: Desk) -> None:
    (desk.package / ".tool-versions").write_text("terraform system\n")

    desk.prepare()

    assert desk.told == ["`system` of `.tool-versions:1` is passed over: it means whatever is on PATH"]


def test_bad_input_is_refused_before_an_engine_is_downloaded(desk: Desk) -> None:
    desk.mirror.publish(EngineName.TERRAFORM, "1.9.8")
    callers = EngineWish("terraform", version="1.9.8")

    with pytest.raises(BadInput):
        desk.prepare(engine=callers, inputs=(Given("nmae", "a", True, Source.FLAG, "-p"),))

    assert not (desk.directory / "cache").exists()
    assert desk.prepare(engine=callers).binary.version == Version(1, 9, 8)


def test_the_package_is_read_again_for_the_engine_that_it_is(desk: Desk) -> None:
    (desk.package / "main.tofu").write_text('variable "only_tofu" {}')
    desk.mirror.publish(OPENTOFU, "1.9.0")

    prepared = desk.prepare(engine=EngineWish(version="1.9.0"))

    assert prepared.binary.engine is OPENTOFU
    assert set(prepared.package.variables) == {"only_tofu"}


@pytest.mark.behaviour("T15")
def test_the_engine_that_wrote_the_files_is_refused_before_anything_is_downloaded_against_a_pin(
    desk: Desk,
) -> None:
    desk.mirror.publish(OPENTOFU, "1.9.0")
    (desk.package / ".terraform.lock.hcl").write_text(LOCKED_BY_TERRAFORM)
    (desk.package / ".opentofu-version").write_text("1.9.0\n")

    with pytest.raises(EngineMismatch) as error:
        desk.prepare()

    assert str(error.value) == (
        "`.terraform.lock.hcl` was written by Terraform, and `.opentofu-version:1` asks for OpenTofu"
    )
    assert error.value.failure_class.exit_code == 3
    assert not (desk.directory / "cache").exists()
    assert not desk.asked.exists()
    over = desk.prepare(engine=EngineWish("tofu"))
    over.check_engine()
    assert over.binary.version == Version(1, 9, 0)


@pytest.mark.behaviour("T15")
def test_a_version_that_only_the_other_engine_has_is_no_reason_to_take_it_over(desk: Desk) -> None:
    desk.install("tofu", "OpenTofu v1.9.0")
    (desk.package / ".terraform.lock.hcl").write_text(LOCKED_BY_TERRAFORM)

    with pytest.raises(EngineUnavailable) as error:
        desk.prepare(engine=EngineWish(version="~> 1.9.0"))

    assert str(error.value).startswith(
        f"`--engine-version` asks for `~> 1.9.0`, but `{desk.engine}` is Terraform 1.11.4 and the embedded"
    )


@pytest.mark.parametrize(
    ("error_class", "place"), [(BadInput, "HEREYA_TF_ENGINE_VERSION"), (BadConfig, "hereya-tf.toml:1")]
)
def test_what_is_no_version_is_refused_before_an_engine_is_asked(
    desk: Desk, error_class: type[HereyaError], place: str
) -> None:
    request: dict[str, Any] = {}
    if error_class is BadConfig:
        (desk.package / "hereya-tf.toml").write_text('engine-version = "^1.9"\n')
    else:
        request = {"engine": EngineWish(version="^1.9", version_source=place)}

    with pytest.raises(error_class) as error:
        desk.prepare(**request)

    assert refusal(error) == (f"`^1.9` of `{place}` is not a version constraint", ("write `>= 1.9, < 2`",))
    assert not desk.asked.exists()


def test_only_what_is_mandatory_for_a_change_is_asked_for(desk: Desk) -> None:
    (desk.package / "hereyarc.yaml").write_text("parameters:\n  needed:\n    mandatory: true\n")
    (desk.package / "needed.tf").write_text('variable "needed" {}\n')

    with pytest.raises(BadInput):
        desk.prepare()
    for operation in (Operation.TF, Operation.OUTPUT):
        desk.prepare(operation=operation)


def test_a_default_of_the_package_may_be_a_secret(desk: Desk) -> None:
    (desk.package / "hereya-tf.toml").write_text('[parameters]\nname = "of-a-default"\n')

    desk.prepare(redact=("name",))

    assert "of-a-default" in desk.redactor.secrets()


def test_what_a_plan_made_here_is_for(desk: Desk) -> None:
    made_for = desk.prepare(workspace="prod").identify(b"salt")

    assert (made_for.engine, made_for.version, made_for.place.workspace) == (
        EngineName.TERRAFORM,
        "1.11.4",
        "prod",
    )


def test_the_packages_own_backend_may_run_it_elsewhere(desk: Desk) -> None:
    assert desk.prepare().may_run_remotely is False
    (desk.package / "cloud.tf").write_text('terraform {\n  cloud {\n    organization = "o"\n  }\n}\n')
    assert desk.prepare().may_run_remotely is True


@pytest.mark.behaviour("T15")
def test_a_state_out_of_sight_is_checked_when_it_is_read(desk: Desk) -> None:
    backend = GeneratedBackend(BackendKind.S3, "app", bucket="b", region="r")
    provider = r"provider[\"registry.opentofu.org/hashicorp/random\"]"
    state = f'{{"resources": [{{"provider": "{provider}"}}]}}'

    assert desk.prepare().state_check() is None
    assert desk.prepare(backend=backend, engine=EngineWish("terraform")).state_check() is None
    check = desk.prepare(backend=backend).state_check()
    assert check
    check(state.replace("opentofu.org", "terraform.io"))
    with pytest.raises(EngineMismatch):
        check(state)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A plan of Terraform 1.9.8."""
    plan = tmp_path / "plan"
    plan.write_bytes(b"the engine's plan" + b"PK\5\6" + bytes(18))
    manifest = MANIFEST._replace(identity=IDENTITY._replace(version="1.9.8"))
    return write_bundle(tmp_path / "bundle", plan=plan, lock_file=None, manifest=manifest)


def test_a_plan_is_applied_by_the_engine_and_version_that_has_made_it(desk: Desk, bundle: Path) -> None:
    desk.mirror.publish(EngineName.TERRAFORM, "1.9.8", "1.14.0")
    (desk.package / ".terraform-version").write_text("1.14.0\n")

    prepared = desk.prepare(operation=Operation.APPLY, bundle=bundle)

    assert prepared.bundle
    assert (str(prepared.binary.version), prepared.binary.chosen_by) == (
        "1.9.8",
        "downloaded: satisfies `1.9.8` of the plan",
    )
    assert prepared.explicit_engine is False


def test_where_that_is_not_to_be_had_what_is_here_is_left_to_be_refused(desk: Desk, bundle: Path) -> None:
    prepared = desk.prepare(operation=Operation.APPLY, bundle=bundle)

    assert prepared.binary.path == str(desk.engine)
    (sentence,) = desk.told
    assert sentence.endswith("; Terraform 1.11.4 is taken, found on PATH")


def test_whoever_names_an_engine_for_a_plan_gets_that(desk: Desk, bundle: Path) -> None:
    desk.mirror.publish(EngineName.TERRAFORM, "1.9.8")
    for wish in (EngineWish("terraform"), EngineWish(version="~> 1.11")):
        prepared = desk.prepare(operation=Operation.APPLY, bundle=bundle, engine=wish)

        assert prepared.binary.path == str(desk.engine)


@pytest.mark.parametrize(
    ("answer", "request_", "sentence"),
    [
        pytest.param(
            "Terraform v1.0.2",
            {"operation": Operation.DRIFT},
            "Terraform 1.0.2 does not say which resources have drifted",
            id="drift",
        ),
        pytest.param(
            "Terraform v1.0.9",
            {"operation": Operation.INIT, "init_options": InitOptions(migrate_state=True)},
            "Terraform 1.0.9 copies states without locking them",
            id="migration",
        ),
    ],
)
def test_what_an_old_engine_cannot_do_is_refused(
    desk: Desk, answer: str, request_: dict[str, Any], sentence: str
) -> None:
    desk.install("terraform", answer)

    with pytest.raises(EngineUnsupported) as caught:
        desk.prepare(**request_)

    assert str(caught.value) == sentence
    assert caught.value.hints


def test_a_generated_backend_must_be_the_one_that_counts(desk: Desk) -> None:
    (desk.package / "zz_override.tf").write_text('terraform {\n  backend "s3" {}\n}\n')
    backend = GeneratedBackend(BackendKind.LOCAL, "app", path=str(desk.directory / "app.tfstate"))

    with pytest.raises(BadPackage, match="is read after the generated one"):
        desk.prepare(backend=backend)


def test_the_packages_own_variable_files_are_used(desk: Desk) -> None:
    (desk.package / "hereya-tf.toml").write_text('var-files = ["ours.tfvars"]\n')
    (desk.package / "ours.tfvars").write_text('name = "ours"\n')

    assert desk.prepare().values.files[0] == VariableFile(desk.package / "ours.tfvars")
