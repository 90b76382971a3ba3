"""Where a package's own backend keeps its states: the settings and variables that say so, no credentials (pure).

By the backends' sources in Terraform (`internal/backend/remote-state`, `internal/cloud`) and OpenTofu.
Settings that say who is asking, or how often, may differ: a plan is often made with fewer rights than it is
applied with.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hereya_tf.redaction.credential_shapes import looks_like_credential_name


class _Places(NamedTuple):
    """The settings that say where, and the variables; of alternatives, the first that is set counts."""

    settings: tuple[str, ...]
    variables: tuple[tuple[str, ...], ...] = ()


_PLACES: Mapping[str, _Places] = {
    "local": _Places(("path", "workspace_dir")),
    "http": _Places(
        ("address", "update_method", "lock_address", "lock_method", "unlock_address", "unlock_method"),
        (
            ("TF_HTTP_ADDRESS",),
            ("TF_HTTP_UPDATE_METHOD",),
            ("TF_HTTP_LOCK_ADDRESS",),
            ("TF_HTTP_LOCK_METHOD",),
            ("TF_HTTP_UNLOCK_ADDRESS",),
            ("TF_HTTP_UNLOCK_METHOD",),
        ),
    ),
    "s3": _Places(
        (
            *("bucket", "key", "region", "workspace_key_prefix", "dynamodb_table", "use_lockfile"),
            *("endpoint", "dynamodb_endpoint", "endpoints.s3", "endpoints.dynamodb"),
        ),
        (
            ("AWS_REGION", "AWS_DEFAULT_REGION"),
            ("AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"),
            ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT"),
            ("AWS_ENDPOINT_URL",),
        ),
    ),
    "gcs": _Places(
        ("bucket", "prefix", "storage_custom_endpoint", "universe_domain"),
        (
            ("GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"),
            ("STORAGE_EMULATOR_HOST",),
        ),
    ),
    "azurerm": _Places(
        (
            *("storage_account_name", "container_name", "key", "environment", "metadata_host"),
            *("subscription_id", "resource_group_name"),
        ),
        (
            ("ARM_ENVIRONMENT",),
            ("ARM_METADATA_HOSTNAME", "ARM_METADATA_HOST"),
            ("ARM_SUBSCRIPTION_ID",),
        ),
    ),
    "consul": _Places(
        ("path", "address", "scheme", "datacenter"),
        (("CONSUL_HTTP_ADDR",), ("CONSUL_HTTP_SSL",), ("CONSUL_NAMESPACE",), ("CONSUL_PARTITION",)),
    ),
    # Paths of a kubeconfig are left out: they depend on the home directory.
    "kubernetes": _Places(
        (
            *("secret_suffix", "namespace", "host", "config_context", "config_context_cluster"),
            "in_cluster_config",
        ),
        (
            ("KUBE_NAMESPACE",),
            ("KUBE_HOST",),
            ("KUBE_CTX",),
            ("KUBE_CTX_CLUSTER",),
            ("KUBE_IN_CLUSTER_CONFIG",),
        ),
    ),
    "pg": _Places(
        ("conn_str", "schema_name", "table_name"),
        (
            ("PG_CONN_STR",),
            ("PG_SCHEMA_NAME",),
            ("PG_TABLE_NAME",),
            ("PGHOST",),
            ("PGHOSTADDR",),
            ("PGPORT",),
            ("PGDATABASE",),
            ("PGSERVICE",),
        ),
    ),
    "cos": _Places(
        ("region", "bucket", "prefix", "key", "endpoint", "domain"),
        (("TENCENTCLOUD_REGION",), ("TENCENTCLOUD_ENDPOINT",), ("TENCENTCLOUD_DOMAIN",)),
    ),
    "oss": _Places(
        ("region", "bucket", "prefix", "key", "endpoint", "tablestore_endpoint", "tablestore_table"),
        (
            ("ALICLOUD_REGION", "ALICLOUD_DEFAULT_REGION"),
            ("ALICLOUD_OSS_ENDPOINT", "OSS_ENDPOINT"),
            ("ALICLOUD_TABLESTORE_ENDPOINT",),
        ),
    ),
    "oci": _Places(
        ("bucket", "namespace", "key", "region", "workspace_key_prefix"),
        (("OCI_region", "region"), ("OCI_key",), ("OCI_workspace_key_prefix",)),
    ),
    "remote": _Places(("hostname", "organization", "workspaces")),
    "cloud": _Places(
        ("hostname", "organization", "workspaces"),
        (("TF_CLOUD_HOSTNAME",), ("TF_CLOUD_ORGANIZATION",), ("TF_CLOUD_PROJECT",)),
    ),
}

# libpq's `key=value` form of a connection: what says where, in quotes or not.
_CONNECTION_WORD = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)")
_CONNECTION_PLACES = ("host", "hostaddr", "port", "dbname", "service", "options")


def place_variables(backend: str, environment: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that say where a backend of this type keeps its states; empty ones count as not set."""
    found = {}
    for alternatives in _PLACES.get(backend, _Places(())).variables:
        name = next((name for name in alternatives if environment.get(name)), None)
        if name is not None:
            # Alternatives say the same: by the first one's name, a change from one to the other is none.
            found[alternatives[0]] = without_credentials(environment[name])
    return found


def place_settings(backend: str, config: Mapping[str, Any]) -> Mapping[str, str]:
    """The settings that say so, of those that init saved; of an unknown backend, all but credentials."""
    places = _PLACES.get(backend)
    found = {}
    for name, value in _flat(config):
        if places is None:
            counts = not any(looks_like_credential_name(part) for part in name.split("."))
        else:
            counts = name in places.settings or name.partition(".")[0] in places.settings
        if counts:
            found[name] = without_credentials(value)
    return found


def without_credentials(text: str) -> str:
    """A text without the user info of a URL, its parameters that are credentials, and libpq's."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        words = _CONNECTION_WORD.findall(text)
        places = [f"{name}={value}" for name, value in words if name in _CONNECTION_PLACES]
        return " ".join(sorted(places)) if places else text
    address, question_mark, query = rest.partition("?")
    authority, slash, path = address.partition("/")
    if "@" in path and "@" not in authority:
        # A raw slash in a password: what follows the last `@` is the host.
        authority, slash, path = address.rpartition("@")[2].partition("/")
    host = authority.rpartition("@")[2]
    kept = "&".join(pair for pair in query.split("&") if not _is_credential(pair.partition("=")[0]))
    return f"{scheme}://{host}{slash}{path}{question_mark if kept else ''}{kept}"


def _is_credential(parameter: str) -> bool:
    return (
        parameter in ("user", "sig") or parameter.startswith("ssl") or looks_like_credential_name(parameter)
    )


def _flat(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts of all settings that are not null; members of objects as `endpoints.s3`."""
    for name, value in config.items():
        match value:
            case None:
                continue
            case str():
                yield name, value
            case dict():
                yield from ((f"{name}.{inner}", text) for inner, text in _flat(value))
            case _:
                yield name, json.dumps(value, sort_keys=True)
