"""The command lines of a job's runs, and what the real command line makes of them."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf import exact
from hereya_tf.control_plane.results import Result, Succeeded
from hereya_tf.events import Operation
from hereya_tf.executor.commands import Limits, holds_nothing, look_command, look_environment, run_command
from hereya_tf.executor.environment import job_environment
from hereya_tf.executor.packages import find_inside, look_at
from hereya_tf.executor.payloads import ProjectJob, Refusal, read_job
from hereya_tf.executor.results import OutputValue, RunEnd, read_run_end
from hereya_tf.executor.state_places import Found
from hereya_tf.executor.work import (
    Stage,
    Work,
    failure_of,
    packages_of,
    plan_project,
    request_of,
    success_of,
)
from hereya_tf.inputs.project_file import read_project_file
from tests.command_line import CommandLine
from tests.conftest import MakePackage

PROGRAM = ("python", "-m", "hereya_tf")
LIMITS = Limits(left=90.0, grace=60.0)


def stage(operation: Operation, directory: str = "/p", **infra: str) -> Stage:
    return Stage(
        operation=operation,
        name="network",
        found=Found(directory, frozenset(), None, False, False),
        id="shop/network",
        infra=infra,
        parameters={"name": "moon"},
        env={"A": "hunter2"},
    )


@pytest.mark.parametrize(
    "operation", [Operation.PROVISION, Operation.DESTROY, Operation.OUTPUT, Operation.INIT]
)
def test_a_run_has_what_it_is_given_in_files(operation: Operation) -> None:
    command = run_command(
        PROGRAM,
        stage(operation),
        request="/r/in.json",
        result="/r/out.json",
        limits=LIMITS,
        masked=("a", "b"),
    )

    assert command == (
        *("python", "-m", "hereya_tf", operation.value, "--yes", "--json"),
        *("--request", "/r/in.json", "--result-file", "/r/out.json"),
        *("--timeout", "1m30s", "--wait", "1m30s", "--grace", "1m", "--redact", "a", "--redact", "b"),
    )


@pytest.mark.parametrize("left", [0.0, -5.0])
def test_a_job_whose_time_is_over_has_a_moment(left: float) -> None:
    assert Limits(left, 0.0).options == ("--timeout", "1ms", "--wait", "1ms", "--grace", "0s")


def test_a_state_is_looked_at_where_it_is() -> None:
    bucket = stage(
        Operation.DESTROY,
        terraformStateBucketName="states",
        terraformStateBucketRegion="eu-west-1",
        terraformStateLockTableName="locks",
    )
    end = ("--timeout", "1m30s", "--wait", "1m30s", "--grace", "1m", "--", "state", "pull")

    assert look_command(PROGRAM, bucket, limits=LIMITS) == (
        *("python", "-m", "hereya_tf", "tf", "/p", "--yes"),
        *(
            "--state-bucket=states",
            "--state-region=eu-west-1",
            "--state-lock-table=locks",
            "--id=shop/network",
        ),
        *end,
    )
    assert look_command((), stage(Operation.DESTROY, localStatePath="/s"), limits=LIMITS) == (
        *("tf", "/p", "--yes", "--state=/s", "--id=shop/network"),
        *end,
    )
    assert look_command((), stage(Operation.DESTROY), limits=LIMITS) == ("tf", "/p", "--yes", *end)


@pytest.mark.behaviour("D11")
def test_jobs_have_neither_the_token_nor_our_settings() -> None:
    environment = {
        "PATH": "/bin",
        "HEREYA_TOKEN": "t",
        "HEREYA_TF_STATE_DIR": "/s",
        "HEREYA_TF_CACHE_DIR": "/c",
        "HEREYA_TF_ENGINE_KEYS": "/k",
        "HEREYA_TF_POLICY": "true",
        "HEREYA_TF_CONFIG_DIR": "/x",
        "HEREYA_TF_": "x",
        "HEREYA_TFX": "kept",
    }
    kept = {
        "PATH": "/bin",
        "HEREYA_TF_STATE_DIR": "/s",
        "HEREYA_TF_CACHE_DIR": "/c",
        "HEREYA_TF_ENGINE_KEYS": "/k",
        "HEREYA_TFX": "kept",
    }

    assert job_environment(environment) == kept
    assert look_environment(environment, stage(Operation.DESTROY)) == {**kept, "A": "hunter2"}


@pytest.mark.parametrize(
    ("state", "nothing"),
    [
        ("", True),
        ("\n", True),
        ('{"version": 4, "resources": []}', True),
        ('{"version": 4, "resources": [{}]}', False),
        ('{"version": 4}', False),
        ('{"resources": null}', False),
        ("[]", False),
        ("{", False),
        ("[" * 100_000, False),
        ("error: x", False),
    ],
)
def test_only_a_state_without_resources_holds_nothing(state: str, nothing: bool) -> None:
    assert holds_nothing(state) is nothing


class Jobs:
    """Does what an executor does with the work of a job, one run after the other."""

    def __init__(self, cli: CommandLine, engine: str, root: Path) -> None:
        self._cli = cli
        self._environment = {"HEREYA_TF_ENGINE": engine}
        self._root = root
        self._states = root / "states"

    def do(self, kind: str, **payload: object) -> Result:
        """A job on the repository in `root`."""
        asked = {
            "project": "shop",
            "workspace": "prod",
            "repository": "file:///r",
            "commit": "a" * 40,
            **payload,
        }
        job = read_job(kind, asked)
        assert isinstance(job, ProjectJob), job
        packages = packages_of(job, read_project_file(self._root).deploy)
        assert not isinstance(packages, Refusal), packages
        found = {
            package.name: look_at(find_inside(self._root, package.path), is_checkout=True)
            for package in packages
        }
        work = plan_project(job, packages, found, states=str(self._states))
        assert isinstance(work, Work), work
        return self._run(work)

    def _run(self, work: Work) -> Result:
        ends: list[RunEnd] = []
        outputs: dict[str, Mapping[str, OutputValue]] = {}
        for each in work.stages:
            end = self.run(each, outputs)
            if (
                end.failure_class == "missing-variable"
                and each.operation is Operation.DESTROY
                and self.is_empty(each)
            ):
                end = RunEnd(True)
            if not end.success:
                return failure_of(work, each, end)
            outputs.setdefault(each.name, end.outputs)
            ends.append(end)
        return success_of(work, ends)

    def run(self, each: Stage, outputs: Mapping[str, Mapping[str, OutputValue]] = {}) -> RunEnd:
        asked = request_of(each, outputs)
        request, result = self._root / "in.json", self._root / "out.json"
        request.write_text(exact.dumps(asked.document))
        result.unlink(missing_ok=True)
        command = run_command(
            (), each, request=str(request), result=str(result), limits=LIMITS, masked=asked.masked
        )
        ran = self._cli(*command, env=self._environment)
        assert "hunter2hunter2" not in ran.stdout + ran.stderr, "it goes to the log"
        return read_run_end(result.read_text(), ran.exit_code)

    def is_empty(self, each: Stage) -> bool:
        ran = self._cli(*look_command((), each, limits=LIMITS), env=self._environment)
        assert ran.exit_code == 0, ran.stderr
        return holds_nothing(ran.stdout)

    def states(self) -> dict[str, int]:
        """How many resources each state has, by the readable end of its id."""
        return {
            file.parent.name.rpartition("-")[0]: len(json.loads(file.read_text())["resources"])
            for file in self._states.rglob("terraform.tfstate")
        }


@pytest.mark.real_engine
def test_the_command_line_does_what_a_job_asks_for(
    cli: CommandLine, fixtures_directory: Path, tmp_path: Path, real_engine: str
) -> None:
    package = tmp_path / "hello"
    shutil.copytree(fixtures_directory / "packages/hello", package)
    jobs = Jobs(cli, real_engine, tmp_path)
    state = str(tmp_path / "states/x/terraform.tfstate")

    def run(operation: Operation) -> object:
        return jobs.run(stage(operation, str(package), localStatePath=state)).env

    def look() -> bool:
        return jobs.is_empty(stage(Operation.DESTROY, str(package), localStatePath=state))

    seen = [look(), run(Operation.PROVISION), look(), run(Operation.OUTPUT), run(Operation.DESTROY), look()]

    greeting = {"greeting": "Hello, moon!"}
    assert seen == [True, greeting, False, greeting, greeting, True]


NETWORK = """
resource "terraform_data" "it" { input = 0.10 }
output "ratio" { value = terraform_data.it.output }
output "zones" { value = ["a", "b"] }
output "key" {
  value = "hunter2hunter2"
  sensitive = true
}
"""
TILL = """
variable "ratio" { type = number }
variable "zones" { type = list(string) }
variable "secret" {}
variable "extra" { default = "none" }
resource "terraform_data" "it" { input = "${var.ratio} ${join("+", var.zones)} ${var.secret} ${var.extra}" }
output "said" {
  value = nonsensitive(terraform_data.it.output)
}
"""


@pytest.fixture
def jobs(cli: CommandLine, make_package: MakePackage, real_engine: str) -> Jobs:
    table = "{path = 'apps/till', app = 'till', inputs = {secret = 'network.key'}}"
    files = {
        "hereya-tf.toml": f"[deploy]\npackages = ['network', {table}]\n",
        "network/main.tf": NETWORK,
        "apps/till/main.tf": TILL,
    }
    return Jobs(cli, real_engine, make_package(files))


@pytest.mark.real_engine
def test_a_repository_is_deployed_its_app_alone_and_undeployed(jobs: Jobs) -> None:
    own = {"ratio": "0.1", "zones": '["a","b"]', "key": "hunter2hunter2"}

    deployed = jobs.do("deploy")
    states = jobs.states()
    app = jobs.do("app-deploy", appName="till", parameters={"extra": "more"})
    undeployed = jobs.do("undeploy")

    assert deployed == Succeeded({**own, "said": "0.1 a+b hunter2hunter2 none"})
    assert states == {"network": 1, "apps-till": 1}
    assert app == Succeeded({"said": "0.1 a+b hunter2hunter2 more"})
    assert undeployed == Succeeded({**own, "said": "0.1 a+b hunter2hunter2 more"})
    assert jobs.states() == {"network": 0, "apps-till": 0}


@pytest.mark.real_engine
def test_what_was_never_deployed_is_undeployed(jobs: Jobs) -> None:
    undeployed = jobs.do("undeploy")

    assert undeployed == Succeeded({})
    assert set(jobs.states().values()) <= {0}
