"""Pages read as a browser reads them, as far as tests want to know."""

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = frozenset(("meta", "br", "input", "rect", "link", "img", "hr"))
# What fetches, runs or sends something.
_REACHING = frozenset(
    ("src", "href", "action", "srcset", "data", "formaction", "poster", "xlink:href", "style")
)


class Page(HTMLParser):
    """The elements of a page: fails where tags are not balanced."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {attrs}"
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"nothing is open at the end of {tag}"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each of these elements."""
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, tag: str) -> list[str]:
        """The text in each of these elements."""
        return self.texts.get(tag, [])

    @property
    def dangers(self) -> list[str]:
        """Elements and attributes that could fetch, run or send something."""
        kinds = {"iframe", "object", "embed", "img", "link", "base", "form", "a", "audio", "video"}
        found = [tag for tag, _ in self.tags if tag in kinds]
        for tag, attributes in self.tags:
            found += [f"{tag} {name}" for name in attributes if name in _REACHING or name.startswith("on")]
        return found


def policy_of(text: str) -> dict[str, str]:
    """What the page's content security policy says of each kind."""
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    return dict(part.split(" ", 1) for part in found[1].split("; "))


def digest(text: str) -> str:
    """A text as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
