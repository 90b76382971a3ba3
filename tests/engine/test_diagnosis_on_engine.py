"""Failures that a real engine can produce without a network get their class from its own words."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from hereya_tf.engine.candidates import embedded_argv, embedded_library
from hereya_tf.errors import FailureClass
from hereya_tf.failure.diagnosis import Diagnosis, diagnose, lock_holder
from hereya_tf.stream.message_types import ProvisionerOutput
from hereya_tf.stream.messages import parse
from hereya_tf.stream.outputs import read_document, read_output_values
from hereya_tf.stream.summary import Summary, succeeded
from tests.command_line import environment
from tests.conftest import MakePackage

pytestmark = pytest.mark.real_engine

INIT = ("init", "-json", "-input=false", "-no-color")
PLAN = ("plan", "-json", "-input=false", "-no-color")
APPLY = ("apply", "-json", "-auto-approve", "-input=false", "-no-color")
DESTROY = ("destroy", *APPLY[1:])

EnginePath = tuple[str, ...]


@pytest.fixture(scope="session")
def engine_path(real_engine: str) -> EnginePath:
    """What stands in front of the arguments."""
    library = embedded_library() if real_engine == "embedded" else None
    return embedded_argv(library) if library is not None else (real_engine,)


class Ended(NamedTuple):
    """A command that has ended."""

    exit_code: int
    summary: Summary
    stderr: str

    @property
    def diagnosis(self) -> Diagnosis:
        return diagnose(
            self.summary.errors,
            exit_code=self.exit_code,
            signal=None,
            stderr=self.stderr,
            failed=self.summary.failed,
        )


def run(engine: EnginePath, package: Path, *arguments: str) -> Ended:
    done = subprocess.run(
        [*engine, *arguments],
        cwd=package,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    summary = Summary()
    for line in done.stdout.splitlines():
        summary.add(parse(line))
    return Ended(done.returncode, summary, done.stderr)


class Case(NamedTuple):
    """A package, the commands that must succeed, and the one that fails."""

    files: Mapping[str, str]
    before: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]
    expected: FailureClass
    needs_init: bool = False


RESOURCE = 'resource "terraform_data" "a" {}\n'
BACKEND = 'terraform {\n  backend "local" { path = "x.tfstate" }\n}\n'
CASES = {
    "a variable without a value": Case(
        {"main.tf": 'variable "need" { type = string }'}, (INIT,), APPLY, FailureClass.MISSING_VARIABLE
    ),
    "a value of the wrong type": Case(
        {"main.tf": 'variable "n" { type = number }'},
        (INIT,),
        (*APPLY, "-var=n=x"),
        FailureClass.INVALID_VARIABLE,
    ),
    "a value that is no expression": Case(
        {"main.tf": 'variable "n" { type = list(string) }'},
        (INIT,),
        (*APPLY, "-var=n=x"),
        FailureClass.INVALID_VARIABLE,
    ),
    "a variable file that is not there": Case(
        {"main.tf": ""}, (INIT,), (*PLAN, "-var-file=no.tfvars"), FailureClass.INVALID_VARIABLE
    ),
    "a variable file that is not JSON": Case(
        {"main.tf": "", "v.tfvars.json": "{"},
        (INIT,),
        (*APPLY, "-var-file=v.tfvars.json"),
        FailureClass.INVALID_VARIABLE,
    ),
    "a variable that is not declared": Case(
        {"main.tf": ""}, (INIT,), (*APPLY, "-var=z=1"), FailureClass.INVALID_VARIABLE
    ),
    "a file that is not HCL": Case({"main.tf": "{"}, (), INIT, FailureClass.INVALID_CONFIGURATION),
    "a cycle": Case(
        {
            "main.tf": 'resource "terraform_data" "a" { input = terraform_data.b.id }\n'
            'resource "terraform_data" "b" { input = terraform_data.a.id }\n'
        },
        (INIT,),
        PLAN,
        FailureClass.INVALID_CONFIGURATION,
    ),
    "another version": Case(
        {"main.tf": 'terraform { required_version = "> 99" }'}, (), INIT, FailureClass.UNSUPPORTED_VERSION
    ),
    "a module that is not there": Case(
        {"main.tf": 'module "m" { source = "./no" }'}, (), INIT, FailureClass.MODULE_UNAVAILABLE
    ),
    "a module that was not installed": Case(
        {"main.tf": 'module "m" { source = "./m" }', "m/main.tf": ""},
        (),
        PLAN,
        FailureClass.MODULE_UNAVAILABLE,
        needs_init=True,
    ),
    "a provider that was not selected": Case(
        {"main.tf": 'terraform {\n  required_providers {\n    x = { source = "nobody/nothing" }\n  }\n}\n'},
        (),
        PLAN,
        FailureClass.PROVIDER_UNAVAILABLE,
        needs_init=True,
    ),
    "a backend that was not initialised": Case(
        {"main.tf": BACKEND}, (), APPLY, FailureClass.BACKEND_NOT_INITIALISED, needs_init=True
    ),
    "a backend that does not exist": Case(
        {"main.tf": 'terraform {\n  backend "no" {}\n}\n'}, (), INIT, FailureClass.INVALID_CONFIGURATION
    ),
    "a precondition": Case(
        {
            "main.tf": 'variable "n" { default = 1 }\nresource "terraform_data" "a" {\n  lifecycle {\n'
            '    precondition {\n      condition = var.n == 2\n      error_message = "no"\n    }\n  }\n}\n'
        },
        (INIT,),
        APPLY,
        FailureClass.PRECONDITION_FAILED,
    ),
    "a resource that must stay": Case(
        {"main.tf": 'resource "terraform_data" "a" {\n  lifecycle { prevent_destroy = true }\n}\n'},
        (INIT, APPLY),
        DESTROY,
        FailureClass.PREVENTED_DESTROY,
    ),
    "a provisioner": Case(
        {
            "main.tf": 'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n'
            '    command = "echo no such host >&2; exit 3"\n  }\n}\n'
        },
        (INIT,),
        APPLY,
        FailureClass.PROVISIONER_FAILED,
    ),
    "no approval": Case({"main.tf": RESOURCE}, (INIT,), ("apply", *PLAN[1:]), FailureClass.PROMPT),
    "a plan that is too old": Case(
        {"main.tf": RESOURCE},
        (INIT, (*PLAN, "-out=p"), APPLY),
        ("apply", *PLAN[1:], "p"),
        FailureClass.PLAN_STALE,
    ),
    "not a plan": Case(
        {"main.tf": RESOURCE, "p": "x"}, (INIT,), ("apply", *PLAN[1:], "p"), FailureClass.PLAN_MISMATCH
    ),
    "an option that does not exist": Case(
        {"main.tf": RESOURCE}, (INIT,), (*PLAN, "-frob"), FailureClass.BAD_INPUT
    ),
    "an option that does not exist, in human form": Case(
        {"main.tf": RESOURCE}, (INIT,), ("plan", "-frob"), FailureClass.BAD_INPUT
    ),
    "a workspace that does not exist": Case(
        {"main.tf": RESOURCE},
        (INIT,),
        ("workspace", "select", "-no-color", "no"),
        FailureClass.WORKSPACE_UNKNOWN,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_failure_has_its_class(engine_path: EnginePath, make_package: MakePackage, case: Case) -> None:
    package = make_package(case.files)
    for command in case.before:
        before = run(engine_path, package, *command)
        assert succeeded(before.exit_code, before.summary), before

    ended = run(engine_path, package, *case.command)

    assert not succeeded(ended.exit_code, ended.summary)
    found = ended.diagnosis
    assert (found.failure_class, found.needs_init) == (case.expected, case.needs_init), ended


@pytest.mark.parametrize(
    ("changed", "command", "needs_init"),
    [
        pytest.param(BACKEND.replace("x.", "y."), PLAN, True, id="another place, plan"),
        pytest.param(BACKEND.replace("x.", "y."), INIT, False, id="another place, init"),
        pytest.param("", PLAN, True, id="taken out, plan"),
        pytest.param("", INIT, False, id="taken out, init"),
    ],
)
def test_a_changed_backend_is_told(
    engine_path: EnginePath,
    make_package: MakePackage,
    changed: str,
    command: tuple[str, ...],
    needs_init: bool,
) -> None:
    package = make_package({"main.tf": BACKEND})
    run(engine_path, package, *INIT)
    (package / "main.tf").write_text(changed)

    found = run(engine_path, package, *command).diagnosis

    assert (found.failure_class, found.needs_init) == (FailureClass.BACKEND_CHANGED, needs_init)


def test_a_corrupt_state_is_not_a_held_lock(engine_path: EnginePath, make_package: MakePackage) -> None:
    package = make_package({"main.tf": RESOURCE})
    run(engine_path, package, *INIT)
    (package / "terraform.tfstate").write_text('{"version": 4, "serial": 1, "lin')

    ended = run(engine_path, package, *APPLY)

    assert ended.diagnosis.failure_class is FailureClass.STATE_CORRUPT
    assert lock_holder(ended.summary.errors) == {}


@pytest.mark.behaviour("T6")
def test_a_held_lock_is_told_with_its_holder(engine_path: EnginePath, make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": 'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n'
            '    command = "echo holding; until test -e go; do sleep 0.05; done"\n  }\n}\n'
        }
    )
    run(engine_path, package, *INIT)
    with subprocess.Popen(
        [*engine_path, *APPLY],
        cwd=package,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        try:
            assert holder.stdout is not None
            for line in holder.stdout:
                message = parse(line.rstrip("\n"))
                if isinstance(message, ProvisionerOutput) and message.text == "holding":
                    break

            ended = run(engine_path, package, *APPLY, "-lock-timeout=1s")
        finally:
            (package / "go").touch()
        assert holder.stdout.read()

    assert ended.diagnosis.failure_class is FailureClass.STATE_LOCKED
    told = lock_holder(ended.summary.errors)
    assert (told["Path"], told["Operation"]) == ("terraform.tfstate", "OperationTypeApply")
    assert told["Who"] in ended.diagnosis.sentence


@pytest.mark.behaviour("T7", "T12")
def test_outputs_of_a_stream_are_those_of_the_document(
    engine_path: EnginePath, make_package: MakePackage
) -> None:
    package = make_package(
        {
            "main.tf": 'output "n" { value = 9007199254740993 }\noutput "third" { value = 1 / 3 }\n'
            'output "big" { value = 1e400 }\noutput "o" { value = { a = [1, "x", null, true] } }\n'
        }
    )
    run(engine_path, package, *INIT)
    summary = run(engine_path, package, *APPLY).summary
    document = subprocess.run(
        [*engine_path, "output", "-json"],
        cwd=package,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert summary.outputs_complete
    assert summary.outputs == read_output_values(read_document(document))
    assert summary.outputs["n"].value == 9007199254740993
    assert len(str(summary.outputs["third"].value)) > 150
