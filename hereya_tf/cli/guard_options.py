"""The guards of a run as its options say them, each with where it was said."""

import os
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.engine_options import source_of
from hereya_tf.cli.groups import Misuse
from hereya_tf.guards import POLICY_VARIABLES, Guards, Limit, Pattern, Policy

# Every policy has it.
_WITHIN_A_POLICY = f"{POLICY_VARIABLES}RUN"


def guards_of(context: click.Context, options: Mapping[str, Any]) -> Guards:
    """What the caller forbids; the package may forbid more."""
    if context.meta["hereya_tf.order"].count("policy") > 1:
        raise Misuse(
            "`--policy` is given twice, and only one can be asked",
            "write a script that asks both, and give that",
        )
    most = options["max_destroy"]
    return Guards(
        max_destroy=None if most is None else Limit(most, source_of(context, "max_destroy")),
        protect=tuple(Pattern(text, source_of(context, "protect")) for text in options["protect"]),
        expect_no_changes=source_of(context, "expect_no_changes") if options["expect_no_changes"] else None,
        policy=_policy(context, options["policy"]),
    )


def _policy(context: click.Context, command: str | None) -> Policy | None:
    """That of `config.toml` not within a policy: one that starts hereya-tf would be asked about that too."""
    is_from_file = context.get_parameter_source("policy") is ParameterSource.DEFAULT_MAP
    if command is None or (is_from_file and _WITHIN_A_POLICY in os.environ):
        return None
    return Policy(command, source_of(context, "policy"))
