"""How often current rows are stored, by a clock of the test's own."""

from __future__ import annotations

import pytest

from headrace.queries.storing import CURRENT_SECONDS, LARGE, StoringTimes


@pytest.mark.parametrize(
    ("took", "size", "pause"),
    [
        (0, 0, CURRENT_SECONDS),
        (1, LARGE // 20, CURRENT_SECONDS),
        (1, LARGE // 4, 150),
        (1, LARGE, 600),
        (10, 0, 190),
        (60, 0, 1140),
        (1, LARGE + 1, 600),
        (60, LARGE + 1, 1140),
    ],
)
def test_storing_takes_little_of_the_time_and_of_the_disk(took: float, size: int, pause: float) -> None:
    now = [0.0]
    times = StoringTimes(600.0, lambda: now[0])
    with times.measured():
        now[0] += took
    times.bytes = size
    now[0] += pause - 1
    assert not times.is_due
    now[0] += 1
    assert times.is_due
