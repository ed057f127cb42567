"""A query rebuilt beside the running one, by the commands: what is sent across the swap is sent once."""

from __future__ import annotations

import json
import time
from itertools import islice
from pathlib import Path

import pytest

from headrace.environment import swap
from headrace.running import log_readers
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import Maintenance, Policy
from tests.kafka.events import load, sale
from tests.kafka.oracle import MANUFACTURED, MINUTE_MS, ORDERS, SALES
from tests.kafka.sales import sales, sent
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_swap_sends_what_was_not_sent_and_nothing_twice(stage: Stage, tmp_path: Path) -> None:
    running, edited = sales(stage, tmp_path / "running", 2000), sales(stage, tmp_path / "edited", 1000)
    stage.create({SALES: 1})
    stage.send([sale("p", 1500), sale("p", 1000), sale("q", 1200)])
    with running.runner():
        wait_for(lambda: len(sent(stage)) == 1, "what is due before the edit")
        filled = edited.call("rebuild", "gold.sales_notifications")
        refused = edited.call("rebuild", "sales", "--swap")
        assert (filled.returncode, refused.returncode) == (0, 3), filled.stderr
        stage.send([sale("r", 2100)])
        wait_for(lambda: len(sent(stage)) == 2, "what arrives while the rebuilt one waits")
    difference = json.loads(edited.call("diff", "gold.sales_notifications", "--json").stdout)
    assert (difference["rows_running"], difference["only_running"], difference["only_beside"]) == (1, 0, 2)

    stage.send([sale("p", 100)])
    assert stage.failures("sales", project=running.project) == ()
    swapped = edited.call("rebuild", "sales", "--swap", "--keep", "0")
    assert swapped.returncode == 0, swapped.stderr
    assert edited.call("plan", "-s", "gold.sales_notifications").returncode == 0

    stage.send([sale("q", 50)])
    assert stage.failures("sales", project=edited.project) == ()
    assert sent(stage) == [("p", 2500), ("r", 2100), ("p", 2600), ("p", 1500), ("q", 1200), ("q", 1250)]
    assert len(swap.retired(Layout(stage.data_dir))) == 1  # its time is over, but the publisher compared with it
    assert stage.failures("sales", project=edited.project) == ()
    assert not swap.retired(Layout(stage.data_dir))
    assert [row["total"] for row in stage.rows("gold.sales_notifications")] == [1500, 2500, 1200, 2100, 2600, 1250]

    before = sent(stage)  # what a reset has removed was sent, also if a rebuild takes its place before the next run
    for words in (("rebuild", "sales"), ("reset", "sales", "--yes"), ("rebuild", "sales", "--swap")):
        done = edited.call(*words)
        assert done.returncode == 0, done.stderr
    assert stage.failures("sales", project=edited.project) == ()
    assert sent(stage) == before
    assert [row["total"] for row in stage.rows("gold.sales_notifications")] == [1500, 2500, 1200, 2100, 2600, 1250]


AT_ONCE = Policy(keep_history=0.0, kept=1, worth=1)
REBUILT = {
    "shipping": ("silver.open_orders", "gold.shipment_ready"),
    "sales": ("silver.sales_totals", "gold.sales_notifications"),
    "sales_per_minute": ("gold.sales_per_minute",),
}


def maintain(stage: Stage) -> None:
    """All tables, as far as their readers allow."""
    bounds = log_readers.bounds(stage.project, Layout(stage.data_dir), {})
    for log in stage.data_dir.glob("tables/*/*/_delta_log"):
        Maintenance(log.parent, AT_ONCE).step(bounds.get(log.parent))


@pytest.mark.long
def test_rebuild_needs_neither_kafka_nor_the_old_log(stage: Stage) -> None:
    """From bronze of which the files were made one and the log was cut, when the topics are gone."""
    topics = (ORDERS, MANUFACTURED, SALES)
    stage.create(dict.fromkeys(topics, 1))
    coming = load(seed=3)
    for _ in range(4):
        stage.send(islice(coming, 100))
        stage.process_all()
        maintain(stage)
    stage.send([sale("closing", 1)], timestamp=int(time.time() * 1000) + 3 * MINUTE_MS)
    stage.process_all()
    assert not (Layout(stage.data_dir).landing("shipping") / "_delta_log" / f"{0:020}.json").exists()
    for topic in topics:
        stage.delete(topic)

    for query, models in REBUILT.items():
        filled = stage.call("rebuild", query)
        assert filled.returncode == 0, filled.stderr
        for model in models:
            found = json.loads(stage.call("diff", model, "--json").stdout)
            may_be_empty = model == "silver.open_orders"
            assert (found["same"], may_be_empty or found["rows_beside"] > 0) == (True, True), found
