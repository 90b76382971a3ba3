import json
from urllib.parse import quote

import pytest

from hereya_tf.redaction import MASK, Redactor
from hereya_tf.redaction.credential_shapes import credential_values, looks_like_credential_name

pytestmark = pytest.mark.behaviour("F7")

# Put together here, so that scanners of repositories do not take them for real ones.
GITHUB_TAIL = "16C7e42F292c6912E7710c838347Ae178B4a"
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "IQoJb3JpZ2luX2VjEA" + "Aa/b+c=" * 20
GLPAT = "glpat" + "-"
KEY_BEGIN, KEY_END = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY = f"{KEY_BEGIN}\nMIIEpAIBAAKCAQEA\nabc==\n{KEY_END}"


def go_json(value: object) -> str:
    """What Go's encoding/json writes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("https://user:pass@host/x", "https://[redacted]@host/x", id="url"),
        pytest.param(
            "git::https://x-token@github.com/a/b", "git::https://[redacted]@github.com/a/b", id="token"
        ),
        pytest.param("postgres://u:p@ss@db:5432/x", "postgres://[redacted]@db:5432/x", id="at-in-password"),
        pytest.param("postgres://u:a/b?c#d@db/x", "postgres://[redacted]@db/x", id="slash-in-password"),
        pytest.param("http://a:b/http://u:p@h", "http://a:b/http://[redacted]@h", id="url-in-url"),
        pytest.param("redis://:p/w@h", "redis://[redacted]@h", id="no-user"),
        pytest.param(r"http://CORP\me:pw@proxy:80", "http://[redacted]@proxy:80", id="backslash"),
        pytest.param(
            '{"a":"https://u:p@h","b":"c@d"}', '{"a":"https://[redacted]@h","b":"c@d"}', id="in-json"
        ),
        pytest.param("Authorization: Bearer abc.def-1", "Authorization: Bearer [redacted]", id="bearer"),
        pytest.param("authorization: bearer x", "authorization: bearer [redacted]", id="bearer-lower"),
        pytest.param("BEARER Bearer eyJh.eyJz.sig==", "BEARER Bearer [redacted]", id="bearer-twice"),
        pytest.param("Bearer token1", "Bearer [redacted]", id="bearer-begins-like-a-word"),
        pytest.param("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]", id="basic"),
        pytest.param(
            "map[Authorization:[Basic dXNlcg==]]", "map[Authorization:[Basic [redacted]]]", id="basic-go"
        ),
        pytest.param(
            '"AUTHORIZATION": "token abc"', '"AUTHORIZATION": "token [redacted]"', id="token-scheme"
        ),
        *(
            pytest.param(f"x={kind}_{GITHUB_TAIL}.", "x=[redacted].", id=kind)
            for kind in ("ghp", "gho", "ghs", "ghu", "ghr")
        ),
        pytest.param("ghs_" + "123456_eyJhbGciOiJIUzI1.eyJpc3M.c2ln-_", MASK, id="ghs-with-jwt"),
        pytest.param("github_pat_" + "11ABCDEFG0_" + GITHUB_TAIL, MASK, id="github-fine-grained"),
        pytest.param(f"//oauth2:{GLPAT}Xy_-12345678901234567 y", "//oauth2:[redacted] y", id="glpat"),
        pytest.param(f"{GLPAT}Xy12345678901234567890.01.0w1a", MASK, id="glpat-routable"),
        pytest.param(
            f"key {AWS_ID}, {AWS_ID.replace('AK', 'AS')}", "key [redacted], [redacted]", id="aws-ids"
        ),
        pytest.param(AWS_ID.replace("AK", "AS"), MASK, id="aws-temporary-id"),
        pytest.param(f"AWS_SECRET_ACCESS_KEY={AWS_SECRET}", f"AWS_SECRET_ACCESS_KEY={MASK}", id="aws-env"),
        pytest.param(
            f"aws_secret_access_key = {AWS_SECRET}\n", f"aws_secret_access_key = {MASK}\n", id="aws-ini"
        ),
        pytest.param(f'  secret_key   = "{AWS_SECRET}"', f'  secret_key   = "{MASK}"', id="aws-hcl"),
        pytest.param(f'"SecretAccessKey": "{AWS_SECRET}"', f'"SecretAccessKey": "{MASK}"', id="aws-json"),
        pytest.param(
            rf"{{\"secretKey\":\"{AWS_SECRET}\"}}", rf"{{\"secretKey\":\"{MASK}\"}}", id="aws-escaped"
        ),
        pytest.param(f"Secret Access Key: {AWS_SECRET}", f"Secret Access Key: {MASK}", id="aws-prose"),
        pytest.param(f"<SecretAccessKey>{AWS_SECRET}</", f"<SecretAccessKey>{MASK}</", id="aws-xml"),
        pytest.param(
            f'"name":"AWS_SECRET_ACCESS_KEY","value":"{AWS_SECRET}"',
            f'"name":"AWS_SECRET_ACCESS_KEY","value":"{MASK}"',
            id="aws-name-and-value",
        ),
        pytest.param(
            f'~ secret_key = "{AWS_SECRET}" -> "{AWS_SECRET}"', f'~ secret_key = "{MASK}"', id="aws-diff"
        ),
        pytest.param(f"aws_session_token={SESSION_TOKEN}", f"aws_session_token={MASK}", id="session-token"),
        pytest.param(
            f"X-Amz-Security-Token={quote(SESSION_TOKEN)}&", f"X-Amz-Security-Token={MASK}&", id="query"
        ),
        pytest.param(f"a\n{KEY}\nb", "a\n[redacted]\nb", id="private-key"),
        pytest.param(json.dumps({"k": KEY}), '{"k": "[redacted]"}', id="private-key-escaped"),
        pytest.param(f"a {KEY_BEGIN}\nMIIE\nmore", "a [redacted]", id="private-key-unterminated"),
        pytest.param(f"{KEY}+{KEY}", "[redacted]+[redacted]", id="two-private-keys"),
        pytest.param(KEY.replace("RSA ", ""), MASK, id="pkcs8"),
        pytest.param(KEY.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), MASK, id="pgp"),
        pytest.param(
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nx\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
            MASK,
            id="ssh2",
        ),
    ],
)
def test_a_credential_is_known_by_its_shape(text: str, shown: str) -> None:
    redactor = Redactor()

    assert redactor.text(text) == shown
    assert redactor.touches(text)
    assert all(redactor.touches(encode({"a": text})) for encode in (json.dumps, go_json))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "write to someone@example.com or <mailto:someone@example.com>",
        "git@github.com:org/repo.git",
        "https://example.com/a@b and https://example.com?x=a@b",
        "http://localhost:8080/x@y http://[::1]:8080/a:b@c",
        "https://registry.terraform.io:443/@scope",
        "https://host contact a:b@c",
        "https://@host",
        'WWW-Authenticate: Bearer realm="x", invalid bearer token, Bearer authentication.',
        "forbearer's, Bearer",
        "Authorization: denied",
        "the highs_and_lows of gh_tokens, ghp_short",
        "AKIA, ASIA and MALAYSIA",
        f"secret_keys {AWS_SECRET}",
        "secret_key = var.secret_key",
        'session_token = (sensitive value), SessionToken: ""',
        KEY.replace("PRIVATE", "PUBLIC"),
        KEY_END,
        "true false null none",
        f"{MASK}{MASK} https://{MASK}@host Bearer {MASK}",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *(
            "TOKEN",
            "GITHUB_TOKEN",
            "TF_TOKEN_app_terraform_io",
            "TF_TOKEN_my_file",
            "HEREYA_TOKEN",
            "authtoken",
        ),
        *("SECRET", "ARM_CLIENT_SECRET", "PASSWORD", "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "SSH_PASSPHRASE"),
        *(
            "PRIVATE_KEY",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "API_KEY",
            "OPENAI_APIKEY",
            "ARM_ACCESS_KEY",
        ),
        *("GOOGLE_CREDENTIALS", "PG_CONN_STR", "DATABASE_URL", "MONGODB_URI", "SENTRY_DSN", "GITLAB_PAT"),
        *("adminPassword", "dbAPIKey", "connectionString", "db-password", "db.password1", "OAUTH2_TOKEN"),
    ],
)
def test_a_name_says_that_its_value_is_a_credential(name: str) -> None:
    assert looks_like_credential_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "123",
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "MONKEY",
            "PASSENGER",
            "BYPASS",
            "SECRETARY",
        ),
        *(
            "TOKENIZER_PATH",
            "TOKENIZERS_PARALLELISM",
            "MAX_TOKENS",
            "SSH_AUTH_SOCK",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        ),
        *("AWS_SHARED_CREDENTIALS_FILE", "TOKEN_URL", "URL", "SECRET_NAME", "passwordLength", "PUBLIC_KEY"),
        *("AWS_REGION", "ARM_CLIENT_ID", "KMS_KEY_ID", "CONN_STRATEGY"),
    ],
)
def test_a_name_is_not_that_of_a_credential(name: str) -> None:
    assert not looks_like_credential_name(name)


def test_long_values_of_credential_names_are_taken_from_an_environment() -> None:
    environment = {
        "HOME": "/home/someone-else",
        "GITHUB_TOKEN": "0123456789",
        "OTHER_TOKEN": "0123456789",
        "AWS_ACCESS_KEY_ID": AWS_ID,
        "SHORT_TOKEN": "1234567",
        "GOOGLE_CREDENTIALS": "/home/someone/key.json",
        "USE_TOKEN": "true",
    }

    assert credential_values(environment) == ("0123456789", AWS_ID)
