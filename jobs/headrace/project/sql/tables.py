"""The tables that a statement reads, and where its text names them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import TokenType, exp

from headrace.project.model import Input
from headrace.project.sql.dialect import Statement
from headrace.project.sql.scopes import table_name


def inputs(statement: Statement) -> tuple[Input, ...]:
    """Return every reference to a stored table, in the order of the text; CTEs are none."""
    stored = [table for table in named_tables(statement) if is_stored(table, statement)]
    return tuple(sorted((input_of(table, statement) for table in stored), key=lambda input_: input_.start))


def named_tables(statement: Statement) -> Iterator[exp.Table]:
    """Yield what FROM and JOIN name; neither what the parser generates for a pipe nor names in hints."""
    for table in statement.find_all(exp.Table):
        is_typed = isinstance(table.this, exp.Func) or "start" in table.parts[0].meta
        if is_typed and table.find_ancestor(exp.Hint) is None:
            yield table


def is_stored(table: exp.Table, statement: Statement) -> bool:
    """Return whether a table is neither a CTE nor a function."""
    return isinstance(table.this, exp.Identifier) and (bool(table.db) or table.name.lower() not in statement.ctes)


def stream_token(table: exp.Table, statement: Statement) -> int | None:
    """Return the index of the token `stream` before a table, also of `stream(table)`."""
    start = table.parts[0].meta["start"]
    before = [i for i, token in enumerate(statement.tokens) if token.start < start][-2:]
    for i in reversed(before):
        if statement.tokens[i].token_type == TokenType.STREAM:
            return i
        if statement.tokens[i].token_type != TokenType.L_PAREN:
            return None
    return None


def input_of(table: exp.Table, statement: Statement) -> Input:
    """Return the reference that a stored table is, and where it stands."""
    start, end = table.parts[0].meta["start"], table.parts[-1].meta["end"] + 1
    tokens, stream = statement.tokens, stream_token(table, statement)
    if stream is not None:
        start = tokens[stream].start
        if tokens[stream + 1].token_type == TokenType.L_PAREN:
            closing = (token for token in tokens if token.start >= end and token.token_type == TokenType.R_PAREN)
            end = next(closing).end + 1
    return Input(
        table=table_name(table),
        stream=stream is not None,
        start=start,
        end=end,
        place=statement.place(start),
        has_alias=table.args.get("alias") is not None,
    )
