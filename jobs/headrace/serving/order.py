"""The body of an order: what is valid, and when two bodies are the same order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import PydanticCustomError

from headrace.reading.rows import to_json

CREATED = "CREATED"

_HALF = re.compile(r"[\ud800-\udfff]")
_DOUBLE_DIGITS = 308
"""A double goes up to 1.8e308 (IEEE 754)."""

Finding = dict[str, Any]
"""One thing wrong with a request: `loc` names the field, `msg` says what, `type` is a stable code."""


class InvalidOrder(Exception):
    """A body that is no order."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__(str(findings))


def _number(value: Any) -> Any:
    """A JSON number as a decimal; a text is none."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticCustomError("number_type", "Input should be a number")
    return Decimal(value)


Price = Annotated[
    Decimal,
    Field(max_digits=38, decimal_places=18),
    BeforeValidator(_number),
    WithJsonSchema({"type": "number"}),
]
Quantity = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class Line(BaseModel):
    """One line of an order."""

    model_config = ConfigDict(extra="allow", strict=True)

    product: str | None = None
    quantity: Quantity | None = None
    price: Price | None = None


class Record(BaseModel):
    """A usable record of the orders' topic, by the rules of its landing."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: str
    customerId: Number
    state: str = CREATED
    product: str | None = None
    items: list[Line | None] | None = None
    quantity: Annotated[Quantity | None, Field(validate_default=True)] = None
    price: Annotated[Price | None, Field(validate_default=True)] = None

    @field_validator("quantity", "price")
    @classmethod
    def _needed_without_items(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None and "items" in info.data and info.data["items"] is None:
            raise PydanticCustomError("missing", "Field required in an order without items")
        return value


class OrderedLine(Line):
    """One line of an order that is placed over HTTP."""

    quantity: Quantity
    price: Price


class Order(Record):
    """An order as it is placed: its state can only be CREATED, and its lines are complete."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    state: Literal["CREATED"] = "CREATED"
    items: Annotated[list[OrderedLine], Field(min_length=1)] | None = None  # type: ignore[assignment]


def parse(body: bytes) -> Order:
    """Read the body of a request; InvalidOrder names each field that is wrong."""
    try:
        return Order.model_validate(_writable(loads(body)))
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidOrder([{**detail, "loc": ("body", *detail["loc"])} for detail in details]) from None
    except _Twice as error:
        raise InvalidOrder([_finding(error.name, "duplicate_field", "Field is given twice")]) from None
    except (ValueError, RecursionError):
        raise InvalidOrder([{"loc": ("body",), "type": "not_json", "msg": "Body is not JSON"}]) from None


def usable(value: bytes | None) -> Record | None:
    """Read a record of the topic; None for one that its landing rejects."""
    try:
        found: Any = None if value is None else loads(value)
        is_order = isinstance(found, dict) and found.get("state") is not None and all(map(_is_text, _leaves(found)))
        return Record.model_validate(found) if is_order else None
    except (ValueError, RecursionError):
        return None


def text_of(order: Order) -> str:
    """The order as it goes to the topic: as received, with its state."""
    return to_json(order.model_dump(exclude_unset=True) | {"state": order.state})


def same(one: str, other: str) -> bool:
    """Whether two records hold the same order; a null field counts as absent."""
    return bool(_without_nulls(loads(one.encode())) == _without_nulls(loads(other.encode())))


def loads(text: bytes) -> Any:
    """Read JSON with exact numbers; a duplicate field is refused."""
    return json.loads(text, parse_float=Decimal, parse_constant=_refused, object_pairs_hook=_object)


def _writable(found: Any) -> Any:
    """What was read, if it can be written again; InvalidOrder names each field that cannot."""
    members = found.items() if isinstance(found, dict) else ()
    wrong = [name for name, value in members if not all(map(_is_writable, _leaves({name: value})))]
    if wrong:
        message = "Field holds half a character, or a number beyond those of a double"
        raise InvalidOrder([_finding(name, "not_writable", message) for name in wrong])
    return found


def _leaves(value: Any) -> Iterator[Any]:
    """All names and scalars in what was read."""
    match value:
        case dict():
            yield from value
            yield from (leaf for member in value.values() for leaf in _leaves(member))
        case list():
            yield from (leaf for member in value for leaf in _leaves(member))
        case _:
            yield value


def _is_writable(leaf: Any) -> bool:
    return _is_text(leaf) and _is_short(leaf)


def _is_text(leaf: Any) -> bool:
    """Whether a text has no half of a character (RFC 8259, section 8.2), which UTF-8 cannot hold."""
    return not isinstance(leaf, str) or leaf.isascii() or _HALF.search(leaf) is None


def _is_short(leaf: Any) -> bool:
    """Whether a number may be written with all its digits: 1e999999999 is short only as it came."""
    return not isinstance(leaf, Decimal) or not leaf or abs(leaf.adjusted()) <= _DOUBLE_DIGITS


class _Twice(ValueError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _Twice(name)
        members[name] = value
    return members


def _refused(word: str) -> None:
    raise ValueError(word)


def _finding(field: str, code: str, message: str) -> Finding:
    return {"loc": ("body", field.encode("utf-8", "replace").decode()), "type": code, "msg": message}


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nulls(member) for name, member in value.items() if member is not None}
        case list():
            return [_without_nulls(member) for member in value]
        case bool():
            return (value,)  # True is 1 to Python, not to JSON
        case _:
            return value
