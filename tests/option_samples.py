"""Every option of runs, how it may be given, and who honours it, as the contract has it."""

from typing import Any, NamedTuple

from hereya_tf.events import Operation


class Sample(NamedTuple):
    """An option: what is given after its flag, each time once; the key and value that it comes to."""

    given: tuple[str, ...]
    key: str
    value: Any
    toml: str


def _texts(key: str, *texts: str) -> Sample:
    return Sample(texts, key, texts, "[" + ", ".join(f"'{text}'" for text in texts) + "]")


def _text(key: str, text: str) -> Sample:
    return Sample((text,), key, text, f'"{text}"')


def _flag(key: str) -> Sample:
    return Sample((), key, True, "true")


def _duration(key: str, text: str, seconds: float) -> Sample:
    return Sample((text,), key, seconds, f'"{text}"')


SAMPLES: dict[str, Sample] = {
    "yes": _flag("yes"),
    "param": _texts("param", "a=1", "b:=[1]"),
    "param-file": _texts("param_file", "a.json", "b c.yaml"),
    "var-file": _texts("var_file", "a.tfvars", "b c.tfvars"),
    "env": _texts("env", "A=1", "B=x y"),
    "env-file": _texts("env_file", ".env", "more.env"),
    "request": _text("request", "job.json"),
    "workspace": _text("workspace", "prod"),
    "create-workspace": _flag("create_workspace"),
    "state": _text("state", "a.tfstate"),
    "state-bucket": _text("state_bucket", "states"),
    "state-region": _text("state_region", "eu-west-1"),
    "state-lock-table": _text("state_lock_table", "locks"),
    "id": _text("identifier", "app/prod"),
    "backend-config": _texts("backend_config", "a=b c", "file.tfbackend"),
    "lock-key": _text("lock_key", "mine"),
    "no-state-lock": _flag("no_state_lock"),
    "engine": _text("engine", "tofu"),
    "engine-version": _text("engine_version", "~> 1.9"),
    "from": _text("mirror", "mirror of engines"),
    "engine-arg": _texts("engine_arg", "init=-x", "init=-y"),
    "engine-log": _text("engine_log", "trace.log"),
    "ignore-cli-args": _flag("ignore_cli_args"),
    "timeout": _duration("timeout", "1h30m", 5400.0),
    "idle-timeout": _duration("idle_timeout", "90s", 90.0),
    "wait": Sample(("5",), "wait", 5.0, "5"),
    "no-wait": _flag("no_wait"),
    "lock-timeout": _duration("lock_timeout", "1m", 60.0),
    "grace": _duration("grace", "500ms", 0.5),
    "destroy": _flag("destroy_plan"),
    "parallelism": Sample(("3",), "parallelism", 3, "3"),
    "target": _texts("targets", "a.b", 'a.c["x y"]'),
    "exclude": _texts("excludes", "a.b", "a.c"),
    "replace": _texts("replaces", "a.b", "a.c"),
    "no-refresh": Sample((), "refresh", False, "true"),
    "reinit": _flag("reinit"),
    "upgrade": _flag("upgrade"),
    "reconfigure": _flag("reconfigure"),
    "migrate-state": _flag("migrate_state"),
    "lockfile": _text("lockfile", "readonly"),
    "max-destroy": Sample(("0",), "max_destroy", 0, "0"),
    "protect": _texts("protect", "module.db.*", "aws_db_instance.*"),
    "expect-no-changes": _flag("expect_no_changes"),
    "policy": _text("policy", "conftest test -"),
    "retries": Sample(("3",), "retries", 3, "3"),
    "retry-lock": _flag("retry_lock"),
    "retry-apply": _flag("retry_apply"),
    "no-plugin-cache": _flag("no_plugin_cache"),
    "dry-run": _flag("dry_run"),
    "record": _text("record", "result of a run.json"),
    "out": _text("out", "a.plan"),
    "plan-json": _text("plan_json", "plan.json"),
    "plan-text": _text("plan_text", "plan.txt"),
    "detailed-exitcode": _flag("detailed_exitcode"),
    "format": _text("output_format", "shell"),
    "json": _flag("json_output"),
    "engine-messages": _flag("engine_messages"),
    "show-sensitive": _flag("show_sensitive"),
    "redact": _texts("redact", "NAME", "@file"),
    "events-file": _text("events_file", "events.ndjson"),
    "result-file": _text("result_file", "result.json"),
    "report-file": _texts("report_file", "a.txt", "b.json"),
    "quiet": _flag("quiet"),
    "verbose": _flag("verbose"),
    "color": _text("color", "never"),
    "ci": _text("ci", "github"),
    "no-progress": _flag("no_progress"),
}

_COLUMNS = "provision destroy plan apply drift output init validate tf recover"
_ROWS = """
yes               x x x x x x x x x x
param             x x x x x x x x . x
param-file        x x x x x x x x . x
var-file          x x x x x x x x . x
env               x x x x x x x x x x
env-file          x x x x x x x x x x
request           x x x x x x x x . x
workspace         x x x x x x x . x x
create-workspace  x . x x . . x . x .
state             x x x x x x x . x x
state-bucket      x x x x x x x . x x
state-region      x x x x x x x . x x
state-lock-table  x x x x x x x . x x
id                x x x x x x x . x x
backend-config    x x x x x x x . x x
lock-key          x x x x x x x . x x
no-state-lock     . . x . . . . . . .
engine            x x x x x x x x x x
engine-version    x x x x x x x x x x
from              x x x x x x x x x x
engine-arg        x x x x x x x x x x
engine-log        x x x x x x x x x x
ignore-cli-args   x x x x x x x x x x
timeout           x x x x x x x x x x
idle-timeout      x x x x x x x x . x
wait              x x x x x x x . x x
no-wait           x x x x x x x . x x
lock-timeout      x x x x x . x . . x
grace             x x x x x x x x x x
destroy           . . x . . . . . . .
parallelism       x x x x x . . . . .
target            x x x . x . . . . .
exclude           x x x . x . . . . .
replace           x . x . . . . . . .
no-refresh        x x x . . . . . . .
reinit            x x x x x x . . x x
upgrade           . . . . . . x . . .
reconfigure       . . . . . . x . . .
migrate-state     . . . . . . x . . .
lockfile          . . . . . . x . . .
max-destroy       x x x x . . . . . .
protect           x x x x . . . . . .
expect-no-changes x x x x . . . . . .
policy            x x x x . . . . . .
retries           x x x x x x x x . x
retry-lock        x x x x x . x . . .
retry-apply       x x . x . . . . . .
no-plugin-cache   x x x x x x x x x x
dry-run           . . . . . . . . . x
record            . . . . . . . . . x
out               . . x . . . . . . .
plan-json         . . x . . . . . . .
plan-text         . . x . . . . . . .
detailed-exitcode . . x . . . . . . .
format            . . . . . x . . . .
json              x x x x x x x x . x
engine-messages   x x x x x . x x . x
show-sensitive    x x . x . x . . . .
redact            x x x x x x x x . x
events-file       x x x x x x x x x x
result-file       x x x x x x x x x x
report-file       x x x x x x x x x x
quiet             x x x x x x x x x x
verbose           x x x x x x x x x x
color             x x x x x x x x x x
ci                x x x x x x x x . x
no-progress       x x x x x x x . . x
"""
MATRIX: dict[tuple[str, Operation], bool] = {
    (name, Operation(operation)): mark == "x"
    for name, *marks in (row.split() for row in _ROWS.strip().split("\n"))
    for operation, mark in zip(_COLUMNS.split(), marks, strict=True)
}
# What a command cannot do without.
ARGUMENTS: dict[Operation, tuple[str, ...]] = {Operation.APPLY: ("a.plan",), Operation.TF: ("--", "version")}
