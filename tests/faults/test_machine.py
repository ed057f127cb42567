"""Whatever happens to a run, in whatever order: every row is there once, in tables and topics, and is the right one.

Hypothesis chooses what happens, a step at a time; the results are compared with plain Python.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from headrace.tables import delta
from tests.faults.fuse import Fuse
from tests.faults.world import EVERYTHING, TOPICS, Action, Clock, World
from tests.kafka.events import BAD, NEVER_MADE, made, order, sale
from tests.kafka.oracle import MINUTE_MS, SALES
from tests.kafka.stage import Stage
from tests.long import long

pytestmark = pytest.mark.kafka

ITEMS = {"a": (1,), "b": (1, 2), "c": (1, 2, 3), "d": (1, NEVER_MADE)}
"""The products of each order; an order that came with others would hang on which topic lands first."""

FEW = 3
"""So many examples of twenty steps are a quick try; all situations come up in more of them only."""

SECONDS = 1
"""So much time passes with each step: in twenty of them, less than makes a record late."""

SITUATIONS = (
    *(f"died in {action}" for action in ("land", "step", "publish", "tick", "start")),
    *(f"another one met in {action}" for action in ("land", "step", "publish")),
    *("older copy taken", "older copy refused", "maintained", "a tick", "clock put back", "a rejected record"),
)
"""What must have come up, or the test has not tried what it says."""

orders = st.sampled_from([*ITEMS])
events = st.one_of(
    orders.map(lambda name: order(name, *ITEMS[name])),
    st.builds(made, orders, st.integers(1, 3)),
    st.builds(sale, st.sampled_from("xyz"), st.integers(-2500, 2500)),
    st.sampled_from("xyz").map(lambda product: (SALES, product, None)),
    st.sampled_from([event for _, event in BAD]),
)
sent = st.lists(st.tuples(events, st.integers(0, MINUTE_MS // 2)), min_size=1, max_size=8)
rows = st.sampled_from([EVERYTHING, 1, 2])


class Machine(RuleBasedStateMachine):
    """What may happen."""

    make: Any

    def __init__(self) -> None:
        super().__init__()
        self.world: World = self.make()

    @rule(sent=sent, rows=rows)
    def advance(self, sent: list[Any], rows: int) -> None:
        self.world.send(sent)
        self.world.advance(rows)

    @rule(sent=sent, rows=rows, calls=st.sampled_from(range(90)))
    def die_at_work(self, sent: list[Any], rows: int, calls: int) -> None:
        self.world.send(sent)
        self.world.die(calls, partial(self.world.advance, rows))

    @rule(sent=sent, action=st.sampled_from(("land", "step", "publish")), number=st.integers(0, 2), rows=rows)
    def work_at_one_thing(self, sent: list[Any], action: Action, number: int, rows: int) -> None:
        self.world.send(sent)
        self.world.work(action, number, rows)

    @rule(calls=st.sampled_from(range(12)))
    def die_in_a_tick(self, calls: int) -> None:
        self.world.die(calls, self.world.tick)

    @rule(calls=st.sampled_from(range(12)))
    def die_at_the_start(self, calls: int) -> None:
        self.world.die(calls, self.world.start)

    @rule()
    def stop_for_a_while(self) -> None:
        self.world.stop_for_a_while()

    @precondition(lambda self: self.world.stale is not None)
    @rule()
    def go_on(self) -> None:
        self.world.go_on()

    @rule()
    def maintain(self) -> None:
        self.world.maintain()

    @precondition(lambda self: self.world.saved is None)
    @rule()
    def save(self) -> None:
        self.world.save()

    @precondition(lambda self: self.world.saved is not None)
    @rule()
    def restore(self) -> None:
        self.world.restore()

    @rule(seconds=st.integers(1, 3600))
    def put_the_clock_back(self, seconds: int) -> None:
        self.world.put_the_clock_back(seconds)

    @invariant()
    def nothing_is_twice(self) -> None:
        self.world.check()
        self.world.clock.go_on(SECONDS)

    def teardown(self) -> None:
        self.world.finish()


@pytest.mark.parametrize("examples", [long(FEW), long(40)])
def test_nothing_is_lost_doubled_or_wrong(stage: Stage, monkeypatch: pytest.MonkeyPatch, examples: int) -> None:
    stage.create(TOPICS)
    monkeypatch.setattr(delta, "_SEEN_SECONDS", 0)  # here logs are trimmed at once
    monkeypatch.setattr(delta, "_UNTOUCHED", 0)
    monkeypatch.setattr(delta, "_HISTORY_SECONDS", 0)  # and files that were replaced go at once
    fuse, clock, seen, number = Fuse().install(monkeypatch), Clock().install(monkeypatch), Counter[str](), count()

    class Tried(Machine):
        def make(self) -> World:
            return World(stage, stage.folder / f"world-{next(number)}", fuse, clock, seen)

    tried = settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Tried, settings=tried)
    missing = [each for each in SITUATIONS if not seen[each]]
    assert examples == FEW or not missing, f"{missing} never came up: {seen}"
