"""From Kafka to Kafka: one run over all that there is, against plain Python over the same records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest
from deltalake import DeltaTable

from headrace.planning import plan
from headrace.project import selection
from headrace.project.model import InputBounds
from headrace.reading.rows import query
from headrace.store.layout import Layout
from tests.kafka import oracle, outcome
from tests.kafka.events import BAD, NEVER_MADE, load, made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.stage import DOMAINS, Stage

pytestmark = pytest.mark.kafka

MADE_UP = (
    order("replaced", 1, NEVER_MADE),
    made("replaced", 1),
    order("replaced", 1),
    order("twice", 1, orderDate="2026-01-02T03:04:05.123456789", unknown={"a": 1}),
    made("twice", 1),
    order("twice", 1),
    made("twice", 1),
    made("early", 2),
    order("waiting", 1, 2),
    made("waiting", 3),
    sale("p", 1500),
    sale("p", 1000),
    sale("p", 500, product="q"),
    sale("p", -2000),
    (SALES, "p", None),
)


@pytest.fixture(scope="module")
def processed(stage: Stage) -> Iterator[Stage]:
    """A stage whose records have been processed in one run."""
    stage.create({ORDERS: 3, MANUFACTURED: 2, SALES: 2})
    stage.send(islice(load(seed=1), 400))
    stage.send([*MADE_UP, *(event for _, event in BAD)])
    stage.send([sale("closing", 1)], timestamp=int(time.time() * 1000) + 3 * oracle.MINUTE_MS)
    stage.process_all()
    yield stage


def test_tables_and_topics_hold_what_is_due(processed: Stage) -> None:
    assert outcome.found(processed) == outcome.expected(processed.acked)


def test_rows_of_the_story_are_exact(processed: Stage) -> None:
    rows = processed.shown("gold.sales_notifications", "--where", "product = 'p'")
    totals = [(row["total"], row["is_retraction"], row["product_differs"]) for row in rows]
    assert totals == [(2500, False, False), (3000, False, True), (1000, True, False)]


def test_bad_records_are_kept_with_their_reason(processed: Stage) -> None:
    rows = processed.shown("bronze.dead_letters", "--where", "key = 'bad' or key is null")
    rejected = {(row["topic"], row["key"], row["value"], row["reject_reason"]) for row in rows}
    assert rejected == {(topic, key, value, reason) for reason, (topic, key, value) in BAD}


@pytest.mark.long
def test_rows_of_a_view_are_shown(processed: Stage) -> None:
    rows = processed.shown("silver.orders", "--where", "order_id = 'replaced'")
    assert [[item["id"] for item in row["items"]] for row in rows] == [[1, NEVER_MADE], [1]]


def test_shipped_order_is_closed_in_its_history(processed: Stage) -> None:
    rows = processed.shown("silver.open_orders", "--history", "twice")
    assert [row["_deleted"] for row in rows] == [False] * (len(rows) - 1) + [True]


def test_plan_of_what_has_run_is_the_same(processed: Stage) -> None:
    entries = plan.make(processed.project, Layout(processed.data_dir)).entries
    found = {entry.name: entry.verdict for entry in entries}
    ran = {
        model.table for model in selection.narrowed(processed.project, DOMAINS, ()).models if model.domain in DOMAINS
    }
    assert {found.get(table) for table in ran} <= {"SAME", None}  # a view is no entry of its own
    assert {name: verdict for name, verdict in found.items() if verdict not in ("SAME", "NEW")} == {}


def test_run_without_news_lands_a_tick_and_changes_nothing(processed: Stage) -> None:
    minute = (int(time.time()) // 60 + 6) * oracle.MINUTE_MS  # newer than all others, so it is left open
    processed.send([sale("open", 1)], timestamp=minute)
    processed.process_all()
    versions = _versions(processed)
    processed.process_all()
    clock = _clock(processed)
    assert outcome.found(processed) == outcome.expected(processed.acked, clock)
    is_over = clock >= minute + 2 * oracle.MINUTE_MS  # the tick may come so late that it closes the minute
    changed = {"_landing/sales": 1, "gold/sales_per_minute": int(is_over)}
    assert _versions(processed) == {name: count + changed.get(name, 0) for name, count in versions.items()}


def _clock(stage: Stage) -> int:
    """The newest event time that has landed, that of ticks too, in milliseconds."""
    landed = DeltaTable(stage.data_dir / "tables/_landing/sales")
    (row,) = query("select max(event_time) as newest from landed", {"landed": landed}, {}).rows
    return int(row["newest"].timestamp() * 1000)


def _versions(stage: Stage) -> dict[str, int]:
    """How many commits each table has."""
    tables = stage.data_dir / "tables"
    logs = tables.glob("**/_delta_log")
    return {log.parent.relative_to(tables).as_posix(): len(list(log.glob("*.json"))) for log in logs}


@pytest.mark.long
def test_target_like_another_leaves_it_alone(processed: Stage) -> None:
    before, versions = outcome.found(processed), _versions(processed)
    dev = processed.project_of("dev", processed.folder / "dev")
    bounded = replace(dev.target, input=InputBounds("earliest", 20))
    dev = replace(dev, target=bounded, vars={**dev.vars, "sales_threshold": 1})  # twenty records do not come to 2000
    assert processed.failures("sales_notifications", project=dev) == ()
    table = DeltaTable(processed.folder / "dev/tables/_landing/sales")
    landed = [*query("select * from landed where topic <> '_tick'", {"landed": table}, {}).rows]
    assert 20 <= len(landed) <= 22  # of two partitions a share each
    assert processed.failures("sales_notifications", project=dev) == ()  # it has had its share
    assert processed.committed("notifications-events-v1_dev")
    assert (outcome.found(processed), _versions(processed)) == (before, versions)


def test_topic_made_again_is_refused_and_others_go_on(processed: Stage) -> None:
    processed.delete(SALES)
    processed.create({SALES: 2})
    processed.send([sale("p", 9000), order("later", 1), made("later", 1)])
    (failure,) = processed.failures()
    assert (failure.task, "headrace reset ingest_sales" in failure.cause) == ("ingest_sales", True)
    assert "later" in {record.key for record in processed.committed("shipping")}
