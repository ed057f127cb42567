"""What landed in a case, and when: shown with its differences, which often begin there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timezone

from pyspark.sql import Row

from headrace.testing.cases.landing import Landed, LandedBatch

_MOST = 20
"""The most batches that are shown: the last ones."""


def describe(landed: Landed) -> str:
    """One line for each landing batch, and one for each of its dead letters."""
    shown = landed.batches[-_MOST:]
    left_out = len(landed.batches) - len(shown)
    first = [f"  ({left_out} before)"] if left_out else []
    return "\n".join(["what landed:", *first, *(line for batch in shown for line in _lines(batch))])


def _lines(batch: LandedBatch) -> Iterator[str]:
    at = batch.rows[0].landed_at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    rejected = [row for row in batch.rows if row.reject_reason is not None]
    yield f"  batch {batch.number} of {batch.landing} at {at}: {_counted(batch, len(rejected))}"
    yield from map(_dead_letter, rejected)


def _counted(batch: LandedBatch, rejected: int) -> str:
    if batch.is_tick:
        return "nothing came, time passed"
    count = len(batch.rows)
    letters = f", {rejected} of them dead letters" if rejected else ""
    return f"{count} record{'s' if count != 1 else ''}{letters}"


def _dead_letter(row: Row) -> str:
    value = "null" if row.value is None else str(row.value)
    return f"    {row.reject_reason}: {row.topic} key {row.key}: {value[:100]}"
