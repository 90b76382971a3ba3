"""Decides which variable files the engine gets for the values a user gave, in order of precedence."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, assert_never

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.inputs.given import Given, Source, is_identifier
from hereya_tf.package import Package, Variable

if TYPE_CHECKING:
    from decimal import Decimal

# More than any type has, and well inside what encoding by recursion can do.
_DEEPEST = 200
# An engine keeps 512 bits of a number; its own outputs have up to 155 digits and come back unchanged.
_NUMBER_BITS, _NUMBER_DIGITS = 512, 155
_LISTED_NAMES = 8


class VariableFile(NamedTuple):
    """A variable file of the engine's own, passed through."""

    path: Path


class GeneratedFile(NamedTuple):
    """The values of one generated `.tfvars.json` file."""

    values: Mapping[str, object]


class Values(NamedTuple):
    """What the engine gets, lowest precedence first.

    `secrets` are the values of variables that are sensitive, or may be: their declaration was not found.
    """

    files: tuple[GeneratedFile | VariableFile, ...]
    warnings: tuple[str, ...]
    secrets: tuple[object, ...]
    # What the first of the files was made of, when the package has defaults of its own.
    defaults: tuple[Given, ...] = ()


def encode(file: GeneratedFile) -> str:
    """The text of a `.tfvars.json` file, exact for every type."""
    return exact.dumps(file.values)


def plan_values(
    package: Package,
    *,
    environment: Sequence[tuple[str, str]],
    inputs: Sequence[Given | VariableFile],
    defaults: Sequence[Given] = (),
) -> Values:
    """Decide which variable files the engine gets for what was given; raises BadInput.

    `defaults` come first, then entries of `environment` that a declared variable is named after, then runs
    of consecutive parameters, and variable files, in their order. Only declared variables are passed; but
    when a file does not parse, a name that was not found is passed all the same. Its declaration may be
    where the parser failed (`1e400` is valid, and too much for it), and the engine would go on with
    the default.
    """
    files: list[GeneratedFile | VariableFile] = []
    warnings: list[str] = []
    secrets: list[object] = []
    for group in (defaults, *_groups(package, environment, inputs)):
        if isinstance(group, VariableFile):
            files.append(group)
            continue
        values: dict[str, object] = {}
        for given in group:
            variable = package.variables.get(given.name)
            if variable is None:
                warnings.append(_undeclared(given, package))
                if not package.broken or not is_identifier(given.name):
                    continue
            value = values[given.name] = decode_by_type(given, variable)
            warnings.extend(f"`{given.name}` ({given.where}) {doubt}" for doubt in _doubts(given, value))
            if variable is None or variable.sensitive:
                secrets.extend([value] if value is given.value else [value, given.value])
        if values:
            files.append(GeneratedFile(values))
    return Values(tuple(files), tuple(dict.fromkeys(warnings)), tuple(secrets), tuple(defaults))


def only(planned: Values, names: frozenset[str]) -> Values:
    """What sets one of these variables; a variable file may set others as well."""
    files: list[GeneratedFile | VariableFile] = []
    for file in planned.files if names else ():
        if isinstance(file, VariableFile):
            files.append(file)
        elif kept := {name: value for name, value in file.values.items() if name in names}:
            files.append(GeneratedFile(kept))
    return planned._replace(files=tuple(files))


def _groups(
    package: Package, environment: Sequence[tuple[str, str]], inputs: Sequence[Given | VariableFile]
) -> Iterator[VariableFile | list[Given]]:
    """Environment entries that are variables; then runs of parameters, and variable files between them."""
    yield [
        Given(name, text, True, Source.ENVIRONMENT, "--env")
        for name, text in environment
        if name in package.variables
    ]
    group: list[Given] = []
    for item in inputs:
        if isinstance(item, Given):
            group.append(item)
            continue
        yield group
        yield item
        group = []
    yield group


def decode_by_type(given: Given, variable: Variable | None) -> object:
    """The value for a variable: a text is decoded as JSON when the declared type asks for it.

    Raises BadInput when a collection is declared and the text is not JSON; `any` then stays text.
    """
    if not given.is_text or variable is None or not variable.decodes_json:
        return given.value
    try:
        return exact.loads(str(given.value))
    except (ValueError, ArithmeticError, RecursionError):
        if variable.type_word == "any":
            return given.value
        raise BadInput(
            f"`{given.name}` ({given.where}) is declared as `{variable.type}`, and its text is not JSON",
            f"write its value as JSON: `{given.name}:=JSON` with `-p`",
        ) from None


def _undeclared(given: Given, package: Package) -> str:
    """The warning for a name that is not declared; raises BadInput when a flag has it."""
    if package.broken:
        broken = ", ".join(f"`{name}`" for name in package.broken)
        return f"`{given.name}` ({given.where}) was not found in the package, but {broken} does not parse"
    match given.source:
        case Source.FLAG:
            raise BadInput(
                f"the package declares no variable `{given.name}` ({given.where})",
                _nearest(given.name, sorted(package.variables)),
            )
        case Source.FILE | Source.REQUEST | Source.ENVIRONMENT:
            return f"`{given.name}` ({given.where}) is left out: the package declares no such variable"
        case _:
            assert_never(given.source)


def _nearest(name: str, declared: Sequence[str]) -> str:
    from difflib import get_close_matches

    if close := get_close_matches(name, declared, 1):
        return f"did you mean `{close[0]}`?"
    if not declared:
        return "it declares no variable at all"
    names = ", ".join(f"`{known}`" for known in declared[:_LISTED_NAMES])
    more = len(declared) - _LISTED_NAMES
    return f"it declares {names}" + (f" and {more} more" if more > 0 else "")


def _doubts(given: Given, value: object) -> Iterator[str]:
    """What the engine will alter in a value; raises BadInput for what a variable file cannot carry."""
    texts, numbers = _leaves(given, value)
    unusual = [text for text in texts if not text.isascii()]
    if any(_has_surrogate(text) for text in unusual):
        raise _refusal(given, "holds half a character (a lone surrogate)")
    if any(_is_rounded(number) for number in numbers):
        yield f"holds a number of more than {_NUMBER_DIGITS} digits, which the engine rounds"
    if not all(_is_composed(text) for text in unusual):
        yield "holds decomposed Unicode characters, which the engine composes (NFC)"


def _leaves(given: Given, value: object) -> "tuple[list[str], list[int | Decimal]]":
    """The texts (keys included) and the numbers in a value; raises BadInput for what JSON does not have."""
    texts: list[str] = []
    numbers: list[int | Decimal] = []
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST:
            raise _refusal(given, f"is nested more than {_DEEPEST} levels deep")
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise _refusal(given, "holds a key that is not text")
                texts.append(key)
            pending.extend((member, depth + 1) for member in item.values())
        elif isinstance(item, list | tuple):
            pending.extend((member, depth + 1) for member in item)
        elif item is not None and not isinstance(item, bool):
            numbers.append(_number(given, item))
    return texts, numbers


def _number(given: Given, item: object) -> "int | Decimal":
    if isinstance(item, int):
        return item
    from decimal import Decimal

    if not isinstance(item, float | Decimal):
        raise _refusal(given, f"holds a `{type(item).__name__}`")
    number = Decimal(item)
    if not number.is_finite():
        raise _refusal(given, "holds a number that is infinite, or none")
    return number


def _is_rounded(number: "int | Decimal") -> bool:
    if isinstance(number, int) and number.bit_length() <= _NUMBER_BITS:
        return False
    from decimal import Decimal

    digits = "".join(map(str, Decimal(number).as_tuple().digits))
    return len(digits.strip("0")) > _NUMBER_DIGITS


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_composed(text: str) -> bool:
    from unicodedata import is_normalized

    return is_normalized("NFC", text)


def _refusal(given: Given, problem: str) -> BadInput:
    return BadInput(
        f"`{given.name}` ({given.where}) {problem}, which a variable file cannot carry",
        "pass it as a text that the package decodes",
    )
