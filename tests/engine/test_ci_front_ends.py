"""Jobs of CI systems on a real engine: what their logs, their summaries and the README's own jobs come to."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
import yaml
from dotenv import dotenv_values

from tests.command_line import environment
from tests.engine import scenes
from tests.fake_engine import wait_for
from tests.unit.test_ci_github import Command, commands
from tests.unit.test_ci_gitlab import MARK

pytestmark = pytest.mark.real_engine

# What a runner would do with it is up to the provisioner, or to whoever wrote the value.
EVIL = "::set-env name=PATH::/evil"
BROKEN = """
resource "terraform_data" "first" {
  input = "%s"
}

resource "terraform_data" "second" {
  input = terraform_data.first.output
  provisioner "local-exec" {
    command = "echo '##[error]spoken'; printf '\\n::set-env name=A::b\\n'; exit 3"
  }
}
"""


class Job(NamedTuple):
    """A step of a job that has ended: the log as it was written, and the summary."""

    exit_code: int
    log: str
    summary: str

    @property
    def commands(self) -> list[Command]:
        return commands(self.log)

    @property
    def unfolded(self) -> str:
        """What is seen of the log of GitHub before anything is clicked on."""
        shown = re.sub(r"^::group::(.*)\n(?:.*\n)*?::endgroup::$", r"> \1", self.log, flags=re.MULTILINE)
        return "".join(f"{line}\n" for line in shown.split("\n") if not line.startswith("::"))


class Runner:
    """Starts steps as a runner does: stdout and stderr are pipes, here one and the same."""

    def __init__(self, workspace: Path, engine: str, variables: Mapping[str, str]) -> None:
        self.workspace = workspace
        self.summary = workspace.parent / "summary"
        self.output = workspace.parent / "output"
        tools = workspace.parent / "tools"
        tools.mkdir()
        command = tools / "hereya-tf"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hereya_tf "$@"\n')
        command.chmod(0o755)
        self.environment = environment(
            {
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "HEREYA_TF_ENGINE": engine,
                "CI": "true",
                **variables,
            }
        )

    def start(self, script: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            ["bash", "-e", "-c", script],
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def ended(self, process: "subprocess.Popen[bytes]") -> Job:
        try:
            log, _ = process.communicate(timeout=120)  # bytes: as text a CR would be a line break
        finally:
            process.kill()
        summary = self.summary.read_text(encoding="utf-8") if self.summary.exists() else ""
        return Job(process.returncode, log.decode(), summary)

    def run(self, script: str) -> Job:
        return self.ended(self.start(script))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "repository"
    workspace.mkdir()
    return workspace


@pytest.fixture
def github(workspace: Path, real_engine: str) -> Runner:
    return Runner(
        workspace,
        real_engine,
        {
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(workspace.parent / "summary"),
            "GITHUB_OUTPUT": str(workspace.parent / "output"),
        },
    )


@pytest.fixture
def gitlab(workspace: Path, real_engine: str) -> Runner:
    return Runner(workspace, real_engine, {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(workspace)})


def write_package(workspace: Path, text: str, name: str = "app") -> Path:
    package = workspace / name
    package.mkdir(parents=True)
    (package / "main.tf").write_text(text, encoding="utf-8")
    return package


def test_a_failed_job_says_outside_of_its_groups_what_failed(github: Runner) -> None:
    write_package(github.workspace, BROKEN % EVIL)

    job = github.run("hereya-tf provision app --yes")

    assert job.exit_code == 1
    assert [command.name for command in job.commands] == [*("group", "endgroup") * 2, "error"]
    lines = job.unfolded.split("\n")
    assert lines[2:4] == ["> init", "> apply"]
    assert lines[4].split()[1:4] == ["end", "failed", "after"]
    assert "class: provisioner-failed (exit code 1)" in lines
    assert "failed: 1 resource: terraform_data.second" in lines


def test_an_error_stands_on_its_line_in_the_repository(github: Runner) -> None:
    write_package(github.workspace, BROKEN % "x")

    (error,) = [
        found for found in github.run("hereya-tf provision app --yes").commands if found.name == "error"
    ]

    assert error.properties["file"] == "app/main.tf"
    assert (error.properties["line"], error.properties["endLine"]) == ("8", "8")
    assert error.properties["title"] == "local-exec provisioner error"
    assert "exit status 3" in error.data
    assert "hint: " in error.data


def test_an_error_in_a_module_beside_the_package_has_its_own_file(github: Runner) -> None:
    write_package(github.workspace, 'output "o" {\n  value = missing.thing\n}\n', "modules/net")
    write_package(github.workspace, 'module "net" {\n  source = "../modules/net"\n}\n')
    (github.workspace.parent / "link").symlink_to(github.workspace)
    github.environment["GITHUB_WORKSPACE"] = str(github.workspace.parent / "link")

    (error,) = [found for found in github.run("hereya-tf plan app").commands if found.name == "error"]

    assert (error.properties["file"], error.properties["line"]) == ("modules/net/main.tf", "2")


def test_a_failure_without_a_place_is_one_annotation(github: Runner) -> None:
    job = github.run("hereya-tf plan nowhere")

    (error,) = job.commands
    assert (error.name, error.properties) == ("error", {"title": "bad-package"})
    assert error.data.startswith("`")
    assert f"**`{github.workspace}/nowhere`" in job.summary


def test_what_is_spoken_is_shown_and_commands_nothing(github: Runner) -> None:
    write_package(github.workspace, BROKEN % EVIL)

    log = github.run("hereya-tf provision app --yes -v").log

    assert [found.name for found in commands(log) if found.name not in ("group", "endgroup", "error")] == []
    assert ": :set-env name=A::b" in log
    assert "## [error]spoken" in log


def test_a_plan_commands_nothing_and_its_table_is_the_summary(github: Runner) -> None:
    key = "::error::x"
    write_package(
        github.workspace,
        f'resource "terraform_data" "a" {{\n  for_each = toset(["{key}", "b|c"])\n'
        f'  input = "\\n{EVIL}\\n##[x]"\n}}\n',
    )

    job = github.run("hereya-tf plan app")

    assert [found.data for found in job.commands if found.name != "endgroup"] == ["init", "plan", "show"]
    assert [found.name for found in job.commands] == ["group", "endgroup"] * 3
    assert ": :set-env" in job.log
    assert "### ✅ plan of " in job.summary
    assert '| create | `terraform_data.a["::error::x"]` |' in job.summary
    assert '| create | `terraform_data.a["b`&#124;`c"]` |' in job.summary


OUTPUTS = f"""
output "plain" {{ value = "x" }}
output "text" {{ value = "one\\n{EVIL}\\n##[add-path]/evil\\n'" }}
output "secret" {{
  value     = "it's 100% secret\\n::error::of ours"
  sensitive = true
}}
"""
TEXT = f"one\n{EVIL}\n##[add-path]/evil\n'"
SECRET = "it's 100% secret\n::error::of ours"


def test_outputs_command_nothing_and_a_shell_gets_them_as_they_are(github: Runner) -> None:
    write_package(github.workspace, OUTPUTS)

    shown = github.run("hereya-tf provision app --yes")
    taken = github.run(
        'eval "$(hereya-tf output app --format shell 2>/dev/null)"; printf "%s" "$text" > taken'
    )
    provisioned = github.run(
        'eval "$(hereya-tf provision app --yes 2>/dev/null)"; printf "%s" "$text" > again'
    )

    assert [found.name for found in shown.commands] == ["group", "endgroup"] * (shown.log.count("::group::"))
    assert (taken.exit_code, provisioned.exit_code) == (0, 0)
    assert (github.workspace / "taken").read_text() == TEXT
    assert (github.workspace / "again").read_text() == TEXT


@pytest.mark.parametrize("command", ["provision app --yes", "output app", "output app --format shell"])
def test_what_is_shown_is_masked_first_and_the_masks_are_nothing_to_a_shell(
    github: Runner, command: str
) -> None:
    write_package(github.workspace, OUTPUTS)
    assert github.run("hereya-tf provision app --yes").exit_code == 0

    log = github.run(f"hereya-tf {command} --show-sensitive 2>/dev/null").log
    quiet = github.run(
        f'eval "$(hereya-tf {command} --show-sensitive 2>/dev/null)"; printf "%s" "$secret" > taken'
    )

    masks = [found.data for found in commands(log)]
    assert [found.name for found in commands(log)] == ["add-mask"] * 3
    assert masks == [SECRET, "it's 100% secret", "::error::of ours"]
    assert log.rindex("::add-mask::") < log.index("secret=")
    assert quiet.log == ""
    assert (github.workspace / "taken").read_text() == SECRET


def test_nothing_is_masked_that_is_not_shown(github: Runner) -> None:
    write_package(github.workspace, OUTPUTS)

    job = github.run("hereya-tf provision app --yes; hereya-tf output app plain")
    kept = github.run("hereya-tf output app --show-sensitive --format shell > kept.sh")

    assert "add-mask" not in job.log + kept.log + (github.workspace / "kept.sh").read_text()


def test_json_commands_nothing_and_means_the_same(github: Runner) -> None:
    write_package(github.workspace, OUTPUTS)

    events = github.run("hereya-tf provision app --yes --json 2>/dev/null").log
    outputs = github.run("hereya-tf output app --json 2>/dev/null").log

    assert commands(events) == commands(outputs) == []
    assert json.loads(events.strip().split("\n")[-1])["env"]["text"] == TEXT
    assert json.loads(outputs)["text"]["value"] == TEXT


@pytest.mark.parametrize("form", ["text", "text --format raw"])
def test_an_exact_value_that_would_be_a_command_goes_into_files_only(github: Runner, form: str) -> None:
    write_package(github.workspace, OUTPUTS)
    assert github.run("hereya-tf provision app --yes").exit_code == 0

    printed = github.run(f"hereya-tf output app {form}")
    kept = github.run(f"hereya-tf output app {form} > kept")
    forced = github.run(f"hereya-tf output app {form} --ci none")

    assert printed.exit_code == 3
    assert [found.name for found in printed.commands] == ["error"]
    assert "hint: take it as `--format json`, or write it into a file, `> FILE`" in printed.log
    assert (kept.exit_code, (github.workspace / "kept").read_text().rstrip("\n")) == (0, TEXT)
    assert (forced.exit_code, forced.log.rstrip("\n")) == (0, TEXT)


def test_with_json_the_summary_is_written_and_annotations_are_talk(github: Runner) -> None:
    write_package(github.workspace, BROKEN % "x")

    job = github.run("hereya-tf provision app --yes --json 2> talk")

    events = [json.loads(line) for line in job.log.strip().split("\n")]
    assert events[-1]["failure"]["class"] == "provisioner-failed"
    assert [found.name for found in commands((github.workspace / "talk").read_text())] == ["error"]
    assert job.summary.startswith("### ❌ provision of ")


def test_quiet_means_errors_only(github: Runner) -> None:
    write_package(github.workspace, BROKEN % "x")

    assert [found.name for found in github.run("hereya-tf provision app --yes -q").commands] == ["error"]


# What has nothing to show when it is well.
SILENT = ("output app", "validate app", "init app")


def test_summaries_of_one_step_stand_below_each_other(github: Runner) -> None:
    write_package(github.workspace, OUTPUTS)
    github.summary.write_text("# theirs")

    job = github.run("\n".join(f"hereya-tf {each}" for each in ("plan app", "provision app --yes", *SILENT)))

    assert re.findall(r"^#.*? (\S+)(?: of .*)?$", job.summary, re.MULTILINE) == [
        "theirs",
        "plan",
        "provision",
    ]


def test_a_summary_that_cannot_be_written_is_a_warning(github: Runner) -> None:
    write_package(github.workspace, OUTPUTS)
    github.environment["GITHUB_STEP_SUMMARY"] = "/nowhere/summary"

    job = github.run("hereya-tf plan app")

    assert job.exit_code == 0
    assert "warning: the summary of this step, `/nowhere/summary`, cannot be written: " in job.log


def test_none_turns_it_off_and_a_name_turns_it_on(github: Runner) -> None:
    write_package(github.workspace, BROKEN % "x")
    off = github.run("hereya-tf provision app --yes --ci none")
    by_variable = github.run("HEREYA_TF_CI=none hereya-tf provision app --yes")
    del github.environment["GITHUB_ACTIONS"]
    nowhere = github.run("hereya-tf provision app --yes")
    forced = github.run("hereya-tf provision app --yes --ci github")

    for job in (off, by_variable, nowhere):
        assert "::group::" not in job.log
        assert "::error" not in job.log
    assert [found.name for found in forced.commands][-1] == "error"
    assert forced.summary.count("### ") == 1


def test_what_others_print_is_harmless_too(github: Runner) -> None:
    write_package(github.workspace, BROKEN % EVIL)
    github.run("hereya-tf provision app --yes")

    for command in ("log last -v", "log last --json", "report last", "report last --format json"):
        log = github.run(f"hereya-tf runs {command}").log
        assert "spoken" in log
        assert commands(log) == []
    refused = github.run("hereya-tf provision app --yes --report-file $'x\\n::set-env name=A::b'")
    assert (refused.exit_code, refused.commands) == (64, [])


SECOND_STARTED = re.compile(r'"address":"terraform_data.second","action":"create","status":"started"')


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_an_interrupted_job_has_its_report_before_the_engine_has_ended(github: Runner) -> None:
    write_package(github.workspace, scenes.GATED["main.tf"])
    process = github.start("exec hereya-tf provision app --yes --report-file report.md --events-file events")
    wait_for(lambda: SECOND_STARTED.search(text_of(github.workspace / "events")))
    process.send_signal(signal.SIGINT)

    interim = wait_for(lambda: text_of(github.summary) or None)
    report = (github.workspace / "report.md").read_text()
    (github.workspace / "app/go").touch()
    job = github.ended(process)

    assert "is being cancelled" in interim.split("\n")[0]
    assert "**Unfinished (1)**" in report
    assert job.exit_code == 130
    assert "what is known so far is in `report.md` and `" in job.unfolded
    assert [found.name for found in job.commands] == [*("group", "endgroup") * 2, "error"]
    assert job.summary.startswith(interim)
    assert "was cancelled" in job.summary.removeprefix(interim)
    assert "was cancelled" in (github.workspace / "report.md").read_text()


def test_gitlab_folds_its_steps(gitlab: Runner) -> None:
    write_package(gitlab.workspace, BROKEN % "\\u001b[0Ksection_end:1:x\\r\\u001b[0K")

    job = gitlab.run("hereya-tf provision app --yes")
    found = MARK.findall(job.log)

    assert [(kind, name.split(".")[0], folded) for kind, _, name, folded in found] == [
        ("start", "init", "collapsed=true"),
        ("end", "init", ""),
        ("start", "apply", ""),
        ("end", "apply", ""),
    ]
    assert "::group::" not in job.log
    assert "class: provisioner-failed" in job.log[job.log.rindex("section_end") :]


# The README's own jobs


def blocks(repository: Path, kind: str, heading: str) -> list[str]:
    """The fenced blocks of a section."""
    text = (repository / "README.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def scripts(lines: list[str]) -> list[str]:
    """Those that are ours; installing is not tried here."""
    kept = [line for line in lines if "pip install" not in line]
    assert len(kept) == len(lines) - 1
    return kept


NETWORK = """
resource "terraform_data" "vpc" { input = "vpc-1" }
output "vpc_id" { value = terraform_data.vpc.output }
"""


def test_the_workflow_of_the_readme(github: Runner, repository: Path) -> None:
    write_package(github.workspace, NETWORK, "network")
    (workflow, _) = blocks(repository, "yaml", "CI")
    steps = yaml.safe_load(workflow)["jobs"]["network"]["steps"]

    for script in scripts([step["run"] for step in steps if "run" in step]):
        job = github.run(script)
        assert job.exit_code == 0, job.log

    assert re.search(r"^vpc_id<<(\S+)\nvpc-1\n\1$", github.output.read_text(), re.MULTILINE)
    assert re.findall(r"^### ✅ (\w+) of ", job.summary, re.MULTILINE) == ["plan", "apply"]


def test_the_job_for_gitlab_of_the_readme(gitlab: Runner, repository: Path) -> None:
    write_package(gitlab.workspace, NETWORK, "network")
    (_, job_text) = blocks(repository, "yaml", "CI")
    job = yaml.safe_load(job_text)["network"]

    ended = gitlab.run("\n".join(scripts(job["script"])))

    assert ended.exit_code == 0, ended.log
    reports = job["artifacts"]["reports"]
    assert dotenv_values(gitlab.workspace / reports["dotenv"]) == {"vpc_id": "vpc-1"}
    assert ElementTree.parse(gitlab.workspace / reports["junit"]).getroot().tag == "testsuites"
    assert all((gitlab.workspace / path).exists() for path in job["artifacts"]["paths"])
