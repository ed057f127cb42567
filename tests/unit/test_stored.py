"""What a dotted name means to a reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import EnvironmentFault, UsageError
from headrace.project.model import FAILED_COLUMNS, LANDING_COLUMNS, Query
from headrace.reading.rows import query
from headrace.reading.stored import NotStored, Relation, changes, names, relation, streams

if TYPE_CHECKING:
    from tests.unit.conftest import Store

TIME = "arrow_cast('2026-01-01T10:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"


def read(found: Relation, columns: str = "*") -> list[dict[str, Any]]:
    sql = f"select {columns} from {found.name} order by 1"
    return list(query(sql, found.tables, {found.name: found.sql}).rows)


def current(store: Store) -> dict[str, int]:
    found = relation(store.project, store.layout, "silver.open_orders")
    return {row["order_id"]: row["made"] for row in read(found)}


def test_bronze_name_is_the_topics_slice(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None), ("manufactured", 0, "b", None))
    found = relation(store.project, store.layout, "bronze.orders")
    assert [row["key"] for row in read(found)] == ["a"]


def test_bronze_keeps_rejected_rows(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None), ("orders", 1, "b", "not_json"))
    found = relation(store.project, store.layout, "bronze.orders")
    assert [row["key"] for row in read(found, "key")] == ["a", "b"]


def test_slice_is_named_by_relation_not_topic(store: Store) -> None:
    store.land("sales", 0, ("sales-events-v1", 0, "a", None))
    found = relation(store.project, store.layout, "bronze.sales")
    assert len(read(found)) == 1


def test_clock_has_a_row_per_landing_batch(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None), ("manufactured", 0, "b", None))
    store.land("shipping", 1, ("_tick", 0, "a", None))
    found = relation(store.project, store.layout, "bronze.shipping_clock")
    assert [(row["landing_batch"], row["is_tick"]) for row in read(found)] == [(0, False), (1, True)]


def test_ticks_are_in_no_relation(store: Store) -> None:
    store.land("shipping", 0, ("_tick", 0, "a", None))
    found = relation(store.project, store.layout, "bronze.orders")
    assert read(found) == []


def test_landing_columns_known_before_landing(store: Store) -> None:
    found = relation(store.project, store.layout, "bronze.orders")
    rows = query(f"select * from {found.name}", found.tables, {found.name: found.sql})
    assert rows.columns == tuple(name for name, _ in LANDING_COLUMNS)


def test_versions_say_since_when_and_until_when_each_holds(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("b", 1, 1, False))
    store.change(1, ("a", 2, 2, False), ("b", 3, 0, True))
    found = relation(store.project, store.layout, "silver.open_orders_versions")
    versions = read(found, "order_id, made, _valid_from['offset'] as since, _valid_to['offset'] as until")
    assert sorted(map(tuple, (row.values() for row in versions)), key=str) == [
        ("a", 1, 0, 2),
        ("a", 2, 2, None),
        ("b", 1, 1, 3),
    ]
    assert found.name in names(store.project)


def test_failed_rows_span_all_queries(store: Store) -> None:
    queries = tuple(Query(name, "micro_batch", ()) for name in ("shipping", "sales", "idle"))
    for each in queries[:2]:
        row = f"'gold.{each.name}' as model, 'small' as test, '{{}}' as row, 3 as batch, now() as failed_at"
        store.fail(each.name, row)
    found = relation(replace(store.project, queries=queries), store.layout, "bronze.failed_rows")
    assert [row["model"] for row in read(found, "model")] == ["gold.sales", "gold.shipping"]


def test_failed_rows_have_columns_before_any(store: Store) -> None:
    found = relation(store.project, store.layout, "bronze.failed_rows")
    rows = query(f"select * from {found.name}", found.tables, {found.name: found.sql})
    assert rows.columns == tuple(name for name, _ in FAILED_COLUMNS)


def test_dead_letters_span_all_landings(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", "not_json"), ("orders", 1, "fine", None))
    store.land("sales", 0, ("sales-events-v1", 0, "b", "wrong_type"))
    found = relation(store.project, store.layout, "bronze.dead_letters")
    assert [row["key"] for row in read(found, "key")] == ["a", "b"]


def test_dead_letters_before_second_landing(store: Store) -> None:
    store.land("sales", 0, ("sales-events-v1", 0, "b", "wrong_type"))
    found = relation(store.project, store.layout, "bronze.dead_letters")
    assert [row["key"] for row in read(found, "key")] == ["b"]


def test_late_rows_name_their_model(store: Store) -> None:
    late = f"'[\"a\"]' as key, {TIME} as event_time, {TIME} as watermark, 3 as _batch"
    store.late("gold.shipment_ready", late)
    found = relation(store.project, store.layout, "bronze.late_rows")
    assert [(row["model"], row["key"]) for row in read(found, "model, key")] == [("gold.shipment_ready", '["a"]')]


def test_late_rows_have_columns_before_the_first(store: Store) -> None:
    found = relation(store.project, store.layout, "bronze.late_rows")
    rows = query(f"select * from {found.name}", found.tables, {found.name: found.sql})
    assert rows.columns == ("model", "key", "event_time", "watermark", "_batch")


def test_append_table_is_read_as_stored(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    found = relation(store.project, store.layout, "gold.shipment_ready")
    assert read(found) == [{"order_id": "a", "_batch": 0}]


def test_unwritten_model_has_no_rows(store: Store) -> None:
    found = relation(store.project, store.layout, "gold.shipment_ready")
    assert (found.written, read(found)) == (False, [])


def test_newest_change_is_the_current_row(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("b", 1, 1, False))
    store.change(1, ("a", 2, 2, False))
    assert current(store) == {"a": 2, "b": 1}


def test_last_arrival_in_a_batch_wins(store: Store) -> None:
    store.change(0, ("a", 9, 3, False), ("a", 10, 4, False), ("a", 2, 1, False))
    assert current(store) == {"a": 4}


def test_deleted_key_is_gone(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("b", 1, 1, False))
    store.change(1, ("a", 2, 2, True))
    assert current(store) == {"b": 1}


def test_key_may_come_back_after_deletion(store: Store) -> None:
    store.change(0, ("a", 0, 1, True))
    store.change(1, ("a", 1, 5, False))
    assert current(store) == {"a": 5}


def test_log_tail_goes_before_folded_rows(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("b", 1, 1, False), ("c", 2, 1, False))
    store.fold(0, ("a", 0, 1, False), ("b", 1, 1, False), ("c", 2, 1, False))
    store.change(1, ("a", 3, 2, False), ("b", 4, 2, True), ("d", 5, 1, False))
    assert current(store) == {"a": 2, "c": 1, "d": 1}


def test_folded_batches_are_read_from_the_table(store: Store) -> None:
    store.change(0, ("only in the log", 0, 1, False))
    store.fold(0, ("only in the table", 0, 1, False))
    assert current(store) == {"only in the table": 1}


def test_unmarked_table_leaves_the_whole_log(store: Store) -> None:
    store.change(0, ("a", 0, 1, False))
    store.fold(7, ("stray", 0, 1, False), marked=False)
    assert current(store) == {"a": 1}


def test_older_marker_counts_behind_foreign_commit(store: Store) -> None:
    store.change(0, ("a", 0, 1, False))
    store.fold(0, ("a", 0, 1, False))
    store.change(1, ("a", 1, 2, False))
    store.fold(1, ("a", 0, 1, False), marked=False)
    assert current(store) == {"a": 2}


def test_current_rows_have_same_columns_folded_or_not(store: Store) -> None:
    store.change(0, ("a", 0, 1, False))
    before = read(relation(store.project, store.layout, "silver.open_orders"))
    store.fold(0, ("a", 0, 1, False))
    after = read(relation(store.project, store.layout, "silver.open_orders"))
    assert before == after


def test_change_log_keeps_every_entry(store: Store) -> None:
    store.change(0, ("a", 0, 1, False))
    store.change(1, ("a", 1, 2, True))
    entries = read(changes(store.project, store.layout, "silver.open_orders"), "_batch, _deleted")
    assert [entry["_deleted"] for entry in entries] == [False, True]


@pytest.mark.parametrize("name", ["gold.shipment_ready", "bronze.orders"])
def test_only_upsert_models_keep_history(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="history"):
        changes(store.project, store.layout, name)


def test_view_is_not_stored(store: Store) -> None:
    with pytest.raises(NotStored) as caught:
        relation(store.project, store.layout, "silver.orders")
    assert caught.value.model.name == "orders"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("gold.shipment_redy", "gold.shipment_ready"),
        ("bronze.order", "bronze.orders"),
        ("silver.shipment_ready", "gold.shipment_ready"),
        ("open_orders", "silver.open_orders"),
    ],
)
def test_unknown_table_suggests_a_known_one(store: Store, wrong: str, right: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean {right}"):
        relation(store.project, store.layout, wrong)


def test_every_stored_name_resolves(store: Store) -> None:
    stored = [name for name in names(store.project) if name != "silver.orders"]
    assert [relation(store.project, store.layout, name).name for name in stored] == stored


def test_damaged_table_is_an_environment_fault(store: Store) -> None:
    log = store.layout.table("gold.unkeyed") / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{")
    with pytest.raises(EnvironmentFault, match="unkeyed"):
        relation(store.project, store.layout, "gold.unkeyed")


def test_empty_log_folder_is_unwritten(store: Store) -> None:
    (store.layout.table("gold.unkeyed") / "_delta_log").mkdir(parents=True)
    assert not relation(store.project, store.layout, "gold.unkeyed").written


def test_dead_letters_stream_per_landing(store: Store) -> None:
    assert len(streams(store.project, store.layout, "bronze.dead_letters")) == 2
