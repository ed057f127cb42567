"""The clicks of a run on a broker, compared with plain Python: all tables, and the topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tests.kafka.arrivals import Arrival, arrivals, check_landed, millis
from tests.kafka.oracle import Acked
from tests.kafka.outcome import Results
from tests.spark import clicks_oracle as oracle
from tests.spark.clicks_oracle import Event

TABLES = {"logs": "bronze.logs", "products": "bronze.products"}
CAPTCHA, POPULAR = 5, 20
"""Views: a product becomes popular within a small test."""

MINUTE_MS = 60_000
CLOSING = "closing"
"""The browser of a view that only moves event time."""

KINDS = {"ViewProductEvent": "view", "BrowserCaptchaVerified": "verified"}


def check(results: Results, acked: Iterable[Acked]) -> None:
    """Every row is there once, in its table and at its topic, and is the right one."""
    check_landed(results, acked, TABLES)
    events = [*_events(arrivals(results, TABLES.values()))]
    _check_rows(results, events)
    _check_state(results, events)
    _check_windows(results, events)
    _check_snapshots(results, events)


def _check_rows(results: Results, events: Sequence[Event]) -> None:
    due = oracle.due(events, CAPTCHA, None, POPULAR)
    assert due.captchas and due.popular
    views, captchas, popular = (
        results.rows(f"gold.{name}") for name in ("product_views", "captcha_requests", "popular_products")
    )
    assert [(row["product_id"], row["product_name"], row["view_count"]) for row in views] == due.views
    assert [(row["browser_hash"], row["view_count"]) for row in captchas] == due.captchas
    assert [(row["product_id"], row["view_count"]) for row in popular] == due.popular
    requested = [(each.value["browserHash"], each.value["count"]) for each in results.committed("captcha-requests")]
    announced = [(each.value["productId"], each.value["count"]) for each in results.committed("popular-products")]
    assert (sorted(requested), sorted(announced)) == (sorted(due.captchas), sorted(due.popular))


def _check_state(results: Results, events: Sequence[Event]) -> None:
    names: dict[str, str] = {}
    for event in events:
        if event.kind == "name":
            names.pop(str(event.product), None)
            names |= {str(event.product): event.name} if event.name is not None else {}
    verified = {event.browser for event in events if event.kind == "verified"}
    views = Counter(event.browser for event in events if event.kind == "view" and event.browser not in verified)
    found = {row["product_id"]: row["product_name"] for row in results.rows("silver.product_names")}
    counted = {row["browser_hash"]: row["view_count"] for row in results.rows("silver.browsers")}
    assert (found, counted) == (names, views)


def _check_windows(results: Results, events: Sequence[Event]) -> None:
    """Those that the closing view has left behind are all there; later ones hang on how far ticks came."""
    found = {name: results.rows(f"gold.{name}") for name in ("browser_activity", "product_reach")}
    activity = [
        ((row["browser_hash"], millis(row["window_start"])), row["view_count"]) for row in found["browser_activity"]
    ]
    reach = [((row["product_id"], millis(row["window_start"])), row["browsers"]) for row in found["product_reach"]]
    assert (len(dict(activity)), dict(activity)) == (len(activity), oracle.activity(events))
    newest = max(event.at for event in events if event.kind == "view")
    final, all_of_them = oracle.reach(events, newest - MINUTE_MS), oracle.reach(events, newest + 60 * MINUTE_MS)
    assert len(dict(reach)) == len(reach) and final
    assert final.items() <= dict(reach).items() <= all_of_them.items()


def _check_snapshots(results: Results, events: Sequence[Event]) -> None:
    views = Counter(event.product for event in events if event.kind == "view")
    totals = {row["product_id"]: row["view_count"] for row in results.rows("silver.view_totals")}
    sent = results.committed("counter_topic")
    newest = {int(record.key or 0): record.value["count"] for record in sent}
    assert totals == newest == views
    assert {*Counter((record.key, record.value["snapshotAt"]) for record in sent).values()} == {1}
    stored = Counter((str(row["product_id"]), row["view_count"]) for row in results.rows("gold.view_counters"))
    assert stored == Counter((record.key, record.value["count"]) for record in sent)


def _events(arrived: Iterable[Arrival]) -> Iterator[Event]:
    """The log lines that count and the names, in arrival order."""
    for each in arrived:
        if each.topic == "products":
            yield Event("name", each.at, product=int(each.key or 0), name=each.body)
        elif (kind := KINDS.get(each.body["logger_name"].rpartition(".")[2])) is not None:
            yield Event(kind, each.at, each.body["browserHash"], each.body.get("productId", 0))
