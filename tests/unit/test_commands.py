"""What is run: the arguments of every engine command, and the environment it gets."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.durations import parse_duration
from hereya_tf.engine import commands
from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions, Step
from hereya_tf.errors import CliArgsSet

FILES = (Path("/runs/1/values-0.tfvars.json"), Path("/home/me/prod.tfvars"))
EVERYTHING = EngineOptions(
    lock_timeout=90,
    parallelism=3,
    targets=("a.b", 'a.c["x y"]'),
    excludes=("d.e",),
    replaces=("f.g",),
    refresh=False,
    extra={step: (f"-extra-{step}", "-x") for step in commands.TAKES_ARGUMENTS},
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="=\0"), min_size=1)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
ENVIRONMENTS = st.dictionaries(
    NAMES
    | st.sampled_from(
        (
            *commands.MANAGED,
            *commands.STRIPPED,
            *("TF_LOG", "TF_LOG_CORE", "TF_CLI_ARGS", "TF_CLI_ARGS_apply", "TF_WORKSPACE", "TF_DATA_DIR"),
            *("HEREYA_TOKEN", "HEREYA_TF_YES", "GIT_SSH", "GIT_SSH_COMMAND", "PATH", "TF_VAR_a"),
        )
    ),
    TEXTS,
)


def managed(
    environment: dict[str, str],
    *,
    additions: dict[str, str] | None = None,
    workspace: str | None = None,
    data_directory: str | None = None,
    log_file: Path | None = None,
) -> dict[str, str]:
    return commands.managed_environment(
        environment,
        additions=additions or {},
        workspace=workspace,
        data_directory=data_directory,
        log_file=log_file,
    )


@pytest.mark.behaviour("T1")
def test_init_asks_nothing() -> None:
    assert commands.init_arguments(EngineOptions(), json=True) == (
        "init",
        "-json",
        "-input=false",
        "-no-color",
    )


@pytest.mark.behaviour("T1")
def test_init_of_an_engine_without_json_is_the_same_without_it() -> None:
    assert commands.init_arguments(EngineOptions(), json=False) == ("init", "-input=false", "-no-color")


def test_init_takes_backend_files_in_their_order_variables_and_what_the_user_adds() -> None:
    assert commands.init_arguments(
        EVERYTHING,
        InitOptions(reconfigure=True),
        json=True,
        backend_files=("/b", "/a"),
        variable_files=FILES,
    ) == (
        "init",
        "-json",
        "-input=false",
        "-no-color",
        "-reconfigure",
        "-backend-config=/b",
        "-backend-config=/a",
        "-var-file=/runs/1/values-0.tfvars.json",
        "-var-file=/home/me/prod.tfvars",
        "-extra-init",
        "-x",
    )


@pytest.mark.behaviour("T10")
def test_init_that_migrates_nothing_takes_no_lock_that_it_would_not_wait_for() -> None:
    assert commands.init_arguments(EngineOptions(), InitOptions(migrate_nothing=True), json=False) == (
        "init",
        "-input=false",
        "-no-color",
        "-migrate-state",
        "-lock=false",
    )


@pytest.mark.parametrize(
    ("locks", "migrates_unasked", "arguments"),
    [
        pytest.param(True, False, ("-migrate-state", "-lock=false"), id="as all do now"),
        pytest.param(False, False, ("-migrate-state",), id="without locks"),
        pytest.param(False, True, (), id="unasked"),
    ],
)
def test_init_is_asked_to_migrate_in_words_that_it_knows(
    locks: bool, migrates_unasked: bool, arguments: tuple[str, ...]
) -> None:
    found = commands.init_arguments(
        EngineOptions(),
        InitOptions(migrate_nothing=True),
        json=False,
        locks=locks,
        migrates_unasked=migrates_unasked,
    )

    assert found == ("init", "-input=false", "-no-color", *arguments)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(Step.APPLY, marks=pytest.mark.behaviour("T2"), id="apply"),
        pytest.param(Step.DESTROY, marks=pytest.mark.behaviour("T3"), id="destroy"),
    ],
)
def test_a_change_is_one_approved_step_without_questions(step: Step) -> None:
    assert commands.apply_arguments(EngineOptions(), step) == (
        step,
        "-json",
        "-auto-approve",
        "-input=false",
        "-lock-timeout=5m",
        "-no-color",
    )


@pytest.mark.parametrize("step", [Step.APPLY, Step.DESTROY])
def test_a_change_takes_every_choice_of_the_users(step: Step) -> None:
    assert commands.apply_arguments(EVERYTHING, step, variable_files=FILES) == (
        step,
        "-json",
        "-auto-approve",
        "-input=false",
        "-lock-timeout=1m30s",
        "-no-color",
        "-parallelism=3",
        "-refresh=false",
        "-target=a.b",
        '-target=a.c["x y"]',
        "-exclude=d.e",
        "-replace=f.g",
        "-var-file=/runs/1/values-0.tfvars.json",
        "-var-file=/home/me/prod.tfvars",
        f"-extra-{step}",
        "-x",
    )


@pytest.mark.behaviour("T1")
def test_init_copies_a_state_without_a_question_and_without_json() -> None:
    assert commands.init_arguments(
        EngineOptions(), InitOptions(upgrade=True, migrate_state=True), json=False
    ) == (
        "init",
        "-input=false",
        "-no-color",
        "-upgrade",
        "-migrate-state",
        "-force-copy",
        "-lock-timeout=5m",
    )


def test_init_can_leave_backend_and_lock_file_alone() -> None:
    assert commands.init_arguments(
        EngineOptions(), InitOptions(readonly_lock_file=True), json=True, backend=False
    ) == ("init", "-json", "-input=false", "-no-color", "-backend=false", "-lockfile=readonly")


@pytest.mark.parametrize(
    ("wish", "more", "last"),
    [
        pytest.param(PlanOptions(refresh_only=True), ("-refresh-only",), (), id="drift"),
        pytest.param(PlanOptions(detailed_exitcode=True), ("-detailed-exitcode",), (), id="exit-code"),
        pytest.param(PlanOptions(state_lock=False), (), ("-lock=false",), id="no-lock"),
    ],
)
def test_a_plan_is_of_the_kind_that_is_wanted(
    wish: PlanOptions, more: tuple[str, ...], last: tuple[str, ...]
) -> None:
    assert commands.plan_arguments(EngineOptions(), wish, out=Path("p")) == (
        "plan",
        "-json",
        *more,
        "-input=false",
        "-lock-timeout=5m",
        "-no-color",
        *last,
        "-out=p",
    )


def test_a_saved_plan_is_shown_for_people_and_for_programs() -> None:
    assert commands.show_arguments(Path("p"), json=False) == ("show", "-no-color", "p")
    assert commands.show_arguments(Path("p"), json=True) == ("show", "-json", "-no-color", "p")


def test_validate_prints_a_document() -> None:
    assert commands.validate_arguments(variable_files=FILES[:1]) == (
        "validate",
        "-json",
        "-no-color",
        "-var-file=/runs/1/values-0.tfvars.json",
    )


@pytest.mark.parametrize(("destroy", "more"), [(False, ()), (True, ("-destroy",))])
def test_a_plan_goes_into_a_file(destroy: bool, more: tuple[str, ...]) -> None:
    assert commands.plan_arguments(
        EngineOptions(), PlanOptions(destroy=destroy), out=Path("/run/plan.bin")
    ) == (
        "plan",
        "-json",
        *more,
        "-input=false",
        "-lock-timeout=5m",
        "-no-color",
        "-out=/run/plan.bin",
    )


def test_a_plan_takes_every_choice_and_the_variables() -> None:
    arguments = commands.plan_arguments(
        EVERYTHING, PlanOptions(), out=Path("/run/plan.bin"), variable_files=FILES[:1]
    )

    assert arguments[6:] == (
        "-parallelism=3",
        "-refresh=false",
        "-target=a.b",
        '-target=a.c["x y"]',
        "-exclude=d.e",
        "-replace=f.g",
        "-var-file=/runs/1/values-0.tfvars.json",
        "-extra-plan",
        "-x",
    )


@pytest.mark.parametrize("step", [Step.APPLY, Step.DESTROY])
def test_a_saved_plan_is_applied_without_the_choices_that_are_in_it(step: Step) -> None:
    assert commands.apply_plan_arguments(EVERYTHING, step, plan=Path("/run/plan.bin")) == (
        "apply",
        "-json",
        "-input=false",
        "-lock-timeout=1m30s",
        "-no-color",
        "-parallelism=3",
        f"-extra-{step}",
        "-x",
        "/run/plan.bin",
    )


def test_queries() -> None:
    assert commands.output_arguments() == ("output", "-json", "-no-color")
    assert commands.workspace_list_arguments() == ("workspace", "list", "-no-color")
    assert commands.state_pull_arguments() == ("state", "pull", "-no-color")


def test_queries_take_the_values_that_a_backend_may_need() -> None:
    files = {"variable_files": (Path("/v"),)}

    assert commands.output_arguments(**files) == ("output", "-json", "-no-color", "-var-file=/v")
    assert commands.workspace_list_arguments(**files) == ("workspace", "list", "-no-color", "-var-file=/v")
    assert commands.state_pull_arguments(**files) == ("state", "pull", "-no-color", "-var-file=/v")
    assert commands.show_arguments(Path("p"), json=False, **files) == (
        "show",
        "-no-color",
        "-var-file=/v",
        "p",
    )


@pytest.mark.behaviour("T2")
@given(st.floats(min_value=0, max_value=1e6))
def test_any_lock_timeout_is_said_as_the_engine_reads_it(seconds: float) -> None:
    (said,) = (
        argument
        for argument in commands.apply_arguments(EngineOptions(lock_timeout=seconds), Step.APPLY)
        if argument.startswith("-lock-timeout=")
    )

    assert parse_duration(said.removeprefix("-lock-timeout=")) == pytest.approx(seconds, abs=0.0005)


@given(
    st.builds(
        EngineOptions,
        targets=st.lists(TEXTS).map(tuple),
        replaces=st.lists(TEXTS).map(tuple),
        excludes=st.lists(TEXTS).map(tuple),
        parallelism=st.none() | st.integers(1, 99),
        lock_timeout=st.floats(min_value=0, max_value=1e6),
        extra=st.just({}),
    )
)
def test_whatever_is_chosen_no_engine_command_can_ask(options: EngineOptions) -> None:
    for arguments in (
        commands.init_arguments(options, json=True),
        commands.apply_arguments(options, Step.APPLY),
        commands.apply_arguments(options, Step.DESTROY),
        commands.plan_arguments(options, PlanOptions(), out=Path("p")),
        commands.apply_plan_arguments(options, Step.APPLY, plan=Path("p")),
    ):
        assert arguments[1] == "-json", "a bad flag before it is reported as text"
        assert "-input=false" in arguments
        assert all(argument.startswith("-") for argument in arguments[1:-1])


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("TF_CLI_ARGS", "apply"),
        ("TF_CLI_ARGS_apply", "apply"),
        ("TF_CLI_ARGS_init", "init"),
        ("TF_CLI_ARGS_destroy", "destroy"),
        # There is no --engine-arg for these.
        ("TF_CLI_ARGS_output", "apply"),
        ("TF_CLI_ARGS_workspace_list", "apply"),
    ],
)
def test_arguments_from_the_environment_are_refused(name: str, step: str) -> None:
    with pytest.raises(CliArgsSet) as caught:
        commands.refuse_cli_args({"PATH": "/bin", name: "-destroy"}, ignore=False)

    assert (str(caught.value), caught.value.hints) == (
        f"`{name}` is set, and would slip arguments into the engine's commands",
        (
            f"use `--engine-arg {step}=ARG` for each argument you need, then unset `{name}`",
            "or pass `--ignore-cli-args` to run without them",
        ),
    )


@pytest.mark.parametrize(
    ("environment", "ignore"),
    [({"TF_CLI_ARGS": "-destroy"}, True), ({"TF_CLI_ARGS": ""}, False), ({"TF_CLI_CONFIG_FILE": "x"}, False)],
    ids=["ignored", "empty", "another variable"],
)
def test_arguments_that_cannot_reach_the_engine_are_not_refused(
    environment: dict[str, str], ignore: bool
) -> None:
    commands.refuse_cli_args(environment, ignore=ignore)


def test_the_environment_is_managed() -> None:
    environment = {
        "PATH": "/bin",
        "TF_VAR_a": "1",
        "TF_WORKSPACE": "theirs",
        "TF_DATA_DIR": "/data",
        "TF_INPUT": "1",
        "TF_LOG": "TRACE",
        "TF_LOG_PROVIDER": "DEBUG",
        "TF_LOG_PATH": "/log",
        "TF_CLI_ARGS_plan": "-destroy",
        "TF_REATTACH_PROVIDERS": "{}",
        "COMP_LINE": "terraform ",
        "COMP_POINT": "3",
        "HEREYA_TOKEN": "secret",
        "HEREYA_TF_YES": "1",
    }

    assert managed(environment, additions={"AWS_PROFILE": "prod", "PATH": "/opt/bin"}) == {
        "PATH": "/opt/bin",
        "TF_VAR_a": "1",
        "TF_WORKSPACE": "theirs",
        "TF_DATA_DIR": "/data",
        "AWS_PROFILE": "prod",
        "TF_IN_AUTOMATION": "1",
        "TF_INPUT": "0",
        "CHECKPOINT_DISABLE": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    }


def test_workspace_and_data_directory_are_set_only_when_they_are_given() -> None:
    assert "TF_WORKSPACE" not in managed({})
    assert "TF_DATA_DIR" not in managed({})
    made = managed({"TF_WORKSPACE": "a", "TF_DATA_DIR": "b"}, workspace="default", data_directory=".tf/x")
    assert (made["TF_WORKSPACE"], made["TF_DATA_DIR"]) == ("default", ".tf/x")


def test_a_log_is_written_only_where_it_was_asked_for() -> None:
    made = managed({"TF_LOG": "JSON", "TF_LOG_PATH": "/theirs"}, log_file=Path("/mine"))

    assert {name: made[name] for name in made if name.startswith("TF_LOG")} == {
        "TF_LOG": "TRACE",
        "TF_LOG_PATH": "/mine",
    }


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({}, "ssh -o BatchMode=yes"),
        ({"GIT_SSH": "/opt/my ssh"}, "'/opt/my ssh' -o BatchMode=yes"),
        ({"GIT_SSH": "plink", "GIT_SSH_COMMAND": "ssh -i key"}, "ssh -i key -o BatchMode=yes"),
        ({"GIT_SSH_COMMAND": ""}, "ssh -o BatchMode=yes"),
    ],
)
def test_ssh_asks_for_nothing_and_stays_the_users(environment: dict[str, str], command: str) -> None:
    assert managed(environment)["GIT_SSH_COMMAND"] == command
    assert shlex.split(command)[-2:] == ["-o", "BatchMode=yes"]


@given(environment=ENVIRONMENTS, additions=ENVIRONMENTS)
def test_no_environment_can_ask_log_reattach_or_slip_arguments_in(
    environment: dict[str, str], additions: dict[str, str]
) -> None:
    made = managed(environment, additions=additions)

    assert {name: made[name] for name in commands.MANAGED} == commands.MANAGED
    assert not {name for name in made if name.startswith(("TF_LOG", "TF_CLI_ARGS"))}
    assert not set(made) & set(commands.STRIPPED)
    assert {name for name in made if name.startswith("HEREYA_")} <= set(additions)
    passed = {
        name: text
        for name, text in {**environment, **additions}.items()
        if not name.startswith(("TF_", "HEREYA_", "GIT_", "COMP_")) and name not in commands.MANAGED
    }
    assert {name: made.get(name) for name in passed} == passed
