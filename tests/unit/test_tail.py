"""Following the new rows of a stored table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import UsageError
from headrace.reading.stored import NotStored
from headrace.reading.tail import TableFollower, Until, table_line, tail_table, topic_line

if TYPE_CHECKING:
    from tests.unit.conftest import Store


def polled(follower: TableFollower, column: str) -> list[Any]:
    return [row[column] for row in follower.poll()]


def follower(store: Store, name: str, **options: Any) -> TableFollower:
    return TableFollower(store.project, store.layout, name, **options)


def test_new_batches_come_once(store: Store) -> None:
    following = follower(store, "gold.shipment_ready")
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    first = polled(following, "order_id")
    store.append("gold.shipment_ready", "'b' as order_id, 1 as _batch")
    assert (first, polled(following, "order_id"), polled(following, "order_id")) == (["a"], ["b"], [])


def test_from_end_skips_what_is_there(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    following = follower(store, "gold.shipment_ready", start="end")
    store.append("gold.shipment_ready", "'b' as order_id, 1 as _batch")
    assert polled(following, "order_id") == ["b"]


def test_from_end_of_unwritten_table_takes_all(store: Store) -> None:
    following = follower(store, "gold.shipment_ready", start="end")
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    assert polled(following, "order_id") == ["a"]


def test_upsert_model_is_followed_by_its_changes(store: Store) -> None:
    store.change(0, ("a", 1, 2, True), ("a", 0, 1, False))
    assert polled(follower(store, "silver.open_orders"), "made") == [1, 2]


def test_slice_is_followed_by_landing_batch(store: Store) -> None:
    following = follower(store, "bronze.orders")
    store.land("shipping", 0, ("orders", 1, "b", None), ("orders", 0, "a", None), ("manufactured", 0, "x", None))
    first = polled(following, "key")
    store.land("shipping", 1, ("orders", 2, "c", None))
    assert (first, polled(following, "key")) == (["a", "b"], ["c"])


def test_dead_letters_of_a_later_landing_are_not_missed(store: Store) -> None:
    following = follower(store, "bronze.dead_letters")
    store.land("shipping", 9, ("orders", 0, "a", "not_json"))
    first = polled(following, "key")
    store.land("sales", 0, ("sales-events-v1", 0, "b", "wrong_type"))
    assert (first, polled(following, "key")) == (["a"], ["b"])


def test_reset_table_is_read_from_its_start(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 5 as _batch")
    following = follower(store, "gold.shipment_ready", start="end")
    store.layout.table("gold.shipment_ready").rename(store.layout.data_dir / "old")
    store.append("gold.shipment_ready", "'b' as order_id, 0 as _batch")
    assert polled(following, "order_id") == ["b"]


def test_quiet_table_ends_the_following(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    rows = tail_table(store.project, store.layout, "gold.shipment_ready", until=Until(quiet=0))
    assert [row["order_id"] for row in rows] == ["a"]


def test_stop_is_asked_before_anything(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    until = Until(stopped=lambda: True)
    assert list(tail_table(store.project, store.layout, "gold.shipment_ready", until=until)) == []


def test_view_cannot_be_followed(store: Store) -> None:
    with pytest.raises(NotStored):
        follower(store, "silver.orders")


def test_unknown_table_is_reported(store: Store) -> None:
    with pytest.raises(UsageError, match=r"gold\.shipment_ready"):
        follower(store, "gold.shipment_redy")


def test_topic_line_does_nothing_to_the_terminal() -> None:
    record = {"topic": "t", "partition": 1, "offset": 2, "timestamp": None, "key": "\x1b[2J\n", "value": "\x9b2J"}
    assert topic_line(record).split() == ["t[1]@2", "null", "\\x1b[2J\\n", '"\\x9b2J"']


def test_table_line_hides_bookkeeping() -> None:
    assert table_line({"order_id": "a", "items": [1], "_batch": 0}) == "order_id=a  items=[1]"


def test_tombstone_line_says_null() -> None:
    record = {"topic": "t", "partition": 1, "offset": 2, "timestamp": None, "key": "k", "value": None, "headers": []}
    assert topic_line(record).split() == ["t[1]@2", "null", "k", "null"]
