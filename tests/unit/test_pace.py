"""The pause between two landing batches follows how much comes."""

from __future__ import annotations

import pytest

from headrace.running.pace import BUSY, FULL, QUIET, SHORTEST, WINDOW, Pace, pause


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [(0, SHORTEST), (QUIET, SHORTEST), ((QUIET + BUSY) / 2, 0.5), (BUSY, 1.0), (FULL, 1.0)],
)
def test_pause_grows_with_the_rate_up_to_what_the_target_says(rate: float, seconds: float) -> None:
    assert pause(rate, 1.0) == pytest.approx(seconds)


def test_target_that_wants_less_gets_less() -> None:
    assert [pause(rate, 0.05) for rate in (0, 100_000)] == [0.05, 0.05]
    assert pause(BUSY, 20.0) == 20.0


def test_where_a_full_batch_comes_sooner_it_is_not_waited_for() -> None:
    assert pause(1000, 1.0) == pytest.approx(0.6)
    assert [pause(100_000, longest) for longest in (1.0, 60.0)] == [0.5, 59.5]
    assert all(pause(rate, 0.4) <= 0.4 for rate in range(0, 10_000, 100))


def test_old_batches_are_forgotten() -> None:
    now = [0.0]
    pace = Pace(1.0, lambda: now[0])
    assert pace.seconds == SHORTEST
    pace.note(1_000)
    assert pace.seconds == 1.0
    now[0] = WINDOW + 0.1
    assert pace.seconds == SHORTEST
    for _ in range(10):
        now[0] += 1.0
        pace.note(3)
        assert pace.seconds == SHORTEST
