"""Errors for SQL that the translation leaves to Spark."""

from __future__ import annotations

from headrace.reading.rows import BadQuery


class NotKnown(Exception):
    """Something for which DuckDB is not known to return what Spark returns; its position is added later."""


class LeftToSpark(BadQuery):
    """SQL that may well be right, but is not known to mean the same without Spark."""

    def __init__(self, place: str, what: str, way_out: str) -> None:
        self.place, self.what = place, what
        super().__init__(f"{place}: not-known-to-agree: {what} is not known to give here what Spark gives: {way_out}")

    def with_way_out(self, way_out: str) -> LeftToSpark:
        """The same error with another way out."""
        return LeftToSpark(self.place, self.what, way_out)


class UnknownColumn(BadQuery):
    """A name that is no column of what the query reads."""


COMMAND = "run it with `headrace sql --spark`"
SHOWN = "run it with `headrace show --spark`"
OVER_HTTP = "leave it out, or use `headrace show --spark` or `headrace sql --spark` on the command line"
AT_RUN_TIME = "not-known-to-agree: "
"""Prefix of the engine's messages where a value, not the SQL, is not known to agree."""
