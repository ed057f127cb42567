"""Documents that fit a topic, and what may go wrong with them on the way: random, but fixed by a seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from random import Random
from typing import Union

from pyspark.sql import types as t

from headrace.project.model import Topic
from tests.spark.judging import RECORD_TIME, Record

Members = list[tuple[str, "Node"]]  # names as they are written, in quotes
Node = Union[str, list["Node"], "Object"]


@dataclass
class Object:
    """A JSON object that may have a member twice."""

    members: Members


_TIMES = ('"2026-01-31T10:00:00Z"', '"2026-01-31 10:00:00.123456789+02:00"', '"2026-01-31T10:05"', '"2026-01-31"')
_GOOD: dict[type[t.DataType], tuple[str, ...]] = {
    t.StringType: (
        *['"a"'] * 9,
        '"b"',
        '""',
        '"a b"',
        r'"\u00e4\n\"\\"',
        '"ключ 😀"',
        r'"\ud83d\ude00"',
        '"null"',
        '"\x7f"',
    ),
    t.BooleanType: ("true", "false"),
    t.ByteType: ("0", "127", "-128"),
    t.ShortType: ("0", "32767", "-32768"),
    t.IntegerType: ("0", "-0", "1", "7", "2147483647", "-2147483648"),
    t.LongType: ("1", "-1", "1767225600123", "9223372036854775807", "-9223372036854775808"),
    t.FloatType: ("0", "0.1", "-1.5e3", "3.4e38", "16777217"),
    t.DoubleType: ("0", "0.1", "-1.5E3", "1.7976931348623157e308", "5e-324", "1e-400", "100", "-0.0", "1e16"),
    t.DecimalType: ("0", "1.1", "-1.10", "99999999.99", "1e2", "12.000"),
    t.TimestampType: _TIMES,
    t.TimestampNTZType: ('"2026-01-31T10:00:00"', '"2026-01-31 10:00:00.123456789"', '"2026-01-31"'),
    t.DateType: ('"2026-01-31"', '"2024-02-29"'),
    t.VariantType: ("1", '"a"', "true", "[1, null]", "{}", "0.5"),
}
_ODD = (
    *("null", "true", "0", "1e2", "1.0", "1.005", "10.5", "-0", "1e400", "1e-400", "0.1000", "123456789.1", "0e5"),
    *("128", "32768", "2147483648", "9223372036854775808", "123456789012345678901234567890"),
    *("1767225600", "1767225600000", "1e999999999", "1e-999999999"),
    *("0.00", "0E-8", "-0.0", "1.50", "100.0", "0.00000001", '"1.00"'),
    *(
        '"100"',
        '"NaN"',
        '"true"',
        '"{}"',
        '"[]"',
        '"null"',
        '" a"',
        '""',
        r'"\\ud800"',
        r'"\u0000"',
        '"\u2028"',
        '"\ufeff"',
    ),
    *('"2026-02-30"', '"2026-01-31T24:00"', '"2026-01-31T10:00:00[UTC]"', '"9999-12-31T23:59:59Z"', '"0001-01-01"'),
    *('"10000-01-01"', '"2016-12-31T23:59:60Z"', '"1999-12-31"', '"2026-01-31T10:00:00+19:00"', '"2026-01-31Z"'),
    *('"2026-1-31"', '"today"', '"1969-12-31T23:59:59.999999999"', '"2026-01-31T10:00Z"', '"2026-01-31\\n"'),
    *("[]", "{}", "[null]", "[[]]", '[{"a": 1}]', '{"a": 1}', '{"a": 1, "a": 2}', r'[{"a": 1, "\u0061": 1}]'),
)
_BROKEN = (
    *("007", "NaN", "-Infinity", "Infinity", "-", "+1", ".5", "5.", "0x10", "True", "''", "'a'", "a", "", " ", "[1,]"),
    *(r'"\ud800"', r'"\udc00\ud800"', r'"\x"', r'"\u12"', '"\n"'),
    *("1 .0", "1. 0", "1.0 0", "10 .00", "1.5 00", "0 E-8", "0E -8", "00.0", "0.0.0", "1.0E"),
)
_FRAGMENTS = (
    *"{}[]:,\"'\\ \n\t0159eE+-./*#\0\x1f\x7f\u00a0\u2028\ufeff",
    *("}{", "]}", '"}, {"v": "', '}, "v": {', "}], [{", "]}, {", "//", "/**/", "null", "NaN", "true", "\\u", "\\ud800"),
    *(".0", ".50", "00", "E-8", " 0", ", ", '"a"', '"": 1, ', '"id": 1, ', ', "id": "b"'),
)
_BYTES = (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xc3", b"\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x00")
_BLANKS = ("", "", "", " ", "  ", "\n", "\t", "\r\n ")
_STYLES = ((",", ":"), (", ", ": "), (" , ", " : "))


def records(topic: Topic, count: int, random: Random) -> list[Record]:
    """Records of a topic: a third of them valid, most others corrupted in a place or two, some mere noise."""
    kind = t.DataType.fromDDL(topic.ddl)
    return [_record(kind, random) for _ in range(count)]


def _record(kind: t.DataType, random: Random) -> Record:
    timestamp = RECORD_TIME if random.random() < 0.98 else datetime(1999, 12, 31, tzinfo=timezone.utc)
    key: bytes | None = random.choice((b"a", b"a", b"a", b"b", "ä".encode(), b""))
    if random.random() < 0.05:
        key = random.choice((None, b"\xff"))
    value = None if random.random() < 0.02 else _value(kind, random)
    return Record(value, key, timestamp)


def _value(kind: t.DataType, random: Random) -> bytes:
    if random.random() < 0.03:
        return random.choice((random.randbytes(random.randrange(40)), _noise(random).encode()))
    body, spoil = good(kind, random), random.random()
    for _ in range(random.choice((1, 1, 1, 2, 3)) if spoil > 0.3 else 0):
        body = _mutated(body, random)
    text = written(body, random)
    if spoil > 0.8:
        text = _edited(text, random)
    return _torn(text.encode(), random) if spoil > 0.97 else text.encode()


def good(kind: t.DataType, random: Random) -> Node:
    """A document that fits a type; some of it null or absent."""
    match kind:
        case t.ArrayType():
            return [good(kind.elementType, random) for _ in range(random.randrange(4))]
        case t.MapType():
            names = random.sample(("a", "b", "A", "", "ä"), random.randrange(4))
            return Object([(f'"{name}"', good(kind.valueType, random)) for name in names])
        case t.StructType():
            members: Members = [(f'"{f.name}"', good(f.dataType, random)) for f in kind.fields]
            some = random.random() < 0.3
            return Object([m for m in members if not some or m[0] == '"id"' or random.random() < 0.7])
    return "null" if random.random() < 0.05 else random.choice(_GOOD[type(kind)])


def written(node: Node, random: Random) -> str:
    """JSON in one of the usual styles, or with blanks anywhere."""
    comma, colon = random.choice(_STYLES)
    blank = (lambda: random.choice(_BLANKS)) if random.random() < 0.2 else str
    return "".join(_written(node, comma, colon, blank)) + blank()


def _written(node: Node, comma: str, colon: str, blank: Callable[[], str]) -> Iterator[str]:
    if isinstance(node, str):
        yield from (blank(), node, blank())
        return
    parts = [(f"{name}{blank()}{colon}", each) for name, each in node.members] if isinstance(node, Object) else None
    opening, closing = "{}" if isinstance(node, Object) else "[]"
    yield opening
    for number, (name, each) in enumerate(parts if parts is not None else [("", each) for each in node]):
        yield f"{comma if number else ''}{blank()}{name}"
        yield from _written(each, comma, colon, blank)
    yield blank() + closing


def _mutated(node: Node, random: Random) -> Node:
    """A change in one place, as likely at any depth."""
    match node:
        case Object() if node.members and random.random() < 0.9:
            return _mutated_object(node, random)
        case list() if node and random.random() < 0.9:
            place = random.randrange(len(node))
            return [*node[:place], _mutated(node[place], random), *node[place + 1 :]]
    return _token(random)


def _mutated_object(node: Object, random: Random) -> Object:
    members, place = list(node.members), random.randrange(len(node.members))
    name, value = members[place]
    match random.randrange(10):
        case 0:
            del members[place]
        case 1:
            members.insert(random.randrange(len(members) + 1), (name, value))
        case 2:
            members.insert(random.randrange(len(members) + 1), (name, _token(random)))
        case 3:
            members.insert(random.randrange(len(members) + 1), (_escaped(name), value))
        case 4:
            members[place] = (random.choice((_escaped, str.upper, str.title))(name), value)
        case 5:
            members.append((random.choice(('"more"', '"v"', '"_bad"', '""', '"ä"')), _token(random)))
        case 6:
            random.shuffle(members)
        case _:
            members[place] = (name, _mutated(value, random))
    return Object(members)


def _token(random: Random) -> str:
    return random.choice(_BROKEN if random.random() < 0.1 else _ODD)


def _escaped(name: str) -> str:
    return re.sub(r"\w", lambda letter: f"\\u{ord(letter[0]):04x}", name, count=1)


def _edited(text: str, random: Random) -> str:
    """A text with some letters lost, added, turned or sent twice."""
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.randrange(4))
    match random.randrange(6):
        case 0:
            return text[:start]
        case 1:
            return text[:start] + text[end:]
        case 2:
            return text + random.choice((" ", "", "\n")) + random.choice((text, *_FRAGMENTS))
        case 3:
            return text[:start] + text[start:end][::-1] + text[end:]
    return text[:start] + random.choice(_FRAGMENTS) + text[random.choice((start, end)) :]


def _torn(raw: bytes, random: Random) -> bytes:
    place = random.randrange(len(raw) + 1)
    return raw[:place] + random.choice(_BYTES) + raw[place + random.randrange(2) :]


def _noise(random: Random) -> str:
    return "".join(random.choices(_FRAGMENTS, k=random.randrange(12)))
