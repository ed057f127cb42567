"""What Delta knows of orders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, QueryBuilder

from headrace.errors import Unreadable
from headrace.project.model import Model
from headrace.serving.events import Event
from headrace.serving.history import TABLE, History
from headrace.store import trees
from headrace.store.paths import StorePath
from tests.unit.conftest import write_rows

if TYPE_CHECKING:
    from tests.unit.conftest import Store

ROW = """
select '{id}' as order_id, '{body}' as body, false as _deleted, {batch} as _batch, named_struct('landing_batch',
{batch}, 'topic', 'shop-orders', 'partition', {partition}, 'offset', {offset}) as _arrival
"""


def store_states(path: StorePath, *states: tuple[str, str, int, int, int]) -> None:
    """One commit of (order, state, batch, partition, offset) to the change log."""
    rows = [
        ROW.format(id=order_id, body=_body(order_id, state), batch=batch, partition=partition, offset=offset)
        for order_id, state, batch, partition, offset in states
    ]
    write_rows(path, QueryBuilder().execute(" union all ".join(rows)), mode="append")


def _body(order_id: str, state: str) -> str:
    return json.dumps({"id": order_id, "customerId": 1, "state": state, "quantity": 1, "price": 1})


@pytest.fixture
def orders_store(store: Store) -> Store:
    layer, name = "silver", "orders_by_id"
    model = Model(layer, name, "shop", "x.sql", "", "", "upsert", "micro_batch", None, (), unique_key=("order_id",))
    return replace(store, project=replace(store.project, models=(*store.project.models, model)))


async def opened(store: Store) -> tuple[History, Mapping[int, int]]:
    history = History(store.project, store.layout, "shop-orders")
    return history, await history.reopen()


def states(store: Store, *order_ids: str) -> list[list[str]]:
    async def ask() -> list[tuple[Event, ...]]:
        history, _ = await opened(store)
        try:
            return list(await asyncio.gather(*map(history.of, order_ids)))
        finally:
            history.close()

    return [[event.state for event in events] for events in asyncio.run(ask())]


def test_states_come_in_arrival_order(orders_store: Store) -> None:
    path = orders_store.layout.changes(TABLE)
    store_states(path, ("a", "SHIPPED", 2, 0, 1), ("a", "VALIDATED", 1, 1, 7), ("a", "CREATED", 0, 0, 0))
    assert states(orders_store, "a") == [["CREATED", "VALIDATED", "SHIPPED"]]


def test_orders_asked_together_are_kept_apart(orders_store: Store) -> None:
    store_states(orders_store.layout.changes(TABLE), ("a", "CREATED", 0, 0, 0), ("it is", "FAILED", 0, 0, 1))
    assert states(orders_store, "a", "nobody", "it is", "a", "it's") == [["CREATED"], [], ["FAILED"], ["CREATED"], []]


def test_positions_follow_the_last_record(orders_store: Store) -> None:
    store_states(orders_store.layout.changes(TABLE), ("a", "CREATED", 0, 0, 3), ("b", "CREATED", 0, 2, 9))
    store_states(orders_store.layout.changes(TABLE), ("a", "FAILED", 1, 0, 5))

    async def ask() -> Mapping[int, int]:
        history, positions = await opened(orders_store)
        history.close()
        return positions

    assert asyncio.run(ask()) == {0: 6, 2: 10}


def test_nothing_stored_yet_is_no_history(orders_store: Store) -> None:
    assert states(orders_store, "a") == [[]]


def test_project_without_the_table_has_no_history(store: Store) -> None:
    assert states(store, "a") == [[]]


def test_later_records_are_the_feeds(orders_store: Store) -> None:
    """What is stored after the start is read from the topic, unless the table is opened again."""
    path = orders_store.layout.changes(TABLE)
    store_states(path, ("a", "CREATED", 0, 0, 0))

    async def ask() -> list[int]:
        history, _ = await opened(orders_store)
        store_states(path, ("a", "FAILED", 1, 0, 1))
        before = len(await history.of("a"))
        await history.reopen()
        found = [before, len(await history.of("a"))]
        history.close()
        return found

    assert asyncio.run(ask()) == [1, 2]


def test_orders_are_not_denied_while_their_table_is_made_again(orders_store: Store) -> None:
    """An order that is not known would be placed a second time."""
    path = orders_store.layout.changes(TABLE)
    store_states(path, ("a", "CREATED", 0, 0, 0), ("b", "CREATED", 0, 0, 1))

    async def ask() -> list[object]:
        history, _ = await opened(orders_store)
        trees.remove(path)
        found: list[object] = [await asked(history, "a")]
        store_states(path, ("a", "CREATED", 0, 0, 0))
        found.append(await asked(history, "b"))
        store_states(path, ("b", "CREATED", 1, 0, 1))
        found.append(await asked(history, "b"))
        history.close()
        return found

    assert asyncio.run(ask()) == [Unreadable, Unreadable, ["CREATED"]]


def test_changes_that_leave_the_table_keep_no_order_from_its_answer(orders_store: Store) -> None:
    path = orders_store.layout.changes(TABLE)
    store_states(path, ("a", "CREATED", 0, 0, 0), ("b", "CREATED", 0, 0, 1))

    async def ask() -> object:
        history, _ = await opened(orders_store)
        left = DeltaTable(str(path)).to_pyarrow_table().filter(pc.field("order_id") == "a")
        write_rows(path, left, mode="overwrite")
        await history.reopen()
        found = await asked(history, "a")
        history.close()
        return found

    assert asyncio.run(ask()) == ["CREATED"]


async def asked(history: History, order_id: str) -> object:
    """The states of an order, or the kind of error that is raised."""
    try:
        return [event.state for event in await history.of(order_id)]
    except Unreadable as error:
        return type(error)
