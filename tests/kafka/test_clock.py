"""A whole run whose clock is set an hour ahead and taken back: deadlines go on, and nothing comes twice.

The clock is that of the runner's Python process, which deadlines, snapshots and marks go by. The JVM, the broker and
the times of files keep the machine's.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest

from headrace.landing import landing_time
from headrace.project import selection
from headrace.queries import group
from headrace.running import runner, upkeep
from headrace.running.runner import Options, Run
from headrace.running.tasks import snapshot as snapshot_task
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.tables import delta
from tests.kafka.cluster import Event
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = [pytest.mark.kafka, pytest.mark.long]

ORDERS, STOCK, CHECKS = "shop-orders", "warehouse-inventory", "order-validations"
DEADLINES = {"stock_deadline": 5, "order_timeout": 60}
HOUR = timedelta(hours=1)
IN_STOCK, NOT_THERE = "JUMPERS", "UNDERPANTS"


@dataclass
class Clock:
    """The clock of a runner, which can be set."""

    ahead: timedelta = timedelta()
    lines: list[str] = field(default_factory=list)
    """The events that the runner has logged."""

    def install(self, patch: pytest.MonkeyPatch) -> Clock:
        """Let all that reads the time read this clock."""
        clock = self

        class Moment(datetime):
            """A time by this clock."""

            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return datetime.now(tz) + clock.ahead

        class Time:
            """The module `time`, but for the clock."""

            monotonic = staticmethod(delta.time.monotonic)
            time = staticmethod(lambda: datetime.now().timestamp() + clock.ahead.total_seconds())

        for module in (landing_time, snapshot_task, runner, upkeep, group):
            patch.setattr(module, "datetime", Moment)
        patch.setattr(delta, "time", Time)
        return self

    @contextmanager
    def running(self, stage: Stage) -> Iterator[None]:
        """A runner of the shop as long as the block lasts."""
        project = replace(stage.project, vars={**stage.project.vars, **DEADLINES})
        stop = threading.Event()
        with lease.held(Layout(stage.data_dir)):
            run = Run(stage.spark, selection.narrowed(project, ("shop",)), Options(), log=self._log)
            run.prepare()
            run.start()
            try:
                yield
            finally:
                stop.set()
                failures = run.wait(stop)
        assert failures == ()

    def _log(self, event: str, **_: Any) -> None:
        self.lines.append(event)


def order(name: str, product: str) -> Event:
    """An order of one piece."""
    body = {"id": name, "customerId": 1, "state": "CREATED", "product": product, "quantity": 1, "price": 9.99}
    return ORDERS, name, json.dumps(body)


def outcomes(stage: Stage) -> dict[str | None, str]:
    """What became of each order, by the newest record of it."""
    decided = (record for record in stage.committed(ORDERS) if record.value["state"] != "CREATED")
    return {record.key: record.value["reason"] or record.value["state"] for record in decided}


def await_outcomes(stage: Stage, due: dict[str | None, str]) -> None:
    """Wait until every order has what is due, and no other has anything."""
    wait_for(lambda: outcomes(stage) == due, str(due), details=lambda: str(outcomes(stage)), every=1)


def test_deadlines_go_on_under_a_clock_that_is_set_ahead_and_taken_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock().install(monkeypatch)
    stage.create({ORDERS: 1, STOCK: 1})
    stage.send([(STOCK, IN_STOCK, "10")])
    due = dict[str | None, str]()
    with clock.running(stage):
        for name, ahead in (("before", timedelta()), ("ahead", HOUR), ("back", timedelta())):
            clock.ahead = ahead
            stage.send([order(f"{name}-1", IN_STOCK), order(f"{name}-2", NOT_THERE)])
            due |= {f"{name}-1": "VALIDATED", f"{name}-2": "INVENTORY_CHECK: no_stock"}
            await_outcomes(stage, due)
    assert "clock_put_back" in clock.lines and "failed" not in clock.lines
    with clock.running(stage):  # another runner finds landing times that are ahead of its clock
        stage.send([order("later", NOT_THERE)])
        due["later"] = "INVENTORY_CHECK: no_stock"
        await_outcomes(stage, due)
    decided = Counter(record.key for record in stage.committed(ORDERS))
    checks = Counter((record.key, record.value["checkType"]) for record in stage.committed(CHECKS))
    assert {*decided.values()} == {2} and decided.keys() == due.keys()
    assert {*checks.values()} == {1} and len(checks) == 3 * len(due)
    rows = sorted(stage.rows("gold.order_outcomes"), key=lambda row: row["order_id"])
    assert [row["order_id"] for row in rows] == sorted(filter(None, due))
