"""A letter: the message to a customer about an order, created from a record of a notification topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from headrace.errors import HeadraceError


class Undeliverable(HeadraceError):
    """A notice from which a letter can never be created."""


@dataclass(frozen=True)
class Letter:
    """One letter; it is identified by its order, however often it is created."""

    order_id: str
    to: Address
    subject: str
    text: str

    def message(self, sender: str, topic: str) -> EmailMessage:
        """The letter as mail; duplicates can be recognized by their Message-ID."""
        message = EmailMessage()
        message["From"] = sender
        message["To"] = self.to
        message["Subject"] = self.subject
        message["Message-ID"] = f"<{uuid5(NAMESPACE_URL, f'{topic}/{self.order_id}')}@headrace>"
        message.set_content(self.text)
        return message


def letter(order_id: str | None, value: Any) -> Letter:
    """The letter that a notice asks for; Undeliverable with the reason if there is none."""
    if order_id is None or not isinstance(value, Mapping):
        raise Undeliverable("not_a_notice")
    customer, order, payment = (_part(value, name) for name in ("customer", "order", "payment"))
    if not customer or not order:
        raise Undeliverable("not_a_notice")
    name = " ".join(str(customer[part]) for part in ("firstName", "lastName") if customer.get(part))
    news = "is paid" if payment else "is confirmed"
    lines = [f"Dear {name or 'customer'},", "", f"your order {order_id} {news}.", *_details(order, payment)]
    return Letter(order_id, _address(customer, name), _subject(order_id, news), _text("\n".join([*lines, ""])))


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, Mapping) else {}


def _details(order: Mapping[str, Any], payment: Mapping[str, Any]) -> list[str]:
    lines = order["items"] if isinstance(order.get("items"), list) else [order]
    named = [line for line in lines if isinstance(line, Mapping) and line.get("product")]
    items = [f"{line.get('quantity')} x {line['product']}" for line in named]
    paid = payment.get("amount")
    amount = [] if paid is None else [f"Paid: {_number(paid)} {payment.get('ccy') or ''}".rstrip()]
    return ["", *items, *amount] if items or amount else []


def _number(value: Any) -> str:
    text = str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _text(text: str) -> str:
    """Text that can be written: JSON may hold halves of characters."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _subject(order_id: str, news: str) -> str:
    return _text(" ".join(f"Your order {order_id} {news}".split()))


def _address(customer: Mapping[str, Any], name: str) -> Address:
    email = customer.get("email")
    if not isinstance(email, str) or "@" not in email:
        raise Undeliverable("no_address")
    try:
        email.encode("utf-8")
        return Address(_text(" ".join(name.split())), addr_spec=email)
    except Exception:  # the parser's own errors are of many kinds
        raise Undeliverable("bad_address") from None
