"""The demo's story ends as it describes, by the simplest implementation of the rules."""

import json
from collections import defaultdict
from datetime import datetime, timezone
from typing import Any

from headrace.demo.sales import SALES
from headrace.demo.script import Script, script
from headrace.demo.shipping import ORDERS

STORY = script("r", datetime(2026, 1, 1, tzinfo=timezone.utc))


def values(story: Script, *topics: str) -> list[tuple[str, str | None, Any]]:
    """Usable records as (topic, key, value)."""
    usable = []
    for record in story.records:
        try:
            value = None if record.value is None else json.loads(record.value)
        except ValueError:
            continue
        if record.topic in topics and not (value and isinstance(value.get("value"), str)):
            usable.append((record.topic, record.key, value))
    return usable


def test_orders_ship_as_described() -> None:
    wanted: dict[str | None, set[int]] = {}
    made: dict[str | None, set[int]] = defaultdict(set)
    shipped = []
    for topic, key, value in values(STORY, ORDERS, "manufactured"):
        if topic == ORDERS:
            wanted[key] = {item["id"] for item in value["items"]}
        else:
            made[key].add(value["productId"])
        if key not in shipped and key in wanted and wanted[key] <= made[key]:
            shipped.append(key)
    assert (sorted(shipped), sorted(wanted.keys() - set(shipped))) == (sorted(STORY.shipped), sorted(STORY.waiting))


def test_notifications_come_as_described() -> None:
    totals: dict[str | None, int] = defaultdict(int)
    rows: list[tuple[str | None, int | None, bool]] = []
    for _, key, value in values(STORY, SALES):
        before = totals[key]
        after = totals[key] = 0 if value is None else before + value["value"]
        if after >= 2000:
            rows.append((key, after, False))
        elif before >= 2000:
            rows.append((key, None if value is None else after, True))
    assert tuple(rows) == STORY.notifications


def test_rejected_records_are_counted() -> None:
    usable = values(STORY, ORDERS, "manufactured", SALES)
    assert len(STORY.records) - len(usable) == STORY.rejected


def test_runs_share_no_key() -> None:
    other = script("other", datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert not {record.key for record in STORY.records} & {record.key for record in other.records}


def test_topics_stay_in_their_own_order() -> None:
    totals = [total for product, total, _ in STORY.notifications if product == "espresso-r"]
    assert totals == sorted(total for total in totals if total is not None)
