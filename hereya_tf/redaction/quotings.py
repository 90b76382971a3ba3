"""How languages and tools write a text inside quotes, markup or a command (pure)."""

import re
from collections.abc import Iterator

# What no JSON encoder escapes (some escape / and ' too).
PLAIN_RUN = r"[ !#-%(-.0-;=?-\[\]-~]+"
# Nothing in it is written differently anywhere.
_PLAIN_EVERYWHERE = r"[A-Za-z0-9_.:@=,-]*"
# Go's encoding/json writes these as \u escapes, like control characters.
_GO_ESCAPED = "<>&\u2028\u2029"
_SHELL_SPECIAL = r"([^A-Za-z0-9_@%+=:,./\n-])"


def json_escapes(text: str) -> set[str]:
    """`text` as it stands inside a JSON string, written by Python or Go; empty when no form differs."""
    if re.fullmatch(PLAIN_RUN, text):
        return set()
    import json

    raw = json.dumps(text, ensure_ascii=False)[1:-1]
    go = raw.translate({ord(character): f"\\u{ord(character):04x}" for character in _GO_ESCAPED})
    # Before Go 1.22 \b and \f had no short form; a backslash of the text itself is always one of two.
    old_go = re.sub(r"\\(?:([bf])|.)", _long_form, go)
    return {raw, json.dumps(text)[1:-1], go, old_go} - {text}


def _long_form(escape: re.Match[str]) -> str:
    return {"b": "\\u0008", "f": "\\u000c"}.get(escape[1], escape[0])


def quotings(text: str) -> set[str]:
    """`text` in every quoting that is looked for; empty when no form differs."""
    if re.fullmatch(_PLAIN_EVERYWHERE, text):
        return set()
    forms = json_escapes(text)
    forms.update(_other_json(text), _source_code(text), _shell(text), _markup(text))
    return forms - {text}


def _other_json(text: str) -> Iterator[str]:
    import json

    escaped = json.dumps(text)[1:-1]
    yield escaped.replace("/", "\\/")  # PHP
    # .NET, and with it Azure: more than it need, in capitals, and a quote by its number
    dotnet = re.sub(r"\\u[0-9a-f]{4}", lambda escape: f"\\u{escape[0][2:].upper()}", escaped)
    yield re.sub(r'\\"|[&\'+<>`]', lambda found: f"\\u{ord(found[0][-1]):04X}", dotnet)


def _source_code(text: str) -> Iterator[str]:
    import json

    yield _go_quoted(text)
    # HCL: the engine's own files, and the lines of them that a diagnostic shows
    yield json.dumps(text, ensure_ascii=False)[1:-1].replace("${", "$${").replace("%{", "%%{")
    yield text.replace("${", "$${").replace("%{", "%%{")  # a heredoc
    yield repr(text)[1:-1]
    yield text.replace("'", "''")  # YAML, SQL, PowerShell
    yield text.replace('"', '""')  # CSV, .NET


def _go_quoted(text: str) -> str:
    """As Go's %q: how the engine shows the value of an expression, and a string in a plan."""
    short = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    short |= {'"': '\\"', "\\": "\\\\"}

    def written(character: str) -> str:
        if character in short:
            return short[character]
        if character.isprintable():
            return character
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return "".join(map(written, text))


def _shell(text: str) -> Iterator[str]:
    """What `set -x`, `export -p`, `printf %q` and libraries that quote for a shell write."""
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")
    yield re.sub(_SHELL_SPECIAL, r"\\\1", text)
    yield re.sub(r'(["$`\\])', r"\\\1", text)
    yield re.sub(r"(['\\])", r"\\\1", text).replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _markup(text: str) -> Iterator[str]:
    """HTML and XML, as the libraries of several languages escape."""
    least = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for quote, apostrophe in (('"', "'"), ("&quot;", "'"), ("&#34;", "&#39;"), ("&quot;", "&#x27;")):
        yield least.replace('"', quote).replace("'", apostrophe)
    yield least.replace('"', "&quot;").replace("'", "&apos;")
    yield least.replace('"', "&quot;").replace("'", "&#39;")
