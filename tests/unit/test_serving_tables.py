"""Stored tables in pages, over HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import httpx
import pytest

from headrace.serving.app import Service, application
from headrace.serving.events import Recent
from headrace.serving.orders import Orders
from headrace.serving.waiters import Waiters
from tests.unit.test_serving_orders import Here, Past, Topic

if TYPE_CHECKING:
    from tests.unit.conftest import Store


def get(store: Store, path: str, **parameters: Any) -> httpx.Response:
    waiters = Waiters(1)
    orders = Orders(Recent(waiters.notify), waiters, Past(), Topic())
    service = Service(store.layout, orders, *[Here(store.project, store.layout)] * 2)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(application(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            headers = {"If-None-Match": parameters.pop("known")} if "known" in parameters else {}
            return await client.get(f"/v1/tables/{path}?{urlencode(parameters)}", headers=headers)

    return asyncio.run(ask())


def pages(store: Store, table: str, limit: int, **parameters: Any) -> list[list[dict[str, Any]]]:
    """All pages of a table."""
    found = []
    while True:
        answer = get(store, table, limit=limit, **parameters).json()
        found.append(answer["rows"])
        if answer["next"] is None:
            return found
        parameters["after"] = answer["next"]


@pytest.fixture
def checked(store: Store) -> Store:
    store.append(
        "gold.order_checks",
        *(
            f"'o{number}' as order_id, 'FRAUD' as check_type, {number} as n, cast(null as double) as share, 0 as _batch"
            for number in range(7)
        ),
    )
    return store


def test_pages_together_are_the_table(checked: Store) -> None:
    found = pages(checked, "gold.order_checks", 3)
    assert [len(rows) for rows in found] == [3, 3, 1]
    assert sorted(row["n"] for rows in found for row in rows) == [*range(7)]


def test_page_has_the_tables_columns_only(checked: Store) -> None:
    (row,) = get(checked, "gold.order_checks", limit=1).json()["rows"]
    assert [*row] == ["order_id", "check_type", "n", "share", "_batch"]


def test_equal_rows_are_each_returned_once(store: Store) -> None:
    store.append("gold.unkeyed", *["1 as n, 0 as _batch"] * 5)
    assert [len(rows) for rows in pages(store, "gold.unkeyed", 2)] == [2, 2, 1]


def test_rows_that_come_meanwhile_move_no_page(store: Store) -> None:
    for order_id in ("b", "d", "f"):
        store.change(ord(order_id), (order_id, 0, 1, False))
    first = get(store, "silver.open_orders", limit=2).json()
    store.change(200, ("a", 0, 1, False), ("e", 1, 1, False))
    rest = get(store, "silver.open_orders", limit=9, after=first["next"]).json()
    assert [row["order_id"] for row in (*first["rows"], *rest["rows"])] == ["b", "d", "e", "f"]


def test_rows_page_by_a_key_that_holds_their_arrival(store: Store) -> None:
    store.change(0, ("a", 2, 2, False), ("a", 10, 3, False), ("a", 1, 1, False), table="silver.versions")
    assert [row["made"] for rows in pages(store, "silver.versions", 1) for row in rows] == [1, 2, 3]


def test_landed_rows_page_in_arrival_order(store: Store) -> None:
    store.land("shipping", 1, ("orders", 1, "c", None))
    store.land("shipping", 0, ("orders", 9, "b", None), ("orders", 0, "a", "not_json"))
    assert [row["key"] for rows in pages(store, "bronze.orders", 1) for row in rows] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "value",
    ["1.5", "cast('1.50' as decimal(10, 2))", "true", "'it''s\\n'", "date '2026-01-01'", "cast(null as bigint)",
     "arrow_cast('2026-01-01T10:00:00.5Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"],
)  # fmt: skip
def test_cursor_may_hold_any_kind_of_key(store: Store, value: str) -> None:
    store.append("gold.shipment_ready", *(f"{value} as order_id, {n} as n, 0 as _batch" for n in range(3)))
    assert sorted(row["n"] for rows in pages(store, "gold.shipment_ready", 1) for row in rows) == [0, 1, 2]


def test_nulls_page_after_values(store: Store) -> None:
    store.append("gold.shipment_ready", *(f"{key} as order_id, 0 as _batch" for key in ("null", "'a'", "null", "'b'")))
    found = [row["order_id"] for rows in pages(store, "gold.shipment_ready", 1) for row in rows]
    assert found == ["a", "b", None, None]


def test_key_selects(checked: Store) -> None:
    assert [row["n"] for row in get(checked, "gold.order_checks", key="o3").json()["rows"]] == [3]


def test_range_selects_and_pages(checked: Store) -> None:
    found = pages(checked, "gold.order_checks", 2, where="n >= 2 and n < 5")
    assert [[row["n"] for row in rows] for rows in found] == [[2, 3], [4]]


def test_next_page_is_linked(checked: Store) -> None:
    answer = get(checked, "gold.order_checks", limit=2, where="n > 1")
    following = httpx.URL(answer.links["next"]["url"])
    assert (following.params["where"], following.params["after"]) == ("n > 1", answer.json()["next"])


def test_same_version_is_not_sent_again(checked: Store) -> None:
    version = get(checked, "gold.order_checks").headers["etag"]
    again = get(checked, "gold.order_checks", known=version)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", version)


def test_new_rows_are_a_new_version(store: Store) -> None:
    store.append("gold.unkeyed", "1 as n, 0 as _batch")
    version = get(store, "gold.unkeyed").headers["etag"]
    store.append("gold.unkeyed", "2 as n, 1 as _batch")
    assert len(get(store, "gold.unkeyed", known=version).json()["rows"]) == 2


def test_table_without_rows_is_empty(store: Store) -> None:
    answer = get(store, "gold.shipment_ready", where="order_id = 'a'")
    assert (answer.status_code, answer.json()["rows"], answer.json()["next"]) == (200, [], None)


@pytest.mark.parametrize(("name", "hint"), [("gold.order_check", "gold.order_checks"), ("silver.orders", "view")])
def test_table_that_cannot_be_read_is_not_found(store: Store, name: str, hint: str) -> None:
    answer = get(store, name)
    assert answer.status_code == 404 and hint in answer.json()["detail"]


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        ("where", {"where": "n ="}),
        ("where", {"where": "n = 1) or (1 = 1"}),
        ("where", {"where": "n = (select 1)"}),
        ("where", {"where": "exists (select 1)"}),
        ("where", {"where": "nope = 1"}),
        ("key", {"key": '["a", "b", "c"]'}),
        ("key", {"key": "[]"}),
        ("limit", {"limit": 0}),
        ("limit", {"limit": 1001}),
        ("after", {"after": "no cursor"}),
        ("after", {"after": base64.urlsafe_b64encode(json.dumps([0, {"x": "1"}]).encode()).decode()}),
        ("after", {"after": base64.urlsafe_b64encode(json.dumps([0, "only one"]).encode()).decode()}),
        ("after", {"after": base64.urlsafe_b64encode(json.dumps([-1, 1, 1, 1, 1]).encode()).decode()}),
    ],
)
def test_bad_parameter_is_named(checked: Store, field: str, parameters: dict[str, Any]) -> None:
    answer = get(checked, "gold.order_checks", **parameters)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", field])


@pytest.mark.parametrize("where", ["soundex(order_id) = 'x'", "upper(concat(order_id, 'ß')) = 'x'"])
def test_condition_that_is_not_known_to_agree_is_refused(checked: Store, where: str) -> None:
    answer = get(checked, "gold.order_checks", where=where)
    (found,) = answer.json()["detail"]
    assert (answer.status_code, found["loc"], found["type"]) == (400, ["query", "where"], "not_known_to_agree")
    assert "--spark" in found["msg"]


def test_condition_means_what_it_means_to_spark(checked: Store) -> None:
    rows = get(checked, "gold.order_checks", where="N / 2 = 1.5 and concat(order_id, null) is null").json()["rows"]
    assert [row["n"] for row in rows] == [3]


@pytest.mark.parametrize("value", [{"n": "NaN"}, {"n": "sNaN"}, {"n": "Infinity"}, {"n": [0, [1], "F"]}, "\ud800"])
def test_cursor_with_values_of_no_row_is_refused(checked: Store, value: Any) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([0, value, 0, "a", "b"]).encode()).decode()
    answer = get(checked, "gold.order_checks", after=cursor)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "after"])


def test_key_that_is_nested_without_end_is_a_text(checked: Store) -> None:
    answer = get(checked, "gold.order_checks", key="[" * 3000)
    assert (answer.status_code, answer.json()["rows"]) == (200, [])


def test_cursor_is_data_not_sql(checked: Store) -> None:
    values = [0, 0, "' or 1 = 1 --", "FRAUD", "x"]
    cursor = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
    assert get(checked, "gold.order_checks", after=cursor).status_code == 200


@pytest.mark.parametrize("parameters", [{}, {"where": "n > 2"}, {"key": "o3"}, {"where": "n > 2", "key": "o3"}])
def test_store_that_cannot_be_read_is_no_fault_of_the_request(checked: Store, parameters: dict[str, str]) -> None:
    for file in checked.layout.table("gold.order_checks").glob("*.parquet"):
        file.unlink()
    answer = get(checked, "gold.order_checks", **parameters)
    assert (answer.status_code, "gold.order_checks cannot be read now" in answer.json()["detail"]) == (503, True)


def _entry_that_nobody_knows(log: Path) -> None:
    (log / f"{1:020}.json").write_text('{"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}\n', "utf-8")


def _entry_that_leads_nowhere(log: Path) -> None:
    (log / f"{0:020}.json").rename(log / f"{1:020}.json")
    (log / f"{0:020}.json").symlink_to(log / "gone")
    (log / "_last_checkpoint").write_text('{"version": 0, "size": 1}', "utf-8")


def _checkpoint_of_a_newer_form(log: Path) -> None:
    (log / f"{0:020}.json").rename(log / f"{5:020}.json")
    (log / f"{5:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json").write_text("{}", "utf-8")


@pytest.mark.parametrize("harm", [_entry_that_nobody_knows, _entry_that_leads_nowhere, _checkpoint_of_a_newer_form])
def test_log_that_cannot_be_read_is_told_in_one_line(store: Store, harm: Callable[[Path], None]) -> None:
    store.fold(0, ("a", 0, 0, False))
    store.change(0, ("a", 0, 0, False))
    table = store.layout.table("silver.open_orders")
    assert isinstance(table, Path)
    harm(table / "_delta_log")
    answer = get(store, "silver.open_orders")
    detail = answer.json()["detail"]
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "cannot be read" in detail or "No such file" in detail
    assert "\n" not in detail


@pytest.mark.parametrize("parameters", [{}, {"where": "n = 1"}, {"limit": "1"}])
def test_column_that_others_have_renamed_is_no_fault_of_the_request(store: Store, parameters: dict[str, str]) -> None:
    store.append("gold.order_checks", "'a' as renamed, 1 as n, 0 as _batch")
    answer = get(store, "gold.order_checks", **parameters)
    assert (answer.status_code, "No field named order_id" in answer.json()["detail"]) == (503, True)


FAR = "arrow_cast(cast('{0}' as bigint), 'Timestamp(Microsecond, Some(\"UTC\"))')"


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_times_of_far_years_are_read_in_pages(store: Store, limit: int) -> None:
    """One such record kept all rows of its table from everybody."""
    times = (2**63 - 1, -(2**63), 253402300800000000, 1_000_000)
    store.append("gold.unkeyed", *(f"{FAR.format(time)} as t, make_array({FAR.format(time)}) as l" for time in times))
    rows = [row for page in pages(store, "gold.unkeyed", limit) for row in page]
    assert {row["t"] for row in rows} == {
        "+294247-01-10T04:00:54.775807Z",
        "-290308-12-21T19:59:05.224192Z",
        "+10000-01-01T00:00:00Z",
        "1970-01-01T00:00:01Z",
    }
    assert (len(rows), all(row["l"] == [row["t"]] for row in rows)) == (4, True)
