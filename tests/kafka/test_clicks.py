"""Clicks from Kafka to Kafka: captchas, popular products, windows and counters; what a reset forgets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import pytest
from deltalake import DeltaTable

from headrace.reading.rows import query
from tests.kafka.stage import Stage
from tests.spark import clicks_oracle as oracle
from tests.spark.clicks_oracle import Event

pytestmark = [pytest.mark.kafka, pytest.mark.long]

POPULAR = 1000
FIRST = [
    *[event for event in islice(oracle.load(seed=5), 150) if event.kind != "name"],
    *[Event("view", oracle.EPOCH_MS, f"fan-{number % 250}", 9) for number in range(POPULAR + 1)],
]
LATEST = max((event for event in FIRST if event.kind == "view"), key=lambda event: event.at)
EVENTS = [*FIRST, Event("view", LATEST.at, LATEST.browser, 9)]
NAMES = [Event("name", oracle.EPOCH_MS, product=product, name="Pen") for product in range(3)]


@pytest.fixture(scope="module")
def processed(stage: Stage) -> Iterator[Stage]:
    """A stage whose log lines have been processed in two runs, the last line in the second."""
    stage.create({"logs": 1, "products": 1})
    for events in ([*NAMES, *FIRST], EVENTS[len(FIRST) :]):
        for event in events:
            stage.send([(event.topic, event.key, _text(event))], timestamp=event.at)
        assert stage.failures("clicks") == ()
    yield stage


def _text(event: Event) -> str | None:
    return event.value if event.value is None or isinstance(event.value, str) else json.dumps(event.value)


def published(stage: Stage, topic: str) -> list[tuple[str | None, Any]]:
    return [(record.key, record.value) for record in stage.committed(topic)]


def activity(stage: Stage) -> dict[tuple[str, int], int]:
    rows = stage.rows("gold.browser_activity")
    return {(row["browser_hash"], _milliseconds(row["window_start"])): row["view_count"] for row in rows}


def _milliseconds(text: str) -> int:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round((moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp() * 1000)


def counters(stage: Stage) -> Counter[tuple[str, int]]:
    """How often each count of a product was published."""
    return Counter((key or "", value["count"]) for key, value in published(stage, "counter_topic"))


def totals(events: Sequence[Event]) -> Counter[tuple[str, int]]:
    views = Counter(event.product for event in events if event.kind == "view")
    return Counter((str(product), count) for product, count in views.items())


def test_captchas_and_popular_products_are_published(processed: Stage) -> None:
    due = oracle.due(EVENTS, 5, None, POPULAR)
    wanted = [(browser, {"browserHash": browser, "count": count}) for browser, count in due.captchas]
    assert len(wanted) > 10
    assert published(processed, "captcha-requests") == wanted
    assert published(processed, "popular-products") == [("9", {"productId": 9, "count": POPULAR})]


def test_windows_hold_what_is_due(processed: Stage) -> None:
    assert activity(processed) == oracle.activity(EVENTS)


def test_plain_delta_readers_see_current_windows(processed: Stage) -> None:
    table = DeltaTable(processed.data_dir / "tables/gold/browser_activity")
    rows = query("select browser_hash, window_start, view_count from activity", {"activity": table}, {}).rows
    found = {(row["browser_hash"], round(row["window_start"].timestamp() * 1000)): row["view_count"] for row in rows}
    assert found == oracle.activity(EVENTS)


def test_one_snapshot_at_the_end_of_each_run(processed: Stage) -> None:
    assert counters(processed) == totals(FIRST) + totals(EVENTS)
    assert len({value["snapshotAt"] for _, value in published(processed, "counter_topic")}) == 2


def test_reset_of_one_reader_leaves_the_others(processed: Stage) -> None:
    before, captchas = activity(processed), published(processed, "captcha-requests")
    reset(processed, "browser_activity")
    assert activity(processed) == {}
    assert processed.failures("browser_activity") == ()
    assert (activity(processed), published(processed, "captcha-requests")) == (before, captchas)


def test_reset_of_the_counters_begins_from_scratch(processed: Stage) -> None:
    reset(processed, "view_counters")
    assert processed.rows("gold.view_counters") == []
    assert processed.failures("view_counters") == ()
    rows = processed.rows("gold.view_counters")
    assert Counter((str(row["product_id"]), row["view_count"]) for row in rows) == totals(EVENTS)


def test_landing_begins_at_an_offset(processed: Stage) -> None:
    begin = len(EVENTS) - 3
    reset(processed, "ingest_clicks", "--from", json.dumps({"logs": {"0": begin}, "products": {"0": 0}}))
    for reader in ("clicks", "browser_activity", "product_reach"):
        reset(processed, reader)
    assert processed.failures("clicks") == ()
    assert [(row["product_id"], row["view_count"]) for row in processed.rows("silver.view_totals")] == [(9, 3)]
    assert len(activity(processed)) == len(oracle.activity(EVENTS[begin:]))


def reset(stage: Stage, *words: str) -> None:
    done = stage.call("reset", *words, "--yes")
    assert done.returncode == 0, done.stderr
