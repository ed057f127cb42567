"""The SQL of a model as a tree that can be edited and written again, with its streams and watermarks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from headrace.project.sql import dialect

_HEADER = re.compile(r"\s*/\*.*?\*/\n?", re.DOTALL)
_STREAM = re.compile(
    r"\bstream\s+(?P<table>[\w.]+)(?P<clause>\s+watermark\s+\w+\s+delay\s+of\s+interval\s+:?\w+\s+\w+)?", re.IGNORECASE
)
_MARK = "__streamed_"
_BRACKETED = re.compile(r"(?<=INTERVAL )\((:\w+)\)")
"""sqlglot puts parameters of an interval in brackets, which Spark does not read."""
_MARKED = re.compile(rf"[\w.]+{_MARK}(\d+)")


@dataclass(frozen=True)
class Text:
    """A model's header and query; `streams` are what stands in the query for each marked table."""

    header: str
    tree: exp.Expr
    streams: tuple[str, ...]

    def sql(self, tree: exp.Expr) -> str:
        """The whole text with another query."""
        body = _BRACKETED.sub(r"\1", tree.sql(dialect="databricks", pretty=True))
        return f"{self.header}{_MARKED.sub(lambda found: self.streams[int(found[1])], body)}\n"


def read(text: str) -> Text:
    """Take a model's text apart; sqlglot knows no streams, so these become tables of marked names."""
    found = _HEADER.match(text)
    header = found[0] if found else ""
    body, streams = text[len(header) :], [*_STREAM.finditer(text[len(header) :])]
    for number, stream in reversed([*enumerate(streams)]):
        body = f"{body[: stream.start()]}{stream['table']}{_MARK}{number}{body[stream.end() :]}"
    return Text(header, dialect.parse(body, "", as_written=True).tree, tuple(stream[0] for stream in streams))


def is_stream(table: exp.Table) -> bool:
    """Whether a table is streamed."""
    return _MARK in table.name
