"""Processes that share an outbox, and are killed: nothing is lost, settled twice or out of order.

`tests.bench.outbox_storm` is the same, for longer.
"""

from pathlib import Path

import pytest

from tests.bench.outbox_storm import storm


@pytest.mark.behaviour("O1", "O2", "O3", "O4", "Q1", "Q2", "Q3", "Q15")
def test_a_storm_of_kills_and_pauses_breaks_nothing(tmp_path: Path) -> None:
    verdict = storm(tmp_path, deliveries=250, keys=12, workers=4, kills=6, seed=7)

    assert verdict.is_clean, verdict
    assert verdict.kills == 6
    assert verdict.refused > 0
    assert verdict.attempts > 250
