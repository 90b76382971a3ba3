"""Finds the engines that tfenv, tofuenv, tenv, asdf and mise hold, and runs none of these (I/O)."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.demand import Pin
from hereya_tf.engine.pins import TOOL_VERSIONS, VERSION_FILES, parse_tool_versions, parse_version_file
from hereya_tf.reading import read_regular_file

_LARGEST = 64 * 1024  # bytes
_MOST_DOTS = 50  # in a line
_MOST_LINKS = 40  # as on Linux
_MOST_HELD = 1000  # in one directory
# With three numbers: mise's `1.9` and `latest` are links to the release that they stand for just now.
_RELEASE = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-[0-9A-Za-z.-]{1,40})?", re.ASCII)
# Its own rule, `is_mise_binary`: `mise`, `mise.exe`, `mise-2026.1.0`.
_MISE = re.compile(r"mise(?:[.-].*)?", re.DOTALL)
_TERRAFORM, _OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU

# A launcher, what it links to, what that links to; each named in its real directory.
_Trail = tuple[Path, ...]
# The first of these that there is: below `/`, `~` or a variable's directory; or below `.`, the manager's home,
# if it is there.
_Places = tuple[str, ...]


class Held(NamedTuple):
    """A binary that a version manager has installed; `version` is its directory's name, `file` is absolute."""

    version: Version
    file: Path
    manager: str


class _Said(NamedTuple):
    """What a variable or a file says of an engine's version; `text` is None when it is of no use."""

    text: str | None


class _Manager(NamedTuple):
    """A version manager.

    `home` is where it lives when a launcher belongs to it, else None. Below each of `stores` are `binaries`,
    with `{}` for the version. `defaults` choose a version where no version file does, the strongest first:
    a variable, or a file by its places.
    """

    name: str
    home: Callable[[_Trail], Path | None]
    stores: tuple[_Places, ...]
    binaries: Mapping[EngineName, tuple[str, ...]]
    defaults: Mapping[EngineName, tuple[str | _Places, ...]]
    read_variable: Callable[[str, EngineName], _Said | None]
    read_file: Callable[[str, EngineName], _Said | None]


def held_behind(launcher: Path, engine: EngineName, environment: Mapping[str, str]) -> tuple[Held, ...]:
    """The engine's binaries of the version manager that this launcher belongs to, newest first.

    None at all when it belongs to no manager. Of two directories for one version the first counts that has a
    binary. Where they are: the managers' own sources, named at `_MANAGERS`.
    """
    trail = _trail(launcher)
    found = _manager_of(trail)
    if found is None:
        return ()
    manager, home = found
    held: dict[Version, Path] = {}
    for places in manager.stores:
        store = _first_place(places, home, environment)
        for pattern in manager.binaries.get(engine, ()) if store else ():
            for version, file in islice(_binaries(f"{store}/{pattern}"), _MOST_HELD):
                if os.path.realpath(file) != str(trail[-1]):  # it would only start itself
                    held.setdefault(version, Path(file))
    return tuple(Held(version, held[version], manager.name) for version in sorted(held, reverse=True))


def preferred(launcher: Path, engine: EngineName, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The version text that the user has set in the manager, and where: a variable, or the path of a file.

    It counts where no version file says otherwise. Such as `1.9.0`, `1.9` (mise: its newest, others: 1.9.0),
    `latest`, `latest:^1.9`, `min-required`, with tenv `~> 1.9`. None when nothing is set, or not readable as such.
    """
    found = _manager_of(_trail(launcher))
    if found is None:
        return None
    manager, home = found
    for source in manager.defaults.get(engine, ()):
        if isinstance(source, str):
            where = source
            said = manager.read_variable(environment.get(source, ""), engine)
        else:
            file = _first_place(source, home, environment)
            where = str(file)
            said = manager.read_file(_read(file), engine) if file else None
        if said is not None:
            return None if said.text is None else (said.text, where)
    return None


def _trail(launcher: Path) -> _Trail:
    trail: list[Path] = []
    file = Path(os.path.abspath(launcher))  # noqa: PTH100 - resolve() would hide a launcher's own name
    try:
        for _ in range(_MOST_LINKS):
            trail.append(Path(os.path.realpath(file.parent), file.name))
            file = trail[-1].parent / trail[-1].readlink()
    except OSError:  # not a link
        pass
    except ValueError:  # a NUL in it: there is no such file
        return ()
    return tuple(trail)


def _manager_of(trail: _Trail) -> tuple[_Manager, Path] | None:
    homes = ((manager, manager.home(trail)) for manager in _MANAGERS)
    return next(((manager, home) for manager, home in homes if home is not None), None)


def _home_of_clone(mark: str) -> Callable[[_Trail], Path | None]:
    """For a clone of the manager's repository, which has `mark` in it: launchers stand in its `bin`."""

    def home(trail: _Trail) -> Path | None:
        return next((hop.parent.parent for hop in trail if _is_file(hop.parent.parent / mark)), None)

    return home


def _home_of_asdf(trail: _Trail) -> Path | None:
    shims = (hop for hop in trail if hop.parent.name == "shims" and "\n# asdf-plugin: " in _read(hop))
    return next((shim.parent.parent for shim in shims), None)


def _home_of_mise(trail: _Trail) -> Path | None:
    return next((link.parent.parent for link, to in pairwise(trail) if _MISE.fullmatch(to.name)), None)


def _home_of_tenv(trail: _Trail) -> Path | None:
    """Its launchers are programs that stand beside `tenv`; a script there is somebody else's."""
    for hop in trail[-1:]:
        if _is_file(hop.parent / "tenv") and _is_program(hop):
            return hop.parent
    return None


def _first_place(places: _Places, home: Path, environment: Mapping[str, str]) -> Path | None:
    return next((place for spec in places if (place := _place(spec, home, environment))), None)


def _place(spec: str, home: Path, environment: Mapping[str, str]) -> Path | None:
    """The absolute path that is meant; none for a variable that is empty or relative, and without a HOME."""
    root, _, rest = spec.partition("/")
    if root == ".":
        return home / rest if _is_there(home / rest) else None
    base = Path(environment.get(root[1:], "") if root.startswith("$") else root or os.sep)
    if base.parts[:1] == ("~",):
        base = Path(environment.get("HOME", ""), *base.parts[1:])
    return base / rest if base.is_absolute() else None


def _binaries(pattern: str) -> Iterator[tuple[Version, str]]:
    """The executable files that there are for a version, the newest first."""
    directory, _, rest = pattern.rpartition("/{}/")
    for name in _releases(directory):
        file = f"{directory}/{name}/{rest}"
        if _is_file(file) and os.access(file, os.X_OK):
            yield Version.parse(name), file


def _releases(directory: str) -> list[str]:
    """The names that are releases, the newest first; `1.9.0` before `v1.9.0`."""
    try:
        with os.scandir(directory) as entries:
            matches = [match for entry in entries if (match := _RELEASE.fullmatch(entry.name))]
    except (OSError, ValueError):
        return []
    matches.sort(key=lambda match: match[0])
    matches.sort(key=lambda match: [int(number) for number in match.groups()], reverse=True)
    return [match[0] for match in matches]


def _is_there(file: Path) -> bool:
    return os.path.exists(file)  # noqa: PTH110 - Path.exists() can raise


def _is_file(file: Path | str) -> bool:
    return os.path.isfile(file)  # noqa: PTH113 - Path.is_file() can raise


def _is_program(file: Path) -> bool:
    try:
        return read_regular_file(file, at_most=2) != b"#!"
    except OSError:
        return False


def _read(file: Path) -> str:
    """The text of a file; nothing when it cannot be read or is too large."""
    try:
        data = read_regular_file(file, at_most=_LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8-sig", "replace") if len(data) <= _LARGEST else ""


def _one(text: str, engine: EngineName) -> _Said | None:
    """Of a text with one version."""
    return _said(parse_version_file(text, "", engine)) if text.strip() else None


def _tools(text: str, engine: EngineName) -> _Said | None:
    """Of a `.tool-versions`."""
    return next((_said(pin) for pin in parse_tool_versions(text, "", (engine,)).found), None)


def _words(text: str, engine: EngineName) -> _Said | None:
    """Of versions with spaces between: the first that is a release."""
    words = [word.removeprefix("prefix:") for word in text.split()]
    return (_tools(f"{engine} {' '.join(words)}", engine) or _Said(None)) if words else None


def _mise_config(text: str, engine: EngineName) -> _Said | None:
    """Of mise's `config.toml`: the table `tools`, with texts, lists of them, tables that have a `version`."""
    import tomllib

    # Of a key with many dots tomllib keeps every beginning: 64 KiB become gigabytes.
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return None
    try:
        table = tomllib.loads(text).get("tools")
    except (ValueError, RecursionError):
        return None
    tools: dict[str, Any] = table if isinstance(table, dict) else {}
    given: Any = next((tools[name] for name in _MISE_TOOLS[engine] if name in tools), [])
    items = given if isinstance(given, list) else [given]
    versions = (item.get("version") if isinstance(item, dict) else item for item in items)
    return _words(" ".join(version for version in versions if isinstance(version, str)), engine)


def _said(pin: Pin) -> _Said:
    return _Said(pin.constraint.text if pin.constraint else None)


def _below(roots: _Places, rest: str) -> _Places:
    return tuple(f"{root}/{rest}" for root in roots)


def _clone(name: str, engine: EngineName, version_variable: str) -> _Manager:
    """tfenv, and tofuenv that began as a copy of it."""
    roots = (f"${name.upper()}_CONFIG_DIR", f"${name.upper()}_ROOT", ".")
    return _Manager(
        name=name,
        home=_home_of_clone(f"libexec/{name}-exec"),
        stores=(_below(roots, "versions"),),
        binaries={engine: (f"{{}}/{engine.executable}",)},
        defaults={engine: (version_variable, _OF_USER[engine], _below(roots, "version"))},
        read_variable=_one,
        read_file=_one,
    )


_OF_USER = {engine: (f"~/{name}",) for engine, name in VERSION_FILES.items()}
_TENV_ROOTS = ("$TENV_ROOT", "$TOFUENV_ROOT", "$TFENV_ROOT", "~/.tenv")
_MISE_TOOLS = {
    _TERRAFORM: ("terraform", "aqua:hashicorp/terraform"),
    _OPENTOFU: ("opentofu", "aqua:opentofu/opentofu", "github:opentofu/opentofu", "ubi:opentofu/opentofu"),
}
_MISE_STORES = ("$MISE_INSTALLS_DIR", "$MISE_DATA_DIR/installs", "./installs")
_MISE_CONFIGS = ("$MISE_GLOBAL_CONFIG_FILE", "$MISE_CONFIG_FILE", "$MISE_CONFIG_DIR/config.toml")

# Sources. tfenv: tfutils/tfenv `lib/helpers.sh` (roots), `lib/tfenv-exec.sh`, `lib/tfenv-version-file.sh`,
# `lib/tfenv-version-name.sh`; tofuenv: the same of tofuutils/tofuenv. asdf: asdf-vm/asdf
# `internal/shims/shims.go`, `internal/installs/installs.go`, `internal/resolve/resolve.go`; `bin` in a version
# is of asdf-community/asdf-hashicorp `bin/install` and virtualroot/asdf-opentofu `lib/utils.bash`. mise: jdx/mise
# `src/shims.rs`, `crates/mise-util/src/env.rs` (directories), `src/cli/args/backend_arg.rs` (their names),
# `src/toolset/builder.rs` (variables), `registry/*.toml`. tenv: tofuutils/tenv `config/config.go` (roots),
# `versionmanager/manager.go`, README "Project binaries" (order).
_MANAGERS = (
    _clone("tfenv", _TERRAFORM, "TFENV_TERRAFORM_VERSION"),
    _clone("tofuenv", _OPENTOFU, "TOFUENV_TOFU_VERSION"),
    _Manager(
        name="asdf",
        home=_home_of_asdf,
        stores=(_below(("$ASDF_DATA_DIR", "."), "installs"),),
        binaries={_TERRAFORM: ("terraform/{}/bin/terraform",), _OPENTOFU: ("opentofu/{}/bin/tofu",)},
        defaults={
            engine: (f"ASDF_{engine.upper()}_VERSION", (f"~/{TOOL_VERSIONS}",)) for engine in EngineName
        },
        read_variable=_words,
        read_file=_tools,
    ),
    _Manager(
        name="mise",
        home=_home_of_mise,
        stores=(
            (*_MISE_STORES, *_below(("$XDG_DATA_HOME", "~/.local/share"), "mise/installs")),
            (
                "$MISE_SYSTEM_INSTALLS_DIR",
                *_below(("$MISE_SYSTEM_DATA_DIR", "/usr/local/share/mise"), "installs"),
            ),
        ),
        binaries={
            engine: tuple(
                f"{re.sub('[:/]', '-', tool)}/{{}}/{directory}{engine.executable}"
                for tool in tools
                for directory in ("", "bin/")
            )
            for engine, tools in _MISE_TOOLS.items()
        },
        defaults={
            engine: (
                f"MISE_{engine.upper()}_VERSION",
                (*_MISE_CONFIGS, *_below(("$XDG_CONFIG_HOME", "~/.config"), "mise/config.toml")),
            )
            for engine in EngineName
        },
        read_variable=_words,
        read_file=_mise_config,
    ),
    _Manager(
        name="tenv",
        home=_home_of_tenv,
        stores=(_TENV_ROOTS,),
        binaries={engine: (f"{engine.title}/{{}}/{engine.executable}",) for engine in EngineName},
        defaults={
            engine: (
                f"{prefix}_VERSION",
                _OF_USER[engine],
                f"{prefix}_DEFAULT_VERSION",
                _below(_TENV_ROOTS, f"{engine.title}/version"),
            )
            for engine, prefix in ((_TERRAFORM, "TFENV_TERRAFORM"), (_OPENTOFU, "TOFUENV_TOFU"))
        },
        read_variable=_one,
        read_file=_one,
    ),
)
