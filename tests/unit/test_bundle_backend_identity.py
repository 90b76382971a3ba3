"""What says where a backend keeps its states is compared; credentials are not."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.bundle.backend_identity import place_settings, place_variables, without_credentials

EVERYTHING = {
    "AWS_ACCESS_KEY_ID": "AKIA",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_DYNAMODB_ENDPOINT": "http://d",
    "AWS_ENDPOINT_URL_S3": "http://s",
    "AWS_PROFILE": "ci",
    "AWS_S3_ENDPOINT": "http://old",
    "ALICLOUD_DEFAULT_REGION": "cn-1",
    "ARM_CLIENT_SECRET": "x",
    "ARM_METADATA_HOST": "meta",
    "ARM_SUBSCRIPTION_ID": "sub",
    "CONSUL_HTTP_ADDR": "consul:8500",
    "CONSUL_HTTP_TOKEN": "x",
    "GOOGLE_CREDENTIALS": "x",
    "GOOGLE_STORAGE_CUSTOM_ENDPOINT": "http://gcs",
    "KUBE_CONFIG_PATH": "/home/me/.kube/config",
    "KUBE_CTX": "prod",
    "KUBE_TOKEN": "x",
    "OSS_ENDPOINT": "http://oss",
    "PGHOST": "db",
    "PGPASSWORD": "x",
    "PG_CONN_STR": "postgres://me:x@db/states?sslmode=disable",
    "TENCENTCLOUD_REGION": "ap-1",
    "TENCENTCLOUD_SECRET_KEY": "x",
    "TF_CLOUD_ORGANIZATION": "org",
    "TF_HTTP_ADDRESS": "https://me:x@state/a",
    "TF_HTTP_LOCK_ADDRESS": "",
    "TF_HTTP_PASSWORD": "x",
    "TF_TOKEN_app_terraform_io": "x",
    "OCI_region": "eu-1",
}


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        ("local", {}),
        ("http", {"TF_HTTP_ADDRESS": "https://state/a"}),
        (
            "s3",
            {
                "AWS_REGION": "eu-west-1",
                "AWS_ENDPOINT_URL_S3": "http://s",
                "AWS_ENDPOINT_URL_DYNAMODB": "http://d",
            },
        ),
        ("gcs", {"GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT": "http://gcs"}),
        ("azurerm", {"ARM_METADATA_HOSTNAME": "meta", "ARM_SUBSCRIPTION_ID": "sub"}),
        ("consul", {"CONSUL_HTTP_ADDR": "consul:8500"}),
        ("kubernetes", {"KUBE_CTX": "prod"}),
        ("pg", {"PG_CONN_STR": "postgres://db/states", "PGHOST": "db"}),
        ("cos", {"TENCENTCLOUD_REGION": "ap-1"}),
        ("oss", {"ALICLOUD_REGION": "cn-1", "ALICLOUD_OSS_ENDPOINT": "http://oss"}),
        ("oci", {"OCI_region": "eu-1"}),
        ("remote", {}),
        ("cloud", {"TF_CLOUD_ORGANIZATION": "org"}),
        ("one that is not known", {}),
    ],
)
def test_variables_say_where_by_the_type_of_the_backend(backend: str, found: Mapping[str, str]) -> None:
    assert place_variables(backend, EVERYTHING) == found


def test_alternatives_are_one() -> None:
    one, other = {"AWS_REGION": "eu-west-1"}, {"AWS_DEFAULT_REGION": "eu-west-1"}

    assert place_variables("s3", one) == place_variables("s3", other)
    assert place_variables("s3", {**other, "AWS_REGION": "us-east-1"}) == {"AWS_REGION": "us-east-1"}


@pytest.mark.parametrize(
    ("backend", "config", "found"),
    [
        pytest.param(
            "s3",
            {
                "access_key": "AKIA",
                "secret_key": "x",
                "token": "x",
                "profile": "apply",
                "assume_role": {"role_arn": "arn:apply", "external_id": None},
                "bucket": "b",
                "key": "k",
                "region": None,
                "encrypt": True,
                "use_lockfile": True,
                "max_retries": 5,
                "endpoints": {"s3": "http://me:x@s", "sts": "http://sts", "dynamodb": None},
            },
            {"bucket": "b", "key": "k", "use_lockfile": "true", "endpoints.s3": "http://s"},
            id="s3",
        ),
        pytest.param(
            "pg",
            {"conn_str": "postgres://me:x@db:5432/states", "schema_name": None},
            {"conn_str": "postgres://db:5432/states"},
            id="pg",
        ),
        pytest.param(
            "local", {"path": "../a.tfstate", "workspace_dir": None}, {"path": "../a.tfstate"}, id="local"
        ),
        pytest.param(
            "cloud",
            {
                "hostname": None,
                "organization": "o",
                "token": "x",
                "workspaces": {"name": "w", "tags": ["b", "a"]},
            },
            {"organization": "o", "workspaces.name": "w", "workspaces.tags": '["b", "a"]'},
            id="cloud",
        ),
        pytest.param(
            "one that is not known",
            {"vault": "v", "access_token": "x", "nested": {"password": "x", "name": "n"}, "api_key": "x"},
            {"vault": "v", "nested.name": "n"},
            id="unknown",
        ),
    ],
)
def test_settings_say_where_and_credentials_are_left_out(
    backend: str, config: Mapping[str, object], found: Mapping[str, str]
) -> None:
    assert place_settings(backend, config) == found


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("http://host/path?a=b", "http://host/path?a=b"),
        ("https://me:secret@host:8443/path", "https://host:8443/path"),
        ("https://me:sec@ret@host/path", "https://host/path"),
        ("https://me:sec/ret@host/path", "https://host/path"),
        ("https://me@host", "https://host"),
        ("https://host/p?private_token=secret&id=1", "https://host/p?id=1"),
        ("https://host/p?sig=secret", "https://host/p"),
        ("postgres://me:secret@/states?host=/run/pg&user=me&password=secret&sslmode=require",
         "postgres:///states?host=/run/pg"),
        ("user=me password='sec ret' host=db dbname = states sslmode=require", "dbname=states host=db"),
        ("dbname=states host=db user=you password='it\\'s'", "dbname=states host=db"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_text_without_its_credentials(text: str, kept: str) -> None:
    assert without_credentials(text) == kept


@given(
    user=st.text(),
    password=st.text(),
    text=st.sampled_from(["host=db dbname=x", "http://{}:{}@host/p"]),
)
def test_no_password_makes_a_difference(user: str, password: str, text: str) -> None:
    from urllib.parse import quote

    written = text.format(quote(user, safe=""), quote(password, safe=""))

    assert without_credentials(written) == text.replace("{}:{}@", "").replace(
        "host=db dbname=x", "dbname=x host=db"
    )


@given(st.text())
def test_any_text_has_a_form_without_credentials(text: str) -> None:
    without_credentials(text)
    without_credentials("x://" + text)
