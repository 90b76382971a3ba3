"""What people are told where an engine's own words leave out what they need: from a diagnostic's parts (pure).

Each function words one kind of diagnostic, and answers None where a part of it is missing: the engine's words
have to do then. Values are never told, for a variable may be sensitive.
"""

from hereya_tf.failure.rule import Scene
from hereya_tf.failure.sentence import beginning, first_sentence, placed, where_of
from hereya_tf.stream.message_types import Diagnostic, Snippet

_CONDITIONS = {
    "Resource precondition failed": "precondition",
    "Resource postcondition failed": "postcondition",
    "Module output value precondition failed": "precondition",
}
_CHECKED_AT = "This was checked by the validation rule at "
_LONGEST_NAME = 200
_STATE_FORMAT = "Unsupported state file format"
_GIT_SAYS_LITTLE = "fatal: Could not read from remote repository."


def tell_condition(diagnostic: Diagnostic, _scene: Scene) -> str | None:
    """Whose condition it is: the message is the author's, and need not say so."""
    condition = _CONDITIONS.get(diagnostic.summary)
    subject = diagnostic.address or _subject(diagnostic.snippet)
    message = beginning(diagnostic.detail)
    if condition is None or subject is None or not message:
        return None
    place = diagnostic.range
    where = f"{place.filename}:{place.start_line}" if place is not None else ""
    return placed(f"`{subject}` does not meet its {condition}: {message}", where)


def tell_variable(diagnostic: Diagnostic, _scene: Scene) -> str | None:
    """Which variable does not take its value, and why."""
    name = variable_name(diagnostic)
    if name is None:
        return None
    message, _, rule = diagnostic.detail.rpartition(_CHECKED_AT)
    cause, declared = (message, rule) if message else _unsuitable(diagnostic.detail)
    module = _module_called(diagnostic.snippet)
    whose = f"`{name}`" + (f" of module `{module}`" if module else "")
    where = where_of(diagnostic) or declared.partition(",")[0]
    return placed(f"{whose} is not accepted: {first_sentence(beginning(cause))}", where)


def tell_local_module(diagnostic: Diagnostic, scene: Scene) -> str | None:
    """Which module is not where its source says; the engine names it in an error of its own, right behind."""
    _, found, problem = diagnostic.detail.partition(": lstat ")
    path, colon, reason = beginning(problem).rpartition(": ")
    if not found or not colon:
        return None
    module, where = _named_behind(diagnostic, scene)
    why = "does not exist" if reason.startswith("no such file") else f"cannot be read: {reason}"
    return placed(f"module `{module}`: `{path}` {why}" if module else f"the module `{path}` {why}", where)


def tell_fetched_module(diagnostic: Diagnostic, _scene: Scene) -> str | None:
    """Why git does not fetch a module: its own words, which stand at the end of many."""
    words = git_words(diagnostic.detail)
    module = _quoted(_marked(diagnostic.snippet), "module ")
    if words is None:
        return None
    return placed(
        f"module `{module}` cannot be fetched: {words}" if module else f"git: {words}", where_of(diagnostic)
    )


def tell_version(diagnostic: Diagnostic, scene: Scene) -> str | None:
    """Which version is wanted, and which one is here."""
    name, _, wanted = _marked(diagnostic.snippet).partition("=")
    here = first_sentence(diagnostic.detail).rpartition(" version ")[2].rstrip(".")
    if name.strip() != "required_version" or not wanted.strip() or not here:
        return None
    first, called, *_ = (*diagnostic.detail.split(" ", 2), "", "")
    who = f"`{called}`" if first == "Module" else "the package"
    constraint = beginning(wanted).strip('"')
    return placed(f"{who} wants {scene.engine} `{constraint}`, and this is {here}", where_of(diagnostic))


def tell_state(diagnostic: Diagnostic, scene: Scene) -> str | None:
    """Which state is broken, and how; an engine has several problems with it, and the first is the cause."""
    for line in f"{diagnostic.summary}: {diagnostic.detail}".splitlines():
        _, found, problem = line.partition(f"{_STATE_FORMAT}: ")
        if found:
            which = f"the state in `{scene.state}`" if scene.state else "the state"
            return f"{which} cannot be read: {beginning(problem)}"
    return None


def tell_migration(_diagnostic: Diagnostic, _scene: Scene) -> str | None:
    """Our init migrates without a question when it is told to; only a state that lay here before is asked for."""
    return "the package has another backend now, and its state is still in `terraform.tfstate`"


def variable_name(diagnostic: Diagnostic) -> str | None:
    """The variable that a value is for, by what stands in front of the value, else by what the engine names."""
    snippet = diagnostic.snippet
    if diagnostic.range is not None and diagnostic.range.filename.startswith("<value for var."):
        return _identifier(diagnostic.range.filename.removeprefix("<value for var.").rstrip(">"))
    if snippet is not None:
        before = snippet.code.encode()[: snippet.highlight_start].decode("utf-8", "replace").rstrip()
        found = _quoted(_marked(snippet), "variable ") or _key(before)
        if found is not None:
            return found
    values = snippet.values if snippet is not None else ()
    named = {_named(traversal) for traversal, _ in values if traversal.startswith("var.")}
    if len(named) == 1:
        return named.pop()
    words = (word for word in diagnostic.detail.split() if word.startswith("var."))
    return next(map(_named, words), None)


def _named(traversal: str) -> str | None:
    """The variable in `var.NAME.attribute[0]`, or in such a word of a sentence."""
    name = traversal.removeprefix("var.").strip(",:")
    return _identifier(name.partition(".")[0].partition("[")[0])


def is_of_a_module(diagnostic: Diagnostic) -> bool:
    """Whether a variable's value comes from the package itself, in a `module` block."""
    return _module_called(diagnostic.snippet) is not None


def git_words(detail: str) -> str | None:
    """What git says of its failure, without what it says of its doings; None when it says nothing."""
    lines = [line.strip() for line in detail.partition("\n\n")[0].splitlines()[1:] if line.strip()]
    fatal = next((at for at, line in enumerate(lines) if line.startswith("fatal: ")), None)
    if fatal is None:
        return None
    # Of ssh, which has said why itself.
    cause = lines[fatal - 1] if fatal and lines[fatal] == _GIT_SAYS_LITTLE else lines[fatal]
    return beginning(cause.removeprefix("fatal: ")) or None


def host_of(words: str) -> str | None:
    """Host and port of the first address on the network in a text, without who logs in there."""
    for word in words.split():
        _, found, rest = word.strip("'\"`,:;()").partition("://")
        if found:
            return rest.partition("/")[0].rpartition("@")[2] or None
    return None


def _subject(snippet: Snippet | None) -> str | None:
    """`resource "a" "b"` as the address that it has in its module."""
    block, *labels = (snippet.context or "").split('"') if snippet is not None else ("",)
    match block.strip(), labels[::2]:
        case "resource", [kind, name]:
            return f"{kind}.{name}"
        case "data", [kind, name]:
            return f"data.{kind}.{name}"
        case "output", [name]:
            return f"output.{name}"
        case _:
            return None


def _module_called(snippet: Snippet | None) -> str | None:
    return _quoted(snippet.context or "", "module ") if snippet is not None else None


def _marked(snippet: Snippet | None) -> str:
    """What the engine underlines."""
    if snippet is None:
        return ""
    marked = snippet.code.encode()[snippet.highlight_start : snippet.highlight_end]
    return marked.decode("utf-8", "replace")


def _quoted(text: str, before: str) -> str | None:
    """The name in `before "NAME"`."""
    start, quote, rest = text.partition('"')
    name, closed, _ = rest.partition('"')
    return _identifier(name) if quote and closed and start == before else None


def _key(before: str) -> str | None:
    """The name that ends a text, as `NAME =` or `"NAME":`."""
    if not before.endswith(("=", ":")):
        return None
    text = before[:-1].rstrip().removesuffix('"')
    for sign in '"{, \t\n':
        text = text.rpartition(sign)[2]
    return _identifier(text)


def _identifier(name: str) -> str | None:
    return name if len(name) <= _LONGEST_NAME and name.replace("-", "_").isidentifier() else None


def _unsuitable(detail: str) -> tuple[str, str]:
    """Cause and declaration of `The given value … for var.n declared at main.tf:1,1-9: a number is required`."""
    head, colon, cause = detail.partition(": ")
    return (cause, head.partition(" declared at ")[2]) if colon else (detail, "")


def _named_behind(diagnostic: Diagnostic, scene: Scene) -> tuple[str | None, str]:
    """Name and place of the module that the next error tells of: `… for module "network" at main.tf:5.`."""
    told = [error.detail for error in scene.said if error.summary == diagnostic.summary]
    after = told[told.index(diagnostic.detail) + 1 :] if diagnostic.detail in told else []
    _, found, rest = after[0].partition(' for module "') if after else ("", "", "")
    name, _, place = rest.partition('" at ')
    return (name, place.rstrip(".")) if found and name else (None, "")
