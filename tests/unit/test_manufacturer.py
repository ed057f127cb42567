"""What an order asks of the manufacturer."""

from datetime import datetime, timezone

import pytest

from headrace.demo.manufacturer import Pace, jobs
from headrace.demo.shipping import DEFAULT_ITEMS, order

ORDER = order("o1", DEFAULT_ITEMS, datetime(2026, 1, 1, tzinfo=timezone.utc)).value


def test_each_item_is_a_job() -> None:
    assert [(job.order_id, job.product_id) for job in jobs(ORDER, 0, Pace())] == [("o1", 1), ("o1", 2)]


def test_jobs_are_due_around_the_delay() -> None:
    assert all(105 <= job.due <= 115 for job in jobs(ORDER, 100, Pace(delay=10)))


def test_same_seed_same_waits() -> None:
    assert jobs(ORDER, 0, Pace(seed=1)) == jobs(ORDER, 0, Pace(seed=1))


def test_other_seed_other_waits() -> None:
    assert jobs(ORDER, 0, Pace(seed=1)) != jobs(ORDER, 0, Pace(seed=2))


@pytest.mark.parametrize(
    "value", [None, "", "{", "[]", "1", "{}", '{"id": "a"}', '{"id": "a", "items": [{"id": "x"}]}']
)
def test_what_is_no_order_asks_for_nothing(value: str | None) -> None:
    assert jobs(value, 0, Pace()) == []
