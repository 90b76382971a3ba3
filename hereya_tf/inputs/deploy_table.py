"""Reads the table `[deploy]` of a repository's `hereya-tf.toml`: which packages make it up, in which order.

Only loaded when there is one. What it says is for the jobs of an executor; a run of a package only checks it.
"""

import difflib
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from hereya_tf.errors import BadConfig
from hereya_tf.inputs.given import is_identifier
from hereya_tf.inputs.toml_file import TomlFile
from hereya_tf.inputs.toml_values import why_unusable

_KEYS = ("path", "name", "app", "parameters", "inputs")
_LONGEST_NAME = 200  # characters
_MOST_PACKAGES = 500
_NAMES = "use letters, digits, `_` and `-`, and begin with a letter or `_`"
_WRITTEN = 'write it like `packages = ["network", { path = "web", app = "till" }]` below `[deploy]`'


class OutputOf(NamedTuple):
    """An output of a package that stands earlier in the table."""

    package: str
    output: str


class DeployPackage(NamedTuple):
    """One package of a repository; its `name` is what its state is named after.

    A variable gets, from low to high: an earlier package's output of its name, what `parameters` say, what `inputs`
    name.
    """

    path: str
    name: str
    app: str | None = None
    parameters: Mapping[str, object] = {}
    inputs: Mapping[str, OutputOf] = {}


class DeployTable(NamedTuple):
    """The packages, in the order in which they are provisioned."""

    packages: tuple[DeployPackage, ...]

    def up_to_app(self, app: str) -> tuple[DeployPackage, ...]:
        """The package that is this app, after all that it may have values from; empty when none is."""
        for index, package in enumerate(self.packages):
            if package.app == app:
                return self.packages[: index + 1]
        return ()

    @property
    def apps(self) -> tuple[str, ...]:
        """The names of all apps."""
        return tuple(package.app for package in self.packages if package.app is not None)


def read_deploy_table(source: TomlFile) -> DeployTable:
    """The table `deploy` of a file that has one; raises BadConfig."""
    table = source.values["deploy"]
    if not isinstance(table, dict):
        raise BadConfig(f"{source.place('deploy')}: `deploy` is no table", _WRITTEN)
    for key in table:
        if key != "packages":
            raise BadConfig(
                f"{source.place('deploy', key)}: there is no key `{key}` in `[deploy]`", "it holds `packages`"
            )
    entries = table.get("packages")
    if not isinstance(entries, list) or not entries:
        what = "is no list of packages" if entries else "lists no `packages`"
        place = source.place("deploy", "packages") if "packages" in table else source.place("deploy")
        raise BadConfig(f"{place}: `[deploy]` {what}", _WRITTEN)
    place = source.place("deploy", "packages")
    if len(entries) > _MOST_PACKAGES:
        raise BadConfig(
            f"{place}: `[deploy]` lists {len(entries)} packages, and may list {_MOST_PACKAGES}",
            "make several repositories of it",
        )
    packages: list[DeployPackage] = []
    for number, entry in enumerate(entries, 1):
        packages.append(_Entry(f"{place}: package {number}").read(entry, packages))
    return DeployTable(tuple(packages))


class _Entry:
    """The entry of one package; `place` has its number, from 1, which is how its reader finds it."""

    def __init__(self, place: str) -> None:
        self._place = place

    def read(self, entry: object, earlier: Sequence[DeployPackage]) -> DeployPackage:
        """Raises BadConfig for what is wrong in it, or does not go with those before it."""
        members = {"path": entry} if isinstance(entry, str) else entry
        if not isinstance(members, dict):
            self._wrong("is neither a path nor a table", _WRITTEN)
        for key in members:
            if key not in _KEYS:
                near = difflib.get_close_matches(key, _KEYS, n=1)
                hint = (
                    f"did you mean `{near[0]}`?"
                    if near
                    else "it has `path`, `name`, `app`, `parameters`, `inputs`"
                )
                self._wrong(f"has an unknown key `{key}`", hint)
        path = self._path(members.get("path"))
        name = self._name("name", members.get("name", path))
        app = self._name("app", members["app"]) if "app" in members else None
        for other in earlier:
            if other.name == name:
                self._wrong(
                    f"is a second one called `{name}`", "give it another `name`: its state is kept under it"
                )
            if app is not None and other.app == app:
                self._wrong(f"is a second one with the app `{app}`", "give it another `app`")
        package = DeployPackage(path, name, app, self._parameters(members.get("parameters", {})))
        inputs = self._inputs(members.get("inputs", {}), earlier)
        if twice := sorted(package.parameters.keys() & inputs.keys()):
            self._wrong(f"has `{twice[0]}` in `parameters` and in `inputs`", "keep one of the two")
        return package._replace(inputs=inputs)

    def _path(self, path: object) -> str:
        if not isinstance(path, str) or not path or not path.isprintable():
            self._wrong("has no `path`", 'write it like `{ path = "apps/web" }`')
        if path.startswith("/") or "\\" in path or ".." in path.split("/"):
            self._wrong(
                f"has the path `{path}`, which leads out of the repository",
                "name a directory inside, relative to this file, with `/` between its parts",
            )
        return posixpath.normpath(path)

    def _name(self, key: str, name: object) -> str:
        if (
            not isinstance(name, str)
            or not name.strip()
            or not name.isprintable()
            or len(name) > _LONGEST_NAME
        ):
            self._wrong(
                f"has a `{key}` that is no name", f"a text of at most {_LONGEST_NAME} characters on one line"
            )
        return name

    def _parameters(self, parameters: object) -> Mapping[str, Any]:
        if not isinstance(parameters, dict):
            self._wrong(
                "has `parameters` that are no table", 'write it like `parameters = { size = "small" }`'
            )
        for name, value in parameters.items():
            self._check_variable(name)
            if (fault := why_unusable(value)) is not None:
                self._wrong(f"has a parameter `{name}` that {fault[0]}", fault[1])
        return parameters

    def _inputs(self, inputs: object, earlier: Sequence[DeployPackage]) -> Mapping[str, OutputOf]:
        if not isinstance(inputs, dict):
            self._wrong(
                "has `inputs` that are no table", 'write it like `inputs = { vpc = "network.vpc_id" }`'
            )
        names = {package.name for package in earlier}
        return {variable: self._output(variable, text, names) for variable, text in inputs.items()}

    def _check_variable(self, name: str) -> None:
        if not is_identifier(name):
            self._wrong(f"has a value for `{name}`, which cannot be a variable's name", _NAMES)

    def _output(self, variable: str, text: object, names: set[str]) -> OutputOf:
        self._check_variable(variable)
        # A path may hold dots, an output's name cannot.
        package, _, output = text.rpartition(".") if isinstance(text, str) else ("", "", "")
        if not package or not output:
            self._wrong(
                f"has an input `{variable}` that names no output",
                'write it like `"network.vpc_id"`: a package, a dot, and its output',
            )
        if package not in names:
            self._wrong(
                f"takes its input `{variable}` from `{package}`, which is no package that stands before it",
                f"before it are {', '.join(f'`{name}`' for name in sorted(names))}"
                if names
                else "it is the first",
            )
        return OutputOf(package, output)

    def _wrong(self, what: str, hint: str) -> NoReturn:
        raise BadConfig(f"{self._place} {what}", hint)
