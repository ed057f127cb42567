"""An independent classification of records, in plain Python: the reject reason, or the data."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

from pyspark.sql import types as t

from headrace.project.model import Topic

UTC = timezone.utc
ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?", re.ASCII
)
RANGES = {t.ByteType: 7, t.ShortType: 15, t.IntegerType: 31, t.LongType: 63}
Rule = Callable[[str, dict[str, Any]], bool]


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    text: str

    @property
    def whole(self) -> bool:
        return re.fullmatch(r"-?\d+", self.text) is not None


@dataclass(frozen=True)
class Members:
    """An object with all its members, also repeated ones."""

    pairs: tuple[tuple[str, Any], ...]

    @property
    def last(self) -> dict[str, Any]:
        return dict(self.pairs)


@dataclass(frozen=True)
class Opinion:
    """The reason (more than one where a repeated field makes it a matter of taste), else event time and data."""

    reasons: frozenset[str | None]
    event_time: datetime | None = None
    data: Any = None


@dataclass(frozen=True)
class Oracle:
    """Classifies the records of one topic; `rules` are its reject rules in Python."""

    topic: Topic
    rules: Mapping[str, Rule] = field(default_factory=dict)

    def judge(self, key: bytes | None, value: bytes | None, timestamp: datetime, landed_at: datetime) -> Opinion:
        """Return the first reason that applies, else the record's data."""
        kind, body = _kind(self.topic.ddl), None
        if key is None and not self.topic.null_key:
            return _no("null_key")
        if value is None and not self.topic.null_value:
            return _no("null_value")
        if not self.topic.null_key and not _is_utf8(key or b""):
            return _no("bad_key")
        if value is not None:
            try:
                body = _read(value)
            except (ValueError, RecursionError):
                return _no("not_json")
            if isinstance(kind, t.StructType) and not isinstance(body, Members):
                return _no("not_json")
            if faults := self._faults(kind, body):
                return _no(*faults)
        data = None if value is None else _typed(kind, body)
        moment = self._event_time(data, timestamp)
        if moment is None or not datetime(2000, 1, 1, tzinfo=UTC) <= moment <= landed_at + timedelta(days=1):
            return _no("time_out_of_range")
        for name, broken in self.rules.items():
            if name != "missing_field" and data is not None and broken((key or b"").decode(), data):
                return _no(name)
        return Opinion(frozenset({None}), moment, data)

    def _faults(self, kind: t.DataType, body: Any) -> list[str]:
        members = body.last if isinstance(body, Members) else {}
        lacks = self.rules.get("missing_field", lambda *_: False)
        if any(f.required and members.get(f.name) is None for f in self.topic.fields) or lacks("", members):
            return ["missing_field"]
        found = set(_token_faults(kind, body))
        if self.topic.scalar and body is None:
            found.add("wrong_type")
        if not any(_repeats(body)):
            order = ("wrong_type", "bad_timestamp", "time_out_of_range")
            return [reason for reason in order if reason in found][:1]
        if "wrong_type" in found:
            return ["wrong_type"]
        earlier = set(_token_faults(kind, body, every=True))
        return ["duplicate_field", "wrong_type"] if "wrong_type" in earlier else ["duplicate_field"]

    def _event_time(self, data: Any, timestamp: datetime) -> datetime | None:
        if self.topic.event_time is None:
            return timestamp
        for part in self.topic.event_time.removeprefix("data.").split("."):
            data = data.get(part) if isinstance(data, dict) else None
        if data is None or isinstance(data, datetime):
            return data.replace(tzinfo=UTC) if data is not None else timestamp
        parts = {"s": 1, "us": 10**6}.get(self.topic.event_time_unit or "", 1000)
        if not 0 < data / parts < 10**11:  # before 1970 is before 2000 as well
            return datetime(1, 1, 1, tzinfo=UTC)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(data * (10**6 // parts)))


@cache
def _kind(ddl: str) -> t.DataType:
    return t.DataType.fromDDL(ddl)


def _no(*reasons: str) -> Opinion:
    return Opinion(frozenset(reasons))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read(raw: bytes) -> Any:
    body = json.loads(
        raw.decode(),
        object_pairs_hook=lambda pairs: Members(tuple(pairs)),
        parse_int=Number,
        parse_float=Number,
        parse_constant=_refuse,
    )
    if any(0xD800 <= ord(letter) <= 0xDFFF for text in _texts(body) for letter in text):
        raise ValueError("half of a surrogate pair")
    return body


def _refuse(word: str) -> None:
    raise ValueError(word)


def _children(body: Any) -> list[Any]:
    return [value for _, value in body.pairs] if isinstance(body, Members) else body if isinstance(body, list) else []


def _texts(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    if isinstance(body, Members):
        yield from (name for name, _ in body.pairs)
    for child in _children(body):
        yield from _texts(child)


def _repeats(body: Any) -> Iterator[bool]:
    yield isinstance(body, Members) and len(body.last) < len(body.pairs)
    for child in _children(body):
        yield from _repeats(child)


def _token_faults(kind: t.DataType, body: Any, every: bool = False) -> Iterator[str]:
    if body is None or isinstance(kind, t.VariantType):
        return
    match kind, body:
        case t.ArrayType(), list():
            for each in body:
                yield from _token_faults(kind.elementType, each, every)
        case t.MapType(), Members():
            for _, each in body.pairs if every else body.last.items():
                yield from _token_faults(kind.valueType, each, every)
        case t.StructType(), Members():
            kinds = {f.name: f.dataType for f in kind.fields}
            for name, each in body.pairs if every else body.last.items():
                if name in kinds:
                    yield from _token_faults(kinds[name], each, every)
        case ((t.TimestampType() | t.TimestampNTZType() | t.DateType()), str()):
            if _time(kind, body) is None:
                yield "bad_timestamp"
        case ((t.TimestampType() | t.TimestampNTZType() | t.DateType()), Number()):
            yield "time_out_of_range"
        case _:
            if not _fits(kind, body):
                yield "wrong_type"


def _fits(kind: t.DataType, body: Any) -> bool:
    match kind, body:
        case (t.StringType(), str()) | (t.BooleanType(), bool()):
            return True
        case ((t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType()), Number()):
            limit = 2 ** RANGES[type(kind)]
            return body.whole and -limit <= int(body.text) < limit
        case ((t.DoubleType() | t.FloatType()), Number()):
            return abs(_floating(kind, body)) < float("inf")
        case t.DecimalType(), Number():
            try:
                number = Decimal(body.text)
            except InvalidOperation:  # an exponent beyond all bounds
                return False
            if number == 0:
                return not re.search("[eE]", body.text)  # may be an underflow
            digits = "".join(map(str, number.as_tuple().digits))
            zeros = len(digits) - len(digits.rstrip("0"))
            return (
                int(number.as_tuple().exponent) + zeros >= -kind.scale
                and number.adjusted() < kind.precision - kind.scale
            )
    return False


def _time(kind: t.DataType, text: str) -> Any:
    found = ISO.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zulu, sign, hours, minutes = found.groups()
    zoned = zulu or sign
    if (isinstance(kind, t.TimestampNTZType) and zoned) or (isinstance(kind, t.DateType) and hour):
        return None
    try:
        if isinstance(kind, t.DateType):
            day_only = date(int(year), int(month), int(day))
            return day_only if day_only > date(1, 1, 1) else None
        parts = [int(part or 0) for part in (year, month, day, hour, minute, second)]
        local = datetime(*parts, int(f"{fraction or 0:<06}"[:6]))  # type: ignore[arg-type,misc]
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        if offset > timedelta(hours=18) or int(minutes or 0) > 59:
            return None
        moment = local - offset if sign == "+" else local + offset
        return moment if moment >= datetime(1, 1, 2) else None
    except (ValueError, OverflowError):
        return None


def _typed(kind: t.DataType, body: Any) -> Any:
    match kind, body:
        case _, None:
            return None
        case t.ArrayType(), _:
            return [_typed(kind.elementType, each) for each in body]
        case t.MapType(), _:
            return {name: _typed(kind.valueType, each) for name, each in body.pairs}
        case t.StructType(), _:
            return {f.name: _typed(f.dataType, body.last.get(f.name)) for f in kind.fields}
        case ((t.TimestampType() | t.TimestampNTZType() | t.DateType()), _):
            return _time(kind, body)
        case t.DecimalType(), _:
            return Decimal(body.text)
        case ((t.DoubleType() | t.FloatType()), _):
            return _floating(kind, body)
        case t.VariantType(), _:
            return _untyped(body)
    return int(body.text) if isinstance(body, Number) else body


def _floating(kind: t.DataType, number: Number) -> float:
    """The nearest number that a type can hold."""
    double = float(number.text)
    try:
        return float(struct.unpack("f", struct.pack("f", double))[0]) if isinstance(kind, t.FloatType) else double
    except OverflowError:
        return float("inf")


def _untyped(body: Any) -> Any:
    match body:
        case Number():
            return float(body.text) if re.search("[eE]", body.text) or len(body.text) > 38 else Decimal(body.text)
        case Members():
            return {name: _untyped(each) for name, each in body.pairs}
        case list():
            return [_untyped(each) for each in body]
    return body
