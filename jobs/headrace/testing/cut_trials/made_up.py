"""Made-up events within the declared schemas of the sources, by a seed: few keys, ties, nulls and repetitions.

All fields of one type draw from one small pool, so that the keys of different topics meet. Fractions are sums of powers
of two: adding them up gives the same in any order. Each event lands in a batch of its own, at a moment of its own or
with the one before; event times lag behind landing times, so that they tie and come in disorder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlglot import exp

from headrace.errors import InvalidProject
from headrace.project.model import Topic
from headrace.project.sql import dialect
from headrace.testing.cases.case import Batch, Record
from headrace.testing.cases.records import EPOCH
from headrace.testing.cut_trials import made_times
from headrace.testing.cut_trials.compared import Compared

TEXTS = ("a", "b", "c")
ODD_TEXTS = ("", "Zoë 😀", "a b")
NUMBER_KEYS = ("1", "2", "3")
WHOLE = (1, 2, 3, 0, -1)
FRACTIONS = (0.5, 1, 2, 0, -1.5, 10.25)
PAUSES = (0, 0, 0, 1, 1, 5, 20, 70)
"""Seconds between one landing and the next."""

_DAY = timedelta(days=1)
_TICK_SHARE, _REPEATED_SHARE, _NULL_SHARE, _LACKING_SHARE = 0.05, 0.08, 0.1, 0.02


@dataclass(frozen=True)
class Maker:
    """Makes events of some topics; `lag` is how far at most an event time is behind its landing.

    With `positive` no number is below one, so that a model that divides does not fail.
    """

    topics: Sequence[Topic]
    compared: Compared
    lag: timedelta
    random: Random
    positive: bool = False

    def batches(self, count: int) -> tuple[Batch, ...]:
        """This many events and a few ticks, each landing alone, and a last tick a day later."""
        at, made, found = EPOCH, list[tuple[str, Record]](), list[Batch]()
        for _ in range(count):
            at += timedelta(seconds=self.random.choice(PAUSES))
            if found and self.random.random() < _TICK_SHARE:
                at += timedelta(seconds=1)
                found.append(Batch.model_validate({"at": at}))
            name, record = self._repeated(made, at) or self._event(at)
            made.append((name, record))
            found.append(Batch.model_validate({"at": at, name: (record,)}))
        return (*found, Batch.model_validate({"at": at + _DAY}))

    def _repeated(self, made: Sequence[tuple[str, Record]], at: datetime) -> tuple[str, Record] | None:
        """An earlier event, sent once more."""
        if not made or self.random.random() >= _REPEATED_SHARE:
            return None
        name, record = self.random.choice(made)
        return name, record.model_copy(update={"timestamp": self._moment(at)})

    def _event(self, at: datetime) -> tuple[str, Record]:
        topic = self.random.choice(self.topics)
        value = None if topic.null_value and self._happens(_NULL_SHARE) else self._body(topic, at)
        key, sent_at = self._key(topic, value), self._moment(at)
        return topic.name, Record(key=key, value=value, timestamp=sent_at, partition=self.random.randrange(2))

    def _body(self, topic: Topic, at: datetime) -> Any:
        if topic.scalar is not None:
            bare = self._value(_type(topic.scalar), topic.name, at)
            return self._text_of(self._timed(topic, bare, at))
        fields = {}
        for field in topic.fields:
            share = _LACKING_SHARE if field.required else _NULL_SHARE
            fields[field.name] = None if self._happens(share) else self._value(_type(field.type), field.name, at)
        return self._timed(topic, fields, at)

    def _timed(self, topic: Topic, body: Any, at: datetime) -> Any:
        """The body with a moment in the fields that give its event time; a null stays null."""
        if made := made_times.of(topic):
            moment = self._moment(at)
            for path, value_at in made.items():
                body = _with(body, path, value_at(moment))
        return body

    def _key(self, topic: Topic, value: Any) -> str | None:
        """The field that a rule requires as the key, else any text."""
        if topic.null_key and self._happens(_NULL_SHARE):
            return None
        field = key_field(topic)
        if field is not None and isinstance(value, Mapping) and value.get(field) is not None:
            return str(value[field])
        return self.random.choice(NUMBER_KEYS) if self._happens(0.3) else self._text("key")

    def _value(self, kind: exp.DataType, name: str, at: datetime) -> Any:
        """A JSON value of a type."""
        match kind.this.name:
            case "ARRAY":
                return [self._value(kind.expressions[0], name, at) for _ in range(self.random.choice((0, 1, 1, 2, 3)))]
            case "STRUCT":
                return {each.name: self._value(each.args["kind"], each.name, at) for each in kind.expressions}
            case "MAP":
                chosen = self.random.sample(TEXTS, self.random.randrange(3))
                return {key: self._value(kind.expressions[1], name, at) for key in chosen}
            case "BOOLEAN":
                return self._happens(0.5)
            case "DATE":
                return (at - self.random.randrange(2) * _DAY).date().isoformat()
            case "TIMESTAMP" | "TIMESTAMPTZ" | "TIMESTAMPLTZ" | "TIMESTAMPNTZ" | "DATETIME":
                return self._moment(at).replace(tzinfo=None).isoformat()
            case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
                return self._number(name, WHOLE, int)
            case "FLOAT" | "DOUBLE" | "DECIMAL":
                return self._fraction(kind, name)
            case "BINARY":
                return self.random.choice(("YQ==", "Yg==", ""))
            case _:
                return self._text(name)

    def _fraction(self, kind: exp.DataType, name: str) -> float | int:
        sizes = [int(each.name) for each in kind.expressions]
        digits, scale = sizes if len(sizes) == 2 else (38, 2)
        value = self._number(name, FRACTIONS, float)
        fits = abs(value) < 10 ** (digits - scale) and round(value, scale) == value
        return value if fits else int(fits)

    def _number(self, name: str, pool: Sequence[float], kind: type[int] | type[float]) -> Any:
        candidates = [value for value in self.compared.with_(name) if isinstance(value, (int, float))]
        candidates = [value for value in candidates if kind is float or isinstance(value, int)]
        chosen = candidates if candidates and self._happens(0.5) else pool
        return self.random.choice([value for value in chosen if value >= 1 or not self.positive] or [1])

    def _text(self, name: str) -> str:
        candidates = [value for value in self.compared.with_(name) if isinstance(value, str)]
        if candidates and self._happens(0.8):
            return self.random.choice(candidates)
        return self.random.choice(ODD_TEXTS if self._happens(0.04) else TEXTS)

    def _moment(self, at: datetime) -> datetime:
        """A whole second at most the lag before a landing; most are not late at all."""
        most = self.lag // timedelta(seconds=1)
        return at - timedelta(seconds=self.random.choice((0, 0, self.random.randint(0, most))))

    def _text_of(self, value: Any) -> Any:
        """A bare text is JSON too, so it needs quotes."""
        return f'"{value}"' if isinstance(value, str) else value

    def _happens(self, share: float) -> bool:
        return self.random.random() < share


def _with(body: Any, path: tuple[str, ...], value: Any) -> Any:
    """A body with a value at a path, unless there is nothing to replace."""
    if not path or body is None:
        return body if body is None else value
    first, *rest = path
    return {**body, first: _with(body.get(first), tuple(rest), value)}


def key_field(topic: Topic) -> str | None:
    """The field that a reject rule requires to equal the record's key."""
    names = {field.name.lower(): field.name for field in topic.fields}
    for _, rule in topic.reject:
        for node in _comparisons(rule):
            sides = {side.name.lower() for side in (node.this, node.expression) if isinstance(side, exp.Column)}
            if "key" in sides - names.keys() and (others := sides & names.keys()):
                return names[others.pop()]
    return None


def _comparisons(rule: str) -> list[exp.Expr]:
    try:
        return [*dialect.parse(f"select {rule}", "").tree.find_all(exp.NEQ, exp.NullSafeNEQ, exp.EQ, exp.NullSafeEQ)]
    except InvalidProject:
        return []


def _type(ddl: str) -> exp.DataType:
    return exp.DataType.build(ddl, dialect="spark")
