"""The guards of a run as its options say them, each with where it was said."""

from collections.abc import Mapping
from typing import Any

import click

from hereya_tf.cli.engine_options import source_of
from hereya_tf.guards import Guards, Limit, Pattern, Policy


def guards_of(context: click.Context, options: Mapping[str, Any]) -> Guards:
    """What the caller forbids; the package may forbid more."""
    most, command = options["max_destroy"], options["policy"]
    return Guards(
        max_destroy=None if most is None else Limit(most, source_of(context, "max_destroy")),
        protect=tuple(Pattern(text, source_of(context, "protect")) for text in options["protect"]),
        expect_no_changes=source_of(context, "expect_no_changes") if options["expect_no_changes"] else None,
        policy=None if command is None else Policy(command, source_of(context, "policy")),
    )
