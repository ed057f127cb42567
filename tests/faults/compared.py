"""What is stored and sent, compared with plain Python: a beginning of it after each step, all of it at the end."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from tests.faults.ledger import DELAY, FACTORS, SPAN, Span, accounts, are_some, begins, reject_reason, spans
from tests.faults.place import NOTICES, SPANS, STREAMED, Place

Sent = list[tuple[str, dict[str, Any]]]


class Part(Protocol):
    """A part of the project, and what is compared of it."""

    topic: str
    """Where it publishes to."""

    def check(self, place: Place, text: str, passed: float) -> None:
        """All that is there is due; `text` is that of the project, `passed` how many seconds there were."""

    def check_end(self, place: Place, text: str) -> None:
        """All that is due is there."""


def check_landed(place: Place) -> None:
    """Records land in their order, with the right verdicts; and no table has two commits of one batch."""
    for path, batches in place.batches():
        assert (twice := [at for at, count in batches.items() if count > 1]) == [], f"{path}: {twice}"
    found = defaultdict(list)
    for row in place.landed():
        found[row["partition"]].append((row["offset"], row["key"], row["value"], row["reject_reason"]))
    due = defaultdict(list)
    for record in sorted(place.acked, key=lambda record: record.offset):
        key, value = (None if each is None else each.decode() for each in (record.key, record.value))
        due[record.partition].append((record.offset, key, value, reject_reason(record)))
    for number, rows in found.items():
        assert begins(rows, due[number]), f"partition {number}: {rows} is not the beginning of {due[number]}"


class Balances:
    """The models that run in micro-batches."""

    topic = NOTICES

    def check(self, place: Place, text: str, passed: float) -> None:
        due = accounts(place.acked)
        for account, rows in _by_account(place, "_changes/silver.balances", "balance", "amount").items():
            assert begins(rows, due[account].changes), f"balances of {account}: {rows}, {due[account].changes}"
        for account, rows in _by_account(place, "_changes/silver.last_payments", "amount").items():
            amounts = [(amount,) for _, amount in due[account].changes]
            assert are_some(rows, amounts), f"last payments of {account}: {rows}, {amounts}"
        for account, rows in _by_account(place, "gold/notices", "balance", "amount").items():
            assert begins(rows, due[account].notices), f"notices of {account}: {rows}, {due[account].notices}"
        for account, rows in _by_account(place, "gold/first_notices", "balance").items():
            first = [(balance,) for balance, _ in due[account].notices[:1]]
            assert rows == first, f"first notice of {account}: {rows}, {first}"
        for account, rows in _by_account(place, "_changes/silver.notice_counts", "notices", "amount").items():
            counts = due[account].counts(FACTORS[text])
            assert {*rows} <= {*counts} and rows == sorted({*rows}), f"counts of {account}: {rows}, {counts}"
        sent, stored = place.sent(), self._to_be_sent(place)
        assert begins(sent, stored), f"sent {sent}, stored {stored}"

    def check_end(self, place: Place, text: str) -> None:
        due = accounts(place.acked)
        assert _by_account(place, "_changes/silver.balances", "balance", "amount") == {
            name: each.changes for name, each in due.items()
        }
        assert _by_account(place, "silver/balances", "balance") == {
            name: [(each.balance,)] for name, each in due.items() if each.balance is not None
        }
        assert _by_account(place, "silver/last_payments", "amount") == {
            name: [(each.changes[-1][1],)] for name, each in due.items() if each.balance is not None
        }
        left = _by_account(place, "_changes/silver.last_payments", "amount", "is_closing")
        assert {name: rows[-1][:1] for name, rows in left.items() if not rows[-1][1]} == {
            name: each.changes[-1][1:] for name, each in due.items() if each.balance is not None
        }
        noticed = {name: each for name, each in due.items() if each.notices}
        assert _by_account(place, "gold/notices", "balance", "amount") == {
            name: each.notices for name, each in noticed.items()
        }
        assert _by_account(place, "gold/first_notices", "balance").keys() == noticed.keys()
        assert _by_account(place, "silver/notice_counts", "notices", "amount") == {
            name: each.counts(FACTORS[text])[-1:] for name, each in noticed.items()
        }
        assert place.all_sent() == self._to_be_sent(place)

    def _to_be_sent(self, place: Place) -> Sent:
        rows = place.rows("gold/notices")
        return [(row["account"], {"balance": row["balance"], "amount": row["amount"]}) for row in rows]


@dataclass(frozen=True)
class _Found:
    """The spans that are stored, with how many payments each has and their sum; and how many payments came too late."""

    spans: Mapping[Span, tuple[int, int]]
    late: Mapping[Span, int]


class Spans:
    """The model that Spark's streaming engine runs.

    What comes too late for a span once is too late for it ever after, as watermarks do not go back. So the payments
    that count are the first ones of their span, and those that do not are among the late rows, whatever the batches.
    """

    topic = SPANS

    def check(self, place: Place, text: str, passed: float) -> None:
        due, found = spans(place.acked), self._found(place)
        for span, (count, amount) in found.spans.items():
            assert count > 0 and amount == sum(due[span][:count]), f"{span}: {count}, {amount} of {due[span]}"
        for span, late in found.late.items():
            counted, _ = found.spans.get(span, (0, 0))
            assert counted + late <= len(due[span]), f"{span}: {counted} and {late} late ones of {due[span]}"
        newest = max((record.timestamp for record in place.acked), default=0) + 1000 * passed
        assert all(start + SPAN + DELAY <= newest for _, start in found.spans), f"open ones came: {found.spans}"
        sent, stored = Counter(map(json.dumps, place.sent())), Counter(map(json.dumps, self._to_be_sent(place)))
        assert sent <= stored, f"sent {sent}, stored {stored}"

    def check_end(self, place: Place, text: str) -> None:
        due, found = spans(place.acked), self._found(place)
        for span, amounts in due.items():
            counted, _ = found.spans.get(span, (0, 0))
            late = found.late.get(span, 0)
            assert counted + late == len(amounts), f"{span}: {counted} and {late} late ones of {amounts}"
        assert sorted(map(json.dumps, place.all_sent())) == sorted(map(json.dumps, self._to_be_sent(place)))

    def _found(self, place: Place) -> _Found:
        rows = [((row["account"], _millis(row["window_start"])), row) for row in place.rows(f"gold/{STREAMED}")]
        found = {span: (row["payment_count"], row["amount"]) for span, row in rows}
        assert len(found) == len(rows), f"a span is there twice: {rows}"
        late = place.rows(f"_late/gold.{STREAMED}")
        times = ((json.loads(row["key"])[0], _millis(row["event_time"])) for row in late)
        return _Found(found, Counter((account, time - time % SPAN) for account, time in times))

    def _to_be_sent(self, place: Place) -> Sent:
        return [
            (
                row["account"],
                {
                    "start": f"{row['window_start']:%Y-%m-%dT%H:%M:%S.%fZ}",
                    "payments": row["payment_count"],
                    "amount": row["amount"],
                },
            )
            for row in place.rows(f"gold/{STREAMED}")
        ]


def _by_account(place: Place, path: str, *columns: str) -> dict[str, list[tuple[Any, ...]]]:
    found = defaultdict(list)
    for row in place.rows(path):
        found[row["account"]].append(tuple(row[name] for name in columns))
    return dict(found)


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
