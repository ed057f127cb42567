"""The body of an order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.serving.order import InvalidOrder, parse, same, text_of, usable

ORDER = '{"id": "a", "customerId": 1, "product": "JUMPERS", "quantity": 2, "price": 9.50}'


def wrong(body: str) -> set[tuple[Any, ...]]:
    with pytest.raises(InvalidOrder) as caught:
        parse(body.encode())
    return {finding["loc"] for finding in caught.value.findings}


def order_json(**fields: Any) -> str:
    return json.dumps({"id": "a", "customerId": 1, "product": "JUMPERS", "quantity": 2, "price": 9.5} | fields)


def test_state_is_created_if_missing() -> None:
    assert json.loads(text_of(parse(order_json().encode())))["state"] == "CREATED"


def test_numbers_stay_exact() -> None:
    body = b'{"id": "a", "customerId": 1, "quantity": 1, "price": 1234567890123456789.12345678}'
    assert '"price": 1234567890123456789.12345678' in text_of(parse(body))


def test_unknown_fields_are_kept() -> None:
    assert json.loads(text_of(parse(order_json(gift={"card": True}).encode())))["gift"] == {"card": True}


def test_lines_make_up_for_quantity_and_price() -> None:
    body = {"id": "a", "customerId": 1, "items": [{"product": "JUMPERS", "quantity": 1, "price": 3}]}
    assert parse(json.dumps(body).encode()).items is not None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"id": ""}, "id"),
        ({"id": 1}, "id"),
        ({"customerId": "1"}, "customerId"),
        ({"customerId": 2**63}, "customerId"),
        ({"quantity": 1.5}, "quantity"),
        ({"quantity": True}, "quantity"),
        ({"quantity": 2**31}, "quantity"),
        ({"quantity": None}, "quantity"),
        ({"price": "9.5"}, "price"),
        ({"price": 1e-19}, "price"),
        ({"price": 1e20}, "price"),
        ({"price": None}, "price"),
        ({"state": "VALIDATED"}, "state"),
        ({"product": 3}, "product"),
        ({"items": []}, "items"),
    ],
)
def test_wrong_field_is_named(fields: dict[str, Any], field: str) -> None:
    assert wrong(order_json(**fields)) == {("body", field)}


@pytest.mark.parametrize("price", ["59.699999999999996", "0.30000000000000004", "33.333333333333336"])
def test_any_price_of_a_double_is_taken(price: str) -> None:
    assert price in text_of(parse(ORDER.replace("9.50", price).encode()))


@pytest.mark.parametrize(
    ("member", "field"),
    [
        (r'"note": "\ud800"', "note"),
        (r'"gift": {"cards": [1, "\udc00 and more"]}', "gift"),
        (r'"\ud83d": 1', "?"),
        (r'"n": 1e5000', "n"),
        (r'"n": [-1e-999999999]', "n"),
    ],
)
def test_what_cannot_be_written_is_named(member: str, field: str) -> None:
    assert wrong(ORDER.replace("}", f", {member}}}")) == {("body", field)}


def test_whole_characters_and_zero_of_any_size_are_written() -> None:
    body = ORDER.replace("}", r', "note": "\ud83d\ude00", "n": 0e9999}')
    assert "\N{GRINNING FACE}" in text_of(parse(body.encode()))


def test_field_of_a_line_is_named() -> None:
    assert wrong(order_json(items=[{"product": "JUMPERS", "quantity": 1}])) == {("body", "items", 0, "price")}


def test_every_missing_field_is_named() -> None:
    assert wrong("{}") == {("body", field) for field in ("id", "customerId", "quantity", "price")}


def test_field_given_twice_is_named() -> None:
    assert wrong(ORDER.replace("}", ', "id": "a"}')) == {("body", "id")}


@pytest.mark.parametrize("body", ["", "{", "[]", "nul", '{"id": NaN}', "[" * 100_000, "\N{SNOWMAN}"])
def test_what_is_no_object_is_refused(body: str) -> None:
    assert wrong(body) == {("body",)}


def test_body_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidOrder):
        parse(b'{"id": "\xff"}')


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ('{"price": 9.5, "quantity": 2, "id": "a", "customerId": 1, "product": "JUMPERS"}', True),
        (ORDER.replace("}", ', "items": null}'), True),
        (ORDER.replace("}", ', "gift": true}'), False),
        (ORDER.replace("9.50", "9.51"), False),
    ],
)
def test_bodies_are_compared_by_meaning(other: str, alike: bool) -> None:
    assert same(ORDER, other) is alike


def test_true_is_not_one() -> None:
    assert not same('{"x": true}', '{"x": 1}')


def test_true_is_no_text() -> None:
    assert not same('{"x": true}', '{"x": "True"}')


@pytest.mark.parametrize(
    "value", [None, b"", b"7", b"{}", b'{"id": "a", "customerId": 1, "quantity": 1, "price": 1}', b"\xff",
     order_json(state="CREATED", note="\ud800").encode()],
)  # fmt: skip
def test_record_that_landing_rejects_is_not_usable(value: bytes | None) -> None:
    assert usable(value) is None


def test_record_with_an_empty_line_is_usable() -> None:
    assert usable(order_json(state="CREATED", items=[None]).encode()) is not None


def test_record_of_any_state_is_usable() -> None:
    record = usable(order_json(state="SHIPPED", reason=None).encode())
    assert record is not None and (record.id, record.state) == ("a", "SHIPPED")
