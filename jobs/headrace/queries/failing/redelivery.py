"""Rows that a model was run without, delivered to it again as new arrivals, in a batch of their own.

A command asks for it by a commit to the query's table of failed rows; the query's next run does it, and records with
each batch how far it has come. So each row is delivered once, wherever either of them dies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.project.literals import quoted
from headrace.queries.failing.poison import Poison
from headrace.reading.replays import REDELIVERED
from headrace.tables.delta import CommitTable

Requested = tuple[int, int]
"""Which request: the version of the commit that holds it, and its number there, from 1; (-1, 0) before all."""

Landed = tuple[int, str]
"""A landing batch, and the moment of it."""

NONE_YET: Requested = (-1, 0)


@dataclass(frozen=True)
class Redelivery:
    """Rows for one model or view: those that it or a view in its text was run without in the batch `left_out`.

    Its streams hold them in `batch`, with versions `ranges` of the sources, whose own ids are `ids`. `landed` says per
    topic the landing batch and the landing time that they get.
    """

    table: str
    poison: Poison
    left_out: int
    batch: int
    ranges: Mapping[str, tuple[int, int]]
    ids: Mapping[str, str]
    landed: Mapping[str, Landed]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Redelivery:
        ranges = {name: (int(a), int(b)) for name, (a, b) in data["ranges"].items()}
        landed = {topic: (int(batch), str(at)) for topic, (batch, at) in data["landed"].items()}
        poison, numbers = Poison.from_json(data["poison"]), (int(data["left_out"]), int(data["batch"]))
        return cls(str(data["table"]), poison, *numbers, ranges, dict(data["ids"]), landed)

    def as_new(self, rows: DataFrame, is_bronze: bool) -> DataFrame:
        """Rows as if they had just arrived: after all that has, before all that will."""
        if "_arrival" not in rows.columns:
            return rows.limit(0)  # a stream that the model reads since: none of them is in it
        number = self._by_topic("_arrival.landing_batch", [f"{batch}L" for batch, _ in self.landed.values()])
        new = {"_arrival": F.col("_arrival").withField("landing_batch", number)}
        if is_bronze:
            moment = self._by_topic("landed_at", [f"timestamp {quoted(at)}" for _, at in self.landed.values()])
            new |= {"landing_batch": number, "landed_at": moment}
            new = {name: value for name, value in new.items() if name in rows.columns}
        return rows.withColumns(new)

    def _by_topic(self, otherwise: str, values: Iterable[str]) -> Column:
        pairs = zip(self.landed, values, strict=True)
        cases = " ".join(f"when {quoted(topic)} then {value}" for topic, value in pairs)
        return F.expr(f"case _arrival.topic {cases} else {otherwise} end" if cases else otherwise)


def requests(table: CommitTable, after: Requested) -> Iterator[tuple[Requested, Redelivery]]:
    """What was asked for after a request, in order."""
    for commit in table.commits(max(after[0] - 1, -1)):
        for number, data in enumerate(commit.marker.get(REDELIVERED, ()), 1):
            if (commit.version, number) > after:
                yield (commit.version, number), Redelivery.from_json(data)
