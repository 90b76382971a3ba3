"""The outbox: a durable queue in one file, in order within each key, across crashes and processes.

`OutboxStore` keeps deliveries, `Drainer` delivers them. Usable alone; what is named here is loaded when it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hereya_tf.outbox.appending import Draft as Draft
    from hereya_tf.outbox.backoff import Backoff as Backoff
    from hereya_tf.outbox.deliveries import Appended as Appended
    from hereya_tf.outbox.deliveries import Cause as Cause
    from hereya_tf.outbox.deliveries import Dead as Dead
    from hereya_tf.outbox.deliveries import Delivered as Delivered
    from hereya_tf.outbox.deliveries import Delivery as Delivery
    from hereya_tf.outbox.deliveries import Patch as Patch
    from hereya_tf.outbox.deliveries import Released as Released
    from hereya_tf.outbox.deliveries import Renewal as Renewal
    from hereya_tf.outbox.deliveries import Retry as Retry
    from hereya_tf.outbox.deliveries import State as State
    from hereya_tf.outbox.drainer import Drained as Drained
    from hereya_tf.outbox.drainer import Drainer as Drainer
    from hereya_tf.outbox.drainer import Stopped as Stopped
    from hereya_tf.outbox.errors import OutboxError as OutboxError
    from hereya_tf.outbox.keys import Blocked as Blocked
    from hereya_tf.outbox.keys import Snapshot as Snapshot
    from hereya_tf.outbox.store import OutboxStore as OutboxStore

_MODULES = {
    "appending": ("Draft",),
    "backoff": ("Backoff",),
    "deliveries": (
        *("Appended", "Cause", "Dead", "Delivered", "Delivery", "Patch", "Released", "Renewal", "Retry"),
        "State",
    ),
    "drainer": ("Drained", "Drainer", "Stopped"),
    "errors": ("OutboxError",),
    "keys": ("Blocked", "Snapshot"),
    "store": ("OutboxStore",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [*_HOMES]  # noqa: PLE0604 - type checkers read the imports above


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
