"""Where the columns of one query come from: through CTEs and subqueries, down to columns of the tables it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.sql.dialect import Statement
from headrace.project.sql.scopes import LAYERS, Lookup, Scopes, levels, table_name


@dataclass(frozen=True)
class Stored:
    """A column of a table, at one place where the query names the table; `fields` are the parts taken of it."""

    table: str
    column: str
    fields: tuple[str, ...]
    node: exp.Table


@dataclass(frozen=True)
class Made:
    """An expression that makes a column; `fields` are the parts taken of its value."""

    expression: exp.Expr
    fields: tuple[str, ...] = ()


Source = Stored | Made


class Tracing:
    """Traces the columns of one statement; where something is not certain, the result is empty."""

    def __init__(self, statement: Statement, lookup: Lookup) -> None:
        self._statement = statement
        self._names = Scopes(lookup)
        self._sources: dict[int, tuple[exp.Column, tuple[Source, ...]]] = {}

    @property
    def scopes(self) -> list[Scope]:
        """The scopes of the query, the outermost last."""
        return self._statement.scopes

    def output(self, name: str) -> tuple[Source, ...]:
        """Return what makes a column of the result."""
        return tuple(self._definitions(name, self.scopes[-1])) if self.scopes else ()

    def sources(self, column: exp.Column) -> tuple[Source, ...]:
        """Return what a column stands for where it is written."""
        if id(column) not in self._sources:
            self._sources[id(column)] = column, self._sources_of(column)  # the column stays, and so does its id
        return self._sources[id(column)][1]

    def _sources_of(self, column: exp.Column) -> tuple[Source, ...]:
        scope, parts = self.scope_of(column), [part.name for part in column.parts]
        if scope is None or isinstance(column.this, exp.Star):
            return ()
        if len(parts) > 2 and parts[0].lower() in LAYERS:
            parts = parts[1:]
        for level in levels(scope):
            if found := tuple(self._in_level(parts, column, level)):
                return found
        return ()

    def ends(self, expression: exp.Expr) -> Iterator[Source]:
        """Follow a plain column to what makes it; any other expression is its own end."""
        expression = expression.unalias()
        if not isinstance(expression, exp.Column):
            yield Made(expression)
            return
        for source in self.sources(expression):
            yield from self.ends(source.expression) if isinstance(source, Made) else (source,)

    def stored(self, expression: exp.Expr, fields: tuple[str, ...] = ()) -> Iterator[Stored]:
        """Yield every stored column whose value goes into an expression, through all that lies between."""
        for column in values(expression):
            taken = fields if column is expression else ()
            for source in self.sources(column):
                if isinstance(source, Made):
                    yield from self.stored(source.expression, (*source.fields, *taken))
                else:
                    yield replace(source, fields=(*source.fields, *taken))

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """Return the innermost scope that a node stands in."""
        above: exp.Expr | None = node
        while above is not None:
            if (scope := self._by_node.get(id(above))) is not None:
                return scope
            above = above.parent
        return None

    def owner(self, column: exp.Column, scope: Scope) -> str | None:
        """Return the alias of the relation that a column of a scope belongs to."""
        found = [alias for alias, _, _ in self._candidates([part.name for part in column.parts], scope)]
        return found[0] if found else None

    @cached_property
    def _by_node(self) -> dict[int, Scope]:
        return {id(scope.expression): scope for scope in self.scopes}

    def _in_level(self, parts: list[str], column: exp.Column, scope: Scope) -> Iterator[Source]:
        found = False
        for alias, name, fields in self._candidates(parts, scope):
            found = True
            yield from self._in_relation(alias, name, fields, scope)
        if found:
            return
        for projection in _projections(scope):
            is_own = any(each is column for each in projection.find_all(exp.Column))
            if isinstance(projection, exp.Alias) and projection.alias.lower() == parts[0].lower() and not is_own:
                yield Made(projection.this)
                return
        if parts[0].lower() in ("window", "session_window"):
            calls = (call for call in scope.expression.find_all(exp.Anonymous) if call.name.lower() == parts[0].lower())
            yield from (Made(call) for call in list(calls)[:1])

    def _candidates(self, parts: list[str], scope: Scope) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return the relations that a column may belong to, each with the column's name in it and its fields."""
        relations = self._names.relations(scope)
        first, rest = parts[0].lower(), parts[1:]
        if rest and first in relations:
            return [(first, rest[0], tuple(rest[1:]))]
        having = [
            alias
            for alias, relation in relations.items()
            if relation.columns is not None and first in map(str.lower, relation.columns)
        ]
        unsure = [alias for alias, relation in relations.items() if relation.columns is None]
        owners = having or (unsure if len(unsure) == 1 else [])
        return [(alias, parts[0], tuple(rest)) for alias in owners]

    def _in_relation(self, alias: str, name: str, fields: tuple[str, ...], scope: Scope) -> Iterator[Source]:
        for other, _ in scope.references:
            source = scope.sources.get(other)
            if other.lower() != alias:
                continue
            if isinstance(source, Scope):
                yield from (replace(each, fields=(*each.fields, *fields)) for each in self._definitions(name, source))
            elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
                yield Stored(table_name(source), name, fields, source)

    def _definitions(self, name: str, scope: Scope) -> Iterator[Source]:
        """Yield what makes a column of a CTE, a subquery or the whole query."""
        if scope.set_operation_scopes:
            yield from self._in_branches(name, scope)
        elif isinstance(scope.expression, exp.Select):
            outer = [column.lower() for column in scope.outer_columns]
            selects = scope.expression.selects
            if name.lower() in outer and len(outer) == len(selects):
                yield Made(selects[outer.index(name.lower())].unalias())
                return
            named = [each for each in selects if each.alias_or_name.lower() == name.lower()]
            if named:
                yield Made(named[0].unalias())
            else:
                yield from self._starred(name, scope)

    def _in_branches(self, name: str, scope: Scope) -> Iterator[Source]:
        names = [column.lower() for column in self._names.outputs(scope) or ()]
        if name.lower() not in names:
            return
        position = names.index(name.lower())
        for branch in scope.set_operation_scopes:
            columns = self._names.outputs(branch)
            selects = _projections(branch)
            if columns is not None and position < len(columns):
                yield from self._definitions(columns[position], branch)
            elif position < len(selects) and not any(each.is_star for each in selects[: position + 1]):
                yield Made(selects[position].unalias())

    def _starred(self, name: str, scope: Scope) -> Iterator[Source]:
        for projection in _projections(scope):
            if projection.is_star:
                qualifier = projection.text("table").lower()
                for alias, column, _ in self._candidates([name], scope):
                    if not qualifier or alias == qualifier:
                        yield from self._in_relation(alias, column, (), scope)


def values(expression: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns whose values go into an expression, not those that only pick or order its rows."""
    for column in expression.find_all(exp.Column):
        window = column.find_ancestor(exp.Window)
        if window is None or any(each is column for each in window.this.find_all(exp.Column)):
            yield column


def _projections(scope: Scope) -> list[exp.Expr]:
    return scope.expression.selects if isinstance(scope.expression, exp.Select) else []
