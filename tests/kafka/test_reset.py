"""Resetting a query: it processes what has landed from scratch, and nothing is published twice unless requested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.errors import InvalidProject
from headrace.landing.landing import KafkaSource, LandingQuery
from headrace.publishing.publisher import Publisher
from headrace.store.layout import Layout
from tests.kafka import outcome
from tests.kafka.events import made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.outcome import Outcome
from tests.kafka.stage import Stage

pytestmark = pytest.mark.kafka


def without_minutes(found: Outcome) -> Outcome:
    """An outcome but for the minutes, which no record of these tests closes."""
    return replace(found, per_minute=[])


@pytest.fixture(scope="module")
def processed(stage: Stage) -> Iterator[Stage]:
    """A stage whose records have been processed once."""
    stage.create({ORDERS: 1, MANUFACTURED: 1, SALES: 1})
    stage.send([order("a", 1), made("a", 1), order("waiting", 1), sale("p", 2500), sale("q", 1)])
    stage.process_all()
    yield stage


def land(stage: Stage, name: str) -> None:
    """Land what has been sent, with no query to process it."""
    (landing,) = (found for found in stage.project.landings if found.name == name)
    source = KafkaSource.of(stage.project.target.kafka, "test")
    assert LandingQuery(stage.spark, Layout(stage.data_dir), landing, source).step(100)


def reset(stage: Stage, *words: str) -> None:
    done = stage.call("reset", *words, "--yes")
    assert done.returncode == 0, done.stderr


def test_queries_start_from_scratch_and_publish_only_what_is_new(processed: Stage) -> None:
    before = without_minutes(outcome.found(processed))
    for query in ("shipping", "sales"):
        reset(processed, query)
    assert processed.rows("gold.shipment_ready") == []
    processed.process_all()
    assert without_minutes(outcome.found(processed)) == before
    processed.send([order("b", 1), made("b", 1), sale("p", 1)])
    processed.process_all()
    assert without_minutes(outcome.found(processed)) == without_minutes(outcome.expected(processed.acked))


@pytest.mark.long
def test_rows_that_nobody_has_processed_are_sent_after_a_reset(processed: Stage) -> None:
    before = [record.key for record in processed.committed("shipping")]
    processed.send([order("late", 1), made("late", 1)])
    land(processed, "shipping")
    reset(processed, "shipping")
    processed.process_all()
    assert sorted(record.key for record in processed.committed("shipping")) == sorted([*before, "late"])


@pytest.mark.long
def test_rows_that_are_not_sent_yet_are_not_lost(processed: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [record.key for record in processed.committed("shipping")]
    processed.send([order("unsent", 1), made("unsent", 1)])
    with monkeypatch.context() as patched:
        patched.setattr(Publisher, "step", lambda _: None)
        processed.process_all()
    refused = processed.call("reset", "shipping", "--yes")
    assert (refused.returncode, "1 rows of gold.shipment_ready are not sent yet" in refused.stderr) == (2, True)
    processed.process_all()
    reset(processed, "shipping")
    processed.process_all()
    assert sorted(record.key for record in processed.committed("shipping")) == sorted([*before, "unsent"])


def test_rows_are_sent_again_when_asked_for(processed: Stage) -> None:
    before = [record.key for record in processed.committed("shipping")]
    reset(processed, "shipping", "--republish")
    processed.process_all()
    assert sorted(record.key for record in processed.committed("shipping")) == sorted(before * 2)


def half(one: str, other: str, minute: int) -> tuple[str, None, str]:
    """The analytics half of a call."""
    value = {"user1": one, "user2": other, "timestamp": 1_767_261_600_000 + minute * 60_000, "analytics": "x"}
    return "analyticsTopic", None, json.dumps(value)


@pytest.mark.long
def test_streaming_query_publishes_only_what_is_new(processed: Stage) -> None:
    processed.create({"analyticsTopic": 1, "metricsTopic": 1})
    processed.send([half("a", "b", 0), half("c", "d", 10)])
    assert processed.failures("calls") == ()
    assert [record.key for record in processed.committed("outputTopic")] == ['["a","b"]']
    reset(processed, "calls")
    processed.send([half("e", "f", 20)])
    assert processed.failures("calls") == ()
    assert [record.key for record in processed.committed("outputTopic")] == ['["a","b"]', '["c","d"]']


@pytest.mark.long
def test_landing_starts_where_it_is_configured(processed: Stage) -> None:
    sales = [record for record in processed.acked if record.topic == SALES]
    reset(processed, "ingest_sales", "--from", json.dumps({SALES: {"0": sales[-1].offset}}))
    with pytest.raises(InvalidProject, match="is gone") as refused:
        processed.failures("sales")
    said = " ".join(finding.message for finding in refused.value.findings)
    assert all(f"headrace reset {query} --yes" in said for query in ("sales", "sales_per_minute"))
    for query in ("sales", "sales_per_minute"):
        reset(processed, query)
    assert processed.failures("sales") == ()
    assert [(row["product"], row["total"]) for row in processed.rows("silver.sales_totals")] == [("p", 1)]
