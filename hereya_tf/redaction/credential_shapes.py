"""What credentials look like: in text, after a name, and by the name of a variable (pure).

Every shape stays within one line and within `REACH` characters; only private key blocks may be longer.
"""

import functools
import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from hereya_tf.redaction.named_values import NAMED_SHAPES
from hereya_tf.redaction.shape import REACH, Shape
from hereya_tf.redaction.token_shapes import TOKEN_SHAPES

__all__ = ("REACH", "SHAPES", "Shape")

# Between a name and its value in env, ini, HCL, XML, Go, JSON, escaped JSON and name/value pairs of JSON.
_SEPARATOR = (
    r"""["'\\]{0,8}[ \t]{0,40}(?:=?(?:>|\\u003e)|[:=]|,[ \t]{0,8}["'\\]{1,8}[Vv]alue["'\\]{1,8}[ \t]{0,8}:)"""
    r"""[ \t]{0,40}["'\\]{0,8}"""
)
_ARROW = r"""["'\\]{0,8}[ \t]{1,8}-(?:>|\\u003e)[ \t]{1,8}["'\\]{0,8}"""  # old -> new in a plan
_KEY_NAME = r"[Ss](?:ecret|ECRET)(?:[_ -]?(?:[Aa]ccess|ACCESS))?[_ -]?(?:[Kk]ey|KEY)"
_SESSION_NAME = r"[Ss](?:ession|ESSION|ecurity|ECURITY)[_ -]?(?:[Tt]oken|TOKEN)"
_KEY_VALUE = r"[A-Za-z0-9/+=]{40,1024}"
_SESSION_VALUE = r"[A-Za-z0-9/+=%]{16,8192}"

PRIVATE_KEY_BEGIN = (
    r"-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY ----"
)
PRIVATE_KEY_END = PRIVATE_KEY_BEGIN.replace("BEGIN", "END")


SHAPES = (
    # User info ends at the last @ of the authority. With a raw / ? # in the password it is not a URL any
    # more, but programs print it when they refuse it; a port is told from such a password by its digits.
    Shape(
        ("://",),
        r'://([^\s/?#@:"\[]{0,256}:(?!\d{1,5}[/?#])(?:[^\s":]|:(?!//)){1,1024}(?=@[\w.-]{1,253}:\d{1,5}(?!\d))'
        r'|[^\s/?#"]{1,8192}(?=@)'
        r'|[^\s/?#@:"\[]{0,256}:(?!\d{1,5}[/?#])(?:[^\s"@:]|:(?!//)){1,1024}+(?:@[^\s"@/?#:]{0,256}(?=@)){0,16}(?=@))',
    ),
    # "invalid bearer token" is prose and `Bearer realm=` a challenge.
    Shape(
        ("earer", "EARER"),
        r"[Bb](?:earer|EARER)[ \t]{1,40}"
        r"(?!(?:[Bb]earer|BEARER|[Tt]okens?|[Aa]uth[a-z]{0,12}|[Rr]ealm=|[Ee]rror=|[Ss]cope=|[Ss]cheme"
        r"|[Cc]redentials?)(?!\.?[A-Za-z0-9_~+/=-]))([A-Za-z0-9._~+/=-]{1,16384})",
    ),
    Shape(
        ("uthorization", "UTHORIZATION"),
        r"[Aa](?:uthorization|UTHORIZATION)[^\w\n]{1,16}(?:[Bb]asic|BASIC|[Tt]oken|TOKEN|[Dd]igest|DIGEST)"
        r"""[ \t]{1,40}([^\s"'\\,\]}]{1,8192})""",
    ),
    Shape(("ecret", "ECRET"), f"{_KEY_NAME}{_SEPARATOR}({_KEY_VALUE}(?:{_ARROW}{_KEY_VALUE})?)"),
    Shape(("oken", "TOKEN"), f"{_SESSION_NAME}{_SEPARATOR}({_SESSION_VALUE}(?:{_ARROW}{_SESSION_VALUE})?)"),
    *TOKEN_SHAPES,
    *NAMED_SHAPES,
)

# Every line of the engine is asked whether a shape may be in it, so "no" must be cheap: in 200 characters
# `in` takes 30 ns for one character (memchr) and 100 for more, a regex that begins with one literal character
# 150 and 20 more wherever that is. All of these hold for the JSON-escaped form of a line as well, where a tab
# is \t and a > may be \u003e.
_IS = r"""\d{0,4}["'\\ \tt]{0,56}(?:[:=>,]|u003e)"""
_AS_OPTION = r"""["'\\]{0,4},?[ \tt\\]"""
# The ends of what a key is called that is a credential: api, access, secret, private, account, …
_KINDS = "(?i:pi|ss|te|et|nt|ed|ge|th|on|ng|er)"
PROBES = (
    r"g(?:h[pousr]_|l[a-z]{2,5}[-_]|lc_|ithub_pat_|=(?<=[?&6;]sig=)|-Signature=)",
    rf"k(?:ey(?:(?<={_KINDS}key)|(?<={_KINDS}[_ .-]key))(?:{_IS}|{_AS_OPTION})"
    rf"|en(?<=[tT]oken)(?:{_IS}|(?<=-.oken){_AS_OPTION})|-(?<=sk-)|\.com/(?<=slack\.com/)|r_(?<=dckr_))",
    # Passphrases and registry credentials by name
    rf"h(?:rase(?:{_IS}|{_AS_OPTION})|(?<=auth)[\"'\\]{{1,8}}[ \tt\\]{{0,8}}:)",
    r"\.(?=[A-Za-z0-9_-]{20})(?:(?<=hv[sbr]\.)|(?<=\.atlasv1\.)|(?<=ya29\.)|(?<=s\.)[A-Za-z0-9]{24})",
    rf"_(?:[A-Za-z0-9]{{18}}|(?i:pass){_IS}|(?<=whsec_)|(?<=sb_secret_)|(?<=pscale_))",
)
_SCHEME_FOLLOWS = r".{1,100}?(?:asic|ASIC|oken|TOKEN|igest|DIGEST)"
GATED_PROBES = (
    ("/", r'://(?:[^\s"@:]|:(?!//))*+@'),
    (
        "K",
        rf"K(?:IA(?<=AKIA)[A-Z0-9]{{16}}|EY(?:(?<=PRIVATE KEY)|-(?<=SECRET-KEY-))"
        rf"|(?:ey|EY)(?:(?<={_KINDS}(?i:key))|(?<={_KINDS}[_ .-](?i:key)))(?:{_IS}|{_AS_OPTION})"
        rf"|EN(?<=TOKEN)(?:{_IS}|{_AS_OPTION}))",
    ),
    ("I", r"ASIA[A-Z0-9]{16}"),
    ("B", r"Bearer|BEARER"),
    ("b", "bearer"),
    ("z", f"z(?:ation(?<=uthorization){_SCHEME_FOLLOWS}|a(?<=AIza)|-Signature=)"),
    ("U", f"UTHORIZATION{_SCHEME_FOLLOWS}"),
    ("w", rf"w(?:or)?[dD](?:{_IS}|{_AS_OPTION})"),
    ("W", rf"W(?:or|OR)?[dD](?:{_IS}|{_AS_OPTION})"),
    ("cret", rf"cret(?:{_IS}|(?<=-.ecret){_AS_OPTION})"),
    ("R", rf"R(?:ET(?<=SECRET)|ASE(?<=PHRASE))(?:{_IS}|{_AS_OPTION})"),
    ("x", r"x(?:ox[abcdeoprs]|app)-"),
    ("G", r"GOCSPX-|SG\.[A-Za-z0-9_-]{16}"),
    ("~", r"\dQ~"),
    ("J", "J(?:(?<=eyJ)|Ti(?<=CRUdJTi))"),
    ("E", "pypi-AgE"),
    ("(", r"@(?:tcp|unix)\("),
)


@functools.cache
def searching(pattern: str) -> Callable[[str], object]:
    """The search for a pattern, compiled when it is needed first; `re` itself takes thrice as long to find it."""
    return re.compile(pattern).search


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


def may_be_credential(value: object) -> bool:
    """Whether a value is a credential if its name says so: a text of 8 characters or more that is no path."""
    return isinstance(value, str) and len(value) >= 8 and not value.startswith("/")


def credential_values(values: Mapping[str, str]) -> tuple[str, ...]:
    """The values, of 8 characters or more, whose names say credential; paths are left out."""
    return tuple(
        dict.fromkeys(
            value
            for name, value in values.items()
            if may_be_credential(value) and looks_like_credential_name(name)
        )
    )
