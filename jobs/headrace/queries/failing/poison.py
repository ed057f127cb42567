"""Rows that a model is run without, and conditions that leave them out or choose them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headrace.errors import HeadraceError
from headrace.project.literals import quoted

MOST = 500
"""With this many failing rows in one batch, the model must be fixed."""

Arrival = tuple[int, str, int, int]
"""Landing batch, topic, partition, offset."""


@dataclass(frozen=True)
class Poison:
    """Rows of one batch that a model is run without, as they make it fail in the same way at the same place."""

    table: str
    reason: str
    error: str
    clause: str | None
    place: str
    arrivals: tuple[Arrival, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Poison:
        arrivals = tuple((int(b), str(t), int(p), int(o)) for b, t, p, o in data["arrivals"])
        return cls(**{**data, "arrivals": arrivals})


def from_to(first: Arrival, last: Arrival) -> str:
    """The condition of rows that arrived within bounds, both included."""
    return f"_arrival >= {_struct(first)} and _arrival <= {_struct(last)}"


def without(arrivals: Iterable[Arrival]) -> str:
    """The condition of rows that are none of some."""
    texts = ", ".join(quoted(_text(each)) for each in arrivals)
    return f"{_TEXT} not in ({texts})" if texts else "true"


def among(arrivals: Iterable[Arrival]) -> str:
    """The condition of rows that are some."""
    return f"{_TEXT} in ({', '.join(quoted(_text(each)) for each in arrivals)})"


_TEXT = "concat_ws('/', _arrival.landing_batch, _arrival.topic, _arrival.partition, _arrival.`offset`)"


def _text(arrival: Arrival) -> str:
    return "/".join(map(str, arrival))


def _struct(arrival: Arrival) -> str:
    batch, topic, partition, offset = arrival
    parts = f"'landing_batch', {batch}L, 'topic', {quoted(topic)}, 'partition', {partition}, 'offset', {offset}L"
    return f"named_struct({parts})"


class RowFailed(HeadraceError):
    """One row makes a model fail: names the clause and the row."""

    def __init__(self, poison: Poison, key: str | None) -> None:
        batch, topic, partition, offset = poison.arrivals[0]
        clause = f" in `{poison.clause}`" if poison.clause else ""
        row = f"topic {topic}, partition {partition}, offset {offset}, key {key} (landing batch {batch})"
        advice = "mend the model, or set such rows aside with `on_error: dead_letter`"
        super().__init__(f"{poison.place}: {poison.table}: {poison.error}{clause}, at {row}; {advice}")
