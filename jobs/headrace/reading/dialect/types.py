"""Spark's types: what DuckDB calls them, and what several of them have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.reading.dialect.complaints import NotKnown

MOST_DIGITS = 38


@dataclass(frozen=True)
class Type:
    """A type of Spark: `numbers` are precision and scale; `parts` what a struct, list or map holds."""

    name: str
    numbers: tuple[int, ...] = ()
    parts: tuple[tuple[str, Type], ...] = ()

    @property
    def is_integral(self) -> bool:
        return self.name in INTEGRAL

    @property
    def is_fractional(self) -> bool:
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        return self.is_integral or self.is_fractional or self.is_decimal

    @property
    def is_time(self) -> bool:
        return self.name in ("date", "timestamp")

    @property
    def is_plain(self) -> bool:
        """Whether values of it can be compared and grouped as Spark does."""
        return self.is_numeric or self.is_time or self.name in ("string", "boolean", "null")

    @property
    def element(self) -> Type:
        """What a list holds, or the values of a map."""
        return self.parts[-1][1]

    def __str__(self) -> str:
        if self.is_decimal:
            return f"decimal({self.numbers[0]},{self.numbers[1]})"
        return self.name


INTEGRAL = ("tinyint", "smallint", "int", "bigint")
BOOLEAN, INT, BIGINT, DOUBLE = Type("boolean"), Type("int"), Type("bigint"), Type("double")
STRING, DATE, TIMESTAMP, NULL = Type("string"), Type("date"), Type("timestamp"), Type("null")

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DUCK = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",  # all is computed in UTC, without a zone
    "timestamp_ntz": "TIMESTAMP",
    "null": "INTEGER",
}
_OF_DUCK = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "float": "float",
    "double": "double",
    "varchar": "string",
    "blob": "binary",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamp with time zone": "timestamp",
}


def decimal(precision: int, scale: int) -> Type:
    """A decimal type; refused where Spark would have to drop digits."""
    if precision > MOST_DIGITS:
        raise NotKnown(f"a decimal of {precision} digits")
    return Type("decimal", (precision, scale))


def array(element: Type) -> Type:
    return Type("array", (), (("element", element),))


def of_duck(kind: Any) -> Type:
    """The type of a column that DuckDB has read; `unknown` can only be shown."""
    match str(kind.id):
        case "decimal":
            (_, precision), (_, scale) = kind.children
            return Type("decimal", (precision, scale))
        case "struct":
            return Type("struct", (), tuple((name, of_duck(part)) for name, part in kind.children))
        case "map":
            (_, key), (_, value) = kind.children
            return Type("map", (), (("key", of_duck(key)), ("value", of_duck(value))))
        case "list":
            return array(of_duck(kind.children[0][1]))
    return Type(_OF_DUCK.get(str(kind.id), "unknown"))


def duck(kind: Type, zoned: bool = False) -> str:
    """DuckDB's name of a type; `zoned` as it is returned, where a time is in UTC."""
    match kind.name:
        case "decimal":
            return f"DECIMAL({kind.numbers[0]}, {kind.numbers[1]})"
        case "array":
            return f"{duck(kind.element, zoned)}[]"
        case "map":
            return f"MAP({duck(kind.parts[0][1], zoned)}, {duck(kind.element, zoned)})"
        case "struct":
            return f"STRUCT({', '.join(f'{quoted(name)} {duck(part, zoned)}' for name, part in kind.parts)})"
        case "timestamp" if zoned:
            return "TIMESTAMPTZ"
        case name if name in _DUCK:
            return _DUCK[name]
    raise NotKnown(f"the type {kind}")


def holds_time(kind: Type) -> bool:
    """Whether values of a type are or contain times."""
    return kind.name == "timestamp" or any(holds_time(part) for _, part in kind.parts)


def holds_unknown(kind: Type) -> bool:
    """Whether values of a type contain something of unknown type."""
    return kind.name in ("unknown", "null") or any(holds_unknown(part) for _, part in kind.parts)


def as_decimal(kind: Type) -> Type:
    """The decimal that holds all values of an integral or decimal type."""
    return kind if kind.is_decimal else decimal(_DIGITS[kind.name], 0)


def common(kinds: Iterable[Type]) -> Type:
    """The type that Spark brings values of several types to."""
    found = NULL
    for kind in kinds:
        found = _wider(found, kind)
    return found


def _wider(one: Type, other: Type) -> Type:
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if one.is_integral and other.is_integral:
        return max(one, other, key=lambda kind: INTEGRAL.index(kind.name))
    if one.is_numeric and other.is_numeric:
        return _wider_number(one, other)
    if one.is_time and other.is_time:
        return TIMESTAMP
    raise NotKnown(f"{one} together with {other}")


def _wider_number(one: Type, other: Type) -> Type:
    if "double" in (one.name, other.name) or {one.name, other.name} == {"float", "decimal"}:
        return DOUBLE
    if "float" in (one.name, other.name):
        raise NotKnown(f"{one} together with {other}")
    (p1, s1), (p2, s2) = as_decimal(one).numbers, as_decimal(other).numbers
    scale = max(s1, s2)
    return decimal(max(p1 - s1, p2 - s2) + scale, scale)


def quoted(name: str) -> str:
    """A name as DuckDB reads it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
