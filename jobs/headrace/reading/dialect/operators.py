"""Operators: the types that Spark gives their operands and results, and what its ANSI mode calls an error."""

from __future__ import annotations

from headrace.reading.dialect.casts import cast, same, to_decimal
from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    common,
    decimal,
    duck,
)
from headrace.reading.dialect.values import Value

_IN_8_BYTES = 18
"""Digits of decimals that DuckDB multiplies as 8 bytes, also where the product has more."""
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*"}


def arithmetic(verb: str, left: Value, right: Value) -> Value:
    """`+`, `-`, `*`, `/`, `%` or `div` of two values."""
    if DATE in (left.type, right.type) and verb in ("add", "subtract"):
        return _days(verb, left, right)
    if NULL in (left.type, right.type):
        left, right = same([left, right])
    if not (left.type.is_numeric and right.type.is_numeric):
        raise NotKnown(f"{verb} of {left.type} and {right.type}")
    if verb == "div":
        return _whole_division(left, right)
    if verb == "divide" and left.type.is_integral and right.type.is_integral:
        left, right = cast(left, DOUBLE), cast(right, DOUBLE)
    if (left.type.is_decimal and not right.type.is_fractional) or (
        right.type.is_decimal and not left.type.is_fractional
    ):
        return _exactly(verb, to_decimal(left), to_decimal(right))
    left, right = same([left, right])
    kind = left.type
    if verb in _SIGNS:
        return Value(f"CAST(({left.sql} {_SIGNS[verb]} {right.sql}) AS {duck(kind)})", kind)
    if kind.name == "float":
        raise NotKnown(f"{verb} of {left.type} and {right.type}")
    return Value(f"spark_{verb}({left.sql}, {right.sql})", kind)


def _days(verb: str, left: Value, right: Value) -> Value:
    if left.type != DATE or right.type not in (Type("tinyint"), Type("smallint"), INT):
        raise NotKnown(f"{verb} of {left.type} and {right.type}")
    return Value(f"CAST(({left.sql} {_SIGNS[verb]} CAST({right.sql} AS INTEGER)) AS DATE)", DATE)


def _whole_division(left: Value, right: Value) -> Value:
    if not (left.type.is_integral and right.type.is_integral):
        raise NotKnown(f"div of {left.type} and {right.type}")
    return Value(f"spark_div({cast(left, BIGINT).sql}, {cast(right, BIGINT).sql})", BIGINT)


def _exactly(verb: str, left: Value, right: Value) -> Value:
    (p1, s1), (p2, s2) = left.type.numbers, right.type.numbers
    scale = max(s1, s2)
    if verb in ("add", "subtract"):
        kind = decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        sides = [f"CAST({side.sql} AS {duck(kind)})" for side in (left, right)]
        return Value(f"CAST(({sides[0]} {_SIGNS[verb]} {sides[1]}) AS {duck(kind)})", kind)
    if verb == "multiply":
        kind = decimal(p1 + p2 + 1, s1 + s2)
        more = cast(left, decimal(max(p1, _IN_8_BYTES + 1), s1)) if p1 + p2 > _IN_8_BYTES else left
        return Value(f"CAST(({more.sql} * {right.sql}) AS {duck(kind)})", kind)
    if verb == "remainder":
        wide, kind = common((left.type, right.type)), decimal(min(p1 - s1, p2 - s2) + scale, scale)
        return Value(f"CAST(spark_remainder({cast(left, wide).sql}, {cast(right, wide).sql}) AS {duck(kind)})", kind)
    return quotient(left, right)


def quotient(left: Value, right: Value) -> Value:
    """Decimals divided: whole numbers of DuckDB's widest kind, rounded half up."""
    (p1, s1), (p2, s2) = left.type.numbers, right.type.numbers
    scale = max(6, s1 + p2 + 1)
    kind = decimal(p1 - s1 + s2 + scale, scale)
    shift = scale - s1 + s2
    if p1 + shift > 36 or kind.numbers[0] + scale > 38:
        raise NotKnown(f"divide of {left.type} and {right.type}")
    dividend = f"spark_unscaled({left.sql}) * CAST('1{'0' * shift}' AS HUGEINT)"
    return _scaled(f"spark_half_up({dividend}, spark_unscaled({right.sql}))", kind)


def average(total: Value, count: str, kind: Type) -> Value:
    """A sum of decimals divided by how many there are, with some more digits."""
    shift = kind.numbers[1] - total.type.numbers[1]
    if sum(kind.numbers) > MOST_DIGITS or total.type.numbers[0] + shift > 36:
        raise NotKnown(f"an average to {kind}")
    return _scaled(f"spark_half_up(spark_unscaled({total.sql}) * CAST('1{'0' * shift}' AS HUGEINT), {count})", kind)


def _scaled(whole: str, kind: Type) -> Value:
    precision, scale = kind.numbers
    unit = f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale}, {scale}))" if scale else "1"
    return Value(f"CAST(CAST({whole} AS DECIMAL({precision}, 0)) * {unit} AS {duck(kind)})", kind)


def negative(value: Value) -> Value:
    if not value.type.is_numeric:
        raise NotKnown(f"- of {value.type}")
    literal = -value.literal if value.literal is not None else None
    return Value(f"CAST((- {value.sql}) AS {duck(value.type)})", value.type, literal)


def compare(sign: str, left: Value, right: Value) -> Value:
    """A comparison; nested values and what Spark may bring to another type than DuckDB are refused."""
    left, right = comparable([left, right])
    return Value(f"({left.sql} {sign} {right.sql})", BOOLEAN)


def comparable(values: list[Value]) -> list[Value]:
    """Values brought to the type in which Spark compares them: a text becomes what it is compared with."""
    others = common(value.type for value in values if value.type != STRING)
    if others == NULL:
        others = common(value.type for value in values)
    if not others.is_plain:
        raise NotKnown(f"a comparison of values of type {others}")
    if any(value.type == STRING for value in values) and others != STRING:
        if others.is_decimal or others.name == "float":
            raise NotKnown(f"a comparison of string and {others}")
        others = BIGINT if others.is_integral else others
    return [cast(value, others) for value in values]


def shifted(sign: str, value: Value, count: int, unit: str) -> Value:
    """A date or time plus or minus an interval that is written out."""
    amount = f"INTERVAL '{count}' {unit}"
    if value.type == TIMESTAMP:
        return Value(f"({value.sql} {sign} {amount})", TIMESTAMP)
    if value.type == DATE and unit in ("DAY", "WEEK", "MONTH", "YEAR"):
        return Value(f"CAST(({value.sql} {sign} {amount}) AS DATE)", DATE)
    raise NotKnown(f"{value.type} {sign} interval")
