"""Values whose names say that they are credentials: `password = "…"`, `TOKEN=…`, `"client_secret": "…"` (pure).

A name counts where it ends: `password_policy` and `token_url` are names of something else. What is no value
stays: references, calls, paths, ARNs, and the words that stand in place of a value.
"""

from hereya_tf.redaction.shape import Shape

_KINDS = (
    *("api", "access", "private", "secret", "account", "shared", "storage", "auth", "encryption", "signing"),
    *("master", "subscription"),
)
_KEY = "|".join(f"(?<=(?i:{kind}).)|(?<=(?i:{kind})[_ .-].)" for kind in _KINDS)
# One letter of each name, the rarest, so that a text is gone through fast; what stands before it looks back.
_PHRASE = (
    r"(?:(?<=[wW])(?:(?<=(?i:pass).)(?i:(?:or)?d)|(?<=[_-][pP].)[dD])"
    r"|(?<=[hH])(?<=(?i:passp).)(?i:rase)"
    r"|(?<=[pP])(?<=[_-].)(?i:ass))"
)
_TOKEN = rf"(?:(?<=[cC])(?<=(?i:se).)(?i:ret)|(?<=[kK])(?:(?<=(?i:to).)(?i:en)|(?:{_KEY})(?i:ey)))"
_LETTER = "[wWhHpPcCkK]"
_NUMBER = r"\d{0,4}"

# Values that are none; in quotes or not.
_WORD = (
    r"(?i:null|true|false|none|nil|undefined|unset|empty|yes|no|required|optional|string|number|bool|boolean|object"
    r"|any|sensitive|computed|unknown|password|secret|token|hidden|masked)(?![\w./+=@!#$%^&*~-])"
)
_REFERENCE = (
    r"(?:var|local|data|module|each|self|path|count|terraform|ephemeral)\.[a-z_]"
    r"|[a-z0-9]{1,64}_[a-z0-9_]{1,64}(?:\[[^\]\n]{0,64}\])?\.[a-z_]|[a-z_]{1,64}\("
)
_PLACE = r"arn:|projects/|[a-z]{2,8}://|(?:~|\.{1,2}|/[a-z0-9_.-]{1,64})/|alias/"
# The last are how our own hints write them.
_STAND_IN = r"[<({%]|\$[{(A-Za-z_]|\*{3}|\[|x{4}|\.{3}|=?(?:VALUE|TEXT|JSON|FILE)(?!\w)"
_NO_VALUE = rf"(?!{_WORD}|{_REFERENCE}|{_PLACE}|{_STAND_IN})"
# In quotes a reference is a text, unless it is an interpolation and nothing else.
_NO_TEXT = (
    rf"(?!{_WORD}|{_PLACE}|[$%]{{0,2}}\{{[^}}\"\n]{{0,256}}\}}[\"'\\]|[$%]\w{{1,64}}[\"'\\]"
    r"|[\s<(,;)}\]]|\*{3}|\{\{|x{4})"
)

_IS = (
    r"""["'\\]{0,8}[ \t]{0,40}(?:=(?:>|\\u003e)|[:=]|,[ \t]{0,8}["'\\]{1,8}[Vv]alue["'\\]{1,8}[ \t]{0,8}:)"""
    r"[ \t]{0,40}"
)
_BECOMES = r"""["'\\]{0,8}[ \t]{1,8}-(?:>|\\u003e)[ \t]{1,8}"""


def _quoted(opening: str, character: str) -> str:
    text = f"(?:{character}){{4,2048}}"
    return f"{opening}{_NO_TEXT}({text}(?:{_BECOMES}{opening}{text})?)"


_QUOTED = "|".join(
    (
        _quoted('"', r'[^"\\\n]|\\[^\n]'),
        # Inside another string, where a quote has backslashes before it
        _quoted(r'\\{1,7}"', r'[^"\\\n]|\\{1,3}[^"\\\n]|\\\\\\"'),
        _quoted(r"\\{0,7}'", r"[^'\\\n]|\\[^\n]|''"),
    )
)
# Not quotes, white space, or what ends a value in some list: then a name follows, or nothing.
_BARE = (
    r"""(?:[^\s"'\\;&,)\]}<>`]|[;&,](?![\w .%-]{0,40}=)(?![\s"'\\]|\Z)|[)\]}](?![\s"'\\,;&)\]}]|\Z)"""
    r"""|\\\\|\\(?![nrtu"'\\]))"""
)
_IS_BARE = r"""["'\\]{0,4}[ \t]{0,40}[:=][ \t]{1,40}"""
_VALUE = r"[A-Za-z0-9_.!@#$%^&*+=~?/:|-]"
_ENDS = r"""(?=["'\\,;)}\]]{0,4}[ \t]{0,8}(?:[\r\n#]|\\[nr]|\Z))"""
# A word of prose has no digits and signs in it.
_MIXED = rf"(?={_VALUE}{{0,255}}[A-Za-z])(?={_VALUE}{{0,255}}[0-9!@#$%^&*+=~?|])"
_RANDOM = (
    rf"(?:(?={_VALUE}{{0,255}}[a-z])(?={_VALUE}{{0,255}}[A-Z])(?={_VALUE}{{0,255}}\d){_VALUE}{{16,512}}"
    r"|[0-9a-f]{32,128})"
)
_AS_OPTION = (
    r"(?:(?<=-(?i:password))|(?<=-(?i:passwd))|(?<=-(?i:passphrase))|(?<=-(?i:secret))|(?<=-(?i:token))|(?<=(?i:key)))"
    r"""["'\\]{0,4},?[ \t]{1,8}["'\\]{0,4}(?!-)"""
)
_ALWAYS = "|".join(
    (
        f"{_NUMBER}{_IS}(?:{_QUOTED})",
        f"{_NUMBER}=(?![=~]){_NO_VALUE}({_BARE}{{4,1024}})",
        f"{_AS_OPTION}{_NO_VALUE}{_MIXED}({_VALUE}{{6,256}})",
        rf"{_NUMBER}(?:>|\\u003e)(?!{_WORD}|{_PLACE})([^<>\s\\]{{4,1024}})(?:<|\\u003c)/",
    )
)
_AFTER_PHRASE = "|".join(
    (
        f"{_NUMBER}{_IS_BARE}{_NO_VALUE}{_MIXED}({_VALUE}{{6,256}}){_ENDS}",
        # Maps and structures of Go
        rf"""{_NUMBER}:{_NO_VALUE}{_MIXED}([^\s"'\\,:;)\]}}<>]{{6,256}})(?=[\s\]}},)"'\\]|\Z)""",
    )
)
_AFTER_TOKEN = f"{_NUMBER}{_IS_BARE}{_NO_VALUE}({_RANDOM}){_ENDS}"

_BASE64 = "[A-Za-z0-9+/_-]"
_HINTS = ("w", "W", "hrase", "HRASE", "ass", "ASS", "cret", "CRET", "ken", "KEN", "ey", "EY")

NAMED_SHAPES = (
    Shape(_HINTS, f"{_LETTER}(?:{_PHRASE}|{_TOKEN})(?:{_ALWAYS})"),
    Shape(
        _HINTS,
        f"{_LETTER}(?:{_PHRASE}(?:{_AFTER_PHRASE})|{_TOKEN}{_AFTER_TOKEN})",
        is_closed=True,
    ),
    # The two halves of registry credentials
    Shape(
        ("auth",),
        r"""auth(?<=["'].{4})["'\\]{1,8}[ \t]{0,8}:[ \t]{0,8}["'\\]{1,8}"""
        rf"(?={_BASE64}{{0,512}}[A-Z])(?={_BASE64}{{0,512}}[a-z])(?={_BASE64}{{0,512}}[0-9=+])"
        rf"({_BASE64}{{8,4096}}={{0,2}})",
    ),
    # Go's MySQL driver
    Shape(("@tcp(", "@unix("), r":((?:[^\s\"'\\@]|@(?!tcp\(|unix\()){1,512})@(?:tcp|unix)\("),
)
