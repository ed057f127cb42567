"""Retention: how long ago the rows of an append table arrived, and which of them are old enough to leave it.

Rows have no time that all tables share, so marks are kept next to the table's history: at a time, the number of the
newest batch. Every row of that batch and of those before had arrived by then. So a row never leaves before its time;
it may stay longer by the distance of two marks, and as long as its file holds a row that is younger. Where a clock is
set while a runner is up, the marks are set with it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from typing import Any

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

MARKS = 50
"""How many marks there are within the time for which rows are kept."""

SHORTEST = 60.0
"""The least number of seconds between two marks."""


@dataclass(frozen=True)
class Mark:
    """A time, in seconds since 1970, and the newest batch that was there."""

    at: float = 0.0
    batch: int = -1


@dataclass(frozen=True)
class Ages:
    """Marks, oldest first; all rows that had arrived by the mark `gone` were removed."""

    marks: tuple[Mark, ...] = ()
    gone: Mark = Mark()

    def is_due(self, now: float, keep: float) -> bool:
        """Whether the newest mark is old enough for another; also after a clock was put back, only then."""
        return not self.marks or now - self.marks[-1].at >= max(keep / MARKS, SHORTEST)

    def marked(self, mark: Mark) -> Ages:
        """With one more mark."""
        return replace(self, marks=(*self.marks, mark))

    def after_jump(self, seconds: float) -> Ages:
        """After a clock was set by so many seconds: rows are as old as they were."""
        return replace(self, marks=tuple(replace(mark, at=mark.at + seconds) for mark in self.marks))

    def leaving(self, before: float, most: int) -> Mark | None:
        """The mark up to which all can leave: of a time before another one, and of no later batch than `most`."""
        old = [mark for mark in self.marks if mark.at <= before and self.gone.batch < mark.batch <= most]
        return old[-1] if old else None

    def without(self, mark: Mark) -> Ages:
        """After all up to a mark has left."""
        return Ages(tuple(each for each in self.marks if each.at > mark.at), mark)

    def period(self, batch: int) -> int:
        """Which rows are of about the same age: the number of the period between two marks."""
        return bisect_left([mark.batch for mark in self.marks], batch)


def read(table: StorePath) -> Ages:
    """What is known of a table."""
    try:
        return json_files.read(_file(table), _ages)
    except FileNotFoundError:
        return Ages()


def write(table: StorePath, ages: Ages) -> None:
    """Save what is known of a table; a reader sees all of it or none."""
    durable.write(_file(table), json.dumps(asdict(ages)))


def kept_since(table: StorePath) -> datetime | None:
    """The time after which all rows that arrived are in the table; None if none were removed."""
    gone = read(table).gone
    return datetime.fromtimestamp(gone.at, timezone.utc) if gone.batch >= 0 else None


def _ages(stored: Mapping[str, Any]) -> Ages:
    return Ages(tuple(map(_mark, stored["marks"])), _mark(stored["gone"]))


def _mark(fields: Mapping[str, Any]) -> Mark:
    return Mark(float(fields["at"]), int(fields["batch"]))


def _file(table: StorePath) -> StorePath:
    return table / "_history" / "ages.json"
