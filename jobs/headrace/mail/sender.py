"""The sender: processes notices in their order and ensures that each order has one letter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.mail.ledger import Ledger
from headrace.mail.letter import Undeliverable, letter
from headrace.mail.outcome import Outcome, Place
from headrace.mail.post import Post
from headrace.reading.rows import Row


@dataclass(frozen=True)
class Delivery:
    """The outcome of one notice; None if its order had been handled before."""

    order_id: str | None
    outcome: Outcome | None
    reason: str = ""


def deliver(notices: Iterable[Row], ledger: Ledger, post: Post) -> Iterator[Delivery]:
    """Send what is due, notice by notice; every step is in the ledger before the next.

    A letter is noted before it is handed over and again when the server has taken it. If a process dies in
    between, the next one sends that letter again, with the same Message-ID.
    """
    for notice in notices:
        yield _delivered(notice, ledger, post)
        ledger.mark_read(_place(notice))


def _delivered(notice: Row, ledger: Ledger, post: Post) -> Delivery:
    order_id = notice["key"]
    if order_id is not None and ledger.is_done(order_id):
        return Delivery(order_id, None)
    # A notice without a key has no order: its place names it.
    name = order_id if order_id is not None else f"{notice['topic']}[{notice['partition']}]@{notice['offset']}"
    outcome, reason = _sent(name, notice, ledger, post)
    ledger.write(name, _place(notice), outcome, reason)
    return Delivery(name, outcome, reason)


def _sent(name: str, notice: Row, ledger: Ledger, post: Post) -> tuple[Outcome, str]:
    try:
        made = letter(notice["key"], notice["value"])
    except Undeliverable as error:
        return "undeliverable", str(error)
    ledger.write(name, _place(notice), "sending")
    try:
        post.send(made, notice["topic"])
    except Undeliverable as error:
        return "refused", str(error)
    return "sent", ""


def _place(notice: Row) -> Place:
    return Place(notice["partition"], notice["offset"])
