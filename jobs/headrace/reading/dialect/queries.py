"""Queries: SELECT, joins, groups, set operations and their order, with every column named in full for DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from sqlglot import exp

from headrace.reading.dialect.casts import cast
from headrace.reading.dialect.complaints import COMMAND, NotKnown
from headrace.reading.dialect.expressions import Expressions, ordered, plain
from headrace.reading.dialect.functions import truth
from headrace.reading.dialect.scopes import Column, Scope, Source, source
from headrace.reading.dialect.types import Type, common, duck, holds_time, holds_unknown, quoted
from headrace.reading.dialect.values import Value
from headrace.reading.rows import BadQuery

Columns = tuple[tuple[str, Type], ...]

_JOINS = {"": "JOIN", "INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL JOIN"}
_SETS: Mapping[type[Any], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


@dataclass(frozen=True)
class Table:
    """A relation that a query can name: how DuckDB knows it, and its columns."""

    name: str
    columns: Columns


@dataclass(frozen=True)
class Query:
    """SQL whose columns are c1, c2, ... and what Spark calls them."""

    sql: str
    columns: Columns


def translate(text: str, tree: exp.Query, tables: Mapping[str, Table]) -> Query:
    """A query over tables by their dotted names."""
    return _Queries(text, {name.lower(): table for name, table in tables.items()}).query(tree, Scope(), {})


def shown(query: Query) -> str:
    """The query as it is returned: with column names, and with times in UTC."""
    names = [name for name, _ in query.columns]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise BadQuery(f"more than one column is called {', '.join(doubles)}: name them apart with `as`")
    selected = ", ".join(zoned(name, kind, f"c{at}") for at, (name, kind) in enumerate(query.columns, 1))
    return f"SELECT {selected} FROM ({query.sql})"


def zoned(name: str, kind: Type, sql: str | None = None) -> str:
    """A column as it is returned: its times have a zone, UTC."""
    sql = sql or quoted(name)
    if holds_time(kind) and not holds_unknown(kind):
        sql = f"CAST({sql} AS {duck(kind, zoned=True)})"
    return f"{sql} AS {quoted(name)}"


def condition(text: str, tree: exp.Expr, alias: str, table: Table, way_out: str = COMMAND) -> str:
    """A condition over one table, whose rows have an alias."""
    queries = _Queries(text, {}, way_out=way_out)
    columns = tuple((name, name, kind) for name, kind in table.columns)
    names = (table.name, table.name.split(".")[-1])
    scope = Scope((source(alias, names, columns),))
    try:
        return truth(queries.expressions.value(tree, scope)).sql
    except NotKnown as error:
        raise queries.expressions.left(tree, str(error)) from None


def stored(name: str, table: Table) -> str:
    """The rows of a table with their times in UTC and without a zone."""
    if not any(holds_time(kind) for _, kind in table.columns):
        return f"SELECT * FROM {quoted(name)}"
    selected = ", ".join(_unzoned(column, kind) for column, kind in table.columns)
    return f"SELECT {selected} FROM {quoted(name)}"


def _unzoned(name: str, kind: Type) -> str:
    if not holds_time(kind) or holds_unknown(kind):
        return quoted(name)
    return f"CAST({quoted(name)} AS {duck(kind)}) AS {quoted(name)}"


@dataclass(frozen=True)
class _Queries:
    text: str
    tables: Mapping[str, Table]
    numbers: Any = field(default_factory=lambda: count(1))
    way_out: str = COMMAND

    @property
    def expressions(self) -> Expressions:
        return Expressions(self.text, self._none, self.way_out)

    def _none(self, node: object, scope: Scope) -> tuple[str, Columns]:
        raise NotKnown("a query in a condition")

    def within(self, ctes: Mapping[str, Table]) -> Expressions:
        def subquery(node: Any, scope: Scope) -> tuple[str, Columns]:
            found = self.query(node, scope, ctes)
            return found.sql, found.columns

        return Expressions(self.text, subquery, self.way_out)

    def query(self, node: Any, outer: Scope, ctes: Mapping[str, Table]) -> Query:
        """A query inside another, whose columns it may name."""
        to = self.within(ctes)
        try:
            if isinstance(node, exp.Subquery):
                to.checked(node, "this", "alias")
                return self.query(node.this, outer, ctes)
            begin, ctes = self._ctes(node, outer, ctes)
            if isinstance(node, exp.Select):
                found = _Select(self, self.within(ctes), ctes).of(node, outer)
            elif type(node) in _SETS:
                found = self._set(node, outer, ctes)
            else:
                raise NotKnown(to.named(node))
        except NotKnown as error:
            raise to.left(node, str(error)) from None
        return replace(found, sql=f"{begin}{found.sql}")

    def _ctes(self, node: Any, outer: Scope, ctes: Mapping[str, Table]) -> tuple[str, Mapping[str, Table]]:
        clause = node.args.get("with_")
        if clause is None:
            return "", ctes
        self.within(ctes).checked(clause, "expressions")
        parts: list[str] = []
        for cte in clause.expressions:
            self.within(ctes).checked(cte, "this", "alias")
            found = self.query(cte.this, outer, ctes)
            columns = self._renamed(found.columns, cte.args["alias"])
            name = f"q{next(self.numbers)}"
            parts.append(f"{name} AS MATERIALIZED ({found.sql})")  # its inputs can only be read once
            ctes = {**ctes, cte.alias.lower(): Table(name, columns)}
        return f"WITH {', '.join(parts)} ", ctes

    def _renamed(self, columns: Columns, alias: Any) -> Columns:
        names = [column.name for column in alias.columns] if alias is not None else []
        if not names:
            return columns
        if len(names) != len(columns):
            raise BadQuery(f"{alias.name} has {len(columns)} columns, and {len(names)} names")
        return tuple((name, kind) for name, (_, kind) in zip(names, columns, strict=True))

    def _set(self, node: Any, outer: Scope, ctes: Mapping[str, Table]) -> Query:
        to = self.within(ctes)
        to.checked(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        left, right = self.query(node.this, outer, ctes), self.query(node.expression, outer, ctes)
        if len(left.columns) != len(right.columns):
            raise BadQuery(f"a union of {len(left.columns)} and {len(right.columns)} columns")
        pairs = zip(left.columns, right.columns, strict=True)
        kinds = [common((one, other)) for (_, one), (_, other) in pairs]
        word = _SETS[type(node)]
        all_rows = not node.args.get("distinct")
        if not (all_rows and word == "UNION") and not all(kind.is_plain for kind in kinds):
            raise NotKnown(f"{word.lower()} of nested values")
        sides = [_brought(side, kinds) for side in (left, right)]
        sql = f"{sides[0]} {word}{' ALL' if all_rows else ''} {sides[1]}"
        columns = tuple((name, kind) for (name, _), kind in zip(left.columns, kinds, strict=True))
        keys = _order(to, node, Scope(), columns, {})
        return Query(f"SELECT * FROM ({sql}){keys}{_limits(to, node)}", columns)


def _brought(side: Query, kinds: Sequence[Type]) -> str:
    selected = ", ".join(
        f"{cast(Value(f'c{at}', kind), wanted).sql} AS c{at}"
        for at, ((_, kind), wanted) in enumerate(zip(side.columns, kinds, strict=True), 1)
    )
    return f"(SELECT {selected} FROM ({side.sql}))"


def _order(to: Expressions, node: Any, scope: Scope, columns: Columns, outputs: Mapping[str, Value]) -> str:
    clause = node.args.get("order")
    if clause is None:
        return ""
    to.checked(clause, "expressions")
    keys = [_key(to, each, scope, columns, outputs) for each in clause.expressions]
    return f" ORDER BY {', '.join(keys)}"


def _key(to: Expressions, node: Any, scope: Scope, columns: Columns, outputs: Mapping[str, Value]) -> str:
    at = _place(node.this, columns)
    if at is not None:
        plain(Value("", columns[at][1]))
        return ordered(to, node, scope, f"c{at + 1}")
    if isinstance(node.this, exp.Literal | exp.Null) or node.parent.parent.args.get("distinct"):
        raise NotKnown(f"order by {to.named(node.this)} here")
    return ordered(to, node, replace(scope, aliases=outputs, aliases_first=True))


def _place(wanted: Any, columns: Columns) -> int | None:
    """The index of the column that is meant by number or by name, if any."""
    names = [name.lower() for name, _ in columns]
    if isinstance(wanted, exp.Literal) and not wanted.is_string and wanted.name.isdigit():
        if not 1 <= int(wanted.name) <= len(columns):
            raise BadQuery(f"order by {wanted.name}: there are {len(columns)} columns")
        return int(wanted.name) - 1
    if isinstance(wanted, exp.Column) and not wanted.table and names.count(wanted.name.lower()) == 1:
        return names.index(wanted.name.lower())
    return None


def _limits(to: Expressions, node: Any) -> str:
    sql = ""
    for name in ("limit", "offset"):
        clause = node.args.get(name)
        if clause is None:
            continue
        to.checked(clause, "expression", "this" if name == "offset" else "expression")
        number = clause.expression
        if not isinstance(number, exp.Literal) or not number.name.isdigit():
            raise NotKnown(f"{name} of an expression")
        sql += f" {name.upper()} {number.name}"
    return sql


_CLAUSES = (
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
)


@dataclass(frozen=True)
class _Select:
    queries: _Queries
    to: Expressions
    ctes: Mapping[str, Table]

    def of(self, node: exp.Select, outer: Scope) -> Query:
        to = self.to
        more = [name for name, argument in node.args.items() if argument and name not in _CLAUSES]
        if more:
            raise NotKnown(f"a query with {', '.join(more).replace('_', ' ')}")
        tables, scope = self._from(node, outer)
        where = self._condition(node.args.get("where"), scope)
        outputs = self._outputs(node, scope)
        named = _named(outputs)
        groups = self._groups(node.args.get("group"), scope, outputs)
        having = self._having(node, scope, named)
        columns = tuple((name, value.type) for name, value in outputs)
        distinct = node.args.get("distinct")
        if distinct is not None:
            to.checked(distinct)
            if not all(kind.is_plain for _, kind in columns):
                raise NotKnown("select distinct of nested values")
        keys = _order(to, node, replace(scope, aggregates=True), columns, named)
        selected = ", ".join(f"{value.sql} AS c{at}" for at, (_, value) in enumerate(outputs, 1))
        word = "SELECT DISTINCT" if distinct is not None else "SELECT"
        return Query(f"{word} {selected}{tables}{where}{groups}{having}{keys}{_limits(to, node)}", columns)

    def _condition(self, clause: Any, scope: Scope) -> str:
        return "" if clause is None else f" WHERE {truth(self.to.value(clause.this, scope)).sql}"

    def _having(self, node: exp.Select, scope: Scope, named: Mapping[str, Value]) -> str:
        clause = node.args.get("having")
        if clause is None:
            return ""
        own = {column.name.lower() for found in scope.sources for column in found.columns}
        used = {column.name.lower() for column in clause.find_all(exp.Column) if not column.table}
        if both := sorted(used & own & named.keys()):
            raise NotKnown(f"having with {both[0]}, which is a column and a name,")
        scope = replace(scope, aliases=named, aggregates=True)
        return f" HAVING {truth(self.to.value(clause.this, scope)).sql}"

    def _outputs(self, node: exp.Select, scope: Scope) -> list[tuple[str, Value]]:
        outputs: list[tuple[str, Value]] = []
        for each in node.expressions:
            if (star := _star(each)) is not None:
                outputs += [(column.name, column.value) for column in self._starred(star, each, scope)]
                continue
            inner = each.this if isinstance(each, exp.Alias) else each
            if isinstance(each, exp.Alias):
                self.to.checked(each, "this", "alias")
            seen = replace(scope, aliases=_named(outputs), aggregates=True)
            outputs.append((_name(each), self.to.value(inner, seen)))
        if not outputs:
            raise NotKnown("a query without columns")
        return outputs

    def _starred(self, star: exp.Star, each: Any, scope: Scope) -> list[Column]:
        self.to.checked(star, "except_")
        qualifier = ".".join(part.name for part in each.parts[:-1]) if isinstance(each, exp.Column) else None
        out = {part.name.lower() for part in star.args.get("except_") or ()}
        if qualifier is not None and scope.is_value(qualifier):
            raise NotKnown(f"{qualifier}.*")
        found = scope.columns(qualifier)
        if unknown := out - {column.name.lower() for column in found}:
            raise BadQuery(f"no column {sorted(unknown)[0]} to leave out")
        return [column for column in found if column.name.lower() not in out]

    def _groups(self, clause: Any, scope: Scope, outputs: Sequence[tuple[str, Value]]) -> str:
        if clause is None:
            return ""
        self.to.checked(clause, "expressions")
        keys = [plain(self._group(each, scope, outputs)).sql for each in clause.expressions]
        return f" GROUP BY {', '.join(keys)}"

    def _group(self, node: Any, scope: Scope, outputs: Sequence[tuple[str, Value]]) -> Value:
        if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
            if not 1 <= int(node.name) <= len(outputs):
                raise BadQuery(f"group by {node.name}: there are {len(outputs)} columns")
            return outputs[int(node.name) - 1][1]
        return self.to.value(node, replace(scope, aliases=_named(outputs)))

    def _from(self, node: exp.Select, outer: Scope) -> tuple[str, Scope]:
        clause = node.args.get("from_")
        parent = outer if outer.sources or outer.outer else None
        if clause is None:
            return "", Scope(outer=parent)
        sql, first = self._source(clause.this)
        scope = Scope((first,), outer=parent)
        joins = [*(clause.this.args.get("joins") or ()), *(node.args.get("joins") or ())]
        for join in joins:
            more, scope = self._join(join, scope)
            sql += more
        return f" FROM {sql}", scope

    def _join(self, join: exp.Join, scope: Scope) -> tuple[str, Scope]:
        self.to.checked(join, "this", "on", "using", "side", "kind")
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        sql, right = self._source(join.this)
        both = replace(scope, sources=(*scope.sources, right))
        on, using = join.args.get("on"), join.args.get("using") or ()
        if kind in ("SEMI", "ANTI"):
            if using or on is None or side == "RIGHT":
                raise NotKnown("this join")
            return f" {kind} JOIN {sql} ON {truth(self.to.value(on, both)).sql}", scope
        if kind == "CROSS" or (on is None and not using and not side):
            if on is not None or using:
                raise NotKnown("a cross join with a condition")
            return f" CROSS JOIN {sql}", both
        if kind not in ("", "INNER", "OUTER") or side not in _JOINS or (on is None and not using):
            raise NotKnown("this join")
        if not using:
            return f" {_JOINS[side]} {sql} ON {truth(self.to.value(on, both)).sql}", both
        return self._using(f" {_JOINS[side]} {sql} ON ", side, scope, right, [part.name for part in using])

    def _using(self, sql: str, side: str, left: Scope, right: Source, names: list[str]) -> tuple[str, Scope]:
        merged, conditions = dict(left.merged), []
        for name in names:
            one, other = left.resolve((name,)), Scope((right,)).resolve((name,))
            if one.type != other.type or not one.type.is_plain:
                raise NotKnown(f"using ({name}) of {one.type} and {other.type}")
            conditions.append(f"{one.sql} = {other.sql}")
            value = {"RIGHT": other.sql, "FULL": f"coalesce({one.sql}, {other.sql})"}.get(side, one.sql)
            merged[name.lower()] = Column(name, Value(value, one.type))
        return sql + f"({' AND '.join(conditions)})", replace(left, sources=(*left.sources, right), merged=merged)

    def _source(self, node: Any) -> tuple[str, Source]:
        if isinstance(node, exp.Subquery):
            self.to.checked(node, "this", "alias", "joins")
            found = self.queries.query(node.this, Scope(), self.ctes)
            columns = self.queries._renamed(found.columns, node.args.get("alias"))
            return self._aliased(f"({found.sql})", (node.alias,) if node.alias else (), columns, None)
        if not isinstance(node, exp.Table):
            raise NotKnown(self.to.named(node))
        self.to.checked(node, "this", "db", "alias", "joins")
        if not isinstance(node.this, exp.Identifier):
            raise NotKnown(self.to.named(node.this))
        dotted = ".".join(part.name for part in node.parts)
        cte = self.ctes.get(dotted.lower())
        table = cte or self.queries.tables.get(dotted.lower())
        if table is None:
            raise BadQuery(f"no table {dotted} here")
        names = (node.alias,) if node.alias else (dotted, node.name)
        columns = self.queries._renamed(table.columns, node.args.get("alias"))
        real = None if cte else tuple(name for name, _ in table.columns)
        return self._aliased(quoted(table.name), names, columns, real)

    def _aliased(
        self, sql: str, names: tuple[str, ...], columns: Columns, real: tuple[str, ...] | None
    ) -> tuple[str, Source]:
        alias = f"t{next(self.queries.numbers)}"
        inner = real or tuple(f"c{at}" for at in range(1, len(columns) + 1))
        triples = tuple((name, own, kind) for (name, kind), own in zip(columns, inner, strict=True))
        return f"{sql} AS {alias}", source(alias, names, triples)


def _named(outputs: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    return {name.lower(): value for name, value in outputs}


def _star(node: Any) -> exp.Star | None:
    inner = node.this if isinstance(node, exp.Column) else node
    return inner if isinstance(inner, exp.Star) else None


def _name(node: Any) -> str:
    """The name of a column: that of `as`, of the column itself, else its text."""
    if isinstance(node, exp.Alias | exp.Column | exp.Dot):
        return str(node.alias_or_name or node.name)
    return str(node.sql(dialect="databricks", normalize_functions=False))
