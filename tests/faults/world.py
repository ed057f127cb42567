"""A run of the small project, taken step by step, and what the world does to it in between."""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from confluent_kafka import KafkaException

from headrace.commands.edits import planning, rebuilding
from headrace.commands.workspace import Workspace
from headrace.environment import backup, swap
from headrace.errors import HeadraceError, InvalidProject, Overtaken
from headrace.landing import landing
from headrace.landing.landing_time import LandingTime
from headrace.project import resets
from headrace.project.model import Project
from headrace.queries.group import Group
from headrace.running import log_readers, upkeep
from headrace.running.factory import AnyQuery
from headrace.running.runner import Options, Run
from headrace.spark.failures import is_transient, message_of
from headrace.store import trees
from headrace.store.commits import newest_version
from headrace.store.history import batch_before
from headrace.store.maintenance import retention
from headrace.store.maintenance.passes import Maintenance
from headrace.store.maintenance.retention import Mark
from headrace.store.paths import StorePath
from headrace.streaming.offset_log import newest_begun
from headrace.streaming.query import StreamedQuery
from tests import power
from tests.faults import compared
from tests.faults.compared import Part
from tests.faults.fuse import Fuse, Halt
from tests.faults.place import PAYMENTS, Place
from tests.faults.plans import EDITED, Plans
from tests.kafka.crash import Crash
from tests.kafka.stage import Stage
from tests.waiting import PATIENCE, wait_for

Event = tuple[str | None, str | None]
"""Key and value of a payment."""

Action = Literal["land", "step", "publish", "store"]
EVERYTHING = 100_000
_ROUNDS = 30
_TWO_RUNNERS = (Overtaken, HeadraceError, KafkaException)
"""How a runner learns that there is another one."""

_EDIT_CODES = {"plan-mix", "plan-reset"}
_DEATHS = {
    "_landing/": "a landing",
    "_delta_log/": "a commit",
    "_late/": "late rows",
    "checkpoints/": "recorded inputs",
    "commit_transaction": "the end of a transaction",
}
"""Where a process may die, by a part of the file's name or by the call."""


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
class Around:
    """What all worlds have in common."""

    stage: Stage
    texts: Mapping[str, Project]
    part: Part
    fuse: Fuse
    clock: Clock
    plans: Plans
    seen: Counter[str] = field(default_factory=Counter)
    boots: int = 0
    """How often the power has come back."""


class World:
    """What was sent, what is stored, and the runner that is alive."""

    def __init__(self, around: Around, folder: Path) -> None:
        self.place = Place(around.stage, folder, around.texts, around.part.topic)
        self.seen = around.seen
        self.stale: Run | None = None
        self.saved: tuple[Path, int, str] | None = None
        self.text = "as it is"
        self.clock = around.clock
        self.clock.now = datetime.now(timezone.utc)
        self._around = around
        self._fuse = around.fuse
        self._fuse.folder = str(folder)
        self._doing = "start"
        self._begun = self.clock.elapsed
        self._part = around.part
        self._copies = 0
        self._sessions: dict[Run, Any] = {}
        self.run = self._begin()

    def send(self, events: Iterable[tuple[Event, int]]) -> None:
        """Payments, each so many milliseconds from now."""
        sender, now = self.place.stage.sender, int(self.clock.now.timestamp() * 1000)
        for (key, value), after in events:
            sender.send([(PAYMENTS, key, value)], now + after)
        sender.flush()

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
        self._end_all()
        self.run = self._begin()

    def die(self, calls: int, action: Callable[[], None]) -> None:
        """Do something and die at one of its calls; if it has fewer, nothing happens."""
        if self._dies(calls, action):
            self.start()

    def lose_power(self, seed: int, calls: int, action: Callable[[], None]) -> None:
        """Do something, and lose power at one of its calls or at its end: anything that is not synced may be missing.

        Here syncs are calls too. What was written before is on the disk.
        """
        data = self.place.folder / "data"
        with power.recording(data) as recorder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", self._fuse.fused(os.fsync))
            self._dies(calls, action)
            recorder.tell(1)
            left = recorder.left(seed)
        self.seen[f"power lost in {self._doing}"] += 1
        self._end_all()
        trees.remove(data)
        power.write(left, data)
        self._around.boots += 1
        self.run = self._begin()

    def stop_for_a_while(self) -> None:
        """The runner stops without an end, and another one takes its place."""
        if self.stale is not None:
            self._release(self.stale)
        self.stale, self.run = self.run, self._begin()

    def twin(self, rows: int) -> None:
        """A copy of the data runs, too, and publishes; the first one has landed and computed by itself meanwhile.

        It goes on where the copy has sent what it holds as well. Else it is refused, and the copy takes its place.
        """
        self._end_all()
        copy, own = self._copy_to(), self.place.layout.root
        shutil.copytree(own, copy)
        self.run = self._begin()
        for action, number in self._everybody(self.run):
            if action != "publish":
                self._do(self.run, action, number, rows)
        self._end_all()
        self.run = self._begin(copy)
        self.advance(EVERYTHING)
        self._end_all()
        try:
            self.run = self._begin()
            self.seen["older twin taken"] += 1
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} <= {"publish-ahead", "publish-elsewhere"}
            self.seen["older twin refused"] += 1
            trees.remove(own)
            shutil.copytree(copy, own)
            self.run = self._begin()

    def go_on(self) -> None:
        """The runner that had stopped goes on, and either learns of the other one or does what that one would do."""
        assert self.stale is not None
        for action, number in self._everybody(self.stale):
            self._do(self.stale, action, number, EVERYTHING)

    def halt_in_a_batch(self, calls: int) -> None:
        """A query of the streaming engine halts at one of its calls, another runner takes its place, and both go on.

        Where they are two processes, neither Spark knows of the other's query.
        """
        if self.stale is not None:
            self._release(self.stale)
        self.stale = None
        self._doing, halt, first, ended = "step", Halt(), self.run, list[Exception | None]()
        self._fuse.left, self._fuse.halt = calls, halt
        thread = threading.Thread(target=lambda: ended.append(_error_of(partial(self._step, first, 0, EVERYTHING))))
        thread.start()
        wait_for(lambda: halt.begun.is_set() or not thread.is_alive(), "the query to halt or to end")
        self._fuse.renew()
        shared = self.place.stage.spark._jsparkSession.sharedState()  # type: ignore[attr-defined]
        shared.activeStreamingQueries().clear()
        self.stale, self.run = first, self._begin()
        for each in self.run.landings:
            each.step(EVERYTHING)
        self._step(self.run, 0, EVERYTHING)
        self.check()
        halt.over.set()
        thread.join(PATIENCE)
        (error,) = ended
        assert error is None or is_transient(error) is not False, message_of(error)
        if halt.begun.is_set():
            self.seen.update(f"halted at {name}" for part, name in _DEATHS.items() if part in self._fuse.place)
            self.seen["another one met by a halted query"] += error is not None

    def maintain(self) -> None:
        """Sum up the logs and compact the tables, as far as their readers let it; replaced changes leave at once."""
        self._doing = "maintain"
        bounds, project, layout = self.run.log_bounds(), self.run.project, self.place.layout
        unread = log_readers.unread(project, layout)
        for _, path, policy in upkeep.tables(project, layout):
            keep = None if policy.keep is None else 0.0
            at_once = replace(policy, keep_history=0.0, keep=keep, kept=1, worth=1, is_replaced=False)
            for _ in range(1 if keep is None else 2):  # what leaves by the second must have left the log by the first
                if keep is not None:
                    _age(path)
                done = Maintenance(path, at_once).step(bounds.get(path), None, unread.get(path))
                self.seen["maintained"] += done is not None
                self.seen["changes left a log"] += done is not None and done.retired > 0

    def put_the_clock_back(self, seconds: float) -> None:
        """Landing time goes on from where it was."""
        self.clock.put_back(seconds)
        self.seen["clock put back"] += any(each.time.read() > self.clock.now for each in self.run.landings)

    def let_time_pass(self, seconds: float) -> None:
        """Nothing comes for a while, and all that has come has landed, so that a tick is due."""
        while any([self._do(self.run, "land", number, EVERYTHING) for number in range(len(self.run.landings))]):
            pass
        self.clock.go_on(seconds)
        self.tick()
        self.advance(EVERYTHING)

    def save(self, calls: int) -> None:
        """Take a backup, while no runner is alive; one that was broken off is not a backup."""
        self._end_all()
        self._doing, to = "save", self._copy_to()
        if not self._dies(calls, lambda: self._copy(to)):
            self.saved = to, len(self.place.all_sent()), self.text
        self.run = self._begin()

    def restore(self, calls: int) -> None:
        """Put an older backup in place: it goes on from there if nothing was sent since, and else is refused."""
        assert self.saved is not None
        self._end_all()
        (older, sent, text), newer, now = self.saved, self._copy_to(), self.text
        self._copy(newer)
        self._doing = "restore"
        if self._dies(calls, lambda: backup.put_back(self.place.layout, older)):
            self._repeat(older)
        try:
            self.text = text
            self.run = self._begin()
            assert sent == len(self.place.all_sent()), "an older copy goes on, and rows will be sent again"
            self.seen["older copy taken"] += 1
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} == {"publish-ahead"}
            assert sent < len(self.place.all_sent()), "refused without need"
            self.seen["older copy refused"] += 1
            backup.put_back(self.place.layout, newer)
            self.text = now
            self.run = self._begin()

    def put_back_a_part(self, part: str) -> None:
        """Put a part of an older backup in place: where the rest has gone on since, that is refused."""
        assert self.saved is not None
        self._end_all()
        newer = self._copy_to()
        self._copy(newer)
        trees.remove(self.place.layout.root / part)
        if (self.saved[0] / part).is_dir():
            trees.copy(self.saved[0] / part, self.place.layout.root / part)
        try:
            self.run = self._begin()
            self.seen[f"older {part} taken"] += 1
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} <= {"position-ahead", "publish-ahead"}
            self.seen[f"older {part} refused"] += 1
            backup.put_back(self.place.layout, newer)
            self.run = self._begin()

    def edit(self, text: str, calls: int) -> None:
        """Start with another text of a model; where the plan refuses that, the query is rebuilt and swapped in."""
        self._end_all()
        self.text = text
        try:
            self.run = self._begin()
            self.seen["edit taken"] += 1
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} <= _EDIT_CODES
            self.seen["edit refused"] += 1
            self._doing = "rebuild"
            if self._dies(calls, self._rebuild):
                self._finish_rebuild()
            self.run = self._begin()

    def finish(self) -> None:
        """Process all there is, and compare every table and topic with the oracle."""
        for _ in range(_ROUNDS):
            if not any([self._do(self.run, *at, EVERYTHING) for at in self._everybody(self.run)]):
                break
        else:
            raise AssertionError("there is always more to do")
        for number in range(len(self.run.queries)):
            self.work("store", number, 0)
        self.check()
        assert len(self.place.landed()) == len(self.place.acked)
        self._part.check_end(self.place, self.text)
        self._end_all()
        self.place.close()

    def check(self) -> None:
        """Nothing is lost, doubled or wrong so far: all that is there is the beginning of what is due."""
        compared.check_landed(self.place)
        self._part.check(self.place, self.text, self.clock.elapsed - self._begun)

    def _begin(self, data: Path | None = None) -> Run:
        """A new runner, as `headrace run` starts one, up to where its tasks would begin; `data` are those of a copy."""
        self._doing = "start"
        project = self.place.project(self.text, data)
        layout = project.target.layout
        layout.root.mkdir(exist_ok=True)
        backup.refuse_half(layout)
        swap.finish(layout)
        resets.finish(layout)
        planning.accepted(project, layout, None, False)
        self._around.plans.text = self.text
        run = Run(self.place.stage.spark, project, Options(), log=lambda *_, **__: None)
        try:
            run.prepare()
            # What cannot be opened would fail by itself, and others would go on.
            assert not run.unopened, [task.cause for _, task in run.unopened]
            run._record()
        except BaseException:
            self._sessions[run] = self._around.plans.taken()
            self._release(run)
            raise
        self._sessions[run] = self._around.plans.taken()
        return run

    def _dies(self, calls: int, action: Callable[[], None]) -> bool:
        """Do something, and whether that has died at one of its calls."""
        self._fuse.left = calls
        try:
            action()
        except Exception:  # whatever the death looks like from within
            if not self._fuse.is_blown:
                raise
            self.seen[f"died in {self._doing}"] += 1
            self.seen.update(f"died at {name}" for part, name in _DEATHS.items() if part in self._fuse.place)
            return True
        finally:
            self._fuse.renew()
        return False

    def _repeat(self, older: Path) -> None:
        """Complete a restore that was broken off; until then no runner may start."""
        if self.place.layout.restore.is_file():
            with pytest.raises(HeadraceError, match="a restore from"):
                backup.refuse_half(self.place.layout)
        backup.put_back(self.place.layout, older)

    def _rebuild(self) -> None:
        workspace = _Here(self.place.folder, "test", self.place.project(self.text))
        taken = self._around.plans.taken
        self._around.plans.text = self.text
        try:
            rebuilding.fill(workspace, EDITED)
            rebuilding.swap(workspace, EDITED, 1.0)
        finally:
            self._around.plans.give_back(taken())

    def _finish_rebuild(self) -> None:
        """What a user does whose rebuild has died: a start completes a swap, and before one it is begun again."""
        try:
            self.run = self._begin()
            self.seen["swap completed by a start"] += 1
            self._end_all()
        except InvalidProject as error:
            assert {finding.code for finding in error.findings} <= _EDIT_CODES
            self._rebuild()

    def _copy_to(self) -> Path:
        self._copies += 1
        return self.place.folder / f"copy-{self._copies}"

    def _copy(self, to: Path) -> None:
        backup.take(self.place.layout, to, ("faults", self.place.folder.name), {})

    def _everybody(self, run: Run) -> Iterator[tuple[Action, int]]:
        yield from (("land", number) for number in range(len(run.landings)))
        yield from (("step", number) for number in range(len(run.queries)))
        yield from (("publish", number) for number in range(len(run.publishers)))

    def _do(self, run: Run, action: Action, number: int, rows: int) -> bool:
        """Whether there was anything to do; whoever learns of another runner begins again from what is stored."""
        self._doing = action
        try:
            return bool(getattr(self, f"_{action}")(run, number, rows))
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
        return query.step(rows) is not None if isinstance(query, Group) else self._flow(run, query)

    def _flow(self, run: Run, query: AnyQuery) -> bool:
        """Let Spark's engine run all that is there, in batches as it sees fit."""
        assert isinstance(query, StreamedQuery)
        checkpoint = run.layout.checkpoint(query.model.name)
        before = newest_begun(checkpoint)
        query.start(available_now=True).awaitTermination()
        query.stop()
        return newest_begun(checkpoint) > before

    def _store(self, run: Run, number: int, rows: int) -> bool:
        query = run.queries[number % len(run.queries)]
        if isinstance(query, Group):
            query.rest()
        return False

    def _publish(self, run: Run, number: int, rows: int) -> bool:
        return run.publishers[number % len(run.publishers)].step() is not None

    def _end_all(self) -> None:
        for each in filter(None, (self.stale, self.run)):
            if each in self._sessions:
                self._release(each)
        self.stale = None

    def _release(self, run: Run) -> None:
        """Let a runner go; what it calls at its end has no effect."""
        was, self._fuse.is_blown = self._fuse.is_blown, True
        for each in run.landings:
            with suppress(Crash):
                each.forget()
        for query in run.queries:
            with suppress(Crash):
                query.stop() if isinstance(query, StreamedQuery) else query.drop()
        for publisher in run.publishers:
            publisher.close()
        self._fuse.is_blown = was
        self._around.plans.give_back(self._sessions.pop(run))
        self.place.stage.forget_tables()
        if any(isinstance(query, StreamedQuery) for query in run.queries):
            self.place.stage.forget_state()


def _error_of(action: Callable[[], object]) -> Exception | None:
    """What something has failed with."""
    try:
        action()
    except Exception as error:
        return error
    return None


@dataclass(frozen=True)
class _Here(Workspace):
    """The project of a world, as a command finds it."""

    project: Project

    @property
    def declared(self) -> Project:  # type: ignore[override]
        return self.project


def _age(table: StorePath) -> None:
    """Let every batch of a table be as old as its rows may become."""
    newest, ages = batch_before(table, newest_version(table) + 1), retention.read(table)
    marks = tuple(Mark(0.0, batch) for batch in range(ages.gone.batch + 1, newest + 1))
    retention.write(table, replace(ages, marks=marks))
