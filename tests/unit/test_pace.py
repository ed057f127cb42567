"""The pause between two landing batches follows how much comes."""

from __future__ import annotations

import pytest

from headrace.running.pace import BUSY, QUIET, SHORTEST, WINDOW, Pace, pause


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [(0, SHORTEST), (QUIET, SHORTEST), ((QUIET + BUSY) / 2, 0.5), (BUSY, 1.0), (100_000, 1.0)],
)
def test_pause_grows_with_the_rate_up_to_what_the_target_says(rate: float, seconds: float) -> None:
    assert pause(rate, 1.0) == pytest.approx(seconds)


def test_target_that_wants_less_gets_less() -> None:
    assert [pause(rate, 0.05) for rate in (0, 100_000)] == [0.05, 0.05]
    assert pause(BUSY, 60.0) == 60.0


def test_old_batches_are_forgotten() -> None:
    now = [0.0]
    pace = Pace(1.0, lambda: now[0])
    assert pace.seconds == SHORTEST
    pace.note(1_000_000)
    assert pace.seconds == 1.0
    now[0] = WINDOW + 0.1
    assert pace.seconds == SHORTEST
    for _ in range(10):
        now[0] += 1.0
        pace.note(3)
        assert pace.seconds == SHORTEST
