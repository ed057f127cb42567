"""The history of orders in Delta: every state that the runner has stored, by order id."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sqlglot import exp

from headrace.errors import TornFile, Unreadable, UsageError
from headrace.project.model import Project
from headrace.reading.rows import BadQuery, Row, query
from headrace.reading.stored import Relation, changes
from headrace.serving.events import Event
from headrace.serving.order import usable
from headrace.store.layout import Layout

TABLE = "silver.orders_by_id"
"""The upsert model whose change log holds every record of the orders' topic."""

_AT_ONCE = 500
_REMEMBERED = 20_000
_REMEMBERED_CHARACTERS = 4_000
_BEFORE = 0
"""The time of every stored record: older than those that are not stored yet."""

Past = tuple[Event, ...]


class History:
    """The stored states of orders, as of when it was opened; what came later is in the topic after `positions`.

    Requests that arrive during a query are answered together by the next one.
    """

    def __init__(self, project: Project, layout: Layout, topic: str) -> None:
        self._open = partial(_opened, project, layout)
        self._topic = topic
        self._table: Relation | None = None
        self._reached: Mapping[int, int] = {}
        self._known: OrderedDict[str, Past] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Past]] = {}
        self._answering: asyncio.Task[None] | None = None
        self._reader = ThreadPoolExecutor(1, "history")

    async def reopen(self) -> Mapping[int, int]:
        """Open the table's current version; return the positions, by partition, up to which it contains the topic."""
        positions = await asyncio.get_running_loop().run_in_executor(self._reader, self._newest)
        self._reached = positions
        self._known.clear()
        return positions

    async def of(self, order_id: str) -> Past:
        """The stored states of an order."""
        if order_id in self._known:
            self._known.move_to_end(order_id)
            return self._known[order_id]
        if self._table is None:
            return ()
        answer = self._asked.setdefault(order_id, asyncio.get_running_loop().create_future())
        if self._answering is None or self._answering.done():
            self._answering = asyncio.create_task(self._answer())
        return await asyncio.shield(answer)

    def close(self) -> None:
        self._reader.shutdown(wait=False, cancel_futures=True)

    async def _answer(self) -> None:
        while self._asked:
            asked = {order_id: self._asked.pop(order_id) for order_id in list(self._asked)[:_AT_ONCE]}
            try:
                found = await asyncio.get_running_loop().run_in_executor(self._reader, self._find, list(asked))
            except Exception as error:
                for answer in asked.values():
                    answer.set_exception(error)
                    answer.exception()  # the caller may be gone
                continue
            for order_id, answer in asked.items():
                self._remember(order_id, found[order_id])
                answer.set_result(found[order_id])

    def _remember(self, order_id: str, past: Past) -> None:
        if sum(len(event.body) for event in past) > _REMEMBERED_CHARACTERS:
            return
        self._known[order_id] = past
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _newest(self) -> Mapping[int, int]:
        """Open the table in the reader's thread, so that it is not replaced during a query.

        Unreadable if it contains less than `reopen` has returned, as after a reset: the caller has forgotten what comes
        before that, and without an order's first record it would be placed again.
        """
        table = self._open()
        positions = {} if table is None else _positions(table, self._topic)
        is_behind = any(positions.get(partition, 0) < reached for partition, reached in self._reached.items())
        if is_behind and not _is_later(table, self._table):
            raise Unreadable(
                f"{TABLE} was reset or restored, and does not hold again what it held: ask again once a run has "
                "caught up, or start this service again"
            )
        self._table = table
        return positions

    def _find(self, order_ids: Collection[str]) -> dict[str, Past]:
        found: dict[str, list[Event]] = {order_id: [] for order_id in order_ids}
        try:
            rows = _rows(self._table, order_ids)
        except (BadQuery, TornFile):  # its files are gone: the table was recreated
            self._newest()
            rows = _rows(self._table, order_ids)
        for row in rows:
            record = usable(row["body"].encode()) if row["body"] is not None else None
            if record is not None:
                event = Event(row["partition"], row["offset"], _BEFORE, record.id, record.state, row["body"])
                found[row["order_id"]].append(event)
        return {order_id: tuple(events) for order_id, events in found.items()}


def _opened(project: Project, layout: Layout) -> Relation | None:
    """The change log; None for a project without such a model, or where nothing is stored yet."""
    try:
        found = changes(project, layout, TABLE)
    except UsageError:
        return None
    return found if found.written else None


def _is_later(now: Relation | None, before: Relation | None) -> bool:
    """Whether a table is the one of before, with more commits: what it has lost since has left it by its `keep`."""
    if now is None or before is None:
        return before is None
    pairs = zip(now.tables.values(), before.tables.values(), strict=True)
    return all(a.metadata().id == b.metadata().id and a.version() >= b.version() for a, b in pairs)


def _rows(table: Relation | None, order_ids: Collection[str]) -> list[Row]:
    if table is None:
        return []
    arrival = ", ".join(f"_arrival['{part}']" for part in ("landing_batch", "partition", "offset"))
    wanted = ", ".join(exp.Literal.string(order_id).sql() for order_id in order_ids)
    columns = "order_id, body, _arrival['partition'] as `partition`, _arrival['offset'] as `offset`"
    return list(_query(table, f"select {columns} from {table.name} where order_id in ({wanted}) order by {arrival}"))


def _positions(table: Relation, topic: str) -> dict[int, int]:
    of_topic = f"_arrival['topic'] = {exp.Literal.string(topic).sql()}"
    columns = "_arrival['partition'] as `partition`, max(_arrival['offset']) + 1 as position"
    rows = _query(table, f"select {columns} from {table.name} where {of_topic} group by 1")
    return {row["partition"]: row["position"] for row in rows}


def _query(table: Relation, sql: str) -> list[Row]:
    return list(query(sql, table.tables, {table.name: table.sql}).rows)
