"""SQL over stored tables and bronze relations, without Spark: one SELECT, nothing is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice

from sqlglot import exp

from headrace.project.model import Project
from headrace.reading.dialect import parsing, queries
from headrace.reading.dialect.complaints import UnknownColumn
from headrace.reading.dialect.engine import Engine, Stream
from headrace.reading.dialect.queries import Table
from headrace.reading.rows import Rows, stream
from headrace.reading.stored import Relation, relation, unknown
from headrace.store.layout import Layout

_ROWS = (exp.From, exp.Join, exp.CTE, exp.Subquery, exp.SetOperation)
"""What contains a query whose rows are read once; a CTE is materialized."""


def sql(project: Project, layout: Layout, text: str) -> Rows:
    """Run one SELECT with Spark's semantics; its tables are named with their schema, as in a model."""
    tree = parsing.query(text)
    relations = [relation(project, layout, name) for name in _table_names(project, tree)]
    missing = tuple(f"no rows yet in {found.name}" for found in relations if not found.written)
    try:
        rows = _run(text, tree, relations)
    except UnknownColumn:
        if not any(not found.written and not found.name.startswith("bronze.") for found in relations):
            _run(text, tree, relations, whole=True)  # fails too, and names all columns
            raise
        return Rows((), iter(()), missing)  # a column of a model that has not run yet
    first = list(islice(rows.rows, 1))
    return replace(rows, rows=chain(first, rows.rows), notes=missing, brief=rows.columns)


def _run(text: str, tree: exp.Query, relations: list[Relation], whole: bool = False) -> Rows:
    streams = {f"s{at}": _stream(found, tree, whole) for at, found in enumerate(relations)}
    engine = Engine(streams, {f"s{at}" for at, found in enumerate(relations) if not _read_once(found, tree)})
    tables = {found.name: Table(f"v{at}", engine.columns(f"s{at}")) for at, found in enumerate(relations)}
    asked = queries.shown(queries.translate(text, tree, tables))
    views = [f"v{at} AS ({queries.stored(f's{at}', tables[found.name])})" for at, found in enumerate(relations)]
    return engine.run(f"WITH {', '.join(views)} {asked}" if views else asked)


def _stream(found: Relation, tree: exp.Query, whole: bool) -> Stream:
    """The rows of a relation, only with the columns that a query may name, or whole."""
    names = stream(f"select * from {found.name}", found.tables, {found.name: found.sql}).schema.names
    named = {part.name.lower() for part in tree.find_all(exp.Identifier)}
    read = names if whole or _takes_all(tree) else [name for name in names if name.lower() in named] or names[:1]
    columns = ", ".join(f"`{name}`" for name in read)
    return lambda: stream(f"select {columns} from {found.name}", found.tables, {found.name: found.sql})


def _read_once(found: Relation, tree: exp.Query) -> bool:
    """Whether a query certainly reads a relation only once: named once, and not in a scalar subquery."""
    uses = [table for table in tree.find_all(exp.Table) if table.name.lower() == found.name.split(".")[-1].lower()]
    return len(uses) == 1 and not _for_a_value(uses[0])


def _for_a_value(node: exp.Expr) -> bool:
    while node.parent is not None:
        if isinstance(node, exp.Query) and not isinstance(node.parent, _ROWS):
            return True
        node = node.parent
    return False


def _takes_all(tree: exp.Query) -> bool:
    return any(not isinstance(star.parent, exp.Anonymous) for star in tree.find_all(exp.Star))


def _table_names(project: Project, tree: exp.Query) -> list[str]:
    """The dotted names that a query reads; a bare name must be one of its own WITH clauses."""
    own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    found = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    dotted = [".".join(part.name for part in table.parts) for table in found]
    for name in dotted:
        if "." not in name and name.lower() not in own:
            raise unknown(project, name)
    return sorted({name for name in dotted if "." in name})
