"""Rows that come with the project: what has landed of each topic's file, and what is due since the file was edited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from headrace.project import seed_changes
from headrace.project.model import SEED_PARTITION, Seed, Topic
from headrace.spark.session import SMALL_BATCH_ROWS, tune
from headrace.tables.delta import CommitTable

Lines = Mapping[str, Sequence[Seed]]
"""Lines that are to land, by topic."""


class SeedFiles:
    """The files of a landing's topics, compared with what has landed of them.

    `landed` are the digests of the files by the topic's name, as a commit records them; an old one has no digest.
    """

    def __init__(self, table: CommitTable, topics: Sequence[Topic]) -> None:
        self._table = table
        self._topics = [topic for topic in topics if topic.seeds]
        self.landed: Mapping[str, str | None] = {}

    def recover(self, marker: Mapping[str, Any]) -> None:
        """Take up what the newest commit says; a list of names says no more than that they have landed."""
        seeded = marker.get("seeded", {})
        self.landed = {**seeded} if isinstance(seeded, Mapping) else dict.fromkeys(seeded)

    def take(self) -> Lines:
        """The lines that differ from what has landed of them; from now on they count as landed."""
        due = [topic for topic in self._topics if self.landed.get(topic.name) != seed_changes.digest(topic.seeds)]
        changes = {topic.topic: seed_changes.of(topic, self._landed_of(topic)).seeds for topic in due}
        self.landed = {**self.landed, **{topic.name: seed_changes.digest(topic.seeds) for topic in due}}
        return {topic: lines for topic, lines in changes.items() if lines}

    def _landed_of(self, topic: Topic) -> seed_changes.Landed:
        """What landed last of each key of a topic's file."""
        if topic.name not in self.landed:
            return {}
        session = self._table.spark
        tune(session, SMALL_BATCH_ROWS + 1)
        rows = self._table.snapshot(session).where(F.col("partition") == SEED_PARTITION)
        in_order = rows.where(F.col("topic") == topic.topic).orderBy("landing_batch", "offset")
        batches: dict[str, dict[int, list[str | None]]] = {}
        for row in in_order.select("key", "value", "landing_batch").collect():
            batches.setdefault(row.key, {}).setdefault(row.landing_batch, []).append(row.value)
        return {key: found[max(found)] for key, found in batches.items()}


def records(lines: Lines, now: datetime) -> list[tuple[Any, ...]]:
    """Lines as records."""
    return [
        (seed.key.encode(), seed.value and seed.value.encode(), topic, SEED_PARTITION, seed.line, now, None, [])
        for topic, seeds in lines.items()
        for seed in seeds
    ]
