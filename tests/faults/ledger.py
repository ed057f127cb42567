"""What the small project makes of payments, in plain Python: no batches, no Spark, and none of the tested code."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.kafka.oracle import Acked

TARGET = 100
FACTORS = {"as it is": 1, "reworded": 1, "doubled": 2}
"""Texts that the model of counts may have, and what its amounts are multiplied by."""

SPAN, DELAY = 10_000, 5_000
"""How long a span is, and how far behind the newest payment all spans are over, in milliseconds."""

Span = tuple[str, int]
"""An account, and when the span starts."""


@dataclass
class Account:
    """What becomes of one account, step by step; `notices` hold balance and amount."""

    balance: int | None = None
    changes: list[tuple[int | None, int | None]] = field(default_factory=list)
    notices: list[tuple[int, int]] = field(default_factory=list)

    def take(self, amount: int | None) -> None:
        """Take in a payment, or the closing, which has no amount."""
        self.balance = None if amount is None else (self.balance or 0) + amount
        self.changes.append((self.balance, amount))
        if self.balance is not None and amount is not None and self.balance >= TARGET:
            self.notices.append((self.balance, amount))

    def counts(self, factor: int) -> list[tuple[int, int]]:
        """How many notices there are, and the sum of their amounts, after each of them."""
        amounts = [factor * amount for _, amount in self.notices]
        return [(upto, sum(amounts[:upto])) for upto in range(1, len(amounts) + 1)]


def reject_reason(record: Acked) -> str | None:
    """Why a record cannot be used, None if it can."""
    if record.key is None:
        return "null_key"
    if record.value is None:
        return None
    try:
        amount = json.loads(record.value).get("amount")
    except ValueError:
        return "not_json"
    if amount is None:
        return "missing_field"
    return None if type(amount) is int else "wrong_type"


def accounts(records: Iterable[Acked]) -> dict[str, Account]:
    """All accounts; those of one are in one partition."""
    found: dict[str, Account] = defaultdict(Account)
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        if reject_reason(record) is None:
            found[record.name].take(record.body["amount"] if record.value is not None else None)
    return dict(found)


def spans(records: Iterable[Acked]) -> dict[Span, list[int]]:
    """The amounts that were paid into each account in each span of time, in the order of their records."""
    found: dict[Span, list[int]] = defaultdict(list)
    for record in sorted(records, key=lambda record: (record.partition, record.offset)):
        if reject_reason(record) is None and record.value is not None:
            found[record.name, record.timestamp - record.timestamp % SPAN].append(record.body["amount"])
    return found


def begins(found: Sequence[object], due: Sequence[object]) -> bool:
    """Whether what was found is the beginning of what is due."""
    return list(found) == list(due[: len(found)])


def are_some(found: Iterable[object], due: Iterable[object]) -> bool:
    """Whether what was found is some of what is due, in its order."""
    rest = iter(due)
    return all(each in rest for each in found)
