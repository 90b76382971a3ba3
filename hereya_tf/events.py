"""What a run tells its front ends, and the JSON form of it.

Named tuples, not dataclasses: they cost 0.09 ms each to define against 0.59 ms, and this module is
loaded before the engine can be started.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

FORMAT_VERSION = 1


class RunStarted(NamedTuple):
    """The run has an id; nothing has been touched yet."""

    operation: str
    package: str
    workspace: str
    key: str
    pid: int
    version: str
