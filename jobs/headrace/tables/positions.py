"""Positions: how far a reader has gone, compared with what it reads.

Behind is normal. A reader that is ahead of what exists is refused: it and what it reads are of different moments, as
when one of both was restored from an older copy. What comes next would take versions that count as read.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.store.commits import newest_version
from headrace.store.delta_tables import id_of, is_table
from headrace.store.paths import StorePath


@dataclass(frozen=True)
class Extent:
    """What exists of a table: its newest version, -1 where there is none, and its id."""

    newest: int = -1
    id: str | None = None

    @classmethod
    def of(cls, table: StorePath) -> Extent:
        """What exists of a table at a path."""
        return cls(newest_version(table), id_of(table)) if is_table(table) else cls()


@dataclass(frozen=True)
class Position:
    """The newest version of a table that something has taken in or made.

    `id` is that of the table as it was recorded; None in an old record, which is taken as it is.
    """

    table: str
    upto: int
    id: str | None = None

    @property
    def shown(self) -> str:
        """The table, as a user knows it."""
        return self.table.replace("_landing.", "landing ")

    def is_of(self, extent: Extent) -> bool:
        """Whether its version is one of this table: those of one that was made again begin at 0."""
        return None in (self.id, extent.id) or self.id == extent.id

    def is_ahead(self, extent: Extent) -> bool:
        """Whether its version does not exist in the table that it is about."""
        return self.is_of(extent) and self.upto > extent.newest


def ahead_of_source(query: str, position: Position, extent: Extent) -> str | None:
    """What is wrong if a query has read more of a table than there is."""
    if not position.is_ahead(extent):
        return None
    if extent.newest < 0:
        return f"{query} has read {position.shown}, which is gone: it was reset, or it is lost. {_way_out(query)}"
    return (
        f"{query} has read {position.shown} up to version {position.upto}, but its newest version is {extent.newest}: "
        f"{position.shown} is older than what was made of it. {_way_out(query)}"
    )


def ahead_of_output(query: str, position: Position, extent: Extent) -> str | None:
    """What is wrong if a query's progress says that its table has commits which are not there."""
    if not position.is_of(extent):
        return f"{position.table} is not the table that {query} has written, so rows are missing. {_way_out(query)}"
    if position.upto <= extent.newest:
        return None
    return (
        f"{query} has written {position.table} up to version {position.upto}, but its newest version is "
        f"{extent.newest}: the table is older than the query's progress, so rows are missing. {_way_out(query)}"
    )


def checkpoint_is_older(query: str, table: str, written: int, begun: int) -> str | None:
    """What is wrong if a table holds a batch that its query's checkpoint has not begun."""
    if written <= begun:
        return None
    return (
        f"{table} holds batch {written} of {query}, but its checkpoint ends at batch {begun}: the checkpoint is older "
        f"than the table, and rows would be written twice. {_way_out(query)}"
    )


def beyond_topic(query: str, topic: str, partition: int, read: int, end: int) -> str:
    """What is wrong if a partition ends before the offset up to which it was read."""
    return (
        f"topic {topic} ends at offset {end} in partition {partition}, but was read up to offset {read}: Kafka lost "
        "records that landed (a broker restored from an older copy, an unclean leader election), and new ones would "
        f"count as read. Restore the topic, or {_land_again(query)}"
    )


def topic_made_again(query: str, topic: str) -> str:
    """What is wrong if a topic is not the one of which offsets were read."""
    return (
        f"topic {topic} was deleted and made again since it was last read, so its offsets are those of other records; "
        f"{_land_again(query)}"
    )


def _land_again(query: str) -> str:
    return (
        f"run `headrace reset {query} --from earliest --yes`: what has landed is removed, what Kafka holds now lands "
        "again, and the queries that read it must be reset too"
    )


def _way_out(query: str) -> str:
    return (
        "Restore both from one backup with `headrace restore`, or "
        f"run `headrace reset {query} --yes` to compute it again from what is there"
    )
