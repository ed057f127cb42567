"""Which columns a query returns, and which it names that cannot exist; silent where that is not certain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, ScopeType

from headrace.project.sql.dialect import Statement
from headrace.project.sql.selects import find_all

Columns = tuple[str, ...] | None

LAYERS = frozenset({"bronze", "silver", "gold"})
_IMPLICIT = ("window", "session_window")
_OF_FILES = "_metadata"
"""A column that Spark adds where it reads files itself; which files a table has changes with each compaction."""

_FUNCTIONS = ("current_timestamp", "current_date", "current_time", "localtimestamp")
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
FREE_NAMES = frozenset((*_IMPLICIT, *_FUNCTIONS, *_UNITS))
"""Names Spark may resolve without a column: implicit columns, functions without brackets, units of time."""


@dataclass(frozen=True)
class Relation:
    """What a table offers: its columns, the fields of its `data` column, and whether it has bookkeeping columns."""

    columns: Columns
    data_fields: tuple[str, ...] = ()
    bookkeeping: bool = False


@dataclass(frozen=True)
class UnknownColumn:
    """A name that is no column where it stands; `known` are those it could have meant."""

    name: str
    offset: int
    known: tuple[str, ...]


Lookup = Callable[[str], Relation]


def output_columns(statement: Statement) -> Columns:
    """Return the names of a query's columns, or None where one of them is not certain."""
    scopes = statement.scopes
    return Scopes(lambda table: Relation(None)).outputs(scopes[-1]) if scopes else None


def unknown_columns(statement: Statement, lookup: Lookup) -> Iterator[UnknownColumn]:
    """Find the columns that neither the tables, as `lookup` knows them, nor the CTEs of a query have."""
    resolver = Scopes(lookup)
    seen: set[int] = set()
    for scope in statement.scopes:
        if isinstance(scope.expression, exp.Select):
            for column in find_all(scope, exp.Column):
                unknown = resolver.unknown(column, scope)
                if unknown is not None and unknown.offset not in seen:
                    seen.add(unknown.offset)
                    yield unknown


class Scopes:
    """Facts about the scopes of one query, each computed once."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._outputs: dict[int, Columns] = {}
        self._related: dict[int, dict[str, Relation]] = {}

    def outputs(self, scope: Scope) -> Columns:
        """Return the names of a scope's columns, or None where one is not certain."""
        if id(scope) not in self._outputs:
            self._outputs[id(scope)] = None
            self._outputs[id(scope)] = tuple(scope.outer_columns) or self._projected(scope)
        return self._outputs[id(scope)]

    def unknown(self, column: exp.Column, scope: Scope) -> UnknownColumn | None:
        """Return a column that certainly does not exist where it stands."""
        first, *rest = (part for part in column.parts if isinstance(part, exp.Identifier))
        is_full_name = len(rest) > 1 and first.name.lower() in LAYERS
        if is_full_name or isinstance(column.this, exp.Star) or "start" not in first.meta:
            return None
        visible = [relations for level in levels(scope) for relations in self.relations(level).items()]
        for alias, relation in visible:
            if rest and alias == first.name.lower():
                return _miss(rest, [relation], ())
        if first.name.lower() in FREE_NAMES:
            return None
        aliases = tuple(name for level in levels(scope) for name in _aliases(level))
        return _miss([first, *rest], [relation for _, relation in visible], aliases)

    def _projected(self, scope: Scope) -> Columns:
        if scope.set_operation_scopes:
            return self.outputs(scope.set_operation_scopes[0])
        if not isinstance(scope.expression, exp.Select):
            return None
        names: list[str] = []
        for projection in scope.expression.selects:
            projected = self._names(projection, scope)
            if projected is None:
                return None
            names.extend(projected)
        return tuple(names)

    def _names(self, projection: exp.Expr, scope: Scope) -> Columns:
        if projection.is_star:
            return self._starred(projection, scope)
        if isinstance(projection, exp.Aliases):
            return tuple(name.name for name in projection.expressions)
        if isinstance(projection, (exp.Alias, exp.Column, exp.Dot)):
            return (projection.alias_or_name,)
        return None

    def _starred(self, projection: exp.Expr, scope: Scope) -> Columns:
        star = projection.this if isinstance(projection, exp.Column) else projection
        relations = self.relations(scope)
        if isinstance(projection, exp.Column):
            relations = {alias: relations[alias] for alias in relations if alias == projection.table.lower()}
        if len(relations) != 1 or star.args.get("replace") or star.args.get("rename"):
            return None
        without = {column.name.lower() for column in star.args.get("except_") or ()}
        columns = next(iter(relations.values())).columns
        return None if columns is None else tuple(name for name in columns if name.lower() not in without)

    def relations(self, scope: Scope) -> dict[str, Relation]:
        """Return what a scope reads, by alias."""
        if id(scope) not in self._related:
            self._related[id(scope)] = self._read(scope)
        return self._related[id(scope)]

    def _read(self, scope: Scope) -> dict[str, Relation]:
        found = {}
        for alias, node in scope.references:
            source = scope.sources.get(alias)
            found[alias.lower()] = self._relation(node, source)
        return found

    def _relation(self, node: exp.Expr, source: exp.Expr | Scope | None) -> Relation:
        if node.args.get("pivots"):
            return Relation(None)
        if columns := _alias_columns(node):
            return Relation(columns)
        if isinstance(source, Scope):
            return Relation(self.outputs(source))
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            return self._lookup(table_name(source))
        return Relation(None)


def table_name(table: exp.Table) -> str:
    """Return the dotted name of a table in lower case."""
    return ".".join(part.name for part in table.parts).lower()


def levels(scope: Scope) -> Iterator[Scope]:
    """Yield a scope and those around it whose columns it may use."""
    level: Scope | None = scope
    while level is not None:
        if isinstance(level.expression, exp.Select):
            yield level
        level = None if level.scope_type == ScopeType.CTE else level.parent


def _aliases(scope: Scope) -> Iterator[str]:
    """Yield the aliases of a select's columns; most of its clauses may use them."""
    for projection in scope.expression.expressions:
        if isinstance(projection, exp.Aliases):
            yield from (name.name for name in projection.expressions)
        elif isinstance(projection, exp.Alias):
            yield projection.alias


def _alias_columns(node: exp.Expr) -> Columns:
    alias = node.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return tuple(column.name for column in columns) if columns else None


def _miss(parts: list[exp.Identifier], relations: list[Relation], aliases: tuple[str, ...]) -> UnknownColumn | None:
    """Return the first part that is certainly missing: the column, or the field of `data` after it."""
    column, *fields = parts
    known = [*aliases]
    for relation in relations:
        is_kept = relation.bookkeeping and column.name.startswith("_") and column.name.lower() != _OF_FILES
        if relation.columns is None or is_kept:
            return None
        known.extend(relation.columns)
    if column.name.lower() not in map(str.lower, known):
        return UnknownColumn(column.name, column.meta["start"], tuple(dict.fromkeys(known)))
    owners = [relation for relation in relations if relation.columns and "data" in relation.columns]
    members = owners[0].data_fields if len(owners) == 1 and column.name.lower() == "data" else ()
    if fields and members and fields[0].name.lower() not in map(str.lower, members):
        return UnknownColumn(f"data.{fields[0].name}", fields[0].meta["start"], tuple(f"data.{m}" for m in members))
    return None
