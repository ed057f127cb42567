"""Which rejected rows of a landing have landed again, according to the commits that landed them.

Such a commit lists its rows, and names the previous commit that did so; each later commit of the landing names the
newest of them. So rows and list are one commit, and the list is found without reading the whole log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.store.commits import actions_of, marker_of
from headrace.store.delta_tables import is_table, open_table
from headrace.store.history import History
from headrace.store.paths import StorePath

LANDED_AGAIN = "landed_again"
"""In the marker of a commit: the rejected rows that it landed again."""

LAST = "last_replay"
"""In the marker of a commit: the version of the newest commit before it that landed rows again."""

REDELIVERED = "redelivered"
"""In the marker of a commit of failed rows: those that are to be delivered to their model again."""

Rejected = tuple[int, str, int, int, str]
"""Landing batch, topic, partition and offset of a rejected row, and why it was rejected."""

LeftOut = tuple[int, str, str, tuple[int, str, int, int]]
"""The batch that was run without a row, the model or view, the reason, and the row's arrival."""


def replayed(table: StorePath) -> Iterator[Rejected]:
    """The rejected rows of a landing table that have landed again."""
    if not is_table(table):
        return
    version, past = newest(table), History(table)
    while version >= 0:
        marker = _marker(table, version, past)
        yield from (tuple(row) for row in marker.get(LANDED_AGAIN, ()))
        version = int(marker.get(LAST, -1))


def redelivered(table: StorePath) -> Iterator[LeftOut]:
    """The rows that were asked for again, according to a query's table of failed rows."""
    if not is_table(table):
        return
    past = History(table)
    for version in range(open_table(table).version() + 1):
        yield from asked_for(_marker(table, version, past))


def asked_for(marker: Mapping[str, Any]) -> Iterator[LeftOut]:
    """The rows that one commit asks for again."""
    for each in marker.get(REDELIVERED, ()):
        poison = each["poison"]
        yield from ((each["left_out"], poison["table"], poison["reason"], tuple(row)) for row in poison["arrivals"])


def newest(table: StorePath) -> int:
    """The newest version that landed rows again; -1 if none did."""
    past = History(table)
    for version in range(open_table(table).version(), -1, -1):
        if marker := _marker(table, version, past):
            return last_of(version, marker)
    return -1


def last_of(version: int, marker: Mapping[str, Any]) -> int:
    """The newest commit that landed rows again, up to one with this marker; -1 if there is none."""
    return version if LANDED_AGAIN in marker else int(marker.get(LAST, -1))


def _marker(table: StorePath, version: int, past: History) -> Mapping[str, Any]:
    try:
        return marker_of(actions_of(table, version))
    except FileNotFoundError:  # its entry has left the log
        commit = past.find(version)
        return commit.marker if commit else {}
