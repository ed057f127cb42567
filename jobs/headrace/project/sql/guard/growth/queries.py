"""How often the columns of a query hold a column of stored tables: by an alias, a CTE or a subquery they may double."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from headrace.project.sql.guard.growth.parts import COLUMN, Parts, Scope, columns_of, copies, peak

_CLAUSES = ("where", "group", "having", "qualify", "order", "sort", "cluster", "distribute")
_Columns = Mapping[str, int]
"""How often a column holds one of those of stored tables, by its name."""


_Growths = list[tuple[exp.Expr, int]]
_NOTE = "growths"


def growths(tree: exp.Expr) -> _Growths:
    """The selects of a query, inner ones first, or what a macro returns, and how often it holds one of its columns.

    It is noted on the tree, as several rules ask for it.
    """
    if tree.meta.get(_NOTE) is None:
        tree.meta[_NOTE] = _Noted(_found(tree))
    noted: _Noted = tree.meta[_NOTE]
    return noted.growths


class _Noted:
    """A note that a copy of the tree has not: it is about nodes of this one."""

    def __init__(self, found: _Growths) -> None:
        self.growths = found

    def __deepcopy__(self, memo: object) -> None:
        return None


def _found(tree: exp.Expr) -> _Growths:
    if isinstance(tree, exp.Create):
        return [(each, copies(each.this)) for each in tree.find_all(exp.Return)]
    queries = _Queries()
    queries.columns(tree, {}, {})
    return queries.found


class _Queries:
    """The selects of a query, each with how often it holds one of the columns of stored tables."""

    def __init__(self) -> None:
        self.found: list[tuple[exp.Expr, int]] = []

    def columns(self, query: exp.Expr, ctes: Mapping[str, _Columns], outer: Mapping[str, Parts]) -> _Columns:
        """What comes out of a query; `outer` are the columns that stand around it."""
        with_ = query.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            ctes = {**ctes, cte.alias.lower(): _named(self.columns(cte.this, ctes, outer), cte)}
        match query:
            case exp.Select():
                return self._of_select(query, ctes, outer)
            case exp.SetOperation():
                return _united(self.columns(query.left, ctes, outer), self.columns(query.right, ctes, outer))
            case exp.Subquery() | exp.Table() if isinstance(query.this, exp.Query):
                return _named(self.columns(query.this, ctes, outer), query)
            case exp.Table():
                return _named(ctes.get(query.name.lower(), {}) if not query.db else {}, query)
        return {}

    def _of_select(self, select: exp.Select, ctes: Mapping[str, _Columns], outer: Mapping[str, Parts]) -> _Columns:
        names = {column.name.lower() for column in select.find_all(exp.Column)}
        scope = Scope({**columns_of(names), **outer})
        read = dict[str, int]()
        joins = [select.args.get("from_"), *(select.args.get("joins") or ()), *(select.args.get("laterals") or ())]
        for join in filter(None, joins):
            read |= self._of_source(join, ctes, scope)
            scope.known |= {COLUMN + name: Counter({(name,): count}) for name, count in read.items()}
        made = dict[str, int]()
        for value in select.expressions:
            if value.is_star:
                made |= read
            parts = scope.parts(value.unalias())
            made[value.alias_or_name.lower()] = peak(parts)
            scope.known |= {COLUMN + value.alias.lower(): parts} if value.alias else {}
        for clause in filter(None, map(select.args.get, _CLAUSES)):
            scope.parts(clause)
        self.found.append((select, max(scope.peaks)))
        return made

    def _of_source(self, part: exp.Expr, ctes: Mapping[str, _Columns], scope: Scope) -> _Columns:
        source = part.this if isinstance(part, (exp.From, exp.Join)) else part
        if part.args.get("on"):
            scope.parts(part.args["on"])
        if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Query):
            return _named(self.columns(source.this, ctes, scope.known), source)
        if isinstance(source, exp.Lateral):
            count = peak(scope.parts(source.this))
            return {name: count for name in _names(source)}
        return self.columns(source, ctes, {})


def _names(node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    return [each.name.lower() for each in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []


def _named(columns: _Columns, node: exp.Expr) -> _Columns:
    """The columns under the names that an alias lists; each counts as all where it is not known which is which."""
    if not (names := _names(node)):
        return columns
    counts = [*columns.values()] if len(columns) == len(names) else [max(columns.values(), default=1)] * len(names)
    return dict(zip(names, counts, strict=True))


def _united(one: _Columns, other: _Columns) -> _Columns:
    if len(one) != len(other):
        return dict.fromkeys((*one, *other), max((*one.values(), *other.values()), default=1))
    return {name: max(count, more) for (name, count), more in zip(one.items(), other.values(), strict=True)}
