"""SQL over stored tables and bronze relations, without Spark: one SELECT, nothing is written."""

from __future__ import annotations

from itertools import chain, islice

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headrace.layout import Layout
from headrace.project.model import Project
from headrace.reading.rows import BadQuery, Dialect, Rows, query
from headrace.reading.stored import Relation, relation, unknown

_FIRST_WORDS = {TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN}


def sql(project: Project, layout: Layout, text: str) -> Rows:
    """Run one SELECT; its tables are named with their schema, as in a model."""
    tree = _parse(text)
    relations = [relation(project, layout, name) for name in _table_names(project, tree)]
    tables = {alias: table for found in relations for alias, table in found.tables.items()}
    missing = tuple(f"no rows yet in {found.name}" for found in relations if not found.written)
    try:
        rows = query(text.strip().rstrip(";"), tables, {found.name: found.sql for found in relations})
    except BadQuery as error:
        if not _unknown_columns_only(error, relations):
            raise
        return Rows((), iter(()), missing)
    first = list(islice(rows.rows, 1))
    return Rows(rows.columns, chain(first, rows.rows), missing, rows.columns)


def _parse(text: str) -> exp.Query:
    try:
        tokens = sqlglot.tokenize(text, dialect=Dialect)
        if not tokens or tokens[0].token_type not in _FIRST_WORDS:
            raise BadQuery("only a SELECT can be run here")
        trees = sqlglot.parse(text, dialect=Dialect)
    except ParseError as error:
        at = error.errors[0]
        raise BadQuery(f"not valid SQL at {at['line']}:{at['col']}, near {at['highlight']}") from None
    except SqlglotError as error:
        raise BadQuery(str(error)) from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise BadQuery("only a single SELECT can be run here")
    if trees[0].find(exp.Stream):
        raise BadQuery("`stream` belongs in model files: here a table is read as it stands, without that word")
    return trees[0]


def _table_names(project: Project, tree: exp.Query) -> list[str]:
    """The dotted names that a query reads; a bare name must be one of its own WITH clauses."""
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    found = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    dotted = [".".join(part.name for part in table.parts) for table in found]
    for name in dotted:
        if "." not in name and name not in own:
            raise unknown(project, name)
    return sorted({name for name in dotted if "." in name})


def _unknown_columns_only(error: BadQuery, relations: list[Relation]) -> bool:
    """Whether a column is unknown where a model that has not run yet is read: then the answer is no rows."""
    unwritten = any(not found.written and not found.name.startswith("bronze.") for found in relations)
    return unwritten and "No field named" in str(error)
