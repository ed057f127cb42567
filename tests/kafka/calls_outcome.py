"""The calls of a run on a broker, compared with plain Python: all tables, and the topic."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tests.kafka.arrivals import Arrival, arrivals, check_landed, millis
from tests.kafka.oracle import Acked
from tests.kafka.outcome import Results
from tests.spark.calls_oracle import Call, Half, Pair, call_of, chains

TABLES = {"analyticsTopic": "bronze.call_analytics", "metricsTopic": "bronze.call_metrics"}
GAP, GRACE = 2, 60
"""Seconds: calls that end within the time of a test. Made-up halves are up to 30 seconds behind; after an outage of a
broker a topic may come long before another, so some may be too late."""

COLUMNS = ("user1", "user2", "ts", "analytics", "metrics")

CLOSING = "closing"
"""The user of a half that only moves event time; its own call may or may not be over."""


def check(results: Results, acked: Iterable[Acked]) -> None:
    """Every call of the halves that were not too late is there once, in the table and at the topic."""
    check_landed(results, acked, TABLES)
    due = expected(_in_time(results))
    assert len(due) > 10
    rows = [row for row in results.rows("gold.calls") if row["user1"] != CLOSING]
    found = [(row["user1"], row["user2"], row["ts"], row["analytics"], row["metrics"]) for row in rows]
    assert sorted(found, key=str) == due
    sent = [(record.key, record.value) for record in results.committed("outputTopic")]
    published = [(key, *(value[name] for name in COLUMNS)) for key, value in sent if value["user1"] != CLOSING]
    keyed = [(json.dumps([call[0], call[1]], separators=(",", ":")), *call) for call in due]
    assert sorted(published, key=str) == sorted(keyed, key=str)


def _in_time(results: Results) -> Iterator[Half]:
    """All halves in arrival order, without those that are among the late rows."""
    rows = (row for row in results.rows("bronze.late_rows") if row["model"] == "gold.calls")
    late = Counter((tuple(json.loads(row["key"])), millis(row["event_time"])) for row in rows)
    for half in map(_half, arrivals(results, TABLES.values())):
        if late[half.pair, half.at] > 0:
            late[half.pair, half.at] -= 1
        else:
            yield half
    assert late.total() == 0, f"late rows that nobody sent: {+late}"


def _half(each: Arrival) -> Half:
    body, kind = each.body, "analytics" if each.topic == "analyticsTopic" else "metrics"
    return Half((body["user1"], body["user2"]), body["timestamp"], kind, body.get(kind))


def expected(in_time: Iterable[Half]) -> list[Call]:
    """The calls whose last half the newest one has left behind."""
    halves: dict[Pair, list[Half]] = defaultdict(list)
    for half in in_time:
        halves[half.pair].append(half)
    newest = max(half.at for each in halves.values() for half in each)
    found = [
        call_of(pair, chain)
        for pair, each in halves.items()
        for chain in chains(each, GAP * 1000)
        if chain[-1].at + (GAP + GRACE) * 1000 <= newest
    ]
    return sorted(found, key=str)
