"""What every command prints when it succeeds and when it fails, whole: exit code, stdout and stderr.

It stands in `snapshots/`; WRITE_COMMAND_SNAPSHOTS=1 writes what is printed now, to be read.
"""

import json
import os
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from hereya_tf import __version__
from hereya_tf.cli import group
from tests.command_line import CommandLine, Result
from tests.engine import provider

pytestmark = pytest.mark.real_engine

SNAPSHOTS = Path(__file__).parent / "snapshots"

NETWORK = """
variable "name" { default = "world" }

variable "password" {
  default   = "correct horse"
  sensitive = true
}

resource "terraform_data" "greeting" { input = var.name }

output "greeting" { value = "hello ${terraform_data.greeting.output}" }

output "zones" { value = ["a", "b"] }

output "password" {
  value     = var.password
  sensitive = true
}
"""
FILES = {
    "network/main.tf": NETWORK,
    "broken/main.tf": 'output "o" {\n  value = terraform_data.missing.id\n}\n',
    "asks/main.tf": 'variable "size" {}\n',
    "modules/main.tf": 'module "gone" {\n  source = "./gone"\n}\n',
    "scripts/main.tf": 'resource "terraform_data" "a" {\n'
    '  provisioner "local-exec" {\n    command = "exit 3"\n  }\n}\n',
    "guarded/main.tf": 'resource "terraform_data" "a" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n',
    "hook.headers": "X-Gitlab-Event: Push Hook\nX-Gitlab-Token: hush\n",
    "hook.secret": "hush\n",
    "hook.body": json.dumps(
        {
            "object_kind": "push",
            "ref": "refs/heads/main",
            "before": "1" * 40,
            "after": "2" * 40,
            "project": {"path_with_namespace": "acme/shop"},
        }
    ),
    "records/main.tf": provider.PROVIDERS + provider.record("one", "one.json", content="as it was"),
}


class Case(NamedTuple):
    """A command, and what was done before it."""

    line: str
    before: tuple[str, ...] = ()


CHECK = "trigger check --provider gitlab --headers hook.headers --body hook.body"
MEDDLING = "somebody changes a record"
PROVISIONED = ("provision network --yes",)
CASES = {
    "provision": Case("provision network --yes"),
    "provision fails": Case("provision scripts --yes"),
    "destroy": Case("destroy network --yes", PROVISIONED),
    "destroy fails": Case("destroy guarded --yes", ("provision guarded --yes",)),
    "plan": Case("plan network --out network.plan"),
    "plan without changes": Case("plan network", PROVISIONED),
    "plan with changes": Case(
        # Newer engines give the values to init as well, which is run anew for others.
        "plan network -p name=moon --detailed-exitcode",
        (*PROVISIONED, "plan network -p name=moon"),
    ),
    "plan fails": Case("plan asks"),
    "apply": Case("apply network network.plan", ("plan network --out network.plan",)),
    "apply fails": Case(
        "apply network network.plan",
        ("plan network --out network.plan", "provision network --yes"),
    ),
    "drift none": Case("drift records", ("provision records --yes",)),
    "drift": Case("drift records", ("provision records --yes", MEDDLING)),
    "drift fails": Case("drift broken"),
    "output": Case("output network", PROVISIONED),
    "output of one name": Case("output network password", PROVISIONED),
    "output fails": Case("output network pasword", PROVISIONED),
    "init": Case("init network"),
    "init fails": Case("init modules"),
    "validate": Case("validate network"),
    "validate fails": Case("validate broken"),
    "tf": Case("tf network -- state list", PROVISIONED),
    "tf fails": Case("tf network -- state show terraform_data.nothing", PROVISIONED),
    "recover": Case("recover network", PROVISIONED),
    "recover fails": Case("recover nowhere"),
    "engine install fails": Case("engine install terraform 1.11.4 --from ./nowhere"),
    "engine list": Case("engine list"),
    "engine list fails": Case("engine list terraform more"),
    "engine which": Case("engine which network"),
    "engine which fails": Case("engine which nowhere"),
    "engine verify": Case("engine verify"),
    "engine verify fails": Case("engine verify terraform 1.11.4"),
    "engine remove fails": Case("engine remove terraform 1.11.4"),
    "engine prune": Case("engine prune"),
    "engine prune fails": Case("engine prune --keep none"),
    "lock list": Case("lock list", PROVISIONED),
    "lock list fails": Case("lock list network"),
    "lock status": Case("lock status network", PROVISIONED),
    "lock status fails": Case("lock status nowhere"),
    "lock release": Case("lock release network", PROVISIONED),
    "lock release fails": Case("lock release nowhere"),
    "runs list": Case("runs list", (*PROVISIONED, "plan broken", "plan nowhere")),
    "runs list fails": Case("runs list --limit all"),
    "runs show": Case("runs show last", PROVISIONED),
    "runs show of a failure": Case("runs show last", ("plan broken",)),
    "runs show fails": Case("runs show last"),
    "runs log": Case("runs log last", PROVISIONED),
    "runs log fails": Case("runs log 2029", PROVISIONED),
    "runs report": Case("runs report last", ("provision scripts --yes",)),
    "runs report of a success": Case("runs report last", PROVISIONED),
    "runs report fails": Case("runs report last --format pdf", PROVISIONED),
    "runs timeline fails": Case("runs timeline last"),
    "runs cancel fails": Case("runs cancel last", PROVISIONED),
    "runs prune": Case("runs prune --history-count 1 --dry-run", (*PROVISIONED, "plan network")),
    "runs prune fails": Case("runs prune --history-bytes 0"),
    "job submit fails": Case("job submit provision -w prod"),
    "job status fails": Case("job status 7 -w prod"),
    "job wait fails": Case("job wait 7"),
    "job logs fails": Case("job logs 7 -w ''"),
    "job cancel fails": Case("job cancel 7 -w prod"),
    "outbox list": Case("outbox list"),
    "outbox list fails": Case("outbox list -n all"),
    "outbox retry fails": Case("outbox retry evt_1"),
    "outbox purge": Case("outbox purge"),
    "outbox purge fails": Case("outbox purge --older-than soon"),
    "trigger check": Case(f"{CHECK} --secret-file hook.secret --repository acme/shop --branch main"),
    "trigger check fails": Case(f"{CHECK} --secret-file network/main.tf"),
    "config show": Case("config show network"),
    "config show fails": Case("config show nowhere"),
    "schema events": Case("schema events"),
    "schema events fails": Case("schema events --jso"),
    "schema result": Case("schema result"),
    "schema result fails": Case("schema result more"),
    "schema report": Case("schema report"),
    "schema report fails": Case("schema report more"),
}
# One needs a run that lives, the bars of the other are never the same: in tests/unit/test_cli_snapshots.py. What is
# installed was published and signed before: in tests/unit/test_cli_engine.py. Others need a control plane, or a
# delivery that is dead: in tests/unit/test_cli_job.py and test_cli_outbox.py.
ELSEWHERE = {
    *((f"job {name}", True) for name in ("submit", "status", "wait", "logs", "cancel")),
    ("outbox retry", True),
    *(("runs cancel", True), ("runs timeline", True)),
    *(("engine install", True), ("engine remove", True)),
}


class Place:
    """A directory with packages, and who calls commands from it."""

    def __init__(self, cli: CommandLine, engine: str, directory: Path) -> None:
        self._cli = cli
        self._engine = engine
        self._directory = directory

    def __call__(self, line: str) -> Result:
        words = shlex.split(line)
        env = {"HEREYA_TF_ENGINE": None if words[0] == "config" else self._engine}
        ran = self._cli(*words, cwd=self._directory, env=env)
        return Result(ran.exit_code, self._settled(ran.stdout), self._settled(ran.stderr))

    def meddle(self) -> None:
        """Change a record behind the engine's back."""
        provider.change(self._directory / "records/one.json", content="as nobody wanted")

    def _settled(self, text: str) -> str:
        """Without what differs from time to time, from place to place and from engine to engine."""
        text = text.replace(str(self._directory), "/here").replace(str(self._directory.parent), "/home")
        text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{8}", "RUN", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
        text = re.sub(r"(?m)^ +\d+\.\ds (?= )", "   0.0s ", text)
        text = re.sub(r"\b\d+\.\ds\b", "0.0s", text)
        # Whether it took a tenth of a second is a matter of how busy the machine is.
        text = re.sub(r"(terraform_data\.\w+) after 0\.0s", r"\1", text)
        text = re.sub(r"\b[\d.]+ kB", "SOME kB", text)
        text = re.sub(r"terraform \d+\.\d+\.\d+ at .*? \(HEREYA_TF_ENGINE\)", "terraform VERSION", text)
        text = re.sub(
            r"Terraform \d+\.\d+\.\d+: HEREYA_TF_ENGINE", "Terraform VERSION: HEREYA_TF_ENGINE", text
        )
        text = re.sub(r"\A/\S*terraform\S*\n\Z", "ENGINE\n", text)
        text = re.sub(r"(?m)^(seconds|pid|host)( +)\S+$", r"\1\2SOME", text)
        text = text.replace(f" --engine {shlex.quote(self._engine)}", " --engine ENGINE")
        text = re.sub(r"(?m)^ {12}\S.*? (\S+ -json)", r"            ENGINE \1", text)
        text = text.replace(f", hereya-tf {__version__}", ", hereya-tf SOME")
        return text.replace(f"      {__version__}\n", "      SOME\n")


@pytest.fixture
def place(cli: CommandLine, real_engine: str, providers: Path, tmp_path: Path) -> Place:
    directory = tmp_path / "place"
    for name, text in FILES.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Place(cli, real_engine, directory)


def transcript(line: str, ran: Result) -> str:
    """A command with its exit code, and each line of stdout behind `1|`, of stderr behind `2|`."""
    lines = [f"$ hereya-tf {line}", f"exit code {ran.exit_code}"]
    for mark, text in (("1", ran.stdout), ("2", ran.stderr)):
        complete = text.split("\n")
        lines += [f"{mark}| {said}".rstrip() for said in complete[:-1]]
        lines += [f"{mark}. {complete[-1]}"] if complete[-1] else []  # a last line that does not end
    return "\n".join(lines) + "\n"


def snapshot(name: str) -> Path:
    return SNAPSHOTS / f"{name.replace(' ', '-')}.txt"


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(place: Place, name: str) -> None:
    case = CASES[name]
    for line in case.before:
        if line == MEDDLING:
            place.meddle()
        else:
            place(line)
    shown = transcript(case.line, place(case.line))
    file = snapshot(name)
    if os.environ.get("WRITE_COMMAND_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")

    assert shown == file.read_text(encoding="utf-8")


def test_every_command_has_a_success_and_a_failure() -> None:
    every = commands(group, ())
    shown = set(ELSEWHERE)
    for name, case in CASES.items():
        (command,) = (each for each in every if f"{case.line} ".startswith(f"{each} "))
        shown.add((command, " fails" not in name))
        assert (snapshot(name).read_text().split("\n")[1] in ("exit code 0", "exit code 2")) == (
            " fails" not in name
        )

    assert shown == {(command, success) for command in every for success in (True, False)}
    assert set(SNAPSHOTS.iterdir()) == {snapshot(name) for name in CASES}


def commands(command: click.Command, names: tuple[str, ...]) -> list[str]:
    """The commands below one that only groups them."""
    if not isinstance(command, click.Group):
        return [" ".join(names)]
    context = click.Context(command)
    found = []
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found += commands(below, (*names, name))
    return found
