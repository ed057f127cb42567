"""Times beyond the years 1 to 9999, which Python's datetime cannot hold, as ISO 8601 texts.

They may be within structs, lists and maps. Spark's own go to the year 294247, and one record may bring such a time into
a table that many read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from arro3.core import Array

_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_CYCLE_DAYS = 146_097
_CYCLE_YEARS = 400
"""After so many days the Gregorian calendar begins again, so many years later."""

_FIRST, _LAST = ((each - _EPOCH) // timedelta(days=1) for each in (datetime.min, datetime.max))
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
"""Microseconds in a unit of a timestamp."""


def values(column: Array) -> list[Any]:
    """The values of a column; a map is a list of pairs."""
    array = pa.array(column)
    return [*column.to_pylist()] if all(map(_is_near, _leaves(array))) else _values(array)


def _leaves(array: Any) -> Iterator[Any]:
    """The columns of plain values in a column."""
    if pa.types.is_map(array.type):
        inner = [array.keys, array.items]
    elif pa.types.is_struct(array.type) or pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        flat = array.flatten()
        inner = flat if isinstance(flat, list) else [flat]
    else:
        yield array
        return
    for each in inner:
        yield from _leaves(each)


def _is_near(leaf: Any) -> bool:
    """Whether Python's datetime holds all of some plain values."""
    numbers, in_a_day = _numbers(leaf)
    if numbers is None or numbers.null_count == len(numbers):
        return True
    ends = pc.min_max(numbers).as_py()
    return bool(ends["min"] // in_a_day >= _FIRST and ends["max"] // in_a_day <= _LAST)


def _numbers(leaf: Any) -> tuple[Any, int]:
    """Times as whole numbers, and how many of these are a day; None for other values."""
    if pa.types.is_timestamp(leaf.type) and leaf.type.unit in _UNITS:
        return leaf.cast(pa.int64()), _DAY // _UNITS[leaf.type.unit]
    return (leaf.cast(pa.int32()), 1) if pa.types.is_date32(leaf.type) else (None, 1)


def _values(array: Any) -> list[Any]:
    kind, (numbers, in_a_day) = array.type, _numbers(array)
    if pa.types.is_date32(kind):
        return [None if number is None else _day(number) for number in numbers.to_pylist()]
    if numbers is not None:
        micros = _DAY // in_a_day
        return [None if number is None else _moment(number * micros, kind.tz) for number in numbers.to_pylist()]
    if pa.types.is_struct(kind):
        return _structs(array)
    if pa.types.is_map(kind):
        return [None if each.values is None else _pairs(each.values) for each in array]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [None if each.values is None else _values(each.values) for each in array]
    found: list[Any] = array.to_pylist()
    return found


def _structs(array: Any) -> list[Any]:
    names = [array.type.field(at).name for at in range(array.type.num_fields)]
    rows = zip(*map(_values, array.flatten()), strict=True)
    are_there = array.is_valid().to_pylist()
    return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, are_there, strict=True)]


def _pairs(entries: Any) -> list[tuple[Any, Any]]:
    return [(each["key"], each["value"]) for each in _values(entries)]


def _moment(micros: int, zone: str | None) -> datetime | str:
    try:
        return (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=timezone.utc if zone else None)
    except OverflowError:
        return _text(micros, "microseconds" if micros % 1_000_000 else "seconds") + ("Z" if zone else "")


def _day(number: int) -> Any:
    try:
        return (_EPOCH + timedelta(days=number)).date()
    except OverflowError:
        return _text(number * _DAY, "hours").partition("T")[0]


def _text(micros: int, precision: str) -> str:
    cycles, rest = divmod(micros, _CYCLE_DAYS * _DAY)
    moment = _EPOCH + timedelta(microseconds=rest)
    return f"{_year(moment.year + _CYCLE_YEARS * cycles)}{moment.isoformat(timespec=precision)[4:]}"


def _year(year: int) -> str:
    """A year as ISO 8601 writes it: with its sign beyond four digits."""
    return f"{year:+}" if year > 9999 else f"{year:05}" if year < 0 else f"{year:04}"
