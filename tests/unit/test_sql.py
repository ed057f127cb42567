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


def test_backslash_in_string_escapes_as_in_spark(store: Store) -> None:
    assert answer(store, r"select 'a\\' as text, 'it\'s' as quoted") == [{"text": "a\\", "quoted": "it's"}]


def test_table_in_subquery_is_found(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    text = "select 1 as n where exists (select 1 from gold.shipment_ready)"
    assert answer(store, text) == [{"n": 1}]


def test_unwritten_model_counts_zero(store: Store) -> None:
    assert answer(store, "select count(*) as n from gold.shipment_ready") == [{"n": 0}]


def test_column_of_unwritten_model_gives_no_rows(store: Store) -> None:
    rows = sql(store.project, store.layout, "select order_id from gold.shipment_ready")
    assert (list(rows.rows), rows.notes) == ([], ("no rows yet in gold.shipment_ready",))


def test_unknown_column_of_written_model_is_reported(store: Store) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    with pytest.raises(BadQuery, match="nope"):
        sql(store.project, store.layout, "select nope from gold.shipment_ready")


def test_unknown_column_of_unlanded_topic_is_reported(store: Store) -> None:
    with pytest.raises(BadQuery, match="nope"):
        sql(store.project, store.layout, "select nope from bronze.orders")


def test_unknown_column_names_all_that_there_are(store: Store) -> None:
    store.land("shipping", 0, ("orders", 0, "a", None))
    with pytest.raises(BadQuery, match=r"no column _arrival; there are .*key, value, .*reject_reason"):
        sql(store.project, store.layout, "select _arrival from bronze.orders")


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


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3.5),
        ("7 div 2", 3),
        ("concat('a', null)", None),
        ("substring('hello', 0, 2)", "he"),
        ("regexp_replace('a1b22', '[0-9]+', '<$0>')", "a<1>b<22>"),
        ("date_format(timestamp '2026-01-31 13:05:00', 'dd.MM.yyyy hh:mm a')", "31.01.2026 01:05 PM"),
        ("round(log(exp(2)), 6)", 2.0),
        ("log(2, 8)", 3.0),
        ("try_cast('x' as int)", None),
        ("'a' \"b\"", "ab"),
        ("nvl(null, 'x')", "x"),
    ],
)
def test_expression_means_what_it_means_to_spark(store: Store, expression: str, value: Any) -> None:
    assert answer(store, f"select {expression} as v") == [{"v": value}]


def test_nulls_come_first_and_names_know_no_case(store: Store) -> None:
    store.append(
        "gold.shipment_ready", "'a' as order_id, 0 as _batch", "cast(null as varchar) as order_id, 0 as _batch"
    )
    text = "SELECT S.ORDER_ID AS Id FROM gold.shipment_ready S ORDER BY id"
    assert answer(store, text) == [{"Id": None}, {"Id": "a"}]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("1 / 0", "DIVIDE_BY_ZERO.*try_divide"),
        ("cast('x' as int)", "CAST_INVALID_INPUT.*'x'.*try_cast"),
        ("element_at(array(1), 3)", "INVALID_ARRAY_INDEX.*get"),
    ],
)
def test_what_is_an_error_to_spark_is_an_error(store: Store, expression: str, says: str) -> None:
    with pytest.raises(BadQuery, match=says):
        answer(store, f"select {expression} as v")


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("select percentile_approx(1, 0.5)", "1:8", "percentile_approx()"),
        ("select 1,\n  to_json(struct(1)) as j", "2:3", "to_json()"),
        ("select 1 where 'a' rlike 'a(?=b)'", "1:16", "the regular expression a(?=b)"),
        ("select date_format(current_timestamp(), 'D')", "1:8", "the format D"),
        ("select 1 group by rollup (1)", "1:27", "ROLLUP"),
        ("select * from range(3)", "1:8", "range"),
    ],
)
def test_what_is_not_known_to_agree_is_refused_with_the_way_out(store: Store, text: str, place: str, what: str) -> None:
    with pytest.raises(BadQuery) as refused:
        answer(store, text)
    message = str(refused.value)
    assert message.startswith(f"{place}: not-known-to-agree: ") and what in message
    assert message.endswith("run it with `headrace sql --spark`")


def test_value_that_is_not_known_to_agree_is_refused_too(store: Store) -> None:
    with pytest.raises(BadQuery, match=r"^not-known-to-agree: upper of ß .*--spark$"):
        answer(store, "select upper('ß') as v")


@pytest.mark.parametrize(
    "text",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from `/etc/passwd`",
        "select * from csv.`/etc/passwd`",
        "select * from duckdb_settings()",
        "select getenv('HOME') as v",
        "select reflect('java.lang.System', 'getenv', 'HOME') as v",
        "select current_setting('threads') as v",
        "select * from information_schema.tables",
        "select * from s0",
        "attach 'x.db' as x",
        "install httpfs",
        "pragma version",
        "set memory_limit = '9GB'",
    ],
)
def test_engine_reads_nothing_but_the_projects_tables(store: Store, text: str) -> None:
    store.append("gold.shipment_ready", "'a' as order_id, 0 as _batch")
    with pytest.raises(UsageError):
        answer(store, text)
