"""What a plan would do, in rows that a person can decide on."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.events import ChangeCounts, ChangeEvent
from hereya_tf.ui.cells import cell_width
from hereya_tf.ui.plan_table import difference_lines, plan_lines

CHANGES = (
    ChangeEvent("aws_instance.new", "create", None),
    ChangeEvent("aws_s3_bucket.logs", "update", None),
    ChangeEvent("aws_iam_role.moved", "move", None),
    ChangeEvent("aws_eip.kept", "import", None),
    ChangeEvent("aws_db_instance.main", "replace", "cannot_update"),
    ChangeEvent("aws_instance.old[1]", "delete", "delete_because_count_index"),
    ChangeEvent("aws_vpc.shared", "remove", None),
)
COUNTS = ChangeCounts(add=2, change=1, destroy=2, replace=1, import_=1, forget=1)
ONE = ChangeCounts(add=1)
TABLE = [
    "    - destroy  aws_instance.old[1]  (its index is beyond count)",
    "  -/+ replace  aws_db_instance.main  (cannot be updated in place)",
    "    . forget   aws_vpc.shared",
    "    ~ update   aws_s3_bucket.logs",
    "    + create   aws_instance.new",
    "   <- import   aws_eip.kept",
    "   -> move     aws_iam_role.moved",
    "",
    "Plan: 2 to add, 1 to change, 2 to destroy, 1 to import, 1 to forget (1 replaced)",
]


def table(*changes: ChangeEvent, counts: ChangeCounts = ONE, **options: object) -> list[str]:
    settings = {"width": None, "height": None, "color": False, **options}
    return plan_lines(changes, counts, **settings)  # type: ignore[arg-type]


def test_what_destroys_comes_first_and_the_counts_last() -> None:
    assert table(*CHANGES, counts=COUNTS) == TABLE


def test_the_order_of_the_engine_does_not_matter() -> None:
    shuffled = list(CHANGES)
    random.Random(1).shuffle(shuffled)

    assert table(*shuffled, counts=COUNTS) == TABLE


def test_an_action_that_nobody_knows_is_among_the_dangerous_ones() -> None:
    unknown = ChangeEvent("a.b", "explode", "for_fun")

    assert table(CHANGES[0], unknown)[:2] == [
        "    ? explode  a.b  (for fun)",
        "    + create   aws_instance.new",
    ]


def test_nothing_to_change() -> None:
    assert table(counts=ChangeCounts()) == ["Plan: no changes"]


def test_counts_without_the_changes() -> None:
    assert table(counts=ChangeCounts(add=3, destroy=1), title="Plan for web") == [
        "Plan for web: 3 to add, 0 to change, 1 to destroy"
    ]


def test_drift_is_told_as_what_has_happened() -> None:
    drifted = (ChangeEvent("a.b", "update", "drift"), ChangeEvent("a.c", "delete", "drift"))

    assert table(*drifted, counts=ChangeCounts(), title="Drift") == [
        "    - deleted  a.c",
        "    ~ changed  a.b",
        "",
        "Drift: 1 deleted, 1 changed outside of the engine",
    ]


def test_only_destroying_is_red_in_the_counts() -> None:
    assert table(CHANGES[0], color=True) == [
        "\x1b[32m    + create   \x1b[0maws_instance.new",
        "",
        "\x1b[1mPlan: \x1b[0m1 to add, 0 to change, 0 to destroy",
    ]
    assert table(counts=ChangeCounts(destroy=2), color=True) == [
        "\x1b[1mPlan: \x1b[0m0 to add, 0 to change, \x1b[1;31m2 to destroy\x1b[0m"
    ]


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (80, "    - destroy  module.one.aws_instance.web[1]  (its index is beyond count)"),
        (72, "    - destroy  module.one.aws_instance.web[1]"),
        (40, "    - destroy  module.on…instance.web[1]"),
        (20, "    - destroy  m…[1]"),
        (10, "    - des…"),
    ],
)
def test_on_a_narrow_screen_the_reason_goes_first_then_the_middle_of_the_address(
    width: int, row: str
) -> None:
    change = ChangeEvent("module.one.aws_instance.web[1]", "delete", "delete_because_count_index")

    assert table(change, width=width)[0] == row


def test_a_long_table_is_as_high_as_the_place_there_is() -> None:
    creates = [ChangeEvent(f"a.b[{number}]", "create", None) for number in range(2000)]
    changes = (*creates, ChangeEvent("a.old", "delete", None))
    counts = ChangeCounts(add=2000, destroy=1)

    assert table(*changes, counts=counts, height=6) == [
        "    - destroy  a.old",
        "    + create   a.b[0]",
        "    + create   a.b[1]",
        "      and 1,998 more: 1,998 to create",
        "",
        "Plan: 2,000 to add, 0 to change, 1 to destroy",
    ]
    assert len(table(*changes, counts=counts)) == 2003


def test_a_table_that_just_fits_is_shown_whole() -> None:
    assert table(*CHANGES, counts=COUNTS, height=9) == TABLE
    assert table(*CHANGES, counts=COUNTS, height=8)[4:6] == [
        "    + create   aws_instance.new",
        "      and 2 more: 1 to import, 1 to move",
    ]


def test_changes_that_were_not_kept_are_counted() -> None:
    assert table(CHANGES[0], counts=ChangeCounts(add=5, change=1))[1] == "      and 5 more"


@given(
    st.lists(
        st.builds(
            ChangeEvent,
            st.text(max_size=60),
            st.sampled_from(["create", "delete", "replace", "x\n\x1b"]),
            st.none() | st.text(max_size=30),
        ),
        max_size=12,
    ),
    st.integers(1, 90),
    st.integers(1, 12),
)
def test_no_row_is_wider_and_no_table_higher_than_the_screen(
    changes: list[ChangeEvent], width: int, height: int
) -> None:
    lines = plan_lines(changes, ChangeCounts(add=20), width=width, height=height, color=False)

    assert all(cell_width(line) <= width for line in lines[:-1])
    assert len(lines) <= max(3, height)
    assert not any(character < " " for line in lines for character in line)


def test_a_hostile_address_steers_nothing() -> None:
    change = ChangeEvent('a.b["\x1b[2J\n\t"]', "create", "because_\n\x1b]0;x")

    assert table(change)[0] == '    + create   a.b["\\x1b[2J\\n\\t"]  (because \\n\\x1b]0;x)'


DIFFERENCE = """
Terraform will perform the following actions:

  # aws_db_instance.main must be replaced
-/+ resource "aws_db_instance" "main" {
      ~ id   = "a" -> (known after apply)
      - old  = 1 -> null
      + new  = 1
        # (3 unchanged attributes hidden)
    }
 <= data "x" "y" {
+/- resource "c" "d" {
"""


def test_the_difference_is_coloured_by_what_each_line_begins_with() -> None:
    assert difference_lines(DIFFERENCE, color=True) == [
        "Terraform will perform the following actions:",
        "",
        "\x1b[1m  # aws_db_instance.main must be replaced\x1b[0m",
        '\x1b[31m-/+ resource "aws_db_instance" "main" {\x1b[0m',
        '\x1b[33m      ~ id   = "a" -> (known after apply)\x1b[0m',
        "\x1b[31m      - old  = 1 -> null\x1b[0m",
        "\x1b[32m      + new  = 1\x1b[0m",
        "\x1b[2m        # (3 unchanged attributes hidden)\x1b[0m",
        "    }",
        '\x1b[36m <= data "x" "y" {\x1b[0m',
        '\x1b[31m+/- resource "c" "d" {\x1b[0m',
    ]
    assert difference_lines(DIFFERENCE, color=False) == DIFFERENCE.strip("\n").split("\n")


def test_a_value_in_the_difference_steers_nothing() -> None:
    text = '  + a = "\x1b[31m"\r\n  + b = "\x9b2J\u202e\u2066\x0b"\x0c\x85'

    assert difference_lines(text, color=False) == [
        '  + a = "\\x1b[31m"',
        '  + b = "\\x9b2J\\u202e\\u2066\\x0b"\\x0c\\x85',
    ]
    assert difference_lines("", color=True) == [""]


def test_addresses_are_in_the_order_that_people_count_in() -> None:
    changes = [ChangeEvent(f"a.b[{number}]", "create", None) for number in (10, 2, 1)]
    changes.append(ChangeEvent("a.b[²]", "create", None))

    lines = plan_lines(changes, ChangeCounts(add=4), width=None, height=None, color=False)

    assert [line.split()[-1] for line in lines[:4]] == ["a.b[1]", "a.b[2]", "a.b[10]", "a.b[²]"]
