"""Calls on a real broker: when the input is idle, the clock ends them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from headrace.project import selection
from headrace.running.runner import Options, Run
from headrace.store import lease
from headrace.store.layout import Layout
from tests.kafka.cluster import Event, Sent
from tests.kafka.stage import Stage
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.kafka

GAP, GRACE = 3, 2
SLACK = 40
"""Seconds: for a machine that is busy with other tests."""


def half(topic: str, user: str, **fields: str) -> Event:
    """A half of a call between a user and b, now."""
    return topic, None, json.dumps({"user1": user, "user2": "b", **fields})


@contextmanager
def running(stage: Stage) -> Iterator[Run]:
    """The calls of the project, with shortened times, for as long as the block lasts."""
    declared = stage.project
    shortened = replace(declared, vars={**declared.vars, "call_gap": GAP, "call_grace": GRACE})
    over = threading.Event()
    with lease.held(Layout(stage.data_dir)):
        run = Run(stage.spark, selection.narrowed(shortened, ("calls",), ()), Options(), lambda *_, **__: None)
        run.prepare()
        run.start()
        try:
            yield run
        finally:
            over.set()
            assert run.wait(over) == ()


def published(stage: Stage, user: str) -> list[Sent]:
    """What was published of a user's calls."""
    return [record for record in stage.committed("outputTopic") if record.value["user1"] == user]


@pytest.mark.long
def test_idle_call_is_ended_by_the_clock(stage: Stage) -> None:
    stage.create({"analyticsTopic": 1, "metricsTopic": 1, "outputTopic": 1})
    with running(stage) as run:
        stage.send([half("metricsTopic", "first", metrics="m")])
        wait_for(lambda: bool(published(stage, "first")), "the first call", PATIENCE)
        stage.send([half("analyticsTopic", "a", analytics="one"), half("metricsTopic", "a", metrics="two")])
        sent = time.monotonic()
        wait_for(lambda: bool(published(stage, "a")), "the call", PATIENCE)
        waited = time.monotonic() - sent
        (status,) = [query for query in run.status().queries if query.name == "calls"]
    (record,) = published(stage, "a")
    assert record.key == '["a","b"]'
    assert (record.value["analytics"], record.value["metrics"]) == ("one", "two")
    assert GAP + GRACE - 1 <= waited <= GAP + GRACE + SLACK + 3  # a second and more until it has landed, and to read it
    assert (status.late, status.held_by) == (0, "silver.call_halves")
