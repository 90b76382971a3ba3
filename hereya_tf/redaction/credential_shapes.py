"""What credentials look like: in text, after a name, and by the name of a variable (pure).

Every shape stays within one line and within `REACH` characters; only private key blocks may be longer.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

# Characters; so much text decides about everything that starts before it.
REACH = 32 * 1024

# Between a name and its value in env, ini, HCL, XML, Go, JSON, escaped JSON and name/value pairs of JSON.
_SEPARATOR = (
    r"""["'\\]{0,8}[ \t]{0,40}(?:=?(?:>|\\u003e)|[:=]|,[ \t]{0,8}["'\\]{1,8}[Vv]alue["'\\]{1,8}[ \t]{0,8}:)"""
    r"""[ \t]{0,40}["'\\]{0,8}"""
)
_ARROW = r"""["'\\]{0,8}[ \t]{1,8}-(?:>|\\u003e)[ \t]{1,8}["'\\]{0,8}"""  # old -> new in a plan
_KEY_NAME = r"(?:[Ss]ecret|SECRET)(?:[_ -]?(?:[Aa]ccess|ACCESS))?[_ -]?(?:[Kk]ey|KEY)"
_SESSION_NAME = r"(?:[Ss]ession|SESSION|[Ss]ecurity|SECURITY)[_ -]?(?:[Tt]oken|TOKEN)"
_KEY_VALUE = r"[A-Za-z0-9/+=]{40,1024}"
_SESSION_VALUE = r"[A-Za-z0-9/+=%]{16,8192}"

PRIVATE_KEY_BEGIN = (
    r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY ----"
)
PRIVATE_KEY_END = PRIVATE_KEY_BEGIN.replace("BEGIN", "END")


class Shape(NamedTuple):
    """A credential known by its form: group 1 of `pattern` is secret; where no hint is, there is none."""

    hints: tuple[str, ...]
    pattern: str


SHAPES = (
    # User info ends at the last @ of the authority. With a raw / ? # in the password it is not a URL any
    # more, but programs print it when they refuse it; a port is told from such a password by its digits.
    Shape(
        ("://",),
        r'://((?:[^\s/?#"]{1,8192})(?=@)'
        r'|[^\s/?#@:"\[]{0,256}:(?!\d{1,5}[/?#])(?:[^\s"@:]|:(?!//)){1,1024}+(?=@))',
    ),
    # "invalid bearer token" is prose and `Bearer realm=` a challenge.
    Shape(
        ("earer", "EARER"),
        r"(?:[Bb]earer|BEARER)[ \t]{1,40}"
        r"(?!(?:[Bb]earer|BEARER|[Tt]okens?|[Aa]uth[a-z]{0,12}|[Rr]ealm=|[Ee]rror=|[Ss]cope=|[Ss]cheme"
        r"|[Cc]redentials?)(?!\.?[A-Za-z0-9_~+/=-]))([A-Za-z0-9._~+/=-]{1,16384})",
    ),
    Shape(
        ("uthorization", "UTHORIZATION"),
        r"(?:[Aa]uthorization|AUTHORIZATION)[^\w\n]{1,16}(?:[Bb]asic|BASIC|[Tt]oken|TOKEN|[Dd]igest|DIGEST)"
        r"""[ \t]{1,40}([^\s"'\\,\]}]{1,8192})""",
    ),
    Shape(
        ("gh", "glpat-"),
        r"(g(?:h[pousr]_(?:\d{1,16}_)?[A-Za-z0-9]{12,1024}[A-Za-z0-9_-]{0,1024}(?:\.[A-Za-z0-9_-]{1,2048}){0,4}"
        r"|lpat-[A-Za-z0-9_-]{8,1024}(?:\.[A-Za-z0-9_-]{1,64}){0,4}))",
    ),
    Shape(("github_pat_",), r"(github_pat_[A-Za-z0-9_]{12,1024})"),
    Shape(("AKIA", "ASIA"), r"(A[KS]IA[A-Z0-9]{16,128})"),
    Shape(("ecret", "ECRET"), f"{_KEY_NAME}{_SEPARATOR}({_KEY_VALUE}(?:{_ARROW}{_KEY_VALUE})?)"),
    Shape(("oken", "TOKEN"), f"{_SESSION_NAME}{_SEPARATOR}({_SESSION_VALUE}(?:{_ARROW}{_SESSION_VALUE})?)"),
)

# Every line of the engine is asked whether a shape may be in it, so "no" must be cheap: in 500 characters
# `in` takes 24 ns for one character (memchr) but 240 to 390 for two to five, and a regex that begins with
# one literal character lies between. All of these hold for the JSON-escaped form of a line as well.
PROBES = (
    r"g(?:h[pousr]_|lpat-|ithub_pat_)",
    r"k(?:ey(?:(?<=[eE][tT]key)|(?<=[eE][tT][_ -]key)|(?<=[sS][sS]key)|(?<=[sS][sS][_ -]key))"
    r"|en(?:(?<=[nNyY][tT]oken)|(?<=[nNyY][_ -][tT]oken)))",
)
_SCHEME_FOLLOWS = r".{1,100}?(?:asic|ASIC|oken|TOKEN|igest|DIGEST)"
GATED_PROBES = (
    ("/", r'://(?:[^\s"@:]|:(?!//))*+@'),
    (
        "K",
        r"AKIA[A-Z0-9]{16}|PRIVATE KEY|(?:[eE][tT]|[sS][sS])[_ -]?K(?:ey|EY)|[nNyY][_ -]?TOKEN",
    ),
    ("I", r"ASIA[A-Z0-9]{16}"),
    ("B", r"Bearer|BEARER"),
    ("bearer", ""),
    ("z", f"uthorization{_SCHEME_FOLLOWS}"),
    ("UTHORIZATION", f"UTHORIZATION{_SCHEME_FOLLOWS}"),
)


def is_named_secret(name: str, value: str) -> bool:
    """Whether `value` looks like the secret half of an AWS key, or its session token, and `name` says so."""
    return any(
        re.fullmatch(value_pattern, value) is not None
        and re.search(rf"(?:{name_pattern})\Z", name) is not None
        for name_pattern, value_pattern in ((_KEY_NAME, _KEY_VALUE), (_SESSION_NAME, _SESSION_VALUE))
    )


# Endings of one word of a name: `PGPASSWORD`, `authtoken`.
_SINGULAR = (
    "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "APIKEY", "ACCESSKEY", "PRIVATEKEY",
    "SECRETKEY",
)  # fmt: skip
_ENDINGS = (*_SINGULAR, *(f"{word}S" for word in _SINGULAR))
_ONLY_LAST = frozenset({"PASS", "PWD", "PAT", "DSN", "JWT"})
_PAIRS = frozenset(
    {("CONN", "STR"), ("CONN", "STRING"), ("CONNECTION", "STR"), ("CONNECTION", "STRING")}
    | {
        (kind, key)
        for kind in (
            "PRIVATE", "ACCESS", "API", "SECRET", "ENCRYPTION", "SIGNING", "MASTER", "DEPLOY", "SSH", "ACCOUNT",
            "STORAGE", "SHARED", "AUTH", "SUBSCRIPTION", "SERVICE",
        )
        for key in ("KEY", "KEYS")
    }
)  # fmt: skip
_STORES = frozenset(
    {
        "DATABASE",
        "DB",
        "POSTGRES",
        "POSTGRESQL",
        "PG",
        "MYSQL",
        "MONGO",
        "MONGODB",
        "REDIS",
        "AMQP",
        "RABBITMQ",
    }
)
# What a name ends with when it is about a credential and not one: `TOKEN_FILE`, `PASSWORD_LENGTH`.
_ABOUT = frozenset(
    {
        "PATH", "FILE", "FILENAME", "DIR", "DIRECTORY", "NAME", "COUNT", "TTL", "TYPE", "LENGTH", "LEN", "SIZE",
        "EXPIRY", "EXPIRATION", "EXPIRES", "ARN", "AGE", "TIMEOUT", "VERSION", "ENABLED", "REGION", "ISSUER",
        "AUDIENCE", "FORMAT", "POLICY", "HELPER", "PROVIDER", "SOCK", "ENDPOINT", "HOST", "PORT", "ALGORITHM",
        "REQUIRED", "ROTATION", "COMMAND",
    }
)  # fmt: skip
_AMOUNTS = frozenset({"MAX", "MIN", "NUM"})


def looks_like_credential_name(name: str) -> bool:
    """Whether the name of a variable or parameter, in any spelling, says that its value is a credential."""
    words = tuple(word.upper() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))
    if words[:2] == ("TF", "TOKEN"):
        return True
    if not words or words[-1] in _ABOUT or (words[-1] == "TOKENS" and _AMOUNTS.intersection(words)):
        return False
    if words[-1] in ("URL", "URI"):
        return words[-2:-1] != () and words[-2] in _STORES
    return (
        any(word.endswith(_ENDINGS) for word in words)
        or (len(words) > 1 and words[-1] in _ONLY_LAST)
        or not _PAIRS.isdisjoint(pairwise(words))
    )


def credential_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values, of 8 characters or more, of variables whose names say credential; paths are left out."""
    return tuple(
        dict.fromkeys(
            value
            for name, value in environment.items()
            if len(value) >= 8 and not value.startswith("/") and looks_like_credential_name(name)
        )
    )
