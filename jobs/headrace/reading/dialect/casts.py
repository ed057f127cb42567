"""Casts as Spark's ANSI mode makes them: a value that does not fit is an error."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone

from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.types import (
    BIGINT,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    Type,
    as_decimal,
    common,
    decimal,
    duck,
)
from headrace.reading.dialect.values import Value

_MOMENT = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?)?(Z|[+-]\d\d:\d\d)?")


def cast(value: Value, to: Type, tried: bool = False) -> Value:
    """A value as another type; where it is only tried, what does not fit is null."""
    kind = value.type
    if kind == to:
        return value
    if kind.name == "null":
        return Value(f"CAST(NULL AS {duck(to)})", to)
    if not kind.is_plain or not to.is_plain:
        raise NotKnown(f"a cast of {kind} to {to}")
    if kind == STRING:
        return _of_text(value, to, tried)
    sql = _text(value) if to == STRING else _sql(value, to)
    if tried and kind.is_fractional:
        raise NotKnown(f"a try_cast of {kind} to {to}")
    if tried:
        sql = f"TRY({sql})"
    return Value(sql, to)


def _text(value: Value) -> str:
    kind = value.type
    if kind.is_fractional or kind.name == "binary":
        raise NotKnown(f"a text of a {kind}")
    if kind.is_decimal and kind.numbers[0] == kind.numbers[1]:  # DuckDB would write no 0 before the point
        return f"CAST({_of_decimal(value, decimal(kind.numbers[0] + 1, kind.numbers[1]))} AS VARCHAR)"
    if kind.is_time:
        return f"spark_{kind.name}_text({value.sql})"
    return f"CAST({value.sql} AS VARCHAR)"


def _sql(value: Value, to: Type) -> str:
    kind, target = value.type, duck(to)
    plain = f"CAST({value.sql} AS {target})"
    if kind.name == "boolean":
        if to.is_integral or to == DOUBLE:
            return plain
    elif kind.is_integral:
        if to == TIMESTAMP:
            return f"spark_moment(CAST({value.sql} AS HUGEINT) * 1000000)"
        if to.is_numeric or to.name == "boolean":
            return plain
    elif kind.is_decimal:
        return _of_decimal(value, to)
    elif kind.is_fractional:
        if to.is_integral:
            return f"CAST(trunc({value.sql}) AS {target})"
        if kind.name == "float" and to == DOUBLE:
            return plain
    elif (kind == DATE and to == TIMESTAMP) or (kind == TIMESTAMP and to == DATE):
        return plain
    elif kind == TIMESTAMP and to == BIGINT:
        return f"spark_seconds({value.sql})"
    raise NotKnown(f"a cast of {kind} to {to}")


def _of_decimal(value: Value, to: Type) -> str:
    if to.is_integral:
        return f"CAST(trunc({value.sql}) AS {duck(to)})"
    if to == DOUBLE:
        return f"CAST(CAST({value.sql} AS VARCHAR) AS DOUBLE)"
    if to.is_decimal:
        return f"CAST({value.sql} AS {duck(to)})"
    raise NotKnown(f"a cast of {value.type} to {to}")


_OF_TEXT = {"boolean": "spark_boolean", "double": "spark_double", "date": "spark_date", "timestamp": "spark_timestamp"}


def _of_text(value: Value, to: Type, tried: bool) -> Value:
    if tried:
        return _of_text_or_null(value, to)
    if to.is_time and isinstance(value.literal, str):
        return Value(_moment(value.literal, to), to)
    if to.is_integral:
        sql = f"CAST(spark_whole({value.sql}) AS {duck(to)})"
    elif to.is_decimal:
        sql = f"CAST(spark_exact({value.sql}) AS {duck(to)})"
    elif to.name in _OF_TEXT:
        sql = f"{_OF_TEXT[to.name]}({value.sql})"
    else:
        raise NotKnown(f"a cast of {value.type} to {to}")
    return Value(sql, to)


def _of_text_or_null(value: Value, to: Type) -> Value:
    if not to.is_integral:
        raise NotKnown(f"a try_cast of {value.type} to {to}")
    return Value(f"TRY_CAST(spark_whole_or_null({value.sql}) AS {duck(to)})", to)


def _moment(text: str, to: Type) -> str:
    """The literal of a time that is written out."""
    found = _MOMENT.fullmatch(text.strip(" "))
    if found is None or (found[8] and not found[4]):
        raise NotKnown(f"the {to} '{text}'")
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
        moment = datetime.fromisoformat(f"{day}T{_clock(found)}{(found[8] or 'Z').replace('Z', '+00:00')}")
        moment = moment.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise NotKnown(f"the {to} '{text}'") from None
    if to == DATE:
        return f"DATE '{day}'"
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'"


def _clock(found: re.Match[str]) -> str:
    hours, minutes, seconds = (int(found[at] or 0) for at in (4, 5, 6))
    return f"{hours:02}:{minutes:02}:{seconds:02}.{(found[7] or '').ljust(6, '0')}"


def same(values: list[Value]) -> list[Value]:
    """Values brought to the type that Spark brings them to."""
    kind = common(value.type for value in values)
    return [cast(value, kind) for value in values]


def to_decimal(value: Value) -> Value:
    """A whole number or decimal as a decimal; a literal has as many digits as it has."""
    if value.type.is_decimal:
        return value
    if isinstance(value.literal, int):
        digits = len(str(abs(value.literal)))
        return cast(value, Type("decimal", (digits, 0)))
    return cast(value, as_decimal(value.type))


def to_text(value: Value) -> Value:
    """A value as the text that Spark converts it to where a text is required."""
    return cast(value, STRING)
