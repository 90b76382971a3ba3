"""What has to be right: `nox` runs all of it, `nox -s tests -- tests/unit -k lock` a part."""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_external_run = True

PROJECT = nox.project.load_toml("pyproject.toml")


def group(name: str) -> tuple[str, ...]:
    return nox.project.dependency_groups(PROJECT, name)


@nox.session
def lint(session: nox.Session) -> None:
    session.install(*group("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    session.install("-e", ".", *group("types"), *group("test"))
    session.run("mypy", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """With arguments for pytest, the share of covered lines is shown but not judged."""
    session.install("-e", ".[embedded]", *group("test"))
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-n", "auto", "--dist", "worksteal", *session.posargs)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report", *(("--fail-under=0",) if session.posargs else ()))


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """What runs cost; trust the ratios, the machine is noisy."""
    session.install("-e", ".[embedded]", "tf>=1.2")
    session.run("python", "-m", "tests.bench.stream")
    session.run("python", "-m", "tests.bench.redaction")
    session.run("python", "-m", "tests.bench.engine_install")
    session.run("python", "-m", "tests.bench.plugin_storm")
    session.run("python", "-m", "tests.bench.queue")
    session.run("python", "-m", "tests.bench.outbox")
    session.run("python", "-m", "tests.bench.outbox_storm")
