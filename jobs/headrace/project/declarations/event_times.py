"""What `event_time:` of a source declares: a field of the body at any depth, or SQL over the body.

A name, or a path of names, is a field; `data` may stand before it, as in models. A field may be a number of seconds,
milliseconds or microseconds since 1970. Any other text is one SQL expression under the rules of `reject:`, over the
fields, `data`, and the record's own columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from headrace.errors import Finding, Place, did_you_mean
from headrace.project.declarations import fieldtypes
from headrace.project.model import Topic
from headrace.project.sql import expressions

Unit = Literal["s", "ms", "us"]

PARTS: Mapping[str, int] = {"s": 1, "ms": 1_000, "us": 1_000_000}
"""How many of each unit a second has."""

WHOLE = ("tinyint", "smallint", "int", "bigint")
COLUMNS = ("key", "value", "headers", "topic", "partition", "offset", "timestamp", "landed_at")
"""What an expression may name beside fields."""

_PART = r"(?:\w+|`[^`]+`)"
_PATH = rf"{_PART}(?:\.{_PART})*"


@dataclass(frozen=True)
class FieldTime:
    """A field by its path in the body; without a unit it is a timestamp. The path is empty for a bare value."""

    path: tuple[str, ...]
    type: str
    unit: Unit | None


@dataclass(frozen=True)
class SqlTime:
    """An expression that returns a timestamp."""

    text: str


def of(topic: Topic) -> FieldTime | SqlTime | None:
    """Return where a record's event time comes from; None where it is the record's own timestamp."""
    if topic.event_time is None:
        return None
    try:
        path, kind = _located(_Body.of(topic), topic.event_time)
    except KeyError:
        return SqlTime(topic.event_time)
    unit = topic.event_time_unit or ("ms" if kind == "bigint" else None)
    return FieldTime(path, kind, unit)


def describe(topic: Topic) -> str | None:
    """Return the declaration in a few words."""
    unit = f" in {topic.event_time_unit}" if topic.event_time_unit else ""
    return topic.event_time and f"{topic.event_time}{unit}"


def origins(topic: Topic) -> tuple[str, ...]:
    """Return the parts of a record that its event time is derived from, such as `value.orderDate`."""
    match of(topic):
        case None:
            return ("timestamp",)
        case FieldTime(path):
            return (".".join(("value", *path)),)
        case SqlTime(text):
            return tuple(dict.fromkeys(_origin(topic, path) for path in expressions.paths_of(text)))


def _origin(topic: Topic, path: tuple[str, ...]) -> str:
    inside = within(topic, path)
    return path[0].lower() if inside is None else ".".join(("value", *inside))


def within(topic: Topic, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path within the body of a column that an expression names; None for a column of the record."""
    body, first = _Body.of(topic), path[0].lower()
    if first in _lowered(body.members):
        return path
    return path[1:] if first == "data" else None


def type_of(topic: Topic, path: tuple[str, ...]) -> str:
    """Return the type of a field by its path within the body; nothing for one of a list."""
    try:
        return _Body.of(topic).type(path)
    except KeyError:
        return ""


def findings(topic: Topic, place: Place) -> Iterator[Finding]:
    """Find what is wrong with the declaration."""
    text, body = topic.event_time, _Body.of(topic)
    if text is None:
        return
    try:
        _, kind = _located(body, text)
    except KeyError:
        yield from _not_a_field(topic, body, place)
        return
    if misfit := _misfit(text, kind, topic.event_time_unit):
        yield Finding(place, "bad-value", misfit)


def _not_a_field(topic: Topic, body: _Body, place: Place) -> Iterator[Finding]:
    text = topic.event_time or ""
    if topic.event_time_unit or re.fullmatch(_PATH, text):
        known = [*body.members]
        yield Finding(
            place, "unknown-column", f"event_time `{text}` is no field of the schema.{_near(body, text, known)}"
        )
        return
    try:
        expressions.columns_of(text)
    except ValueError as error:
        yield Finding(place, "syntax", f"event_time: {error}")
        return
    if message := expressions.refusal(text):
        yield Finding(place, "not-allowed", message)
    for path in expressions.paths_of(text):
        if unknown := body.unknown(path):
            yield Finding(place, "unknown-column", unknown)


def _near(body: _Body, text: str, known: list[str]) -> str:
    *above, last = _parts(text) or (text,)
    try:
        inside = body.below(tuple(above)) if above else None
    except KeyError:
        inside = None
    return did_you_mean(last, [*inside]) if inside else did_you_mean(text, known)


def _misfit(text: str, kind: str, unit: Unit | None) -> str | None:
    """Return why a field of this type cannot be a time, if so."""
    is_number = kind in (*WHOLE, "float", "double") or kind.startswith("decimal")
    if unit is not None:
        return None if is_number else f"`{text}` is no number but {kind}; only a number has a unit"
    if kind in ("timestamp", "bigint"):
        return None
    if is_number:
        return f"`{text}` is {kind}; say what it counts since 1970, such as `{{field: {text}, unit: s}}`"
    how = f"make one of it in SQL, such as `to_timestamp({text}, 'dd/MM/yyyy HH:mm')`"
    return f"event_time must be a timestamp, or a bigint of epoch milliseconds; `{text}` is {kind}: {how}"


@dataclass(frozen=True)
class _Body:
    """The fields of a value and their types; of a bare value, its type."""

    members: Mapping[str, str]
    scalar: str | None

    @classmethod
    def of(cls, topic: Topic) -> _Body:
        return cls({field.name: field.type for field in topic.fields}, topic.scalar)

    def below(self, path: tuple[str, ...]) -> Mapping[str, str]:
        """The members of the struct at a path that may begin with `data`."""
        path = self.inside(path)
        return fieldtypes.members(self.type(path)) if path else self.members

    def inside(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """A path within the value: a field goes before `data`."""
        return path[1:] if path[0] not in self.members and path[0] == "data" else path

    def type(self, path: tuple[str, ...]) -> str:
        """The type at a path within the value; KeyError if there is nothing."""
        if not path:
            return self.scalar or "struct"
        members, kind = self.members, ""
        for part in path:
            kind = members[part]
            members = fieldtypes.members(kind)
        return kind

    def unknown(self, path: tuple[str, ...]) -> str | None:
        """What is wrong with a column of an expression, in any case of letters; parts of lists are not checked."""
        first, *rest = path
        known = [*self.members, "data", *COLUMNS]
        if first.lower() not in map(str.lower, known):
            return f"`{first}` is neither a field nor a column of the record.{did_you_mean(first, known)}"
        of_field = _lowered(self.members).get(first.lower())
        members = fieldtypes.members(of_field) if of_field else self.members if first.lower() == "data" else {}
        for part in rest:
            if members and part.lower() not in _lowered(members):
                return f"`{'.'.join(path)}`: there is no field `{part}`.{did_you_mean(part, [*members])}"
            members = fieldtypes.members(_lowered(members)[part.lower()]) if members else {}
        return None


def _lowered(members: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): kind for name, kind in members.items()}


def _located(body: _Body, text: str) -> tuple[tuple[str, ...], str]:
    """The path and type of a field; KeyError if the text is none."""
    if text in body.members:
        return (text,), body.members[text]
    parts = _parts(text)
    if parts is None:
        raise KeyError(text)
    path = body.inside(parts)
    return path, body.type(path)


def _parts(text: str) -> tuple[str, ...] | None:
    return tuple(part.strip("`") for part in re.findall(_PART, text)) if re.fullmatch(_PATH, text) else None
