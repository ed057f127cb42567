"""Whatever happens to a run, in whatever order: every row is there once, in tables and topics, and is the right one.

Hypothesis chooses what happens, a step at a time; after each, what is there is compared with plain Python.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from headrace.project.model import Project
from headrace.spark import session
from headrace.store import durable
from headrace.store.maintenance import retention
from headrace.tables import commit_log
from tests.faults import report
from tests.faults.compared import Balances, Part, Spans
from tests.faults.fuse import Fuse
from tests.faults.ledger import FACTORS
from tests.faults.place import PARTITIONS, edited, streamed
from tests.faults.plans import Plans
from tests.faults.world import EVERYTHING, Action, Around, Clock, World
from tests.kafka.stage import Stage
from tests.long import long
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # a process that dies closes its log
]

FEW, STREAMED_FEW = 4, 2
"""How many runs are a quick try."""

MANY = int(os.environ.get(report.RUNS_VARIABLE, report.RUNS))
"""How many are a long one, and a quarter of it in the streaming engine."""

STEPS, STREAMED_STEPS = 10, 3
"""How many steps a run has; a quick one in the streaming engine has fewer, as each of its steps takes seconds."""

SECONDS = 1
"""So much time passes with each step."""

_WORK = ("land", "step", "publish")
_COMMON = (
    *(f"died in {action}" for action in (*_WORK, "tick", "start", "maintain", "save", "restore")),
    *(f"died at {place}" for place in ("a landing", "a commit", "recorded inputs", "the end of a transaction")),
    *(f"power lost in {action}" for action in (*_WORK, "tick", "start", "maintain")),
    *("older copy taken", "older copy refused", "maintained", "a tick", "a rejected record"),
    "older twin taken",
)
SITUATIONS = (
    *_COMMON,
    *("died in store", "died in rebuild", *(f"another one met in {action}" for action in _WORK)),
    *("edit taken", "edit refused", "swap completed by a start", "clock put back", "older twin refused"),
)
"""What must have come up, or the test has not tried what it says."""

STREAMED_SITUATIONS = (
    *_COMMON,
    *("died at late rows", "older checkpoints taken", "older checkpoints refused", "older tables refused"),
    *("halted at a commit", "halted at recorded inputs", "another one met by a halted query"),
)
"""The same of the model that Spark's streaming engine runs."""

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
seeds = st.integers(0, 1_000)


class Machine(RuleBasedStateMachine):
    """What may happen to any query; each step begins with payments, or none."""

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

    @rule(sent=sent, calls=few)
    def die_in_a_tick(self, sent: list[Any], calls: int) -> None:
        self.work(sent, EVERYTHING)
        self.world.die(calls, self.world.tick)

    @rule(sent=sent, rows=rows, calls=calls)
    def die_at_the_start(self, sent: list[Any], rows: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.die(calls, self.world.start)

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

    @rule(sent=sent, rows=rows, calls=calls, seed=seeds)
    def lose_power_at_work(self, sent: list[Any], rows: int, calls: int, seed: int) -> None:
        self.world.send(sent)
        self.world.lose_power(seed, 2 * calls, partial(self.work, sent, rows))

    @rule(sent=sent, rows=rows, doing=st.sampled_from(("tick", "start", "maintain")), calls=many, seed=seeds)
    def lose_power(self, sent: list[Any], rows: int, doing: str, calls: int, seed: int) -> None:
        self.work(sent, rows)
        self.world.lose_power(seed, calls, getattr(self.world, doing))

    @rule(sent=sent, rows=rows, more=sent)
    def twin(self, sent: list[Any], rows: int, more: list[Any]) -> None:
        self.work(sent, rows)
        self.world.send(more)
        self.world.twin(rows)

    @invariant()
    def all_is_right_so_far(self) -> None:
        self.world.check()
        self.world.clock.go_on(SECONDS)

    def teardown(self) -> None:
        self.world.finish()


class InBatches(Machine):
    """What may happen to micro-batches besides."""

    @rule(sent=sent, action=actions, number=st.integers(0, 1), rows=rows)
    def work_at_one_thing(self, sent: list[Any], action: Action, number: int, rows: int) -> None:
        self.world.send(sent)
        self.world.work(action, number, rows)

    @rule(sent=sent, rows=rows, action=actions, number=st.integers(0, 1), calls=few)
    def die_at_one_thing(self, sent: list[Any], rows: int, action: Action, number: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.die(calls, partial(self.world.work, action, number, rows))

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

    @rule(sent=sent, rows=rows, text=st.sampled_from([*FACTORS]), calls=many)
    def edit(self, sent: list[Any], rows: int, text: str, calls: int) -> None:
        self.work(sent, rows)
        self.world.edit(text, calls)

    @rule(sent=sent, rows=rows, seconds=st.integers(1, 3600))
    def put_the_clock_back(self, sent: list[Any], rows: int, seconds: int) -> None:
        self.work(sent, rows)
        self.world.put_the_clock_back(seconds)


class Streamed(Machine):
    """What may happen besides to a query of Spark's streaming engine."""

    @rule(sent=sent, seconds=st.integers(1, 60))
    def let_time_pass(self, sent: list[Any], seconds: int) -> None:
        self.world.send(sent)
        self.world.let_time_pass(seconds)

    @rule(sent=sent, rows=rows, calls=few)
    def halt_in_a_batch(self, sent: list[Any], rows: int, calls: int) -> None:
        self.work(sent, rows)
        self.world.send(sent)
        self.world.work("land", 0, rows)
        self.world.halt_in_a_batch(calls)

    @rule(sent=sent, part=st.sampled_from(("checkpoints", "tables")))
    def put_back_a_part(self, sent: list[Any], part: str) -> None:
        if self.world.saved is None:
            self.world.save(10_000)
        self.work(sent, EVERYTHING)
        self.world.put_back_a_part(part)

    def teardown(self) -> None:
        self.world.let_time_pass(300)
        super().teardown()


def around(stage: Stage, patch: pytest.MonkeyPatch, texts: Mapping[str, Project], part: Part) -> Around:
    """A broker, one JVM, and a process that can die in it."""
    if not PARTITIONS.keys() <= stage.admin.list_topics(timeout=PATIENCE).topics.keys():
        stage.create(PARTITIONS)
    patch.setattr(commit_log, "_SEEN_SECONDS", 0)  # here logs are trimmed at once
    patch.setattr(commit_log, "_UNTOUCHED", 0)
    patch.setattr(commit_log, "_HISTORY_SECONDS", 0)  # and files that were replaced go at once
    patch.setattr(retention, "SHORTEST", 0.0)  # and rows that are as old as they need be
    patch.setattr(os, "sync", lambda: None)  # it waits for all disks
    patch.setattr(session, "start", lambda *_: nullcontext(stage.spark))
    fuse, clock, plans = (each().install(patch) for each in (Fuse, Clock, Plans))
    found = Around(stage, texts, part, fuse, clock, plans)
    patch.setattr(durable, "boot", lambda: f"boot {found.boots}")
    return found


def try_out(machine: type[Machine], around: Around, folder: Path, runs: int, steps: int = STEPS) -> float:
    """Let a machine run so many times; how many seconds a run takes."""
    number, began = count(), time.monotonic()

    class Tried(machine):  # type: ignore[misc, valid-type]
        def make(self) -> World:
            return World(around, folder / f"{machine.__name__.lower()}-{next(number)}")

    tried = settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Tried, settings=tried)
    return (time.monotonic() - began) / runs


@pytest.mark.parametrize("extent", ["few", long("many")])
def test_nothing_is_lost_doubled_or_wrong(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extent: str
) -> None:
    there = around(stage, monkeypatch, edited(tmp_path), Balances())
    runs = FEW if extent == "few" else MANY
    seconds = try_out(InBatches, there, tmp_path, runs)
    if extent == "many":
        report.write(report.BATCHES, there.seen, SITUATIONS, runs, STEPS, seconds)


@pytest.mark.parametrize("extent", ["few", long("many")])
def test_nothing_is_lost_doubled_or_wrong_in_the_streaming_engine(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extent: str
) -> None:
    there = around(stage, monkeypatch, {"as it is": streamed()}, Spans())
    runs, steps = (STREAMED_FEW, STREAMED_STEPS) if extent == "few" else (MANY // 4, STEPS)
    seconds = try_out(Streamed, there, tmp_path, runs, steps)
    if extent == "many":
        report.write(report.STREAMED, there.seen, STREAMED_SITUATIONS, runs, STEPS, seconds)


@pytest.mark.long
def test_streaming_query_dies_at_each_call_of_its_batches(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time a span has just ended, so that its rows are committed, and a payment has come too late."""
    there = around(stage, monkeypatch, {"as it is": streamed()}, Spans())
    world = World(there, tmp_path / "dying")
    for calls in count():
        world.send([(("a", '{"amount": 1}'), 0), (("a", '{"amount": 1}'), -30_000)])
        world.work("land", 0, EVERYTHING)
        world.clock.go_on(30)
        world.tick()
        before = there.seen["died in step"]
        world.die(calls, partial(world.work, "step", 0, EVERYTHING))
        world.check()
        if there.seen["died in step"] == before:
            break
    world.let_time_pass(300)
    world.finish()
    assert there.seen["died at a commit"] > 1 and there.seen["died at late rows"] > 1
