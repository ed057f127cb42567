"""What a text must not do whatever its project says: write, run programs, read files, hide what it reads."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import Finding, Place
from headrace.project.sql import lexing
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard import kinds, options, patterns, readings, routines, sizes
from headrace.project.sql.guard.builtins import KEYWORDS, NEVER, TABLE_FUNCTIONS
from headrace.project.sql.guard.forms import written
from headrace.project.sql.tables import is_stored, named_tables, stream_token

_JUDGED = sizes.NAMES | options.NAMES | (patterns.NAMES - KEYWORDS)
_OWN_NODES = frozenset({"ceil", "floor"})
"""Functions that are a node of their own in any tree."""


FILE_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "jdbc", "json", "orc", "parquet", "text", "xml"})


def query_refusals(statement: Statement) -> Iterator[Finding]:
    """Find everything in a statement that is more than a query over the project's tables."""
    tree, start = statement.tree, statement.place(statement.tokens[0].start)
    if not isinstance(tree, (exp.Select, exp.SetOperation)) or tree.args.get("into"):
        yield Finding(start, "not-allowed", "a model is one query, `select ...` or `with ... select ...`, nothing else")
    elif any(statement.find_all(exp.QueryTransform)):
        yield Finding(start, "not-allowed", "a model may not run a script (`transform ... using`)")
    yield from text_refusals(statement)
    for table in named_tables(statement):
        yield from _table_refusals(table, statement)


def text_refusals(statement: Statement) -> Iterator[Finding]:
    """Find what neither a query nor an expression nor a macro may hold."""
    text = statement.text
    for stray in lexing.strays(text):
        yield Finding(statement.place(stray.offset), "not-allowed", _meaningless(stray.text))
    if (at := readings.difference(statement)) is not None:
        message = "Spark reads this comment or text differently; write it plainly, with nothing unusual at its end"
        yield Finding(statement.place(at), "not-allowed", message)
    for offset in scripts(text):
        yield Finding(statement.place(offset), "not-allowed", "a model may not run a script (`using` a text)")
    for routine in routines.forbidden(text):
        yield Finding(statement.place(routine.offset), "not-allowed", f"`{routine.name}`: {NEVER[routine.name]}")
    for offset, message in (*kinds.unknown(statement), *_arguments(statement)):
        yield Finding(statement.place(offset), "not-allowed", message)


def _arguments(statement: Statement) -> Iterator[tuple[int, str]]:
    """Find what functions must not be called with; only for that a text is parsed once more."""
    judged = {r.offset: r.name for r in lexing.routines(statement.text) if r.name in _JUDGED}
    if judged or sizes.may_multiply(statement.text):
        tree = written(statement.text, statement.path)
        yield from (*sizes.faults(tree), *options.faults(tree))
        seen = {call.meta.get("start") for call in tree.find_all(exp.Anonymous)}
        unseen = {at for at, name in judged.items() if at not in seen and name not in _OWN_NODES}
        yield from ((at, f"`{judged[at]}` is not allowed here, where its arguments are not checked") for at in unseen)


def scripts(text: str) -> Iterator[int]:
    """Where a text names a script for rows to go through: `using` before a text, as no join has it."""
    is_using = False
    for kind, start, end in lexing.pieces(text):
        if kind in ("space", "comment"):
            continue
        if is_using and (kind == "text" or text[start] == '"'):
            yield start
        is_using = kind == "name" and text[start:end].upper() == "USING"


def _meaningless(piece: str) -> str:
    if piece in ("'", '"', "`"):
        return f"this quote {piece} is never closed, as Spark reads the text"
    if piece.startswith("/*"):
        return "this comment is never closed"
    return f"`{piece}` means nothing in Spark's SQL here; take it out"


def _table_refusals(table: exp.Table, statement: Statement) -> Iterator[Finding]:
    if isinstance(table.this, exp.Func):
        name = (table.this.name if isinstance(table.this, exp.Anonymous) else table.this.sql_name()).lower()
        if name not in TABLE_FUNCTIONS and name not in NEVER:
            message = f"`{name}` is not allowed in FROM; read a table of the project"
            yield Finding(_function_place(table, statement), "not-allowed", message)
        return
    place = statement.place(table.parts[0].meta["start"])
    if not isinstance(table.this, exp.Identifier):
        yield Finding(place, "not-allowed", "a table has no more than one name before its own, as in `silver.orders`")
    elif table.db.lower() in FILE_FORMATS:
        yield Finding(place, "not-allowed", "a model reads no files; let the data land in bronze")
    elif not is_stored(table, statement) and stream_token(table, statement) is not None:
        yield Finding(place, "not-allowed", f"`{table.name}` is a CTE, and `stream` marks stored tables; drop the word")


def _function_place(table: exp.Table, statement: Statement) -> Place:
    return statement.place(table.this.meta.get("start", statement.tokens[0].start))
