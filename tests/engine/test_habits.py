"""Who has used the engine by hand goes over to hereya-tf, and back, without a change in state."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import provider
from tests.engine.driving import Driver, failure, names, skipped, steps, succeeded, warnings
from tests.engine.scenes import everything_in, state_directory

pytestmark = pytest.mark.real_engine

NO_CHANGES = {"add": 0, "change": 0, "destroy": 0, "replace": 0, "import": 0, "forget": 0}
STATE = "terraform.tfstate"
PACKAGE = """
variable "text" {
  type    = string
  default = "declared"
}
variable "names" {
  type    = list(string)
  default = []
}
resource "terraform_data" "a" {
  input = [var.text, var.names, terraform.workspace]
}
output "a" {
  value = terraform_data.a.output
}
"""


class Habit:
    """A package that has been applied by hand, in one way of doing that."""

    def __init__(
        self,
        hereya: Driver,
        package: Path,
        *,
        env: Mapping[str, str] | None = None,
        state: str = STATE,
        init: tuple[str, ...] = (),
    ) -> None:
        self._hereya = hereya
        self._package = package
        self._env = {**(env or {})}
        self.state_file = package / state
        self.by_hand("init", *init)
        self.by_hand("apply", "-auto-approve")

    def by_hand(self, *arguments: str) -> str:
        return self._hereya.plain(self._package, *arguments, "-input=false", "-no-color", env=self._env)

    def provision(self, *arguments: str | Path) -> Result:
        return self._hereya.provision(self._package, *arguments, env=self._env)

    def goes_on(self, *arguments: str | Path, back: tuple[str, ...] = ()) -> Result:
        """Provision finds nothing to do and writes nothing; by hand there is nothing to do either.

        Then destroy empties that very state, as the engine by hand sees it.
        """
        state = self.state_file.read_bytes()
        files = names(self._package)

        result = self.provision(*arguments)

        assert succeeded(result)["changes"] == NO_CHANGES
        assert (self.state_file.read_bytes(), names(self._package)) == (state, files)
        # Exit code 0: neither changes nor an error.
        self.by_hand("plan", "-detailed-exitcode", *back)
        assert (self.state_file.read_bytes(), names(self._package)) == (state, files)

        destroyed = self._hereya.destroy(self._package, *arguments, env=self._env)

        assert succeeded(destroyed)["env"] == result.result["env"]
        assert destroyed.result["changes"] == {**NO_CHANGES, "destroy": 1}
        before, after = json.loads(state), json.loads(self.state_file.read_bytes())
        assert (after["lineage"], after["resources"]) == (before["lineage"], [])
        assert after["serial"] > before["serial"]
        assert self._hereya.plain(self._package, "state", "list", env=self._env) == ""
        return result


def value(result: Result) -> Any:
    return json.loads(result.result["env"]["a"])


def test_variables_in_the_environment_mean_what_they_meant(hereya: Driver, make_package: MakePackage) -> None:
    # A string as it stands, a list as an expression.
    env = {"TF_VAR_text": '${x} ["1"]', "TF_VAR_names": '["a", 1 + 1,]', "TF_VAR_nobody": "knows"}
    habit = Habit(hereya, make_package({"main.tf": PACKAGE}), env=env)

    result = habit.goes_on()

    assert value(result) == ['${x} ["1"]', ["a", "2"], "default"]
    assert warnings(result) == []


def test_a_workspace_in_the_environment_is_the_one(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})
    state = f"terraform.tfstate.d/dev/{STATE}"
    habit = Habit(hereya, package, env={"TF_WORKSPACE": "dev"}, state=state)

    result = habit.goes_on()

    assert (result.result["workspace"], value(result)[2]) == ("dev", "dev")
    assert not (package / STATE).exists()


def test_a_workspace_that_was_selected_is_the_one(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})
    hereya.plain(package, "init", "-input=false")
    hereya.plain(package, "workspace", "new", "dev")
    hereya.plain(package, "workspace", "new", "other")
    hereya.plain(package, "workspace", "select", "dev")
    habit = Habit(hereya, package, state=f"terraform.tfstate.d/dev/{STATE}")

    result = habit.goes_on()

    assert (result.result["workspace"], value(result)[2]) == ("dev", "dev")
    assert hereya.plain(package, "workspace", "show").strip() == "dev"
    assert not (package / STATE).exists()


@pytest.mark.parametrize("where", ["relative", "absolute"])
def test_a_data_directory_elsewhere_stays_there(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, where: str
) -> None:
    package = make_package({"main.tf": PACKAGE + 'module "m" { source = "./m" }\n', "m/main.tf": ""})
    data = "../data" if where == "relative" else str(tmp_path / "data")
    env = {"TF_DATA_DIR": data}
    hereya.plain(package, "init", "-input=false", env=env)
    hereya.plain(package, "workspace", "new", "dev", env=env)
    habit = Habit(hereya, package, env=env, state=f"terraform.tfstate.d/dev/{STATE}")

    result = habit.goes_on()

    # The workspace that was selected stands in there, too.
    assert value(result)[2] == "dev"
    assert names(tmp_path / "data") == ["environment", "modules"]
    assert ".terraform" not in names(package)


def with_a_provider(directory: Path) -> dict[str, str]:
    """A package that has a provider to install."""
    return {"main.tf": provider.PROVIDERS + provider.record("a", directory / "a.json")}


@pytest.mark.usefixtures("providers")
def test_a_configuration_of_the_engines_own_is_followed(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(with_a_provider(tmp_path))
    habit = Habit(hereya, package)
    lock_file = (package / ".terraform.lock.hcl").read_bytes()
    # As in a fresh clone: the provider comes out of the mirror again.
    shutil.rmtree(package / ".terraform")
    (package / ".terraform").mkdir()

    habit.goes_on()

    assert (package / ".terraform/providers" / provider.INSTALLED).exists()
    assert (package / ".terraform.lock.hcl").read_bytes() == lock_file


def test_what_was_installed_by_hand_is_not_installed_again(
    hereya: Driver, make_package: MakePackage, providers: Path, tmp_path: Path
) -> None:
    package = make_package(with_a_provider(tmp_path))
    habit = Habit(hereya, package)
    # The engine links to a mirror's directory; a copy is what comes from a registry.
    installed = package / ".terraform/providers" / provider.INSTALLED
    installed.parent.unlink()
    shutil.copytree(providers / Path(provider.INSTALLED).parent, installed.parent)
    files = [installed, package / ".terraform.lock.hcl"]
    before = [(file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes()) for file in files]

    result = habit.goes_on()

    assert steps(result) == ["init", "apply"]
    assert [(file.stat().st_ino, file.stat().st_mtime_ns, file.read_bytes()) for file in files] == before


@pytest.mark.usefixtures("providers")
@pytest.mark.parametrize("there", [True, False], ids=["there", "missing"])
def test_a_plugin_cache_is_used_as_before(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, there: bool
) -> None:
    cache = tmp_path / "plugin-cache"
    cache.mkdir()
    package = make_package(with_a_provider(tmp_path))
    habit = Habit(hereya, package, env={"TF_PLUGIN_CACHE_DIR": str(cache)})
    shutil.rmtree(package / ".terraform")
    (package / ".terraform").mkdir()
    if not there:
        shutil.rmtree(cache)

    result = habit.goes_on()

    directory = Path(provider.INSTALLED).parent
    assert (package / ".terraform/providers" / directory).readlink() == cache / directory
    assert (cache / directory).exists()
    # A missing one is made; the engine would only say that it is missing.
    said = "".join(event["text"] for event in result.events if event["type"] == "log")
    assert "The specified plugin cache dir" not in said


def test_values_in_files_of_the_package_are_found(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": PACKAGE,
            "terraform.tfvars": 'text  = "tfvars"\nnames = ["tfvars"]\n',
            "b.auto.tfvars.json": '{"names": ["b", "${x}"]}',
            "a.auto.tfvars": 'names = ["a"]\n',
        }
    )
    habit = Habit(hereya, package, env={"TF_VAR_text": "environment"})

    # Plain's order: the environment, terraform.tfvars, *.auto.tfvars by name.
    assert value(habit.goes_on()) == ["tfvars", ["b", "${x}"], "default"]


@pytest.mark.parametrize("again", [False, True], ids=["once", "every time"])
@pytest.mark.parametrize("how", ["pair", "file"])
def test_a_partial_backend_that_was_completed_by_hand_stays_complete(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, how: str, again: bool
) -> None:
    settings = tmp_path / "backend.hcl"
    settings.write_text(f'path = "{tmp_path}/x.tfstate"\n')
    given = f"path={tmp_path}/x.tfstate" if how == "pair" else str(settings)
    package = make_package({"main.tf": PACKAGE + 'terraform {\n  backend "local" {}\n}\n'})
    state = os.path.relpath(tmp_path / "x.tfstate", package)
    habit = Habit(hereya, package, state=state, init=(f"-backend-config={given}",))

    result = habit.goes_on(*(("--backend-config", given) if again else ()))

    assert (steps(result), skipped(result)) == (["init", "apply"], [])
    assert not (package / STATE).exists()


def test_another_setting_of_a_partial_backend_is_refused_and_no_other_state_begun(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + 'terraform {\n  backend "local" {}\n}\n'})
    state = os.path.relpath(tmp_path / "x.tfstate", package)
    habit = Habit(hereya, package, state=state, init=(f"-backend-config=path={tmp_path}/x.tfstate",))
    before = habit.state_file.read_bytes()

    refused = habit.provision("--backend-config", f"path={tmp_path}/y.tfstate")

    assert failure(refused)[:2] == (1, "backend-changed")
    assert (habit.state_file.read_bytes(), (tmp_path / "y.tfstate").exists()) == (before, False)
    habit.goes_on()


OIDC = {
    "ACTIONS_ID_TOKEN_REQUEST_URL": "https://pipelines.example/_apis/token?api-version=2.0",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "actions-request-token-1",
    "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/deploy",
    "AWS_ROLE_SESSION_NAME": "deploy-7",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/token",
    "ARM_USE_OIDC": "true",
    "ARM_CLIENT_ID": "11111111-2222-3333-4444-555555555555",
    "ARM_OIDC_TOKEN": "arm-oidc-token-1",
    "ARM_OIDC_REQUEST_TOKEN": "arm-oidc-request-token-1",
    "GOOGLE_APPLICATION_CREDENTIALS": "/tmp/gha-creds.json",
    "GOOGLE_OAUTH_ACCESS_TOKEN": "google-access-token-1",
    "CLOUDSDK_AUTH_ACCESS_TOKEN": "cloudsdk-access-token-1",
    "TFC_WORKLOAD_IDENTITY_TOKEN": "tfc-workload-token-1",
    "GITLAB_OIDC_TOKEN": "gitlab-oidc-token-1",
    "CI_JOB_TOKEN": "ci-job-token-1",
    "BITBUCKET_STEP_OIDC_TOKEN": "bitbucket-oidc-token-1",
    "CIRCLE_OIDC_TOKEN_V2": "circle-oidc-token-1",
    "SYSTEM_ACCESSTOKEN": "azure-devops-token-1",
    "VAULT_TOKEN": "hvs.vault-token-1",
    "TF_TOKEN_app_terraform_io": "hcp-token-value-1",
}
SECRET = {
    name: text for name, text in OIDC.items() if "TOKEN" in name and not name.endswith(("_FILE", "_URL"))
}
PRINTING = """
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "env > environment; env"
  }
}
"""


@pytest.mark.behaviour("F7")
def test_what_ci_provides_reaches_the_engine_and_its_tokens_nobody_else(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PRINTING})
    hereya.plain(package, "init", "-input=false", env=OIDC)
    hereya.plain(package, "apply", "-auto-approve", env=OIDC)

    def environment() -> dict[str, str]:
        lines = (package / "environment").read_text().splitlines()
        found = dict(line.split("=", 1) for line in lines if "=" in line)
        return {name: text for name, text in found.items() if name in OIDC}

    by_hand = environment()
    (package / "environment").unlink()

    result = hereya.provision(package, "--replace", "terraform_data.a", env=OIDC)

    assert succeeded(result)["changes"]["replace"] == 1
    assert environment() == by_hand == OIDC
    log = everything_in(state_directory())
    for text in SECRET.values():
        assert text not in result.stdout + result.stderr + log
    # What is no secret stays readable.
    assert OIDC["AWS_ROLE_ARN"] in log


@pytest.mark.parametrize(
    ("name", "arguments", "replacement"),
    [
        ("TF_CLI_ARGS", "-no-color", ()),
        ("TF_CLI_ARGS_apply", "-parallelism=2", ("--engine-arg", "apply=-parallelism=2")),
        ("TF_CLI_ARGS_init", "-upgrade", ("--engine-arg", "init=-upgrade")),
    ],
)
def test_arguments_in_the_environment_are_refused_and_replaced(
    hereya: Driver, make_package: MakePackage, name: str, arguments: str, replacement: tuple[str, ...]
) -> None:
    package = make_package({"main.tf": PACKAGE})
    habit = Habit(hereya, package, env={name: arguments})
    before = habit.state_file.read_bytes()

    refused = habit.provision()

    assert failure(refused)[:2] == (3, "cli-args")
    assert f"`{name}`" in refused.result["reason"]
    step = replacement[1].partition("=")[0] if replacement else "apply"
    hint = refused.result["failure"]["hint"]
    assert (f"--engine-arg {step}=ARG" in hint, "--ignore-cli-args" in hint) == (True, True)
    assert (steps(refused), habit.state_file.read_bytes()) == ([], before)
    # Without the variable and with the option that replaces it; or in spite of it.
    instead = hereya.provision(package, *replacement)
    assert succeeded(instead)["changes"] == NO_CHANGES
    started = [event["argv"] for event in instead.events if event["type"] == "step_started"]
    assert not replacement or any(arguments in argv for argv in started)
    habit.goes_on("--ignore-cli-args")
