"""Reads a package's `hereya-tf.toml`: what a package may say about its runs, and nothing else (I/O)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.errors import BadConfig
from hereya_tf.guards import NO_GUARDS, Guards, Limit, Pattern
from hereya_tf.inputs.hereyarc import Hereyarc, Rule
from hereya_tf.inputs.toml_file import TomlFile, read_toml
from hereya_tf.inputs.values import VariableFile

if TYPE_CHECKING:
    from hereya_tf.inputs.deploy_table import DeployTable

FILE = "hereya-tf.toml"
KEYS = ("parameters", "var-files", "engine-version", "max-destroy", "protect", "deploy")
_HOLDS = "it holds `[parameters]`, `var-files`, `engine-version`, `max-destroy`, `protect` and `[deploy]`"
# What the caller of a run decides: whoever can change a package must not.
_CALLERS = (
    "yes env env-file request"
    " workspace create-workspace state state-bucket state-region state-lock-table id backend-config lock-key"
    " engine from engine-arg engine-log ignore-cli-args"
    " timeout idle-timeout wait no-wait lock-timeout grace"
    " parallelism target exclude replace refresh no-refresh reinit"
    " expect-no-changes policy retries retry-lock retry-apply no-plugin-cache"
    " json engine-messages show-sensitive redact events-file result-file report-file"
    " quiet verbose color ci no-progress"
    " out plan-json plan-text destroy no-state-lock detailed-exitcode format dry-run record"
    " upgrade reconfigure migrate-state lockfile"
    " history-age history-count history-bytes"
)
CALLERS = frozenset(_CALLERS.split())


class ProjectFile(NamedTuple):
    """What the file says; a package without one says nothing."""

    parameters: Mapping[str, object] = {}
    var_files: tuple[VariableFile, ...] = ()
    engine_version: str | None = None
    engine_version_line: int = 0
    # Beside those of the caller, never instead of them.
    guards: Guards = NO_GUARDS
    # For jobs of an executor; a run of the package itself has no use for it.
    deploy: "DeployTable | None" = None
    # As it was read, for whoever tells where a value is from.
    source: TomlFile | None = None

    def over(self, hereyarc: Hereyarc) -> Hereyarc:
        """The rules for parameters with this file's defaults in place of those that `hereyarc.yaml` has."""
        rules = dict(hereyarc.rules)
        for name, value in self.parameters.items():
            rules[name] = Rule(name in rules and rules[name].mandatory, value, FILE)
        return hereyarc._replace(rules=rules)


def read_project_file(directory: Path) -> ProjectFile:
    """Read the file of a package, if it has one; raises BadConfig."""
    # A link to nothing counts: to go on without what it was to say would be to guess.
    if not os.path.lexists(directory / FILE):
        return ProjectFile()
    source = read_toml(directory / FILE, FILE)
    known = {key.replace("_", "-"): key for key in source.values}
    for key in source.values:
        _check_key(source, key, known)
    version = source.values.get(known.get("engine-version", ""))
    return ProjectFile(
        parameters=_parameters(source),
        var_files=_var_files(source, known.get("var-files"), directory),
        engine_version=_engine_version(source, known["engine-version"]) if version is not None else None,
        engine_version_line=source.line(known["engine-version"]) if version is not None else 0,
        guards=Guards(
            max_destroy=_max_destroy(source, known.get("max-destroy")),
            protect=_protect(source, known.get("protect")),
        ),
        deploy=_deploy(source),
        source=source,
    )


def _check_key(source: TomlFile, key: str, known: Mapping[str, str]) -> None:
    name = key.replace("_", "-")
    if known[name] != key:
        raise BadConfig(
            f"{source.place(known[name])}: `{key}` and `{known[name]}` are the same", "keep one of the two"
        )
    if name in KEYS:
        return
    if name == "guards":
        raise BadConfig(
            f"{source.place(key)}: there is no table `guards`",
            "`max-destroy` and `protect` stand at the top of the file, in no table",
        )
    if name == "retry":
        raise BadConfig(
            f"{source.place(key)}: a package may not say what is tried again: whoever runs it decides that",
            "put it into your own `config.toml`",
        )
    if name in CALLERS:
        raise BadConfig(
            f"{source.place(key)}: a package may not set `{key}`: whoever runs it decides that, not who writes it",
            f"give it as `--{name}`, in the environment, or in your own `config.toml`",
        )
    import difflib

    near = difflib.get_close_matches(name, KEYS, n=1)
    raise BadConfig(
        f"{source.place(key)}: there is no key `{key}`", f"did you mean `{near[0]}`?" if near else _HOLDS
    )


def _parameters(source: TomlFile) -> Mapping[str, object]:
    parameters = source.values.get("parameters", {})
    if not isinstance(parameters, dict):
        raise BadConfig(
            f"{source.place('parameters')}: `parameters` is no table",
            "a default is a line `NAME = VALUE` below `[parameters]`",
        )
    from hereya_tf.inputs.toml_values import why_unusable

    for name, value in parameters.items():
        if (fault := why_unusable(value)) is not None:
            raise BadConfig(
                f"{source.place('parameters', name)}: the default of `{name}` {fault[0]}", fault[1]
            )
    return parameters


def _var_files(source: TomlFile, key: str | None, directory: Path) -> tuple[VariableFile, ...]:
    if key is None:
        return ()
    names = source.values[key]
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise BadConfig(
            f"{source.place(key)}: `{key}` is no list of files", f'write it like `{key} = ["a.tfvars"]`'
        )
    for name in names:
        if Path(name).is_absolute():
            raise BadConfig(
                f"{source.place(key)}: `{name}` is absolute", "files are named relative to the package"
            )
        if not _is_file(directory / name):
            raise BadConfig(
                f"{source.place(key)}: `{name}` is not a file", "it is looked for from the package"
            )
    return tuple(VariableFile(directory / name) for name in names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _engine_version(source: TomlFile, key: str) -> str:
    version = source.values[key]
    if not isinstance(version, str) or not version.strip():
        raise BadConfig(f"{source.place(key)}: `{key}` is no text", f'write it like `{key} = "~> 1.9"`')
    return version


def _max_destroy(source: TomlFile, key: str | None) -> Limit | None:
    if key is None:
        return None
    most = source.values[key]
    if type(most) is not int or most < 0:
        raise BadConfig(
            f"{source.place(key)}: `{key}` is not a whole number from 0 on", f"write it like `{key} = 0`"
        )
    return Limit(most, f"{source.shown}:{source.line(key)}")


def _protect(source: TomlFile, key: str | None) -> tuple[Pattern, ...]:
    if key is None:
        return ()
    patterns = source.values[key]
    if not isinstance(patterns, list) or not all(isinstance(each, str) and each.strip() for each in patterns):
        raise BadConfig(
            f"{source.place(key)}: `{key}` is no list of patterns", f'write it like `{key} = ["module.db"]`'
        )
    from hereya_tf.guards.addresses import why_hopeless

    for each in patterns:
        if (why := why_hopeless(each.strip())) is not None:
            raise BadConfig(f"{source.place(key)}: {why}", f"write it like `{key} = ['module.db[\"main\"]']`")
    place = f"{source.shown}:{source.line(key)}"
    return tuple(Pattern(each.strip(), place) for each in patterns)


def _deploy(source: TomlFile) -> "DeployTable | None":
    if "deploy" not in source.values:
        return None
    # Here, because hardly any run has one.
    from hereya_tf.inputs.deploy_table import read_deploy_table

    return read_deploy_table(source)
