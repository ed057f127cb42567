"""How often current rows are stored, by a clock of the test's own."""

from __future__ import annotations

import pytest

from headrace.queries.storing import CURRENT_SECONDS, StoringTimes


@pytest.mark.parametrize(("took", "pause"), [(0, CURRENT_SECONDS), (1, CURRENT_SECONDS), (10, 190), (60, 1140)])
def test_storing_takes_a_twentieth_of_the_time_at_most(took: float, pause: float) -> None:
    now = [0.0]
    times = StoringTimes(lambda: now[0])
    with times.measured():
        now[0] += took
    now[0] += pause - 1
    assert not times.is_due
    now[0] += 1
    assert times.is_due
