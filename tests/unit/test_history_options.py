"""How much history is kept may be said to every command in the same words, and once and for all."""

import math
from pathlib import Path

import click
import pytest

from hereya_tf.cli.operations import provision
from hereya_tf.cli.option_table import history_limits
from hereya_tf.cli.runs_prune import prune
from hereya_tf.errors import BadConfig
from hereya_tf.runs.retention import Limits
from tests.command_line import CommandLine

DEFAULTS = Limits(7_776_000.0, 1000, 1_000_000_000)
COMMANDS = pytest.mark.parametrize("command", [provision, prune], ids=["a-run", "prune"])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "config"
    directory.mkdir()
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(directory))
    return directory / "config.toml"


def limits(command: click.Command, *arguments: str) -> Limits:
    return history_limits(command.make_context("command", list(arguments)).params)


@COMMANDS
def test_what_is_kept_when_nobody_says_anything(command: click.Command) -> None:
    assert limits(command) == DEFAULTS


@COMMANDS
def test_options_win_over_variables_and_these_over_the_file(
    command: click.Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("history-age = '7d'\nhistory_count = 7\nhistory-bytes = '7KB'\njson = true\n")
    assert limits(command) == Limits(604_800.0, 7, 7000)

    monkeypatch.setenv("HEREYA_TF_HISTORY_COUNT", "8")
    monkeypatch.setenv("HEREYA_TF_HISTORY_BYTES", "8GiB")
    assert limits(command) == Limits(604_800.0, 8, 8 << 30)

    assert limits(command, "--history-bytes", "none") == Limits(604_800.0, 8, math.inf)


@COMMANDS
def test_none_is_no_limit(command: click.Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("history-count = 'none'\n")
    monkeypatch.setenv("HEREYA_TF_HISTORY_AGE", " None ")

    assert limits(command, "--history-bytes=none") == Limits(math.inf, math.inf, math.inf)


@COMMANDS
@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--history-age=0", "`0` is nothing at all; `none` is no limit"),
        ("--history-age=soon", "`soon` is not a duration such as `90s`, `5m` or `1h30m`"),
        ("--history-count=0", "`0` is not a whole number from 1 on"),
        ("--history-count=1.5", "`1.5` is not a whole number from 1 on"),
        ("--history-bytes=0MB", "`0MB` is nothing at all; `none` is no limit"),
        ("--history-bytes=much", "`much` is not a size such as `500MB`, `1GB` or `1.5GiB`"),
    ],
)
def test_what_is_no_limit_is_refused(command: click.Command, argument: str, sentence: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        limits(command, argument)

    assert caught.value.message == sentence


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            "history-age = true",
            "`history-age` must be a duration",
            '`history-age = "5m"`, or whole seconds: `history-age = 300`',
        ),
        (
            "history-bytes = 1.5",
            "`history-bytes` must be a size",
            '`history-bytes = "500MB"`, or whole bytes: `history-bytes = 500000000`',
        ),
        (
            "history-count = [1]",
            "`history-count` must be a whole number or a text",
            '`history-count = 200`, or without a limit: `history-count = "none"`',
        ),
        (
            "history-bytes = 0",
            "`history-bytes`: `0` is nothing at all; `none` is no limit",
            "`hereya-tf config show` shows all values",
        ),
        ("history-byte = 1", "there is no option `history-byte`", "did you mean `history-bytes`?"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(file: Path, text: str, sentence: str, hint: str) -> None:
    file.write_text(text)

    with pytest.raises(BadConfig) as caught:
        limits(prune)

    assert (str(caught.value), caught.value.hints) == (f"`{file}`, line 1: {sentence}", (hint,))


def test_other_options_of_the_file_are_not_for_prune(file: Path) -> None:
    file.write_text("json = true\n")

    assert prune.make_context("prune", []).params["json_output"] is False


def test_they_are_shown_where_all_is_shown(cli: CommandLine, file: Path) -> None:
    file.write_text("history-bytes = 500000000\n")

    shown = cli("config", "show", env={"HEREYA_TF_HISTORY_COUNT": "none"})

    lines = [line.split() for line in shown.stdout.splitlines() if line.startswith("history-")]
    assert (shown.exit_code, lines) == (
        0,
        [
            ["history-age", "90d", "default"],
            ["history-count", "none", "HEREYA_TF_HISTORY_COUNT"],
            ["history-bytes", "500MB", f"{file}:1"],
        ],
    )


def test_a_misspelt_variable_is_told(cli: CommandLine, tmp_path: Path) -> None:
    from hereya_tf.cli.settings import misspelt_variables

    assert misspelt_variables({"HEREYA_TF_HISTORY_BYTE": "1"}) == (
        "`HEREYA_TF_HISTORY_BYTE` is no variable of an option; did you mean `HEREYA_TF_HISTORY_BYTES`?",
    )


def test_a_package_may_not_say_what_is_kept_of_all(tmp_path: Path) -> None:
    from hereya_tf.inputs.project_file import read_project_file

    (tmp_path / "hereya-tf.toml").write_text("history-count = 1\n")

    with pytest.raises(BadConfig, match="history-count"):
        read_project_file(tmp_path)
