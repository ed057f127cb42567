"""SQL over stored tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import UsageError
from headrace.reading.rows import BadQuery
from headrace.reading.sql import sql
from headrace.reading.stored import NotStored

if TYPE_CHECKING:
    from tests.unit.conftest import Store


def answer(store: Store, text: str) -> list[dict[str, Any]]:
    return list(sql(store.project, store.layout, text).rows)


def test_join_of_bronze_and_gold(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None), ("orders", 1, "b", None))
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    text = """
        with landed as (select key from bronze.orders)
        select key, order_id is not null as shipped
        from landed left join gold.shipment_ready on key = order_id order by key;
    """
    assert answer(store, text) == [{"key": "a", "shipped": True}, {"key": "b", "shipped": False}]


def test_two_slices_of_one_landing(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None), ("manufactured", 0, "a", None))
    text = "select count(*) as n from bronze.orders join bronze.manufactured using (key)"
    assert answer(store, text) == [{"n": 1}]


def test_upsert_model_shows_current_rows(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("b", 0, 1, False), ("b", 1, 2, True))
    assert answer(store, "select order_id, made from silver.open_orders") == [{"order_id": "a", "made": 1}]


def test_query_without_table_runs(store: Store) -> None:
    assert answer(store, "select 1 as n") == [{"n": 1}]


def test_backslash_in_string_is_literal(store: Store) -> None:
    assert answer(store, r"select 'a\' as text") == [{"text": "a\\"}]


def test_table_in_subquery_is_found(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    text = "select 1 as n where exists (select 1 from gold.shipment_ready)"
    assert answer(store, text) == [{"n": 1}]


def test_unwritten_model_counts_zero(store: Store) -> None:
    assert answer(store, "select count(*) as n from gold.shipment_ready") == [{"n": 0}]


def test_column_of_unwritten_model_gives_no_rows(store: Store) -> None:
    rows = sql(store.project, store.layout, "select order_id from gold.shipment_ready")
    assert (list(rows.rows), rows.notes) == ([], ("no rows yet in gold.shipment_ready",))


def test_unknown_column_of_written_model_is_told(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    with pytest.raises(BadQuery, match="nope"):
        sql(store.project, store.layout, "select nope from gold.shipment_ready")


def test_unknown_column_of_unlanded_topic_is_told(store: Store) -> None:
    with pytest.raises(BadQuery, match="nope"):
        sql(store.project, store.layout, "select nope from bronze.orders")


def test_view_model_points_to_show(store: Store) -> None:
    with pytest.raises(NotStored, match=r"headrace show silver\.orders"):
        sql(store.project, store.layout, "select * from silver.orders")


@pytest.mark.parametrize(
    ("table", "right"),
    [("gold.shipment_redy", "gold.shipment_ready"), ("open_orders", "silver.open_orders")],
)
def test_unknown_table_suggests_a_known_one(store: Store, table: str, right: str) -> None:
    with pytest.raises(UsageError, match=right):
        sql(store.project, store.layout, f"select * from {table}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "selec 1",
        "select (",
        "select 'a",
        "select 1; select 2",
        "delete from gold.shipment_ready",
        "insert into gold.shipment_ready select 1",
        "with a as (select 1) insert into gold.shipment_ready select * from a",
        "copy (select 1) to 'file.csv'",
        "create table x as select 1",
        "explain select 1",
        "select * from stream silver.open_orders",
    ],
)
def test_only_one_select_is_run(store: Store, text: str) -> None:
    with pytest.raises(BadQuery):
        sql(store.project, store.layout, text)
