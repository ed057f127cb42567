"""A run of shipping and sales, taken step by step, and what the world does to it in between."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path
from typing import Literal

import pytest
from confluent_kafka import KafkaException, TopicPartition
from tenacity import Retrying, retry_if_exception_type, stop_after_delay

from headrace.environment import backup
from headrace.errors import HeadraceError, InvalidProject, Overtaken
from headrace.landing import landing
from headrace.landing.landing_time import LandingTime
from headrace.project import selection
from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.running import upkeep
from headrace.running.factory import AnyQuery
from headrace.running.runner import Options, Run
from headrace.store.layout import Layout
from headrace.store.maintenance import Maintenance, Policy
from headrace.streaming.native import NativeQuery
from tests.faults.fuse import Fuse
from tests.kafka import outcome
from tests.kafka.cluster import Event
from tests.kafka.crash import Crash
from tests.kafka.events import sale
from tests.kafka.oracle import MANUFACTURED, MINUTE_MS, ORDERS, SALES
from tests.kafka.stage import DOMAINS, Stage
from tests.waiting import PATIENCE

PUBLISHED = ("shipping", "notifications-events-v1")
TOPICS = {ORDERS: 2, MANUFACTURED: 1, SALES: 2} | dict.fromkeys(PUBLISHED, 1)
"""Topics and how many partitions they have."""

Action = Literal["land", "step", "publish"]
EVERYTHING = 100_000
_ROUNDS = 30
_TWO_RUNNERS = (Overtaken, HeadraceError, KafkaException)
"""How a runner learns that there is another one."""


@dataclass
class Clock:
    """The clock of all runners, which a slow machine does not move: ticks would make records late."""

    now: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    elapsed: float = 0.0

    def go_on(self, seconds: float) -> None:
        self.now, self.elapsed = self.now + timedelta(seconds=seconds), self.elapsed + seconds

    def put_back(self, seconds: float) -> None:
        """Somebody sets the clock; no less time has passed."""
        self.now -= timedelta(seconds=seconds)

    def install(self, patch: pytest.MonkeyPatch) -> Clock:
        patch.setattr(landing, "LandingTime", lambda: LandingTime(lambda: self.now, lambda: self.elapsed))
        return self


@dataclass
class Place(Stage):
    """A data directory of its own, and a target of its own name, on a broker that others have used before."""

    name: str = "test"

    @cached_property
    def project(self) -> Project:
        found = self.project_of("test", self.data_dir)
        return replace(found, target=replace(found.target, name=self.name))


class World:
    """What was sent, what is stored, and the runner that is alive."""

    def __init__(self, stage: Stage, folder: Path, fuse: Fuse, clock: Clock, seen: Counter[str]) -> None:
        folder.mkdir()
        self.place = Place(stage.bootstrap, folder, stage.broker, stage.spark, folder.name)
        self.seen = seen
        self.stale: Run | None = None
        self.saved: tuple[Path, int] | None = None
        self.clock = clock
        self.clock.now = datetime.now(timezone.utc)
        self._fuse = fuse
        self._fuse.folder = str(self.place.data_dir)
        self._doing = "start"
        self._begun = int(clock.now.timestamp() * 1000)
        self._copies = 0
        self._empty_topics()
        self.run = self._made()
        self._prepare(self.run)

    def send(self, events: Iterable[tuple[Event, int]]) -> None:
        """Records, each so many milliseconds after the beginning."""
        for event, after in events:
            self.place.sender.send([event], self._begun + after)
        self.place.sender.flush()

    def work(self, action: Action, number: int, rows: int) -> None:
        """Let one landing, query or publisher take a step."""
        self._do(self.run, action, number, rows)

    def advance(self, rows: int) -> None:
        """Let everybody take a step, in the order in which rows go."""
        for action, number in self._everybody(self.run):
            self._do(self.run, action, number, rows)

    def tick(self) -> None:
        """Let time pass for landings that have nothing left to read."""
        self._doing = "tick"
        for each in self.run.landings:
            while each.step(EVERYTHING):
                pass
            self.seen["a tick"] += each.tick() is not None

    def start(self) -> None:
        """Another runner, which knows only what is stored."""
        self._doing = "start"
        self._release(self.run)
        self.run = self._made()
        self._prepare(self.run)

    def die(self, calls: int, action: Callable[[], None]) -> None:
        """Do something and die at one of its calls; if it has fewer, nothing happens."""
        self._fuse.left = calls
        try:
            action()
        except Exception:  # whatever the death looks like from within
            if not self._fuse.is_blown:
                raise
            self.seen[f"died in {self._doing}"] += 1
            self._fuse.renew()
            self.start()
        self._fuse.renew()

    def stop_for_a_while(self) -> None:
        """The runner stops without an end, and another one takes its place."""
        if self.stale is not None:
            self._release(self.stale)
        for query in self.run.queries:
            if isinstance(query, NativeQuery):
                query.stop()
        self.stale, self.run = self.run, self._made()
        self._prepare(self.run)

    def go_on(self) -> None:
        """The runner that had stopped goes on, and either learns of the other one or does what that one would do."""
        assert self.stale is not None
        for action, number in self._everybody(self.stale):
            self._do(self.stale, action, number, EVERYTHING)

    def maintain(self) -> None:
        """Sum up the logs and compact the tables, as far as their readers let it."""
        bounds = self.run.log_bounds()
        for _, path, _ in upkeep.tables(self.place.project, self._layout):
            done = Maintenance(path, Policy(keep_history=0.0, kept=1, worth=1)).step(bounds.get(path))
            self.seen["maintained"] += done is not None

    def put_the_clock_back(self, seconds: float) -> None:
        """Landing time goes on from where it was."""
        self.clock.put_back(seconds)
        self.seen["clock put back"] += any(each.time.read() > self.clock.now for each in self.run.landings)

    def save(self) -> None:
        """Take a backup, while no runner is alive."""
        self._end_all()
        self.saved = self._copied(), self._sent
        self.start()

    def restore(self) -> None:
        """Put an older backup in place: it goes on from there if nothing was sent since, and else is refused."""
        assert self.saved is not None
        self._end_all()
        (older, sent), newer = self.saved, self._copied()
        self._put_back(older)
        try:
            self.start()
            assert sent == self._sent, "an older copy goes on, and what was sent since will be sent again"
            self.seen["older copy taken"] += 1
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} == {"publish-ahead"}
            self.seen["older copy refused"] += 1
            self._put_back(newer)
            self.start()

    def finish(self) -> None:
        """Process all there is, and compare every table and topic with the oracle."""
        self.send([(sale("closing", 1), 5 * MINUTE_MS)])
        for _ in range(_ROUNDS):
            if not any([self._do(self.run, *at, EVERYTHING) for at in self._everybody(self.run)]):
                break
        else:
            raise AssertionError("there is always more to do")
        for query in self.run.queries:
            if isinstance(query, Group):
                query.store_current()
        found, due = vars(outcome.found(self.place)), vars(outcome.expected(self.place.acked))
        wrong = {name: (found[name], due[name]) for name in due if found[name] != due[name]}
        assert not wrong, f"found and due: {wrong}"
        self._end_all()

    def check(self) -> None:
        """No batch is twice in a table."""
        for log in self._layout.root.glob("tables/*/*/_delta_log"):
            twice = [at for at, count in Counter(_batches(log)).items() if count > 1]
            assert not twice, f"{log.parent}: {twice}"

    @property
    def _layout(self) -> Layout:
        return self.place.project.target.layout

    @property
    def _sent(self) -> int:
        """How many records there are in the topics that are published."""
        return sum(len(self.place.committed(topic)) for topic in PUBLISHED)

    def _made(self) -> Run:
        chosen = selection.narrowed(self.place.project, DOMAINS, ())
        return Run(self.place.spark, chosen, Options(), log=lambda *_, **__: None)

    def _prepare(self, run: Run) -> None:
        """Open all that is to run; what cannot be opened would fail by itself, and others would go on."""
        run.prepare()
        assert not run.unopened, [task.cause for _, task in run.unopened]

    def _copied(self) -> Path:
        self._copies += 1
        to = self.place.folder / f"copy-{self._copies}"
        backup.take(self._layout, to, (self.place.project.name, self.place.name), {})
        return to

    def _put_back(self, copy: Path) -> None:
        backup.put_back(self._layout, copy)
        self.place.forget_tables()  # each runner has a JVM of its own, and here they share one

    def _everybody(self, run: Run) -> Iterator[tuple[Action, int]]:
        yield from (("land", number) for number in range(len(run.landings)))
        yield from (("step", number) for number, query in enumerate(run.queries) if self._is_alive(run, query))
        yield from (("publish", number) for number in range(len(run.publishers)))

    def _is_alive(self, run: Run, query: AnyQuery) -> bool:
        """Of a runner that had stopped, Spark's own queries do not go on: two of them share one checkpoint."""
        return run is self.run or not isinstance(query, NativeQuery)

    def _do(self, run: Run, action: Action, number: int, rows: int) -> bool:
        """Whether there was anything to do; whoever learns of another runner begins again from what is stored."""
        self._doing = action
        try:
            return getattr(self, f"_{action}")(run, number, rows)
        except _TWO_RUNNERS:
            if self.stale is None or self._fuse.is_blown:
                raise
            self.seen[f"another one met in {action}"] += 1
            if action == "land":
                run.landings[number % len(run.landings)].forget()
            return run is self.run

    def _land(self, run: Run, number: int, rows: int) -> bool:
        report = run.landings[number % len(run.landings)].step(rows)
        self.seen["a rejected record"] += bool(report and report.rejected)
        return report is not None

    def _step(self, run: Run, number: int, rows: int) -> bool:
        query = run.queries[number % len(run.queries)]
        if isinstance(query, Group):
            return query.step(rows) is not None
        if isinstance(query, NativeQuery):
            (query.running or query.start()).processAllAvailable()
            return False
        return query.step(datetime.now(timezone.utc)) is not None

    def _publish(self, run: Run, number: int, rows: int) -> bool:
        return run.publishers[number % len(run.publishers)].step() is not None

    def _end_all(self) -> None:
        for each in filter(None, (self.stale, self.run)):
            self._release(each)
        self.stale = None

    def _release(self, run: Run) -> None:
        """Let a runner go; what it calls at its end has no effect."""
        left, self._fuse.is_blown = self._fuse.left, True
        for each in run.landings:
            with suppress(Crash):
                each.forget()
        for query in run.queries:
            with suppress(Crash):
                query.stop() if isinstance(query, NativeQuery) else query.drop()
        for publisher in run.publishers:
            publisher.close()
        self._fuse.is_blown, self._fuse.left = False, left

    def _empty_topics(self) -> None:
        """Drop the records of earlier worlds; a broker that is busy may not know yet that it leads a partition."""
        ends = [TopicPartition(topic, number, -1) for topic, count in TOPICS.items() for number in range(count)]
        for attempt in Retrying(retry=retry_if_exception_type(KafkaException), stop=stop_after_delay(PATIENCE)):
            with attempt:
                for done in self.place.admin.delete_records(ends).values():
                    done.result(PATIENCE)


def _batches(log: Path) -> Iterator[tuple[str, int]]:
    """The batches that the entries of a log are about."""
    for entry in log.glob("*.json"):
        for action in map(json.loads, entry.read_text("utf-8").splitlines()):
            marker = json.loads(action.get("commitInfo", {}).get("userMetadata") or "{}")
            if "batch" in marker:
                yield marker["query"], marker["batch"]
