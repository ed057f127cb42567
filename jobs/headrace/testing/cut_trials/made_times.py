"""Values of fields that give an event a wanted time: by the unit, or by the SQL that reads them, if understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from sqlglot import exp

from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import PARTS, WHOLE, FieldTime, SqlTime
from headrace.project.model import Topic
from headrace.project.sql import dialect

ValueAt = Callable[[datetime], Any]
"""The value of a field for a moment."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FUNCTIONS = {"timestamp_seconds": "s", "timestamp_millis": "ms", "timestamp_micros": "us"}
_TIMES = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ)


def of(topic: Topic) -> Mapping[tuple[str, ...], ValueAt]:
    """The fields whose values must fit, by path; not those that are times themselves, nor those read by other SQL."""
    match event_times.of(topic):
        case FieldTime(path, kind, unit) if unit:
            return {path: _number(PARTS[unit], kind in WHOLE)}
        case SqlTime(text):
            return dict(_read_by(topic, text))
    return {}


def _read_by(topic: Topic, text: str) -> Iterator[tuple[tuple[str, ...], ValueAt]]:
    plain = re.sub(r"\btry_to_timestamp\b", "to_timestamp", text, flags=re.IGNORECASE)
    for column in dialect.parse(f"select {plain}", "").tree.find_all(exp.Column):
        path = event_times.within(topic, tuple(part.name for part in column.parts))
        kind = event_times.type_of(topic, path) if path is not None else ""
        if path is not None and kind and (made := _by(column, 1, kind)):
            yield path, made


def _by(node: exp.Expr, factor: float, kind: str) -> ValueAt | None:
    """The value for the expression around it: a number times a factor, or a text."""
    around = node.parent
    match around:
        case exp.Div(expression=exp.Literal() as by) | exp.IntDiv(expression=exp.Literal() as by):
            return _by(around, factor * float(by.name), kind)
        case exp.Mul(this=inner, expression=exp.Literal() as by) if inner is node:
            return _by(around, factor / float(by.name), kind)
        case exp.Paren():
            return _by(around, factor, kind)
        case exp.Anonymous() if around.name.lower() in _FUNCTIONS:
            return _number(factor * PARTS[_FUNCTIONS[around.name.lower()]], kind in WHOLE)
        case exp.UnixToStr() | exp.UnixToTime():
            return _number(factor, kind in WHOLE)
        case exp.StrToTime():
            return _text(str(around.text("format")))
        case exp.Cast() if around.to.this in _TIMES and kind == "string":
            return lambda moment: moment.replace(tzinfo=None).isoformat()
        case exp.Cast() if around.to.this not in _TIMES:
            return _by(around, factor, kind)
    return None


def _number(factor: float, whole: bool) -> ValueAt:
    def value_at(moment: datetime) -> float:
        return round((moment - _EPOCH).total_seconds() * factor, None if whole else 6)

    return value_at


def _text(form: str) -> ValueAt:
    """By Python's directives; sqlglot marks those that take a leading zero as strict."""
    return lambda moment: moment.strftime(form.replace("strict", ""))
