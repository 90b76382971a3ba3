"""The shell of pages that stand alone: no network, nothing runs or styles but what we wrote ourselves (pure)."""

import base64
import hashlib
import html
from collections.abc import Iterable

from hereya_tf.words import visible

STYLE = """
:root{color-scheme:light dark;--paper:#fff;--wash:#f6f6f4;--ink:#1c1d20;--soft:#5b5f68;--rule:#e2e2de;
--red:#b0241b;--red-wash:#fcf0ee;--amber:#855400;--amber-wash:#fbf3e2;--green:#1d6a3c;--green-wash:#edf6f0;
--blue:#1f5bb5;--bar:#8ea6c8;--mark:#fbe3a2;--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media screen and (prefers-color-scheme:dark){:root{--paper:#16171a;--wash:#1f2125;--ink:#e9e9eb;--soft:#a6abb5;
--rule:#34373d;--red:#ff968c;--red-wash:#33201f;--amber:#ecbb5c;--amber-wash:#2e2718;--green:#78d19a;
--green-wash:#1b2a21;--blue:#8fb8ff;--bar:#5c7396;--mark:#5f4a12}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
h1,h2,h3{line-height:1.25;text-wrap:pretty}
h1{font-size:clamp(1.45rem,1.1rem + 1.6vw,2.1rem);font-weight:650;letter-spacing:-.015em;margin:.35rem 0 .9rem}
h2{font-size:1.1rem;font-weight:650;margin:0 0 .8rem}
h3{font-size:1rem;font-weight:650;margin:0}
p{margin:0 0 .6rem}
code,pre,kbd{font-family:var(--mono);font-size:.875em;tab-size:4}
pre{margin:0;white-space:pre-wrap}
pre code{font-size:inherit}
a{color:var(--blue)}
:focus-visible{outline:2px solid var(--blue);outline-offset:2px;border-radius:4px}
.soft{color:var(--soft)}.small{font-size:.875rem}
.red{color:var(--red)}.amber{color:var(--amber)}.green{color:var(--green)}
.badge{display:inline-block;padding:.05rem .6rem;border-radius:1rem;font-size:.8125rem;font-weight:600;
border:1px solid currentColor;white-space:nowrap}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:baseline;font-weight:400;padding:.4rem 1.2rem .4rem 0}
thead th{color:var(--soft);font-size:.8125rem;border-bottom:1px solid var(--rule)}
th:last-child,td:last-child{padding-right:0}
.number{text-align:right;white-space:nowrap}
[hidden]{display:none!important}
@media print{:root{color-scheme:light;--ink:#000}body{font-size:10pt}button{display:none!important}
details::details-content{content-visibility:visible;height:auto}section,article{break-inside:avoid-page}}
"""


def page(title: str, body: Iterable[str], *, style: str, script: str) -> str:
    """A whole page; `body` is markup, `style` and `script` are ours and hold nothing of anybody else's.

    Its policy lets exactly these two do anything, and refuses everything that would be fetched or sent.
    """
    styles = STYLE + style
    policy = (
        f"default-src 'none'; style-src '{_digest(styles)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{styles}</style>\n</head>\n<body>\n"
        + "".join(body)
        + f"<script>{script}</script>\n</body>\n</html>\n"
    )


def escaped(text: object) -> str:
    """Text for between tags or in a quoted attribute: nothing in it is markup, or turns the page's direction."""
    plain = visible(str(text).replace("\r\n", "\n"))
    # Half a character can be in a log, and not in a file.
    return html.escape(plain.encode("utf-8", "backslashreplace").decode("utf-8"))


def sentence(text: str) -> str:
    """A sentence of ours: what stands between backticks is code, and commands can be copied."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # somebody's text has one of its own: nobody knows where code begins
        return escaped(text)
    return "".join(
        (command(part) if " " in part else code(part)) if place % 2 else escaped(part)
        for place, part in enumerate(parts)
    )


def code(text: str) -> str:
    """A name or value."""
    return f"<code>{escaped(text)}</code>"


def command(text: str) -> str:
    """A command: one click selects all of it, and the page's script puts a button next to it."""
    return f'<code class="command">{escaped(text)}</code>'


def definitions(pairs: Iterable[tuple[str, str]], name: str) -> str:
    """Labels and markup, as a list of class `name`."""
    items = "".join(f"<div><dt>{escaped(label)}</dt><dd>{markup}</dd></div>" for label, markup in pairs)
    return f'<dl class="{name}">{items}</dl>\n' if items else ""


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
