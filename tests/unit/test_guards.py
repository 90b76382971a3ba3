"""Guards: which addresses a pattern stands for, what counts as what, and in which words a plan is refused."""

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.cli.guard_options import guards_of
from hereya_tf.cli.operations import provision
from hereya_tf.errors import HereyaError, Protected, TooManyDestroys, UnexpectedChanges
from hereya_tf.events import Operation
from hereya_tf.guards import NO_GUARDS, Guards, Limit, Pattern, Policy
from hereya_tf.guards.addresses import protects, why_hopeless
from hereya_tf.guards.changes import Changes, ResourceChange, read_changes
from hereya_tf.guards.command import split_command
from hereya_tf.guards.sensitive_values import sensitive_values
from hereya_tf.guards.verdict import objections, refusal

# Which addresses a pattern stands for


@pytest.mark.parametrize(
    ("pattern", "address"),
    [
        pytest.param("aws_db.main", "aws_db.main", id="itself"),
        pytest.param("aws_db.main", "aws_db.main[0]", id="an instance"),
        pytest.param("aws_db.main", 'aws_db.main["a.b"]', id="an instance by name"),
        pytest.param("module.db", "module.db.aws_db.main", id="what is in a module"),
        pytest.param("module.db", 'module.db["x"].module.more.aws_db.main[1]', id="what is far below"),
        pytest.param("module.db[0]", "module.db[0].aws_db.main", id="one instance of a module"),
        pytest.param("module.db.aws_db.main", "module.db[0].aws_db.main", id="in every instance of a module"),
        pytest.param(
            'module.a["k"].module.b.aws_db.main',
            'module.a["k"].module.b[3].aws_db.main["z"]',
            id="one key given and two left out",
        ),
        pytest.param("aws_db", "aws_db.main", id="a type"),
        pytest.param("aws_db.*", "aws_db.main", id="a star"),
        pytest.param("*.main", "module.db.aws_db.main", id="a star for dots"),
        pytest.param("*main*", 'module.db["x"].aws_db.main["y"]', id="a star for quotes and brackets"),
        pytest.param("*", "aws_db.main", id="everything"),
        pytest.param("aws_db.mai?", "aws_db.main", id="one character"),
        pytest.param('aws_db.main["?"]', 'aws_db.main["."]', id="one character in quotes"),
        pytest.param('aws_db.main["a*"]', 'aws_db.main["a\\"]b"]', id="a star in quotes"),
        pytest.param('aws_db.main["a\\"]b"]', 'aws_db.main["a\\"]b"]', id="a quote in quotes"),
        pytest.param("*b", 'module.a["x].b"].aws_db.b', id="a key that looks like an end"),
    ],
)
def test_a_pattern_stands_for(pattern: str, address: str) -> None:
    assert protects(pattern, address)


@pytest.mark.parametrize(
    ("pattern", "address"),
    [
        pytest.param("aws_db.main", "aws_db.main2", id="a longer name"),
        pytest.param("aws_db.main", "module.x.aws_db.main", id="another module"),
        pytest.param("module.db", "module.db2.aws_db.main", id="a module with a longer name"),
        pytest.param("aws_db.main[0]", "aws_db.main[1]", id="another instance"),
        pytest.param("aws_db.main[0]", "aws_db.main", id="no instance"),
        pytest.param("aws_db.main[0]", "aws_db.main[01]", id="another number"),
        pytest.param("module.db.aws_db.main", "module.db", id="what is above"),
        pytest.param("aws_db.mai?", "aws_db.mai", id="no character"),
        pytest.param("aws_db.?", "aws_db.main", id="more characters"),
        pytest.param("aws_db[mb]ain", "aws_db.main", id="brackets are no choice"),
        pytest.param("AWS_db.main", "aws_db.main", id="another case"),
        pytest.param("*.a", 'aws_db.main["x.a.b"]', id="a part of a key is no address"),
        pytest.param('aws_db.main["x', 'aws_db.main["x.y"]', id="half a key is none"),
        pytest.param("", "aws_db.main", id="nothing"),
    ],
)
def test_a_pattern_does_not_stand_for(pattern: str, address: str) -> None:
    assert not protects(pattern, address)


class Address(NamedTuple):
    """An address in pieces: names with their dots, and keys."""

    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def meant(self) -> set[str]:
        """What a pattern may be compared with: everything above, keys left out here and there."""
        found = set()
        for length in range(1, len(self.pieces) + 1):
            choices = [(piece, "") if piece.startswith("[") else (piece,) for piece in self.pieces[:length]]
            found |= {"".join(chosen) for chosen in itertools.product(*choices)}
        return found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{escaped}"]'


_names = st.sampled_from(["a", "b", "ab", "db-1", "_x"])
_keys = st.one_of(
    st.just(""),
    st.integers(0, 12).map(lambda number: f"[{number}]"),
    st.text('ab.[]"\\*?', max_size=4).map(_quoted),
)


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    pieces = []
    for _ in range(draw(st.integers(0, 2))):
        pieces += [".module", f".{draw(_names)}", draw(_keys)]
    pieces += [f".{draw(_names)}", f".{draw(_names)}", draw(_keys)]
    pieces[0] = pieces[0][1:]
    return Address(tuple(piece for piece in pieces if piece))


@st.composite
def patterns_near(draw: st.DrawFn, address: Address) -> str:
    """A pattern that may well stand for the address: what is above it, with wildcards and faults."""
    text = draw(st.sampled_from(sorted(address.meant())))
    for _ in range(draw(st.integers(0, 3))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + draw(st.sampled_from([0, 1, 6])))))
        text = text[:begin] + draw(st.sampled_from(["*", "?", "", ".", "a", '"', "["])) + text[end:]
    return text


def plainly(pattern: str, address: Address) -> bool:
    """The rules as they are written down."""
    wild = {"*": ".*", "?": "."}
    expression = "".join(wild.get(character) or re.escape(character) for character in pattern)
    return any(re.fullmatch(expression, text, re.DOTALL) for text in address.meant())


@given(st.data())
def test_the_rules_hold_for_every_pattern_and_address(data: st.DataObject) -> None:
    address = data.draw(addresses())
    pattern = data.draw(patterns_near(address))

    assert protects(pattern, address.text) == plainly(pattern, address)


@given(addresses())
def test_everything_above_an_address_stands_for_it(address: Address) -> None:
    assert all(protects(text, address.text) for text in address.meant())


@given(st.data())
def test_a_wildcard_never_makes_a_pattern_stand_for_less(data: st.DataObject) -> None:
    address = data.draw(addresses())
    pattern = data.draw(patterns_near(address))
    at = data.draw(st.integers(0, len(pattern)))

    if protects(pattern, address.text):
        assert protects(f"{pattern[:at]}*{pattern[at:]}", address.text)


def test_a_hostile_pattern_takes_no_longer() -> None:
    assert not protects("*a" * 2000 + "b", "a" * 2000)
    assert why_hopeless("[" * 9000 + '["' * 9000) is not None
    assert why_hopeless('["\\' * 9000) is None


@pytest.mark.parametrize(
    "pattern",
    ["module.db[main]", "module.db['main']", "a.b[each.key].c", '*.b[c.d]', 'module.a["k"].b[x].c', "a.b[]"],
)  # fmt: skip
def test_a_pattern_whose_keys_have_lost_their_quotes_is_not_taken(pattern: str) -> None:
    assert why_hopeless(pattern) == (
        f"`{pattern}` fits no address: a key in brackets has double quotes,"
        " which a shell keeps only within single ones"
    )


@pytest.mark.parametrize(
    "pattern", ['a.b["c"]', "a.b[0]", "a.b[*]", "a.b[?]", 'a["x[y]"].b', 'a["x\\"[y"]', "*[x]*", "a.b", "*]"]
)  # fmt: skip
def test_a_pattern_that_may_fit_is_taken(pattern: str) -> None:
    assert why_hopeless(pattern) is None


@given(st.data())
def test_what_is_not_taken_would_have_protected_nothing(data: st.DataObject) -> None:
    address = data.draw(addresses())
    pattern = data.draw(patterns_near(address))

    if protects(pattern, address.text):
        assert why_hopeless(pattern) is None


# What counts as what


def change(address: str, *actions: str, mode: str = "managed", **more: Any) -> dict[str, Any]:
    importing = {"importing": more.pop("importing")} if "importing" in more else {}
    return {"address": address, "mode": mode, "change": {"actions": list(actions), **importing}, **more}


def document(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"format_version": "1.2", "resource_changes": list(resources), **more}


def said_of(plan: dict[str, Any], **guards: Any) -> tuple[str, ...]:
    return tuple(each.clause for each in objections(Guards(**guards), read_changes(plan), Operation.APPLY))


def test_a_plan_is_read_whole() -> None:
    plan = document(
        change("a.b", "no-op"),
        change("a.c", "delete", "create"),
        change("a.d", "no-op", previous_address="a.e"),
        change("a.f", "delete", deposed="0f00"),
        change("a.g", "no-op", importing={"id": "x"}),
        change("data.a.h", "delete", mode="data"),
        output_changes={"o": {"actions": ["update"]}, "p": {"actions": ["no-op"]}},
    )

    assert read_changes(plan) == Changes(
        resources=(
            ResourceChange("a.b", frozenset({"no-op"})),
            ResourceChange("a.c", frozenset({"delete", "create"})),
            ResourceChange("a.d", frozenset({"no-op"}), previous_address="a.e"),
            ResourceChange("a.f", frozenset({"delete"}), deposed="0f00"),
            ResourceChange("a.g", frozenset({"no-op"}), is_import=True),
        ),
        outputs=("o",),
    )


@pytest.mark.parametrize(
    ("actions", "counts"),
    [
        (("no-op",), (False, False, False)),
        (("read",), (False, False, False)),
        (("create",), (False, False, True)),
        (("update",), (False, False, True)),
        (("delete",), (True, True, True)),
        (("delete", "create"), (True, True, True)),
        (("create", "delete"), (True, True, True)),
        (("forget",), (False, True, True)),
        (("create", "forget"), (False, True, True)),
        (("something-new",), (False, True, True)),
    ],
    ids=str,
)
def test_what_is_destroyed_what_is_lost_and_what_is_a_change(
    actions: tuple[str, ...], counts: tuple[bool, bool, bool]
) -> None:
    (found,) = read_changes(document(change("a.b", *actions))).resources

    assert (found.is_destroyed, found.is_lost, found.is_change) == counts


@pytest.mark.parametrize(
    ("plan", "are_none"),
    [
        pytest.param(document(), True, id="nothing"),
        pytest.param(document(change("a.b", "no-op"), applyable=False), True, id="no-op"),
        pytest.param(
            document(change("a.b", "no-op"), resource_drift=[change("a.b", "update")]), True, id="drift"
        ),
        pytest.param(document(change("data.a.b", "read", mode="data")), True, id="a data source"),
        pytest.param(document(change("a.b", "no-op", previous_address="a.c")), False, id="moved"),
        pytest.param(document(change("a.b", "no-op", previous_address="a.b")), True, id="moved nowhere"),
        pytest.param(document(change("a.b", "no-op", importing={})), True, id="no import"),
        pytest.param(document(change("a.b", "no-op", importing={"id": "1"})), False, id="imported"),
        pytest.param(document(output_changes={"o": {"actions": ["delete"]}}), False, id="an output"),
        pytest.param(document(action_invocations=[{}]), False, id="an action"),
        pytest.param(document(applyable=True), False, id="something new"),
    ],
)
def test_no_change_is_no_change_at_all(plan: dict[str, Any], are_none: bool) -> None:
    assert read_changes(plan).are_none is are_none


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param([], id="a list"),
        pytest.param({}, id="no format"),
        pytest.param({"format_version": "2.0"}, id="another format"),
        pytest.param(document({"address": "a.b"}), id="no mode"),
        pytest.param(document({"address": "a.b", "mode": "managed"}), id="no change"),
        pytest.param(document({"address": "a.b", "mode": "managed", "change": None}), id="null"),
        pytest.param(
            document({"address": "a.b", "mode": "managed", "change": {"actions": "delete"}}), id="a text"
        ),
        pytest.param(document({**change("a.b", "delete"), "address": None}), id="no address"),
        pytest.param(document(output_changes=[1]), id="outputs in a list"),
        pytest.param({"format_version": "1.0", "resource_changes": 3}, id="a number"),
    ],
)
def test_what_is_not_understood_never_passes_for_a_harmless_plan(plan: Any) -> None:
    with pytest.raises(ValueError, match=r"^it (is not a plan in a format that is known|does not say what)"):
        read_changes(plan)


# The words


def protect(*texts: str) -> tuple[Pattern, ...]:
    return tuple(Pattern(text) for text in texts)


@pytest.mark.parametrize(
    ("plan", "guards", "clauses"),
    [
        pytest.param(
            document(change("a.b", "delete")), {"max_destroy": Limit(0)},
            ("destroys 1 resource, `a.b`, and `--max-destroy 0` allows none",), id="none",
        ),
        pytest.param(
            document(change("a.b[10]", "delete"), change("a.b[9]", "create", "delete")),
            {"max_destroy": Limit(1, "HEREYA_TF_MAX_DESTROY")},
            ("destroys 2 resources, `a.b[9]` and `a.b[10]`, and `HEREYA_TF_MAX_DESTROY=1` allows 1",), id="one",
        ),
        pytest.param(
            document(change("a.b", "delete"), change("a.b", "delete", deposed="77aa")),
            {"max_destroy": Limit(1, "hereya-tf.toml:3")},
            (
                "destroys 2 resources, `a.b` and `a.b` (deposed `77aa`),"
                " and `max-destroy = 1` in `hereya-tf.toml:3` allows 1",
            ),
            id="deposed",
        ),
        pytest.param(
            document(change("a.b", "forget")), {"max_destroy": Limit(0)}, (), id="to forget is not to destroy",
        ),
        pytest.param(
            document(change("a.b", "delete"), change("a.c", "delete")), {"max_destroy": Limit(2)}, (), id="allowed",
        ),
        pytest.param(
            document(change("a.b", "delete", "create")), {"protect": protect("x.*", "a.b")},
            ("replaces `a.b`, which `--protect a.b` protects",), id="protected",
        ),
        pytest.param(
            document(change("a.b", "forget"), change("a.c", "delete")),
            {"protect": (Pattern("a.b", "hereya-tf.toml:1"), Pattern("a.*", "HEREYA_TF_PROTECT"))},
            (
                "destroys or forgets `a.b` and `a.c`, which `protect = a.b` in `hereya-tf.toml:1` and"
                " `HEREYA_TF_PROTECT=a.*` protect",
            ),
            id="twice",
        ),
        pytest.param(
            document(change("a.new", "delete", "create", previous_address="a.old")), {"protect": protect("a.old")},
            ("replaces `a.new`, which `--protect a.old` protects",), id="under its old name",
        ),
        pytest.param(
            document(change("a.new", "update", previous_address="a.old"), change("a.old", "create")),
            {"protect": protect("a.old")}, (), id="what stays is not lost",
        ),
        pytest.param(
            document(*(change(f"a.b[{number}]", "delete") for number in range(6))), {"protect": protect("a")},
            ("destroys `a.b[0]`, `a.b[1]`, `a.b[2]` and 3 more, which `--protect a` protects",), id="many",
        ),
        pytest.param(
            document(change("a.b", "create"), output_changes={"o": {"actions": ["create"]}}),
            {"expect_no_changes": "--expect-no-changes"},
            ("changes `a.b` and output `o`, and `--expect-no-changes` allows no change",), id="changes",
        ),
        pytest.param(
            document(applyable=True), {"expect_no_changes": "/home/me/config.toml:2"},
            (
                "changes something that is neither a resource nor an output, and `/home/me/config.toml:2`"
                " allows no change",
            ),
            id="unnamed changes",
        ),
        pytest.param(
            document(change('a.b["\x1b[31m\n"]', "delete")), {"max_destroy": Limit(0)},
            ('destroys 1 resource, `a.b["\\x1b[31m\\n"]`, and `--max-destroy 0` allows none',), id="harmless",
        ),
    ],
)  # fmt: skip
def test_a_guard_says_what_it_has_against_which_address(
    plan: dict[str, Any], guards: dict[str, Any], clauses: tuple[str, ...]
) -> None:
    assert said_of(plan, **guards) == clauses


def test_all_guards_are_told_and_the_gravest_decides() -> None:
    changes = read_changes(document(change("a.b", "delete")))
    guards = Guards(Limit(0), protect("a"), "--expect-no-changes")

    found = objections(guards, changes, Operation.PLAN)
    refused = refusal(found)

    assert type(refused) is Protected
    assert str(refused) == (
        "the plan destroys `a.b`, which `--protect a` protects;"
        " it destroys 1 resource, `a.b`, and `--max-destroy 0` allows none;"
        " it changes `a.b`, and `--expect-no-changes` allows no change"
    )
    assert [type(refusal(found[from_:])) for from_ in (1, 2)] == [TooManyDestroys, UnexpectedChanges]
    assert refusal(()) is None


@pytest.mark.parametrize(
    ("guards", "hints"),
    [
        pytest.param(
            Guards(protect=protect("a")),
            (
                "where it has only got another address, say so in a `moved` block",
                "if it is really to go, leave out `--protect a`",
            ),
            id="protect",
        ),
        pytest.param(
            Guards(protect=(Pattern("a", "HEREYA_TF_PROTECT"), Pattern("a.*", "hereya-tf.toml:1"))),
            (
                "where it has only got another address, say so in a `moved` block",
                "if it is really to go, take `a` out of `HEREYA_TF_PROTECT`",
                "if it is really to go, change `protect` in `hereya-tf.toml:1`",
            ),
            id="protect elsewhere",
        ),
        pytest.param(
            Guards(Limit(0, "HEREYA_TF_MAX_DESTROY")),
            ("if so many are really to go, allow them with `--max-destroy 1`",),
            id="max-destroy",
        ),
        pytest.param(
            Guards(Limit(0, "hereya-tf.toml:2")),
            ("if so many are really to go, set `max-destroy = 1` in `hereya-tf.toml:2`",),
            id="max-destroy of the package",
        ),
    ],
)
def test_hints_know_who_has_said_it(guards: Guards, hints: tuple[str, ...]) -> None:
    plan = read_changes(document(change("a.b", "delete")))
    refused = refusal(objections(guards, plan, Operation.PROVISION))

    assert isinstance(refused, HereyaError)
    assert refused.hints == hints


@pytest.mark.parametrize(
    ("operation", "hints"),
    [
        (Operation.PROVISION, ("see what it would do, and why: `hereya-tf plan`",)),
        (Operation.DESTROY, ("see what it would do: `hereya-tf plan --destroy`",)),
        (Operation.PLAN, ()),
        (Operation.APPLY, ()),
    ],
)
def test_hints_never_lead_to_another_plan(operation: Operation, hints: tuple[str, ...]) -> None:
    guards = Guards(protect=protect("a"), expect_no_changes="--expect-no-changes")

    lost, changed = objections(guards, read_changes(document(change("a.b", "delete"))), operation)

    assert changed.hints == (*hints, "if it is to be done, run it without that guard")
    assert any("`moved`" in hint for hint in lost.hints) is (operation is not Operation.DESTROY)


# Who has said it


def options_of(*arguments: str) -> Guards:
    context = provision.make_context("provision", list(arguments))
    return guards_of(context, context.params)


def test_guards_know_where_they_were_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_PROTECT", "a.*\n module.b \n")
    monkeypatch.setenv("HEREYA_TF_EXPECT_NO_CHANGES", "1")

    assert options_of("--max-destroy", "0", "--policy", "conftest test -") == Guards(
        max_destroy=Limit(0, "--max-destroy"),
        protect=(Pattern("a.*", "HEREYA_TF_PROTECT"), Pattern("module.b", "HEREYA_TF_PROTECT")),
        expect_no_changes="HEREYA_TF_EXPECT_NO_CHANGES",
        policy=Policy("conftest test -", "--policy"),
    )


def test_without_options_nothing_is_guarded() -> None:
    assert options_of() == NO_GUARDS
    assert not NO_GUARDS.are_set


@pytest.mark.parametrize(
    "guards",
    [
        Guards(max_destroy=Limit(0)),
        Guards(protect=protect("a")),
        Guards(expect_no_changes="--expect-no-changes"),
        Guards(policy=Policy("true")),
    ],
    ids=["max-destroy", "protect", "expect-no-changes", "policy"],
)
def test_each_guard_is_one(guards: Guards) -> None:
    assert guards.are_set


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--max-destroy", "-1"), "`-1` is not a whole number from 0 on"),
        (("--protect", " "), "the pattern is empty"),
        (("--policy", "  "), "it names no command"),
        (
            ("--policy", "jq . | grep -q x"),
            "it is not run by a shell, and `|` would be a word of it: write `sh -c '…'` around it",
        ),
        (("--policy", "sh -c 'x"), "`sh -c 'x` is not a command: no closing quotation"),
        (("--policy", "''"), "it names no command"),
    ],
)
def test_a_guard_that_guards_nothing_is_refused(arguments: Sequence[str], complaint: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        options_of(*arguments)

    assert caught.value.message == complaint


def test_a_command_is_split_as_a_shell_does() -> None:
    assert split_command("opa eval -i - 'data.x y' \"$HOME\"") == (
        "opa", "eval", "-i", "-", "data.x y", "$HOME",
    )  # fmt: skip
    with pytest.raises(ValueError, match="it holds a zero byte"):
        split_command("a\0b")


_of_a_package = st.builds(
    Guards,
    max_destroy=st.none() | st.builds(Limit, st.integers(0, 5), st.sampled_from(["--max-destroy", "x:1"])),
    protect=st.lists(
        st.builds(Pattern, st.sampled_from("abc"), st.sampled_from(["--protect", "x:1"])), max_size=4
    ).map(tuple),
    expect_no_changes=st.none(),
    policy=st.none(),
)
_of_a_caller = st.builds(
    lambda limits, place: limits._replace(expect_no_changes=place),
    _of_a_package,
    st.none() | st.just("--expect-no-changes"),
)


@given(_of_a_caller, _of_a_package, st.lists(st.sampled_from(["a.a", "b.a", "c.a", "d.a"]), max_size=6))
def test_two_say_no_where_one_of_them_does(one: Guards, other: Guards, destroyed: list[str]) -> None:
    changes = read_changes(document(*(change(address, "delete") for address in destroyed)))

    def refused(guards: Guards) -> set[type[HereyaError]]:
        return {objection.error for objection in objections(guards, changes, Operation.PLAN)}

    assert refused(one.tightened_by(other)) == refused(one) | refused(other)
    assert one.tightened_by(NO_GUARDS) == one


def test_of_the_same_the_callers_is_kept() -> None:
    own = Guards(max_destroy=Limit(1), protect=protect("a"))
    packages = Guards(Limit(1, "x:1"), (Pattern("a", "x:2"), Pattern("b", "x:2")))

    assert own.tightened_by(packages) == Guards(Limit(1), (Pattern("a"), Pattern("b", "x:2")))


# What no policy may repeat


def test_every_value_that_the_plan_calls_sensitive_is_known() -> None:
    instance = {"values": {"a": ["shown", "t-value"]}, "sensitive_values": {"a": [False, True]}}
    plan = {
        "variables": {"token": {"value": "t-variable"}, "open": {"value": "shown"}},
        "configuration": {"root_module": {"variables": {"token": {"sensitive": True}, "open": {}}}},
        "planned_values": {
            "outputs": {
                "o": {"sensitive": True, "value": {"deep": "t-output"}},
                "p": {"sensitive": False, "value": "shown"},
            },
            "root_module": {"child_modules": [{"resources": [instance]}]},
        },
        "resource_changes": [
            {
                "change": {
                    "before": {"password": "t-before", "name": "shown"},
                    "after": {"password": "t-after", "block": [{"key": "t-block", "n": 1}]},
                    "before_sensitive": {"password": True},
                    "after_sensitive": {"password": True, "block": [{"key": True}]},
                }
            }
        ],
        "output_changes": {
            "o": {"before": "t-old", "after": None, "before_sensitive": True, "after_sensitive": False}
        },
    }

    found = [value for value in sensitive_values(plan) if value is not None]

    assert sorted(map(str, found)) == sorted(
        ["t-variable", "{'deep': 't-output'}", "t-value", "t-before", "t-after", "t-block", "t-old"]
    )


def test_a_plan_without_any_of_it_has_nothing_sensitive() -> None:
    assert [value for value in sensitive_values(document()) if value is not None] == []
