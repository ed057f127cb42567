"""What a model must not do: write, run programs, read files, hide what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from headrace.errors import Finding, Place
from headrace.project.sql import lexing
from headrace.project.sql.calls import Call
from headrace.project.sql.dialect import Statement
from headrace.project.sql.tables import is_stored, named_tables, stream_token

FORBIDDEN_CALLS = {
    "identifier": "it hides what the model reads until run time; write the name itself",
    "reflect": "a model may not call Java",
    "java_method": "a model may not call Java",
    "try_reflect": "a model may not call Java",
}
TABLE_FUNCTIONS = frozenset(
    {"range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"}
)
"""Functions that may stand in FROM: they make rows of their arguments alone."""

FILE_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "jdbc", "json", "orc", "parquet", "text", "xml"})


def query_refusals(statement: Statement, calls: Iterable[Call]) -> Iterator[Finding]:
    """Find everything in a statement that is more than a query over the project's tables."""
    tree, start = statement.tree, statement.place(statement.tokens[0].start)
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("into"):
        yield Finding(start, "not-allowed", "a model is one query, `select ...` or `with ... select ...`, nothing else")
    elif tree.find(exp.QueryTransform):
        yield Finding(start, "not-allowed", "a model may not run a script (`transform ... using`)")
    yield from call_refusals(statement, calls)
    for table in named_tables(tree):
        yield from _table_refusals(table, statement)


def call_refusals(statement: Statement, calls: Iterable[Call]) -> Iterator[Finding]:
    """Find calls of functions that leave SQL: as Spark's lexer finds them, and as the tree has them."""
    lexed = {statement.place(offset): name for name, offset in lexing.called(statement.text)}
    named = {place: name for place, name in lexed.items() if name in FORBIDDEN_CALLS}
    for place, name in (named or {call.place: call.name for call in calls}).items():
        if name in FORBIDDEN_CALLS:
            yield Finding(place, "not-allowed", f"`{name}`: {FORBIDDEN_CALLS[name]}")


def _table_refusals(table: exp.Table, statement: Statement) -> Iterator[Finding]:
    if isinstance(table.this, exp.Func):
        name = (table.this.name if isinstance(table.this, exp.Anonymous) else table.this.sql_name()).lower()
        if name not in TABLE_FUNCTIONS and name not in FORBIDDEN_CALLS:
            message = f"`{name}` may not stand in from; read a table of the project"
            yield Finding(_function_place(table, statement), "not-allowed", message)
        return
    place = statement.place(table.parts[0].meta["start"])
    if table.db.lower() in FILE_FORMATS:
        yield Finding(place, "not-allowed", "a model reads no files; let the data land in bronze")
    elif not is_stored(table, statement) and stream_token(table, statement) is not None:
        yield Finding(place, "not-allowed", f"`{table.name}` is a CTE, and `stream` marks stored tables; drop the word")


def _function_place(table: exp.Table, statement: Statement) -> Place:
    return statement.place(table.this.meta.get("start", statement.tokens[0].start))
