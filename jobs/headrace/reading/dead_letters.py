"""What was refused, in groups: records that cannot be used, by topic and reason, and rows that failed, by model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headrace.errors import UsageError, did_you_mean
from headrace.project.model import Landing, Project, Topic
from headrace.reading.replays import redelivered, replayed
from headrace.reading.rows import query
from headrace.reading.stored import FAILED_ROWS, Relation, relation
from headrace.store.layout import Layout

EXAMPLES = 3
_LOOKED_AT = 100
"""How many of the newest rows of a group are searched for examples that have not landed again."""

_COUNTED = "count(*) over (partition by topic, reject_reason) as number"
_NEWEST = "row_number() over (partition by topic, reject_reason order by landing_batch desc, `offset` desc) as place"


@dataclass(frozen=True)
class Chosen:
    """Which refused records and rows are selected: all, or those of a reason or a source."""

    reason: str | None = None
    source: str | None = None

    def has(self, topic: Topic) -> bool:
        """Whether a topic is selected."""
        return self.source in (None, topic.name, topic.topic)

    def holds(self, reason: str) -> bool:
        """Whether a reason is selected."""
        return self.reason in (None, reason)


@dataclass(frozen=True)
class Refused:
    """One group: how many were refused, how many of them were replayed, and the newest of the others."""

    source: str
    reason: str
    rows: int
    replayed: int
    examples: tuple[dict[str, Any], ...]


def refused(project: Project, layout: Layout, chosen: Chosen) -> Iterator[Refused]:
    """The selected groups, those of records first; UsageError for a source that does not exist."""
    refuse_unknown(project, chosen)
    for landing in project.landings:
        yield from _of_landing(project, layout, landing, chosen)
    yield from _failed(project, layout, chosen)


def refuse_unknown(project: Project, chosen: Chosen) -> None:
    """UsageError for a source that does not exist."""
    topics = [topic for landing in project.landings for topic in landing.topics]
    known = [*(topic.name for topic in topics), *(model.table for model in project.models)]
    if chosen.source is not None and chosen.source not in (*known, *(topic.topic for topic in topics)):
        raise UsageError(f"no source {chosen.source}.{did_you_mean(chosen.source, known)}")


def _of_landing(project: Project, layout: Layout, landing: Landing, chosen: Chosen) -> Iterator[Refused]:
    again = [*replayed(layout.landing(landing.name))]
    gone, numbers = {row[:4] for row in again}, Counter((row[1], row[4]) for row in again)
    for topic in filter(chosen.has, landing.topics):
        for reason, rows in _grouped(_newest(relation(project, layout, f"bronze.{topic.name}"))):
            if chosen.holds(reason):
                left = (row for row in rows if _identity(row) not in gone)
                examples = tuple(_example(row) for row in islice(left, EXAMPLES))
                yield Refused(topic.name, reason, rows[0]["number"], numbers[topic.topic, reason], examples)


def _newest(found: Relation) -> list[dict[str, Any]]:
    columns = "landing_batch, topic, `partition`, `offset`, key, value, reject_reason"
    ranked = f"select {columns}, {_COUNTED}, {_NEWEST} from {found.name} where reject_reason is not null"
    sql = f"select * from ({ranked}) where place <= {_LOOKED_AT} order by reject_reason, place"
    return list(query(sql, found.tables, {found.name: found.sql}).rows)


def _grouped(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["reject_reason"], []).append(row)
    yield from groups.items()


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("landing_batch", "topic", "partition", "offset"))


def _example(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("partition", "offset", "key", "value")}


def _failed(project: Project, layout: Layout, chosen: Chosen) -> Iterator[Refused]:
    """Rows that were kept out of their model's table; those that made it fail can be replayed."""
    found = relation(project, layout, FAILED_ROWS)
    again = [row for query in project.queries for row in redelivered(layout.failed(query.name))]
    gone = {(batch, model, *arrival[1:]) for batch, model, _, arrival in again}
    numbers = Counter((model, reason) for _, model, reason, _ in again)
    ranked = f"select *, count(*) over (partition by model, test) as number, {_FAILED_PLACE} from {found.name}"
    sql = f"select * from ({ranked}) where place <= {_LOOKED_AT} order by model, test, place"
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in query(sql, found.tables, {found.name: found.sql}).rows:
        groups.setdefault((row["model"], row["test"]), []).append(row)
    for (model, test), rows in groups.items():
        if chosen.source in (None, model) and chosen.holds(test):
            left = ({"row": row["row"]} for row in rows if _failed_identity(row) not in gone)
            yield Refused(model, test, rows[0]["number"], numbers[model, test], tuple(islice(left, EXAMPLES)))


def _failed_identity(row: dict[str, Any]) -> tuple[Any, ...]:
    fields = json.loads(row["row"])
    return (row["batch"], row["model"], fields.get("topic"), fields.get("partition"), fields.get("offset"))


_FAILED_PLACE = "row_number() over (partition by model, test order by batch desc) as place"
