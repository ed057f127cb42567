"""Landing time is the machine's, never goes back, and goes on where the clock was put back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headrace.landing.landing_time import LandingTime

TEN = datetime(2026, 1, 1, 10, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)


@dataclass
class Machine:
    """A clock that can be set, and the time that really passes."""

    clock: datetime = TEN
    passed: float = 100.0

    def wait(self, seconds: float) -> None:
        self.clock += seconds * SECOND
        self.passed += seconds

    def time(self) -> LandingTime:
        return LandingTime(lambda: self.clock, lambda: self.passed)


def test_it_is_that_of_the_clock() -> None:
    machine = Machine()
    time = machine.time()
    time.note(machine.clock)
    machine.wait(60)
    assert (time.read(), time.ahead) == (TEN + 60 * SECOND, timedelta())


def test_it_goes_on_at_half_speed_until_a_clock_that_was_put_back_has_caught_up() -> None:
    machine = Machine()
    time = machine.time()
    time.note(TEN + 100 * SECOND)  # somebody has set the clock ahead, and back again
    machine.wait(20)
    assert (time.read(), time.ahead) == (TEN + 110 * SECOND, 90 * SECOND)
    time.note(time.read())
    machine.wait(20)
    assert (time.read(), time.ahead) == (TEN + 120 * SECOND, 80 * SECOND)
    machine.wait(180)
    assert (time.read(), time.ahead) == (TEN + 220 * SECOND, timedelta())


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(1, 100), st.booleans()), max_size=30))
def test_it_never_goes_back_and_never_stands_still(steps: list[tuple[int, int, bool]]) -> None:
    machine = Machine()
    time, before = machine.time(), TEN - SECOND
    time.note(TEN - SECOND)
    for set_by, waited, lands in steps:
        machine.clock += set_by * SECOND
        machine.wait(waited)
        now = time.read()
        assert now >= before and now >= machine.clock
        if lands:
            assert now > before
            time.note(now)
            before = now
