"""Identities and manifests to be varied, and what is planned from values."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hereya_tf.bundle.identity import identify
from hereya_tf.bundle.manifest import Identity, Manifest, StatePlace, VariableDigests
from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.inputs.given import Given, Source, parse_parameter
from hereya_tf.inputs.values import VariableFile, plan_values
from hereya_tf.package import read_package
from hereya_tf.workspace import GeneratedBackend, identify_workspace

SALT = b"a salt for tests"
IDENTITY = Identity(
    files={"../modules/net/main.tf": "f0", "main.tf": "f1"},
    engine=EngineName.TERRAFORM,
    version="1.11.4",
    embedded=False,
    place=StatePlace("prod", "http", variables={"TF_HTTP_ADDRESS": "e1"}),
    variables=VariableDigests(
        named={"region": "v1"},
        defaults={"size": "d1"},
        files={"prod.tfvars": "p1"},
        automatic={"terraform.tfvars": "t1"},
    ),
    providers={"registry.terraform.io/hashicorp/null": "3.2.2"},
)
MANIFEST = Manifest(
    run="20260101T000000Z-abcdef",
    created="2026-01-01T00:00:00Z",
    tool="0.1.0",
    destroys=False,
    salt=SALT,
    identity=IDENTITY,
    settings={"address": "s1"},
)


def binary(engine: EngineName = EngineName.TERRAFORM, version: str = "1.11.4") -> Binary:
    return Binary(engine, Version.parse(version), ("engine",), "/bin/engine", "on PATH")


def look(
    directory: Path,
    *parameters: str | Path,
    env: Sequence[tuple[str, str]] = (),
    defaults: Mapping[str, object] = {},
    environment: Mapping[str, str] = {},
    workspace: str | None = None,
    backend: GeneratedBackend | None = None,
    engine: Binary | None = None,
) -> Identity:
    """What is found in a package directory: texts are parameters (`NAME=TEXT`), paths are variable files."""
    engine = engine or binary()
    package = read_package(directory, tofu=engine.engine is EngineName.OPENTOFU)
    inputs = [VariableFile(item) if isinstance(item, Path) else parse_parameter(item) for item in parameters]
    given = [
        Given(name, value, isinstance(value, str), Source.FILE, "hereyarc.yaml")
        for name, value in defaults.items()
    ]
    return identify(
        package,
        identify_workspace(
            directory, wish=workspace, backend=backend, lock_key=None, environment=environment
        ),
        engine,
        plan_values(package, environment=env, inputs=inputs, defaults=given),
        environment=environment,
        salt=SALT,
    )
