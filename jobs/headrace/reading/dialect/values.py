"""Values: a piece of DuckDB's SQL together with its type in Spark, and the literal that it is, if any."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, Type, decimal, duck


@dataclass(frozen=True)
class Value:
    """SQL and the type of what it gives; `literal` is its value in Python where it is written in the text."""

    sql: str
    type: Type
    literal: Any = None


def text(value: str) -> Value:
    return Value(quoted_text(value), STRING, value)


def null() -> Value:
    return Value("NULL", NULL)


def boolean(value: bool) -> Value:
    return Value(str(value).upper(), BOOLEAN)


def number(written: str) -> Value:
    """A number as Spark reads it: an int if it fits, then a bigint, then a decimal; with an exponent a double."""
    if re.fullmatch(r"\d+", written):
        whole = int(written)
        if whole < 1 << 31:
            return Value(f"CAST({written} AS INTEGER)", INT, whole)
        if whole < 1 << 63:
            return Value(f"CAST({written} AS BIGINT)", BIGINT, whole)
        return exact(Decimal(written))
    if re.fullmatch(r"\d*\.\d*", written) and written != ".":
        return exact(Decimal(written))
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d+", written):
        return Value(f"CAST('{float(written)!r}' AS DOUBLE)", DOUBLE, float(written))
    raise NotKnown(f"the number {written}")


def exact(value: Decimal) -> Value:
    """A decimal literal, with the digits that are written."""
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    kind = decimal(max(len(digits), scale), max(scale, 0))
    return Value(f"CAST('{value:f}' AS {duck(kind)})", kind, value)


def quoted_text(value: str) -> str:
    if "\0" in value:
        raise NotKnown("a text with the character 0")
    return "'" + value.replace("'", "''") + "'"


def whole(value: Value, what: str) -> int:
    """The literal whole number that an argument must be."""
    if not isinstance(value.literal, int):
        raise NotKnown(f"{what} that is no whole number, written out,")
    return value.literal


def written(value: Value, what: str) -> str:
    """The literal text that an argument must be."""
    if not isinstance(value.literal, str):
        raise NotKnown(f"{what} that is no text, written out,")
    return value.literal
