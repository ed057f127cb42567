"""Whatever happens to a run, in whatever order: every row is there once, in tables and topics, and is the right one.

Hypothesis chooses what happens, a step at a time; after each, what is there is compared with plain Python.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from headrace.spark import session
from headrace.store import trees
from headrace.tables import delta
from tests.faults import report
from tests.faults.fuse import Fuse
from tests.faults.ledger import FACTORS
from tests.faults.place import PARTITIONS, edited
from tests.faults.plans import Plans
from tests.faults.world import EVERYTHING, Action, Around, Clock, World
from tests.kafka.stage import Stage
from tests.long import long
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # a process that dies closes its log
]

FEW, MANY = 6, 2_000
"""How many runs are a quick try, and how many are long; all situations come up in the latter only."""

STEPS = 10
SECONDS = 1
"""So much time passes with each step."""

_WORK = ("land", "step", "publish")
SITUATIONS = (
    *(f"died in {action}" for action in (*_WORK, "store", "tick", "start", "maintain", "save", "restore", "rebuild")),
    *(f"died at {place}" for place in ("a landing", "a commit", "recorded inputs", "the end of a transaction")),
    *(f"another one met in {action}" for action in _WORK),
    *("older copy taken", "older copy refused", "edit taken", "edit refused", "swap completed by a start"),
    *("maintained", "a tick", "clock put back", "a rejected record"),
)
"""What must have come up, or the test has not tried what it says."""

accounts = st.sampled_from("abc")
payments = st.one_of(
    st.tuples(accounts, st.integers(-80, 120).map(lambda amount: f'{{"amount": {amount}}}')),
    st.tuples(accounts, st.integers(40, 120).map(lambda amount: f'{{"amount": {amount}}}')),
    st.tuples(accounts, st.sampled_from((None, "{", "{}", '{"amount": "1"}'))),
    st.tuples(st.none(), st.just('{"amount": 100}')),
)
sent = st.lists(st.tuples(payments, st.integers(0, 30_000)), max_size=8)
rows = st.sampled_from([EVERYTHING, 1, 2])
actions = st.sampled_from((*_WORK, "store"))
calls = st.integers(0, 60)
few = st.integers(0, 12)
many = st.integers(0, 300)


class Machine(RuleBasedStateMachine):
    """What may happen; each step begins with payments, or none."""

    make: Any

    def __init__(self) -> None:
        super().__init__()
        self.world: World = self.make()

    @rule(sent=sent, rows=rows)
    def work(self, sent: list[Any], rows: int) -> None:
        self.world.send(sent)
        self.world.advance(rows)

    @rule(sent=sent, rows=rows, calls=calls)
    def die_at_work(self, sent: list[Any], rows: int, calls: int) -> None:
        self.world.send(sent)
        self.world.die(calls, partial(self.world.advance, rows))

    @rule(sent=sent, action=actions, number=st.integers(0, 1), rows=rows)
    def work_at_one_thing(self, sent: list[Any], action: Action, number: int, rows: int) -> None:
        self.world.send(sent)
        self.world.work(action, number, rows)

    @rule(sent=sent, rows=rows, action=actions, number=st.integers(0, 1), calls=few)
    def die_at_one_thing(self, sent: list[Any], rows: int, action: Action, number: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.die(calls, partial(self.world.work, action, number, rows))

    @rule(sent=sent, calls=few)
    def die_in_a_tick(self, sent: list[Any], calls: int) -> None:
        self.work(sent, EVERYTHING)
        self.world.die(calls, self.world.tick)

    @rule(sent=sent, rows=rows, calls=calls)
    def die_at_the_start(self, sent: list[Any], rows: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.die(calls, self.world.start)

    @rule(sent=sent, rows=rows)
    def stop_for_a_while(self, sent: list[Any], rows: int) -> None:
        self.work(sent, rows)
        self.world.stop_for_a_while()

    @rule(sent=sent)
    def go_on(self, sent: list[Any]) -> None:
        if self.world.stale is None:
            self.world.stop_for_a_while()
        self.world.send(sent)
        self.world.go_on()

    @rule(sent=sent, rows=rows, calls=many)
    def maintain(self, sent: list[Any], rows: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.die(calls, self.world.maintain)

    @rule(sent=sent, rows=rows, calls=many)
    def save(self, sent: list[Any], rows: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.save(calls)

    @rule(sent=sent, action=actions, calls=many)
    def restore(self, sent: list[Any], action: Action, calls: int) -> None:
        if self.world.saved is None:
            self.world.save(calls)
        else:
            self.world.send(sent)
            self.world.work(action, 0, EVERYTHING)
            self.world.restore(calls)

    @rule(sent=sent, rows=rows, text=st.sampled_from([*FACTORS]), calls=many)
    def edit(self, sent: list[Any], rows: int, text: str, calls: int) -> None:
        self.work(sent, rows)
        self.world.edit(text, calls)

    @rule(sent=sent, rows=rows, seconds=st.integers(1, 3600))
    def put_the_clock_back(self, sent: list[Any], rows: int, seconds: int) -> None:
        self.work(sent, rows)
        self.world.put_the_clock_back(seconds)

    @invariant()
    def all_is_right_so_far(self) -> None:
        self.world.check()
        self.world.clock.go_on(SECONDS)

    def teardown(self) -> None:
        self.world.finish()


@pytest.fixture
def around(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Around:
    """A broker, one JVM, and a process that can die in it."""
    if not PARTITIONS.keys() <= stage.admin.list_topics(timeout=PATIENCE).topics.keys():
        stage.create(PARTITIONS)
    monkeypatch.setattr(delta, "_SEEN_SECONDS", 0)  # here logs are trimmed at once
    monkeypatch.setattr(delta, "_UNTOUCHED", 0)
    monkeypatch.setattr(delta, "_HISTORY_SECONDS", 0)  # and files that were replaced go at once
    monkeypatch.setattr(trees, "sync", lambda _: None)  # it waits for all disks; here none loses power
    monkeypatch.setattr(session, "start", lambda *_: nullcontext(stage.spark))
    fuse, clock, plans = (each().install(monkeypatch) for each in (Fuse, Clock, Plans))
    return Around(stage, edited(tmp_path), fuse, clock, plans)


@pytest.mark.parametrize("examples", [FEW, long(MANY)])
def test_nothing_is_lost_doubled_or_wrong(around: Around, tmp_path: Path, examples: int) -> None:
    number, began = count(), time.monotonic()

    class Tried(Machine):
        def make(self) -> World:
            return World(around, tmp_path / f"world-{next(number)}")

    tried = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Tried, settings=tried)
    if examples == MANY:
        missing = [each for each in SITUATIONS if not around.seen[each]]
        assert not missing, f"{missing} never came up: {around.seen}"
        report.write(around.seen, examples, STEPS, (time.monotonic() - began) / examples)
