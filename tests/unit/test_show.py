"""The rows of one stored table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import UsageError
from headrace.reading.rows import BadQuery
from headrace.reading.show import show

if TYPE_CHECKING:
    from tests.unit.conftest import Store


def shown(store: Store, table: str, column: str, **options: Any) -> list[Any]:
    return [row[column] for row in show(store.project, store.layout, table, **options).rows]


@pytest.fixture
def checked(store: Store) -> Store:
    store.append(
        "gold.order_checks",
        "'o1' as order_id, 'DETAILS' as check_type, 1 as n, 0 as _batch",
        "'o1' as order_id, 'FRAUD' as check_type, 2 as n, 0 as _batch",
        "'o2' as order_id, 'STOCK' as check_type, 3 as n, 1 as _batch",
    )
    return store


def test_landed_rows_come_in_arrival_order(store: Store) -> None:
    store.land("shipping", 1, ("orders", 1, "c", None))
    store.land("shipping", 0, ("orders", 9, "b", None), ("orders", 0, "a", None))
    assert shown(store, "bronze.orders", "key") == ["a", "b", "c"]


def test_upsert_rows_come_in_key_order(store: Store) -> None:
    store.change(0, ("b", 0, 1, False), ("a", 1, 1, False))
    assert shown(store, "silver.open_orders", "order_id") == ["a", "b"]


def test_key_selects_its_rows(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "it's", None), ("orders", 1, "b", None))
    assert shown(store, "bronze.orders", "offset", key="it's") == [0]


def test_backslash_in_key_is_literal(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a\\b", None), ("orders", 1, "b", None))
    assert shown(store, "bronze.orders", "offset", key="a\\b") == [0]


def test_first_key_column_is_enough(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", key="o1") == [1, 2]


def test_json_list_names_all_key_columns(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", key='["o1", "FRAUD"]') == [2]


def test_key_with_too_many_columns_is_refused(checked: Store) -> None:
    with pytest.raises(UsageError, match="2 columns"):
        show(checked.project, checked.layout, "gold.order_checks", key='["o1", "FRAUD", "x"]')


def test_json_list_can_be_a_single_key(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, '["u1","u2"]', None))
    assert shown(store, "bronze.orders", "offset", key='["u1","u2"]') == [0]


def test_table_without_key_refuses_key(store: Store) -> None:
    store.append("gold.unkeyed", "1 as n, 0 as _batch")
    with pytest.raises(UsageError, match="--where"):
        show(store.project, store.layout, "gold.unkeyed", key="a")


def test_history_is_each_change_in_order(store: Store) -> None:
    store.change(0, ("a", 1, 2, False), ("a", 0, 1, False), ("b", 2, 1, False))
    store.change(1, ("a", 3, 3, True))
    assert shown(store, "silver.open_orders", "made", history="a") == [1, 2, 3]


def test_history_shows_the_deletion(store: Store) -> None:
    store.change(0, ("a", 0, 1, False), ("a", 1, 2, True))
    assert shown(store, "silver.open_orders", "_deleted", history="a") == [False, True]


def test_append_table_has_no_history(checked: Store) -> None:
    with pytest.raises(UsageError, match="history"):
        show(checked.project, checked.layout, "gold.order_checks", history="o1")


def test_where_narrows(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", where="n > 1 and check_type = 'STOCK'") == [3]


def test_where_joins_key_by_and(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", key="o1", where="n = 1 or n = 3") == [1]


def test_comment_ends_inside_where(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", where="n = 3 -- the last") == [3]


@pytest.mark.parametrize(
    "where", ["n = 1) union all select * from (select 1", "n = 1; select 2", "select 1", "n =", ""]
)
def test_where_must_be_one_condition(checked: Store, where: str) -> None:
    with pytest.raises(BadQuery):
        show(checked.project, checked.layout, "gold.order_checks", where=where)


def test_where_with_unknown_column_is_refused(checked: Store) -> None:
    with pytest.raises(BadQuery, match="nope"):
        show(checked.project, checked.layout, "gold.order_checks", where="nope = 1")


@pytest.mark.parametrize(
    ("where", "found"),
    [("N / 2 = 1.5", [3]), ("concat(check_type, null) is null", [1, 2, 3]), ("1 / nullif(n, 0) < 0.4", [3])],
)
def test_where_means_what_it_means_to_spark(checked: Store, where: str, found: list[int]) -> None:
    assert shown(checked, "gold.order_checks", "n", where=where) == found


def test_where_that_is_not_known_to_agree_is_refused(checked: Store) -> None:
    with pytest.raises(BadQuery, match=r"^1:10: not-known-to-agree: soundex\(\) .*`headrace show --spark`$"):
        show(checked.project, checked.layout, "gold.order_checks", where="n = 1 or soundex(check_type) = 'x'")


def test_limit_takes_the_first(checked: Store) -> None:
    assert shown(checked, "gold.order_checks", "n", limit=2, where="_batch >= 0") == [1, 2]


@pytest.mark.parametrize("table", ["bronze.orders", "bronze.dead_letters", "silver.open_orders", "gold.shipment_ready"])
def test_nothing_stored_yet_is_no_rows(store: Store, table: str) -> None:
    rows = show(store.project, store.layout, table, key="a", where="made > 1")
    assert (list(rows.rows), rows.notes) == ([], (f"no rows yet in {table}",))


def test_nothing_found_is_noted(checked: Store) -> None:
    rows = show(checked.project, checked.layout, "gold.order_checks", key="o9")
    assert rows.notes == ("no rows in gold.order_checks",)


def test_history_prints_the_deletion_too(store: Store) -> None:
    store.change(0, ("a", 0, 1, True))
    rows = show(store.project, store.layout, "silver.open_orders", history="a")
    assert rows.brief == ("order_id", "made", "_deleted")
