"""The script of the demo: a short lively story for shipping and sales, and how it must end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.demo import sales, shipping
from headrace.demo.records import Record
from headrace.demo.shipping import Item

IPHONE, SAMSUNG, PIXEL = shipping.CATALOGUE[:3]


@dataclass(frozen=True)
class Script:
    """Records in the order they are sent, and the rows that they lead to, however they are cut into batches.

    `shipped` are the order ids of `gold.shipment_ready`; `notifications` are product, total and is_retraction of
    `gold.sales_notifications`, for a threshold of 2000 and a row for every update.
    """

    records: tuple[Record, ...]
    shipped: tuple[str, ...]
    waiting: tuple[str, ...]
    notifications: tuple[tuple[str, int | None, bool], ...]
    rejected: int


def script(run_id: str, start: datetime) -> Script:
    """The story with the keys of one run."""
    shipping_part, sales_part = _shipping(run_id, start), _sales(run_id)
    return Script(
        tuple(_alternated(shipping_part.records, sales_part.records)),
        shipping_part.shipped,
        shipping_part.waiting,
        sales_part.notifications,
        shipping_part.rejected + sales_part.rejected,
    )


def _shipping(run_id: str, start: datetime) -> Script:
    names = ("plain", "early", "changed", "twice", "waiting")
    plain, early, changed, twice, waiting = (f"{name}-{run_id}" for name in names)
    clock = iter(start + timedelta(seconds=second) for second in range(100))

    def order(order_id: str, *items: Item) -> Record:
        return shipping.order(order_id, items, next(clock))

    def made(order_id: str, item: Item) -> Record:
        return shipping.manufactured(order_id, item.id, next(clock))

    records = (
        order(plain, IPHONE, SAMSUNG),
        made(early, SAMSUNG),  # before its order
        made(plain, IPHONE),
        order(changed, IPHONE, SAMSUNG, PIXEL),
        made(plain, SAMSUNG),
        order(early, SAMSUNG),
        made(changed, IPHONE),
        made(changed, SAMSUNG),
        order(changed, IPHONE, SAMSUNG),  # the third product is no longer wanted
        order(twice, PIXEL),
        made(twice, PIXEL),
        made(twice, PIXEL),  # a second news of the same product ships nothing again
        order(waiting, IPHONE, PIXEL),
        made(waiting, SAMSUNG),  # not ordered: listed as unexpected
        made(waiting, PIXEL),
        Record(shipping.ORDERS, f"broken-{run_id}", '{"id": "broken'),  # a dead letter
    )
    return Script(records, (plain, early, changed, twice), (waiting,), (), rejected=1)


def _sales(run_id: str) -> Script:
    espresso, tea, cake = (f"{name}-{run_id}" for name in ("espresso", "tea", "cake"))
    records = (
        sales.event(espresso, 1500),
        sales.event(tea, 900),
        sales.event(espresso, 1000),  # 2500
        sales.event(cake, 2000),  # 2000: the target itself counts
        sales.event(tea, 900),
        sales.event(espresso, 500),  # 3000
        sales.event(tea, 200),  # 2000
        sales.event(tea, -100),  # 1900: taken back
        Record(sales.SALES, tea, '{"product": "tea", "value": "100"}'),  # a dead letter
        sales.deletion(cake),  # forgotten: taken back
        sales.event(cake, 500),
    )
    notifications = (
        (espresso, 2500, False),
        (cake, 2000, False),
        (espresso, 3000, False),
        (tea, 2000, False),
        (tea, 1900, True),
        (cake, None, True),
    )
    return Script(records, (), (), notifications, rejected=1)


def _alternated(one: tuple[Record, ...], other: tuple[Record, ...]) -> list[Record]:
    """Both parts in their own order, one record of each in turn."""
    turns = range(max(len(one), len(other)))
    return [part[turn] for turn in turns for part in (one, other) if turn < len(part)]
