"""What names mean in a select, and expressions with every name, parameter and macro replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from headrace.errors import HeadraceError, Place
from headrace.planning.declared import Declared
from headrace.planning.forms import durations, members, rewrites, terms, truths, variables
from headrace.planning.forms.durations import TypeOf
from headrace.planning.forms.functions import AGGREGATES
from headrace.planning.forms.steps import Step
from headrace.planning.forms.terms import Atom, short
from headrace.project.model import Input
from headrace.project.sql import dialect, precedence
from headrace.project.sql.dialect import Statement
from headrace.project.sql.selects import conjuncts

Columns = Mapping[str, exp.Expr]
"""Columns by lower-case name, as expressions over the columns of steps."""

_WITHOUT_BRACKETS = ("current_timestamp", "current_date", "localtimestamp", "current_user")
_WITHOUT_ZONE = re.compile(r"without\s+time\s+zone", re.IGNORECASE)
_NAMING = (exp.Struct, exp.ArraysZip)
"""Functions that name the fields of their result after columns."""
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")


class NotUnderstood(HeadraceError):
    """A query that has no canonical form here; comparisons of it must assume the worst."""

    def __init__(self, what: str, place: Place | None = None) -> None:
        self.place = place
        super().__init__(f"{what} is more than a plan can judge")


@dataclass(frozen=True)
class Rows:
    """The rows of a step, and what each of their columns is."""

    step: Step
    columns: Columns


@dataclass(frozen=True)
class File:
    """A statement being lowered; `moves` is false in a view that is read without `stream`."""

    statement: Statement
    inputs: tuple[Input, ...] = ()
    moves: bool = True


@dataclass(frozen=True)
class Scope:
    """CTEs, the tables of FROM with their columns, those of them that USING names, and those that the select names.

    A name that both have is the column of the table; in QUALIFY, outside its functions over many rows, that depends.
    """

    file: File
    ctes: Mapping[str, tuple[exp.Expr, Scope]] = field(default_factory=dict)
    sources: tuple[tuple[str, Columns], ...] = ()
    used: tuple[str, ...] = ()
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)
    outer: Scope | None = None
    is_of_qualify: bool = False

    def unsupported(self, node: exp.Expr, what: str) -> NotUnderstood:
        """The error for a part of a text."""
        return NotUnderstood(what, first_place(node, self.file.statement))


class Resolver:
    """Replaces names by what they stand for.

    `query` returns the rows of a query inside an expression, `type_of` the type of what is resolved, if it is certain.
    With `keeps_state`, one that may be null for Spark is not the same as one that never is: the schema of state tells.
    """

    def __init__(
        self,
        declared: Declared,
        query: Callable[[exp.Expr, Scope], Rows],
        type_of: TypeOf,
        keeps_state: bool = False,
    ) -> None:
        self._declared = declared
        self._query = query
        self._type = type_of
        self._keeps_state = keeps_state

    def resolve(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """The expression over columns of steps; the argument is not changed."""
        if "resolved" in node.meta or "atom" in node.meta:
            return copied(node)
        if isinstance(node, (exp.Star, exp.Column)) and node.is_star and not _is_counted(node):
            raise scope.unsupported(node, "`*` as an argument")
        if not precedence.is_certain(node):
            raise scope.unsupported(node, "an operator in another one without brackets")
        if isinstance(node, exp.Column):
            return self._column(node, scope)
        if isinstance(node, exp.Placeholder):
            place = first_place(node.parent or node, scope.file.statement)
            return rewrites.in_one_form(variables.bound(node, self._declared.vars[node.name], place), self._type)
        if isinstance(node, exp.Query):
            return self._inner_query(node, scope)
        if isinstance(node, exp.Func) and self._is_macro(node):
            return self._macro(node, scope)
        if isinstance(node, exp.Any) and not isinstance(node.parent, (exp.Like, exp.ILike)):
            node = exp.Anonymous(this="any", expressions=[node.this.unnest()])  # no `like any (...)`
        if scope.is_of_qualify and _is_of_rows(node):
            scope = replace(scope, is_of_qualify=False)
        if isinstance(node, _NAMING):
            node = _with_names(node, scope)
        made = with_children(placed(node, scope.file.statement), lambda child: self.resolve(child, scope))
        made = members.named(durations.in_one_form(variables.listed(made), self._type), self._declared, self._type)
        made = rewrites.in_one_form(made, self._type)
        return made if self._keeps_state else rewrites.coalesced(made, self._type)

    def conditions(self, node: exp.Expr, scope: Scope) -> list[exp.Expr]:
        """The conditions that a clause joins by AND; what state knows of nulls follows from how they are written."""
        found = [*conjuncts(self.resolve(node, scope))]
        return found if self._keeps_state else truths.narrowing(found, self._type)

    def equality(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Two resolved expressions as USING compares them."""
        return rewrites.in_one_form(exp.EQ(this=one, expression=other), self._type)

    def cast(self, value: exp.Expr, to: str) -> exp.Expr:
        """A resolved expression as a value of another type, as nobody has written it."""
        return self._implied_cast(value, exp.DataType.build(to, dialect="databricks"))

    def _column(self, node: exp.Column, scope: Scope) -> exp.Expr:
        first, *rest = (part for part in node.parts if isinstance(part, exp.Identifier))
        level: Scope | None = scope
        while level is not None:
            is_alias = first.name.lower() in level.aliases and level is scope
            found = self._owned(first, rest, node, level)
            if found is not None:
                if is_alias and scope.is_of_qualify:
                    self._refuse_either(found, first, rest, scope)
                return found
            if is_alias:
                return self._aliased(first, rest, scope)
            level = level.outer
        if first.name.lower() in (*terms.WINDOWS, *_WITHOUT_BRACKETS):
            return self._fields(exp.Column(this=placed(first, scope.file.statement)), rest)
        if not rest and first.name.lower() in _UNITS:
            return exp.Var(this=first.name.lower())
        raise scope.unsupported(node, f"`{first.name}`, a name whose column is not certain,")

    def _aliased(self, first: exp.Identifier, rest: list[exp.Identifier], scope: Scope) -> exp.Expr:
        """What the select calls by a name."""
        others = {name: tree for name, tree in scope.aliases.items() if name != first.name.lower()}
        inner = replace(scope, aliases=others, is_of_qualify=False)
        return self._fields(self.resolve(scope.aliases[first.name.lower()], inner), rest)

    def _refuse_either(self, found: exp.Expr, first: exp.Identifier, rest: list[exp.Identifier], scope: Scope) -> None:
        """Raise NotUnderstood where a name is not the same for the table and the select: Spark may take either."""
        if terms.key(found) != terms.key(self._aliased(first, rest, scope)):
            raise scope.unsupported(first, f"`{first.name}`, which could be two columns,")

    def _owned(
        self, first: exp.Identifier, rest: list[exp.Identifier], node: exp.Expr, level: Scope
    ) -> exp.Expr | None:
        """The column of a table in FROM that a dotted name means; a table's name goes before a column's."""
        statement, name = level.file.statement, first.name.lower()
        place = first_place(first, statement)
        for alias, columns in level.sources:
            if rest and alias == name and rest[0].name.lower() in columns:
                return self._fields(_copy(columns[rest[0].name.lower()], place), rest[1:])
        owners = [columns for _, columns in level.sources if name in columns]
        if len(owners) > 1:
            raise level.unsupported(node, f"`{first.name}`, which could be of two tables,")
        return self._fields(_copy(owners[0][name], place), rest) if owners else None

    def _fields(self, base: exp.Expr, names: list[exp.Identifier]) -> exp.Expr:
        for name in names:
            base = members.member(base, name.name, self._declared, self._type)
        return base

    def _inner_query(self, node: exp.Query, scope: Scope) -> exp.Expr:
        query = node.this if isinstance(node, exp.Subquery) else node
        rows = self._query(query, Scope(scope.file, scope.ctes, outer=scope))
        made = [] if isinstance(node.parent, exp.Exists) else [*rows.columns.values()]  # EXISTS only asks for rows
        columns = ", ".join(map(terms.key, made))
        for step in rows.step.every():
            made += [each.tree for each in (*step.filters, *(one for part in step.parts.values() for one in part))]
        text = f"{columns} from {' '.join(rows.step.keys())}"
        found = terms.column(Atom("query", short(f"query({text})"), made_of=tuple(made)), first_place(node, None))
        found.meta["text"] = f"({query.sql(dialect='databricks', comments=False, normalize_functions='lower')})"
        return found

    def _is_macro(self, node: exp.Func) -> bool:
        names = [node.name] if isinstance(node, exp.Anonymous) else type(node).sql_names()
        return any(name.lower() in self._declared.macro_texts for name in names)

    def _macro(self, node: exp.Func, scope: Scope) -> exp.Expr:
        if not isinstance(node, exp.Anonymous):
            raise scope.unsupported(node, "a macro named as a function of Spark")
        macro = self._declared.macro_texts[node.name.lower()]
        statement = certain(macro.text, macro.path)
        named = {each.this.name.lower(): each.expression for each in node.expressions if isinstance(each, exp.Kwarg)}
        given = [each for each in node.expressions if not isinstance(each, exp.Kwarg)]
        values: dict[str, exp.Expr] = {}
        for at, (name, type_) in enumerate(_parameters(statement.tree)):
            value = given[at] if at < len(given) else named.get(name)
            if value is None:
                raise scope.unsupported(node, f"`{node.name}` without `{name}`")
            values[name] = _resolved(self._implied_cast(self.resolve(value, scope), type_))
        body = self.resolve(statement.tree.expression.this, Scope(File(statement), sources=(("", values),)))
        returns = next((each.this for each in statement.tree.find_all(exp.ReturnsProperty)), None)
        return body if returns is None else self._implied_cast(body, returns)

    def _implied_cast(self, value: exp.Expr, to: exp.Expr) -> exp.Expr:
        """A cast that nobody has written: a macro's arguments and its result have the types that it declares."""
        cast = rewrites.in_one_form(exp.Cast(this=value, to=to), self._type)
        if cast.meta.get(rewrites.NO_CHANGE):
            return value
        cast.meta["implied"] = True
        return cast


def alone(text: str, columns: Columns, declared: Declared, type_of: TypeOf) -> exp.Expr:
    """An expression that stands by itself, over some columns."""
    statement = certain(f"select {text}", "")
    (tree,) = statement.tree.expressions
    scope = Scope(File(statement), sources=(("", columns),))
    return Resolver(declared, _no_query, type_of).resolve(tree, scope)


def _no_query(tree: exp.Expr, scope: Scope) -> Rows:
    raise scope.unsupported(tree, "a query in an expression")


def parsed(text: str, path: str) -> Statement:
    """The text of a model or a macro as a tree, which must not be changed."""
    return dialect.parse_as_written(text, path)


def certain(text: str, path: str) -> Statement:
    """A text as a tree of which every type is the one that Spark reads: sqlglot drops what follows `timestamp`."""
    if _WITHOUT_ZONE.search(text):
        raise NotUnderstood("`timestamp without time zone`", Place(path))
    return parsed(text, path)


def placed(node: exp.Expr, statement: Statement) -> exp.Expr:
    """A copy of a node, without what is below it, that knows where it stands."""
    if "place" not in node.meta and "start" in node.meta:
        node.meta["place"] = statement.place(node.meta["start"])
    return node


def first_place(node: exp.Expr, statement: Statement | None) -> Place | None:
    """Where an expression starts."""
    for each in node.walk():
        if statement is not None:
            placed(each, statement)
        if "place" in each.meta:
            return each.meta["place"]  # type: ignore[no-any-return]
    return Place(statement.path) if statement is not None else None


def starred(node: exp.Expr, scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
    """The columns that `*` stands for, named as they are written where they are made."""
    star = node.this if isinstance(node, exp.Column) else node
    if star.args.get("replace") or star.args.get("rename"):
        raise scope.unsupported(node, "`* replace` or `* rename`")
    left_out = star.args.get("except_") or ()
    if any(isinstance(each, exp.Column) and len(each.parts) > 1 for each in left_out):
        raise scope.unsupported(node, "`* except` of a field")
    without = {each.name.lower() for each in left_out}
    for name, tree in _columns_of(node, scope):
        if name not in without:
            yield written(tree, name), _resolved(copied(tree))


def _is_counted(star: exp.Expr) -> bool:
    """Whether it stands for no columns: `count(*)` counts all rows, `count(a.*)` those without nulls."""
    return isinstance(star, exp.Star) and not any(star.args.values()) and isinstance(star.parent, exp.Count)


def _columns_of(star: exp.Expr, scope: Scope) -> list[tuple[str, exp.Expr]]:
    """The columns of one table, or of all; those of USING come first, and are also columns of the table on the right.

    The fields of a struct are not known.
    """
    qualifier = star.text("table").lower() if isinstance(star, exp.Column) else ""
    tables = [columns for alias, columns in scope.sources if not qualifier or alias == qualifier]
    is_whole = len(tables) == 1 and all(name in tables[0] for name in scope.used)
    if qualifier and (not is_whole or star.text("db")):
        raise scope.unsupported(star, f"`{qualifier}.*`")
    found = [each for columns in tables for each in columns.items()]
    return sorted(found, key=lambda each: scope.used.index(each[0]) if each[0] in scope.used else len(scope.used))


def called(tree: exp.Expr, name: str) -> exp.Expr:
    """A column that remembers how its name is written: `struct(*)` takes it, and JSON shows its case."""
    made = copied(tree) if "atom" in tree.meta else tree  # one column of a step may have several names
    made.meta["name"] = name
    return made


def written(tree: exp.Expr, name: str) -> str:
    """How the name of a column is written where it is made."""
    return str(tree.meta.get("name", name))


def copied(node: exp.Expr) -> exp.Expr:
    """An expression that may have notes of its own; what is below it never changes, so both have the same."""
    return with_children(node, lambda child: child)


def with_children(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of a node whose parts are changed."""
    made = type(node)(**{part: _changed(value, change) for part, value in node.args.items()})
    made.meta.update(terms.notes(node))
    return made


def _changed(value: Any, change: Callable[[exp.Expr], exp.Expr]) -> Any:
    if isinstance(value, exp.Expr):
        return change(value)
    return [_changed(each, change) for each in value] if isinstance(value, list) else value


def _copy(tree: exp.Expr, place: Place | None) -> exp.Expr:
    """A column where it is named, which is noted; the place where its expression is written has priority."""
    made = copied(tree)
    if place is not None:
        made.meta["named"] = (place, *tree.meta.get("named", ()))
    if "atom" in made.meta and "place" not in made.meta:
        made.meta["place"] = place
    return made


def _with_names(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A function that makes a struct, with a name before each column, and columns in the place of a star."""
    fields: list[exp.Expr] = []
    for each in node.expressions:
        if each.is_star:
            fields += [_field(name, tree) for name, tree in starred(each, scope)]
        else:
            fields.append(_named_field(each))
    made = type(node)(**{**node.args, "expressions": fields})
    made.parent = node.parent  # of the text's own tree, for those who ask from the fields upwards
    made.meta.update(node.meta)
    return made


def _named_field(node: exp.Expr) -> exp.Expr:
    """A field with its name. sqlglot numbers each that no alias names, also members, and columns in brackets."""
    is_numbered = isinstance(node, exp.PropertyEQ) and "start" not in node.this.meta
    value = node.expression if is_numbered else node
    name = _last_name(value.unnest())
    return _field(name, value) if name else node


def _last_name(node: exp.Expr) -> str:
    """The name that Spark takes for a field from a column, a member or an entry; none from any other expression."""
    if isinstance(node, (exp.Column, exp.Identifier)):  # an argument of a lambda is only a name
        return node.name
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        return node.expression.name
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1 and node.expressions[0].is_string:
        return str(node.expressions[0].name)
    return ""


def _field(name: str, value: exp.Expr) -> exp.Expr:
    return exp.PropertyEQ(this=exp.Identifier(this=name), expression=value)


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether a function has many rows for its arguments, as a window or an aggregate has."""
    is_named = isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES
    return is_named or isinstance(node, (exp.Window, exp.AggFunc))


def _resolved(node: exp.Expr) -> exp.Expr:
    node.meta["resolved"] = True
    return node


def _parameters(tree: exp.Expr) -> Iterator[tuple[str, exp.DataType]]:
    yield from ((each.name.lower(), each.args["kind"]) for each in tree.this.expressions)
