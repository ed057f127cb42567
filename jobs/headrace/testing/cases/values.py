"""Comparable values: those of YAML and those of Spark, both as the JSON text of a column's type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from headrace.reading.rows import to_json
from headrace.testing.cases.case import Moment

_EXACT = Context(prec=76)
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


def expected(value: Any, kind: DataType) -> str:
    """The text of a value of a case, cast to the type of its column; ValueError if it cannot be."""
    return to_json(_cast(value, kind))


def found(value: Any) -> str:
    """The text of a value that Spark returned."""
    return to_json(_plain(value))


def canonical(value: Any) -> str:
    """The text of a JSON value as read from YAML, its fields in order."""
    return to_json(_sorted(value))


def canonical_text(text: str | None) -> str:
    """The text of a JSON text, its fields in order."""
    return canonical(None if text is None else json.loads(text, parse_float=Decimal))


def _cast(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    match kind, value:
        case ArrayType(), list() | tuple():
            return [_cast(each, kind.elementType) for each in value]
        case MapType(), Mapping():
            return {str(name): _cast(each, kind.valueType) for name, each in value.items()}
        case StructType(), Mapping():
            if unknown := [name for name in value if name not in kind.names]:
                raise ValueError(f"no field {unknown[0]} in {kind.simpleString()}")
            return {field.name: _cast(value.get(field.name), field.dataType) for field in kind}
        case BooleanType(), bool():
            return value
        case StringType(), str() | int() if not isinstance(value, bool):
            return str(value)
        case BinaryType(), bytes():
            return value
        case _:
            return _scalar(value, kind)


def _scalar(value: Any, kind: DataType) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case IntegralType() if isinstance(value, int) and is_number:
            return value
        case DecimalType() if is_number or isinstance(value, str):
            return _decimal(value, kind)
        case FractionalType() if is_number:
            return float(value)
        case TimestampType() if isinstance(value, (str, date)):
            return _moment(value)
        case DateType() if isinstance(value, str):
            return date.fromisoformat(value)
        case DateType() if isinstance(value, date):
            return value
    raise ValueError(f"{value!r} is no {kind.simpleString()}")


def _decimal(value: Any, kind: DecimalType) -> Decimal:
    try:
        return Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)
    except InvalidOperation:
        raise ValueError(f"{value!r} is no {kind.simpleString()}") from None


def _moment(value: Any) -> datetime:
    try:
        return _MOMENT.validate_python(value)
    except ValidationError:
        raise ValueError(f"{value!r} is no time; write `2026-01-01T10:00:00Z`") from None


def _plain(value: Any) -> Any:
    match value:
        case Row():
            return {name: _plain(each) for name, each in value.asDict().items()}
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case datetime():
            return value.astimezone(timezone.utc)  # Spark returns naive local times
        case bytearray():
            return bytes(value)
        case _:
            return value


def _sorted(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _sorted(value[name]) for name in sorted(value)}
        case list() | tuple():
            return [_sorted(each) for each in value]
        case float() | Decimal():
            return _shortest(Decimal(str(value)))
        case _:
            return value


def _shortest(number: Decimal) -> Decimal:
    """A number as it is written without zeros at its end: 1.50 and 1.5 are one JSON number."""
    is_whole = number == number.to_integral_value()
    return number.quantize(Decimal(1), context=_EXACT) if is_whole else number.normalize(_EXACT)
