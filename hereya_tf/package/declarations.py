"""What one configuration file declares, read from native syntax (tree-sitter) or JSON (pure)."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node

# Beyond any written configuration; the parser takes 3.6 s for a megabyte of the worst garbage.
_LARGEST_FILE = 16 * 1024 * 1024  # bytes
_BEFORE_ESCAPES = re.compile(rb"\$+(?=\$\$\{)|%+(?=%%\{)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Kind(Enum):
    """The kinds of declaration that matter before an engine runs."""

    VARIABLE = "variable"
    OUTPUT = "output"
    BACKEND = "backend"
    REQUIRED_VERSION = "required_version"
    COMPATIBLE_WITH = "compatible_with"
    REQUIRED_PROVIDER = "required_provider"


class Declaration(NamedTuple):
    """One declaration: its kind, its name (a backend's type, a constraint's text) and attributes' texts.

    `line` counts from 1; it is 0 in JSON files, whose decoder keeps no positions.
    """

    kind: Kind
    name: str
    attributes: Mapping[str, str]
    line: int


class Reading(NamedTuple):
    """What could be read of a file; `broken` when it has a part that does not parse."""

    declarations: tuple[Declaration, ...]
    broken: bool


# The only attributes whose text anybody asks for; a default may have megabytes.
_TEXT_NEEDED = ("type", "sensitive", "ephemeral")


def read_json(source: bytes) -> Reading:
    """Read a `*.tf.json` file. An object may repeat a key and be split into an array of objects."""
    try:
        document = _load_json(source)
    except (ValueError, RecursionError):
        return Reading((), broken=True)
    return Reading(tuple(_json_declarations(document)), broken=False)


def _load_json(source: bytes) -> Any:
    return json.loads(
        source.decode("utf-8-sig", "replace"),
        object_pairs_hook=_Object,
        parse_float=str,
        # int() refuses more than 4,300 digits.
        parse_int=str,
    )


class _Object(tuple[Any, ...]):
    """The (key, value) pairs of a JSON object, repeated keys included."""


def _json_declarations(document: Any) -> Iterator[Declaration]:
    for block_type, value in _members(document):
        match block_type:
            case "variable" | "output":
                for name, body in _members(value):
                    attributes = {
                        key: _json_text(item) if key in _TEXT_NEEDED else "" for key, item in _members(body)
                    }
                    yield Declaration(Kind(block_type), name, attributes, 0)
            case "terraform":
                for key, item in _members(value):
                    yield from _json_settings(key, item)
            case "language":
                for inner in (body for key, body in _members(value) if key == "compatible_with"):
                    for name, text in _members(inner):
                        if name == "opentofu":
                            yield Declaration(Kind.COMPATIBLE_WITH, _json_text(text), {}, 0)


def _json_settings(key: str, value: Any) -> Iterator[Declaration]:
    match key:
        case "backend":
            for backend_type, _ in _members(value):
                yield Declaration(Kind.BACKEND, backend_type, {}, 0)
        case "cloud":
            yield Declaration(Kind.BACKEND, "cloud", {}, 0)
        case "required_version":
            for text in value if isinstance(value, list) else (value,):
                yield Declaration(Kind.REQUIRED_VERSION, _json_text(text), {}, 0)
        case "required_providers":
            for name, body in _members(value):
                source = next((_json_text(item) for key, item in _members(body) if key == "source"), "")
                yield Declaration(Kind.REQUIRED_PROVIDER, name, {"source": source}, 0)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, _Object):
            yield from (pair for pair in item if pair[0] != "//")


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value) if value is None or isinstance(value, bool) else ""


def read_native(source: bytes) -> Reading:
    """Read a `*.tf` file; a syntax error leaves what stands around it readable."""
    source = source.removeprefix(_BYTE_ORDER_MARK)
    if len(source) > _LARGEST_FILE:
        return Reading((), broken=True)
    root = _root(source)
    return Reading(tuple(_native_declarations(root, source)), broken=root.has_error)


def read_literals(source: bytes, names: frozenset[str]) -> Iterator[str]:
    """The texts and numbers written out for `names`: attributes of a `*.tfvars` file, defaults of variables."""
    source = source.removeprefix(_BYTE_ORDER_MARK)
    if len(source) > _LARGEST_FILE:
        return
    root = _root(source)
    for name, expression in _attributes(root, source):
        if name in names:
            yield from _literals(expression, source)
    for block in _blocks(root):
        match _header(block, source):
            case ["variable", name] if name in names:
                for attribute, expression in _attributes(block, source):
                    if attribute == "default":
                        yield from _literals(expression, source)


def read_attribute_names(source: bytes) -> frozenset[str] | None:
    """The names that a `*.tfvars` file sets; None when a part of it does not parse."""
    texts = read_attribute_texts(source)
    return None if texts is None else frozenset(texts)


def read_attribute_texts(source: bytes) -> Mapping[str, str] | None:
    """The names that a `*.tfvars` file sets and their expressions; None when a part of it does not parse."""
    source = source.removeprefix(_BYTE_ORDER_MARK)
    if len(source) > _LARGEST_FILE:
        return None
    root = _root(source)
    if root.has_error:
        return None
    return {name: _text(expression, source) for name, expression in _attributes(root, source)}


def read_module_sources(source: bytes, *, is_json: bool) -> Mapping[str, str]:
    """The module calls of a configuration file by name, and their sources as far as they are plain texts."""
    if is_json:
        try:
            document = _load_json(source)
        except (ValueError, RecursionError):
            return {}
        calls = [call for kind, value in _members(document) if kind == "module" for call in _members(value)]
        found = {
            name: _json_text(value)
            for name, body in calls
            for key, value in _members(body)
            if key == "source"
        }
    else:
        found = {name: texts["source"] for name, texts in blocks_of("module", source) if "source" in texts}
    return {name: text for name, text in found.items() if "${" not in text and "%{" not in text}


def blocks_of(kind: str, source: bytes) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The labels of blocks with one, and their attributes' texts without quotes."""
    source = source.removeprefix(_BYTE_ORDER_MARK)
    if len(source) > _LARGEST_FILE:
        return
    for block in _blocks(_root(source)):
        match _header(block, source):
            case [word, label] if word == kind:
                attributes = _attributes(block, source)
                yield label, {name: _unquoted(expression, source) for name, expression in attributes}


def _literals(expression: "Node", source: bytes) -> Iterator[str]:
    pending = [expression]
    while pending:
        node = pending.pop()
        if node.type in ("string_lit", "numeric_lit"):
            yield _unquoted(node, source)
        elif node.type == "template_literal":
            yield _text(node, source)
        pending.extend(node.children)


def _native_declarations(root: "Node", source: bytes) -> Iterator[Declaration]:
    for block in _blocks(root):
        block_type, *labels = _header(block, source)
        line = block.start_point[0] + 1
        match block_type, labels:
            case "variable" | "output", [name]:
                yield Declaration(Kind(block_type), name, _attribute_texts(block, source), line)
            case "terraform", []:
                yield from _native_settings(block, source)
            case "language", []:
                for inner in _blocks(block):
                    if _header(inner, source) == ["compatible_with"]:
                        yield from _constraints(Kind.COMPATIBLE_WITH, "opentofu", inner, source)


def _native_settings(terraform: "Node", source: bytes) -> Iterator[Declaration]:
    yield from _constraints(Kind.REQUIRED_VERSION, "required_version", terraform, source)
    for block in _blocks(terraform):
        line = block.start_point[0] + 1
        match _header(block, source):
            case ["backend", backend_type]:
                yield Declaration(Kind.BACKEND, backend_type, {}, line)
            case ["cloud"]:
                yield Declaration(Kind.BACKEND, "cloud", {}, line)
            case ["required_providers"]:
                for name, expression in _attributes(block, source):
                    address = _object_member(expression, "source", source)
                    yield Declaration(Kind.REQUIRED_PROVIDER, name, {"source": address}, line)


def _constraints(kind: Kind, name: str, block: "Node", source: bytes) -> Iterator[Declaration]:
    for attribute, expression in _attributes(block, source):
        if attribute == name:
            yield Declaration(kind, _unquoted(expression, source), {}, expression.start_point[0] + 1)


def _blocks(node: "Node") -> Iterator["Node"]:
    """The blocks directly inside, also those that error recovery has wrapped."""
    pending = [node]
    while pending:
        for child in pending.pop().children:
            if child.type == "block":
                yield child
            elif child.type in ("body", "ERROR"):
                pending.append(child)


def _header(block: "Node", source: bytes) -> list[str]:
    """The type and the labels of a block."""
    words = []
    for child in block.children:
        if child.type not in ("identifier", "string_lit", "comment"):
            break
        if child.type != "comment":
            words.append(_unquoted(child, source))
    return words


def _attributes(block: "Node", source: bytes) -> Iterator[tuple[str, "Node"]]:
    for body in block.children:
        if body.type == "body":
            for child in body.children:
                expression = child.children[-1] if child.type == "attribute" else None
                if expression is not None and expression.type == "expression":
                    yield _text(child.children[0], source), expression


def _attribute_texts(block: "Node", source: bytes) -> dict[str, str]:
    return {
        name: _code(expression, source) if name in _TEXT_NEEDED else ""
        for name, expression in _attributes(block, source)
    }


def _object_member(expression: "Node", key: str, source: bytes) -> str:
    """The text of a member of an object that is written out, or an empty text."""
    node = expression
    for expected in ("collection_value", "object"):
        node = next((child for child in node.children if child.type == expected), node)
    for element in node.children:
        if element.type == "object_elem":
            name, value = element.child_by_field_name("key"), element.child_by_field_name("val")
            if name is not None and value is not None and _unquoted(name, source) == key:
                return _unquoted(value, source)
    return ""


def _code(expression: "Node", source: bytes) -> str:
    """An expression's text without its comments, on one line."""
    start, end = expression.start_byte, expression.end_byte
    text = source[start:end]
    pieces = []
    for comment in _comments(expression) if b"#" in text or b"/" in text else ():
        pieces.append(source[start : comment.start_byte])
        start = comment.end_byte
    pieces.append(source[start:end])
    return " ".join(b" ".join(pieces).decode("utf-8", "replace").split())


def _comments(expression: "Node") -> list["Node"]:
    """Its comments in order. A stack, not recursion: an expression may be nested a million levels deep."""
    found, pending = [], [expression]
    while pending:
        node = pending.pop()
        if node.type == "comment":
            found.append(node)
        pending.extend(node.children)
    return sorted(found, key=lambda node: node.start_byte)


def _text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _unquoted(node: "Node", source: bytes) -> str:
    text = _text(node, source)
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text
    if "\\" not in text:
        return text[1:-1]
    try:
        return str(json.loads(text))  # the escapes of HCL that a label can need are those of JSON
    except ValueError:
        return text[1:-1]


_LANGUAGES: list["Language"] = []


def _root(source: bytes) -> "Node":
    """The tree of a source, by a parser of one's own: they are cheap, and not for sharing between threads."""
    import tree_sitter  # here, because it costs 10 ms and not every command reads HCL

    if not _LANGUAGES:
        import tree_sitter_hcl

        _LANGUAGES.append(tree_sitter.Language(tree_sitter_hcl.language()))
    # Of `$$${` the grammar makes no `$` and an escape, as the engines do, but an expression without an end.
    source = _BEFORE_ESCAPES.sub(lambda match: b"_" * len(match[0]), source)
    return tree_sitter.Parser(_LANGUAGES[0]).parse(source).root_node
