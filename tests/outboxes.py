"""An outbox in a test: with a clock that stands still, and claims that are taken or missing."""

from pathlib import Path

from hereya_tf.outbox import Delivery, OutboxStore

LEASE = 1_000


class Hands:
    """A clock whose hands a test turns, in milliseconds."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def turn(self, milliseconds: int) -> int:
        self.now += milliseconds
        return self.now


class Outbox(OutboxStore):
    """One whose wall clock stands still, and that is claimed from by that clock as well."""

    def __init__(self, directory: Path) -> None:
        self.hands = Hands()
        super().__init__(directory / "outbox.db", wall=self.hands)

    @property
    def clock(self) -> Hands:
        return self.hands

    def fill(self, *keys: str | None, attempts: int = 3) -> list[str]:
        """A delivery for each of these keys; their ids."""
        return [
            self.append({"place": place}, key=key, attempts=attempts).id for place, key in enumerate(keys)
        ]

    def take(self, lease: int = LEASE, claimer: str = "us") -> Delivery:
        """A claim; fails when nothing is ready."""
        claimed = self.claim(self.hands.now, lease, claimer=claimer)
        assert claimed is not None
        return claimed

    def has_nothing(self) -> bool:
        """Whether nothing is ready."""
        return self.claim(self.hands.now, LEASE) is None

    def read(self, delivery_id: str) -> Delivery:
        """The delivery as it is."""
        found = self.get(delivery_id)
        assert found is not None
        return found


def token(delivery: Delivery) -> str:
    """Of a claim."""
    assert delivery.claim_token is not None
    return delivery.claim_token
