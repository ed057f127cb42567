"""Expressions: each kind of node that is known to agree, and how it is written for DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from headrace.reading.dialect import functions, operators
from headrace.reading.dialect.aggregates import AGGREGATES, WINDOWED, collected
from headrace.reading.dialect.casts import cast, same
from headrace.reading.dialect.complaints import COMMAND, LeftToSpark, NotKnown
from headrace.reading.dialect.functions import FUNCTIONS, PARTS, truth
from headrace.reading.dialect.parsing import unescaped
from headrace.reading.dialect.scopes import Scope, Subquery, fields
from headrace.reading.dialect.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    array,
    decimal,
)
from headrace.reading.dialect.values import Value, boolean, exact, null, number, text

_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
_TYPES = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: Type("tinyint"),
    exp.DType.SMALLINT: Type("smallint"),
    exp.DType.INT: INT,
    exp.DType.BIGINT: Type("bigint"),
    exp.DType.FLOAT: Type("float"),
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
}
_ARITHMETIC: Mapping[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "subtract",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "remainder",
    exp.IntDiv: "div",
}
_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
_SILENT = frozenset({"typed", "safe", "is_string", "_type", "quoted", "dialect", "action"})
"""Arguments that sqlglot adds to nodes and that do not affect their meaning."""


@dataclass(frozen=True)
class Expressions:
    """Translates the expressions of one text; `subquery` translates a query inside one."""

    text: str
    subquery: Subquery
    way_out: str = COMMAND

    def value(self, node: Any, scope: Scope) -> Value:
        """The translation of an expression, or LeftToSpark with the place of what is not known to agree."""
        try:
            handler = _HANDLERS.get(type(node))
            if handler is None:
                raise NotKnown(self.named(node))
            return handler(self, node, scope)
        except NotKnown as error:
            raise self.left(node, str(error)) from None
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(node, exp.Anonymous):
                raise self.left(node, f"{node.name} with these arguments") from error
            raise

    def left(self, node: Any, what: str) -> LeftToSpark:
        return LeftToSpark(self._place(node), what, self.way_out)

    def named(self, node: Any) -> str:
        """The name of a node as the user wrote it."""
        if isinstance(node, exp.Anonymous):
            return f"{node.name}()"
        if isinstance(node, exp.Func):
            return f"{node.sql_name().lower()}()"
        return f"`{node.sql(dialect='databricks')[:60]}`"

    def _place(self, node: Any) -> str:
        starts = [found.meta["start"] for found in node.walk() if "start" in found.meta]
        before = self.text[: min(starts)] if starts else ""
        return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"

    def checked(self, node: Any, *known: str) -> None:
        """Refuse a node with an argument that is not translated."""
        more = [name for name, argument in node.args.items() if argument and name not in known and name not in _SILENT]
        if more:
            raise NotKnown(f"{self.named(node)} with {', '.join(more)}")

    def all(self, nodes: Sequence[Any], scope: Scope) -> list[Value]:
        return [self.value(node, scope) for node in nodes]


def _literal(to: Expressions, node: exp.Literal, scope: Scope) -> Value:
    return text(_written(to, node)) if node.is_string else number(node.name)


def _written(to: Expressions, node: Any) -> str:
    start, end = node.meta.get("start"), node.meta.get("end")
    if start is None:
        if "\\" in node.name:
            raise NotKnown("a text with a backslash")
        return str(node.name)
    found = unescaped(to.text[start : end + 1])
    if found is None:
        raise NotKnown("this escape in a text")
    return found


def _column(to: Expressions, node: exp.Column, scope: Scope) -> Value:
    to.checked(node, "this", "table", "db", "catalog")
    if not isinstance(node.this, exp.Identifier):
        raise NotKnown(to.named(node))
    return scope.resolve(tuple(part.name for part in node.parts))


def _dot(to: Expressions, node: exp.Dot, scope: Scope) -> Value:
    if isinstance(node.expression, exp.Identifier):
        names = _names(node)
        if names is not None:
            return scope.resolve(names)
        return fields(to.value(node.this, scope), (node.expression.name,))
    raise NotKnown(to.named(node))


def _names(node: Any) -> tuple[str, ...] | None:
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts)
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = _names(node.this)
        return None if before is None else (*before, node.expression.name)
    return None


def _arithmetic(to: Expressions, node: Any, scope: Scope) -> Value:
    if type(node) in (exp.Add, exp.Sub) and isinstance(node.expression, exp.Interval):
        return _shifted(to, node, scope)
    left, right = to.all((node.this, node.expression), scope)
    return operators.arithmetic(_ARITHMETIC[type(node)], left, right)


def _shifted(to: Expressions, node: Any, scope: Scope) -> Value:
    interval = node.expression
    unit = interval.text("unit").upper().removesuffix("S")
    count = interval.this
    if unit not in _UNITS or not isinstance(count, exp.Literal) or not re.fullmatch(r"-?\d{1,6}", count.name):
        raise NotKnown(to.named(interval))
    return operators.shifted(
        "+" if isinstance(node, exp.Add) else "-", to.value(node.this, scope), int(count.name), unit
    )


def _negative(to: Expressions, node: exp.Neg, scope: Scope) -> Value:
    value = to.value(node.this, scope)
    if isinstance(node.this, exp.Literal) and value.literal == 1 << 31:
        return Value("CAST(-2147483648 AS INTEGER)", INT, -(1 << 31))
    return operators.negative(value)


def _comparison(to: Expressions, node: Any, scope: Scope) -> Value:
    to.checked(node, "this", "expression")
    left, right = to.all((node.this, node.expression), scope)
    return operators.compare(_COMPARISONS[type(node)], left, right)


def _and_or(to: Expressions, node: Any, scope: Scope) -> Value:
    sign = "AND" if isinstance(node, exp.And) else "OR"
    sides = [truth(value).sql for value in to.all((node.this, node.expression), scope)]
    return Value(f"({sides[0]} {sign} {sides[1]})", BOOLEAN)


def _not(to: Expressions, node: exp.Not, scope: Scope) -> Value:
    return Value(f"(NOT {truth(to.value(node.this, scope)).sql})", BOOLEAN)


def _paren(to: Expressions, node: exp.Paren, scope: Scope) -> Value:
    value = to.value(node.this, scope)
    return Value(f"({value.sql})", value.type, value.literal)


def _is(to: Expressions, node: exp.Is, scope: Scope) -> Value:
    value = to.value(node.this, scope)
    if isinstance(node.expression, exp.Null):
        return Value(f"({value.sql} IS NULL)", BOOLEAN)
    if isinstance(node.expression, exp.Boolean):
        return Value(f"({truth(value).sql} IS NOT DISTINCT FROM {str(node.expression.this).upper()})", BOOLEAN)
    raise NotKnown(to.named(node))


def _between(to: Expressions, node: exp.Between, scope: Scope) -> Value:
    to.checked(node, "this", "low", "high")
    value, low, high = to.all((node.this, node.args["low"], node.args["high"]), scope)
    above, below = operators.compare(">=", value, low), operators.compare("<=", value, high)
    return Value(f"({above.sql} AND {below.sql})", BOOLEAN)


def _in(to: Expressions, node: exp.In, scope: Scope) -> Value:
    to.checked(node, "this", "expressions", "query")
    value = to.value(node.this, scope)
    if node.args.get("query") is not None:
        return _in_query(to, node, value, scope)
    options = to.all(node.expressions, scope)
    if not options:
        raise NotKnown(to.named(node))
    first, *rest = operators.comparable([value, *options])
    return Value(f"({first.sql} IN ({', '.join(each.sql for each in rest)}))", BOOLEAN)


def _in_query(to: Expressions, node: exp.In, value: Value, scope: Scope) -> Value:
    if not _is_conjunct(node):
        raise NotKnown("`in` of a query that is not a condition of its own, joined by `and`,")
    sql, columns = to.subquery(_unwrapped(node.args["query"]), scope)
    if len(columns) != 1 or not value.type.is_plain or columns[0][1] != value.type:
        raise NotKnown(f"{value.type} in a query of {', '.join(str(kind) for _, kind in columns)}")
    return Value(f"({value.sql} IN ({sql}))", BOOLEAN)


def _is_conjunct(node: exp.In) -> bool:
    """Whether it only filters rows: as a value, Spark returns false where membership is unknown."""
    around = node.parent
    if isinstance(around, exp.Not):
        around = around.parent
    while isinstance(around, exp.And | exp.Paren):
        around = around.parent
    return isinstance(around, exp.Where)


def _unwrapped(node: Any) -> Any:
    return node.this if isinstance(node, exp.Subquery) and not node.alias else node


def _exists(to: Expressions, node: exp.Exists, scope: Scope) -> Value:
    to.checked(node, "this")
    if not isinstance(_unwrapped(node.this), exp.Query):
        raise NotKnown("exists() of an array")
    return Value(f"EXISTS ({to.subquery(_unwrapped(node.this), scope)[0]})", BOOLEAN)


def _scalar(to: Expressions, node: exp.Subquery, scope: Scope) -> Value:
    sql, columns = to.subquery(_unwrapped(node), scope)
    if len(columns) != 1:
        raise NotKnown("a query of several columns as a value")
    return Value(f"({sql})", columns[0][1])


def _case(to: Expressions, node: exp.Case, scope: Scope) -> Value:
    subject = to.value(node.this, scope) if node.this is not None else None
    branches = node.args["ifs"]
    default = node.args.get("default")
    outcomes = to.all([branch.args["true"] for branch in branches], scope)
    outcomes.append(to.value(default, scope) if default is not None else null())
    *outcomes, otherwise = same(outcomes)
    arms = []
    for branch, outcome in zip(branches, outcomes, strict=True):
        found = to.value(branch.this, scope)
        tested = truth(found) if subject is None else operators.compare("=", subject, found)
        arms.append(f"WHEN {tested.sql} THEN {outcome.sql}")
    return Value(f"CASE {' '.join(arms)} ELSE {otherwise.sql} END", otherwise.type)


def _if(to: Expressions, node: exp.If, scope: Scope) -> Value:
    otherwise = node.args.get("false")
    if otherwise is None:
        raise NotKnown("if() of two arguments")
    return functions.choose(*to.all((node.this, node.args["true"], otherwise), scope))


def _like(to: Expressions, node: Any, scope: Scope) -> Value:
    to.checked(node, "this", "expression", "negate")
    return _liked(to, node, "\\", scope)


def _liked(to: Expressions, node: Any, escape: str, scope: Scope) -> Value:
    value, pattern = to.all((node.this, node.expression), scope)
    found = functions.like(value, pattern, escape, isinstance(node, exp.ILike))
    return Value(f"(NOT {found.sql})", BOOLEAN) if node.args.get("negate") else found


def _escape(to: Expressions, node: exp.Escape, scope: Scope) -> Value:
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise NotKnown(to.named(node))
    return _liked(to, node.this, to.value(node.expression, scope).literal, scope)


def _rlike(to: Expressions, node: exp.RegexpLike, scope: Scope) -> Value:
    to.checked(node, "this", "expression", "negate")
    found = functions.matches(*to.all((node.this, node.expression), scope))
    return Value(f"(NOT {found.sql})", BOOLEAN) if node.args.get("negate") else found


def _cast(to: Expressions, node: Any, scope: Scope) -> Value:
    to.checked(node, "this", "to", "safe")
    kind = _type(to, node.args["to"])
    operand = node.this
    if isinstance(operand, exp.Literal) and operand.is_string and kind.is_decimal and "start" not in operand.meta:
        return exact(Decimal(operand.name))  # 1.50BD, which sqlglot reads as a cast
    return cast(to.value(operand, scope), kind, isinstance(node, exp.TryCast))


def _type(to: Expressions, node: Any) -> Type:
    if node.this == exp.DType.DECIMAL:
        numbers = [int(part.name) for part in node.expressions] or [10, 0]
        return decimal(numbers[0], numbers[1] if len(numbers) > 1 else 0)
    if node.this not in _TYPES or node.expressions:
        raise NotKnown(f"the type {node.sql(dialect='databricks').lower()}")
    return _TYPES[node.this]


def _bracket(to: Expressions, node: exp.Bracket, scope: Scope) -> Value:
    to.checked(node, "this", "expressions")
    if len(node.expressions) != 1:
        raise NotKnown(to.named(node))
    value, at = to.all((node.this, node.expressions[0]), scope)
    if value.type.name == "struct" and isinstance(at.literal, str):
        return fields(value, (at.literal,))
    return functions.item(value, at, "spark_item")


def _extract(to: Expressions, node: exp.Extract, scope: Scope) -> Value:
    name = node.name.lower()
    if name not in PARTS:
        raise NotKnown(f"extract({name} ...)")
    return PARTS[name](to.value(node.expression, scope))


def _position(to: Expressions, node: exp.StrPosition, scope: Scope) -> Value:
    to.checked(node, "this", "substr")
    return functions.position(*to.all((node.args["substr"], node.this), scope))


def _substring(to: Expressions, node: exp.Substring, scope: Scope) -> Value:
    to.checked(node, "this", "start", "length")
    arguments = [node.args[name] for name in ("this", "start", "length") if node.args.get(name) is not None]
    return functions.substring(*to.all(arguments, scope))


def _trim(to: Expressions, node: exp.Trim, scope: Scope) -> Value:
    to.checked(node, "this", "position", "expression")
    letters = node.expression and to.value(node.expression, scope).literal
    if letters is not None and not isinstance(letters, str):
        raise NotKnown("trim of letters that are not written out")
    return functions.trimmed(to.value(node.this, scope), (node.args.get("position") or "").upper(), letters or " ")


def _pipes(to: Expressions, node: exp.DPipe, scope: Scope) -> Value:
    return FUNCTIONS["concat"](*to.all((node.this, node.expression), scope))


def _now(to: Expressions, node: Any, scope: Scope) -> Value:
    return Value("CAST(get_current_timestamp() AS TIMESTAMP)", TIMESTAMP)


def _today(to: Expressions, node: Any, scope: Scope) -> Value:
    return Value("CAST(CAST(get_current_timestamp() AS TIMESTAMP) AS DATE)", DATE)


def _called(to: Expressions, node: exp.Anonymous, scope: Scope) -> Value:
    name = node.name.lower()
    if name in AGGREGATES:
        return _aggregate(to, node, scope, "")
    if name in ("sort_array", "size", "array_size", "cardinality") and _collects(node.expressions[:1]):
        inner = node.expressions[0]
        found = collected(to.all(inner.expressions, scope), inner.name.lower() == "collect_set", "")
        return FUNCTIONS[name](found, *to.all(node.expressions[1:], scope))
    if name == "filter" and len(node.expressions) == 2:
        return _higher(to, name, node.expressions, scope)
    if name in ("now", "current_timestamp") and not node.expressions:
        return _now(to, node, scope)
    if name in ("current_date", "curdate") and not node.expressions:
        return _today(to, node, scope)
    if name == "struct":
        return _struct(to, node.expressions, scope)
    if name not in FUNCTIONS or _begins_with_a_unit(name, node.expressions):
        raise NotKnown(f"{node.name}()")
    return FUNCTIONS[name](*to.all(node.expressions, scope))


def _begins_with_a_unit(name: str, arguments: Sequence[Any]) -> bool:
    """Whether it is `dateadd(month, ...)`, whose first word is no column."""
    return name in ("dateadd", "date_add", "datediff", "date_diff") and len(arguments) == 3


def _collects(nodes: Sequence[Any]) -> bool:
    return any(
        isinstance(each, exp.Anonymous) and each.name.lower() in ("collect_list", "collect_set") for each in nodes
    )


def _struct(to: Expressions, nodes: Sequence[Any], scope: Scope) -> Value:
    names = [_field_name(node, at) for at, node in enumerate(nodes, 1)]
    return functions.struct(names, to.all([node.unalias() for node in nodes], scope))


def _field_name(node: Any, at: int) -> str:
    return str(node.alias_or_name) if isinstance(node, exp.Alias | exp.Column | exp.Dot) else f"col{at}"


def _higher(to: Expressions, name: str, arguments: Sequence[Any], scope: Scope) -> Value:
    value = to.value(arguments[0], scope)
    each = arguments[1]
    if value.type.name != "array" or not isinstance(each, exp.Lambda) or len(each.expressions) != 1:
        raise NotKnown(f"{name}() of this form")
    argument = f"x_{len(scope.lambdas)}"
    known = {each.expressions[0].name.lower(): Value(argument, value.type.element)}
    body = to.value(each.this, scope.within(known))
    if name == "filter":
        return Value(f"list_filter({value.sql}, lambda {argument}: {truth(body).sql})", value.type)
    return Value(f"list_transform({value.sql}, lambda {argument}: {body.sql})", array(body.type))


def _transform(to: Expressions, node: exp.Transform, scope: Scope) -> Value:
    return _higher(to, "transform", (node.this, node.expression), scope)


def _aggregate(to: Expressions, node: exp.Anonymous, scope: Scope, tail: str, windowed: bool = False) -> Value:
    name = node.name.lower()
    rule = AGGREGATES.get(name) or (WINDOWED.get(name) if windowed else None)
    if rule is None:
        raise NotKnown(f"{node.name}()")
    if not windowed and not scope.aggregates:
        raise NotKnown(f"{node.name}() here")
    arguments, distinct = node.expressions, False
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        arguments, distinct = arguments[0].expressions, True
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        if name != "count" or distinct:
            raise NotKnown(f"{node.name}(*)")
        arguments = []
    if windowed and distinct:
        raise NotKnown(f"{node.name}(distinct ...) over a window")
    return rule(to.all(arguments, scope), distinct, tail)


def _filtered(to: Expressions, node: exp.Filter, scope: Scope) -> Value:
    if not isinstance(node.this, exp.Anonymous):
        raise NotKnown(to.named(node))
    return _aggregate(to, node.this, scope, f" FILTER ({truth(to.value(node.expression.this, scope)).sql})")


def _window(to: Expressions, node: exp.Window, scope: Scope) -> Value:
    to.checked(node, "this", "partition_by", "order", "spec", "over")
    if not isinstance(node.this, exp.Anonymous):
        raise NotKnown(to.named(node))
    parts = []
    if node.args.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(plain(each).sql for each in to.all(node.args["partition_by"], scope)))
    if node.args.get("order"):
        parts.append("ORDER BY " + ", ".join(ordered(to, each, scope) for each in node.args["order"].expressions))
    if node.args.get("spec"):
        parts.append(_frame(to, node.args["spec"]))
    return _aggregate(to, node.this, scope, f" OVER ({' '.join(parts)})", windowed=True)


def _frame(to: Expressions, spec: Any) -> str:
    to.checked(spec, "kind", "start", "start_side", "end", "end_side")
    kind, edges = spec.text("kind").upper(), []
    for edge in ("start", "end"):
        bound, side = spec.args.get(edge), (spec.args.get(f"{edge}_side") or "").upper()
        if bound is None and edge == "end":
            edges.append("CURRENT ROW")
        elif str(bound).upper() in ("UNBOUNDED", "CURRENT ROW"):
            edges.append(f"{bound} {side}".strip())
        elif isinstance(bound, exp.Literal) and bound.name.isdigit() and kind == "ROWS":
            edges.append(f"{bound.name} {side}")
        else:
            raise NotKnown(to.named(spec))
    if kind not in ("ROWS", "RANGE"):
        raise NotKnown(to.named(spec))
    return f"{kind} BETWEEN {edges[0]} AND {edges[1]}"


def ordered(to: Expressions, node: Any, scope: Scope, key: str | None = None) -> str:
    """One key of an ORDER BY: nulls are the smallest values, as in Spark."""
    to.checked(node, "this", "desc", "nulls_first")
    sql = key if key is not None else plain(to.value(node.this, scope)).sql
    direction = "DESC" if node.args.get("desc") else "ASC"
    return f"{sql} {direction} NULLS {'FIRST' if node.args.get('nulls_first') else 'LAST'}"


def plain(value: Value) -> Value:
    """A value to group, order or compare by."""
    if not value.type.is_plain:
        raise NotKnown(f"grouping or ordering by a {value.type}")
    return value


Handler = Callable[[Expressions, Any, Scope], Value]

_HANDLERS: Mapping[type[Any], Handler] = {
    exp.Literal: _literal,
    exp.RawString: lambda to, node, scope: text(_written(to, node)),
    exp.Null: lambda to, node, scope: null(),
    exp.Boolean: lambda to, node, scope: boolean(bool(node.this)),
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Identifier: lambda to, node, scope: scope.resolve((node.name,)),  # the argument of a lambda
    exp.Paren: _paren,
    exp.Neg: _negative,
    exp.And: _and_or,
    exp.Or: _and_or,
    exp.Not: _not,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Subquery: _scalar,
    exp.Case: _case,
    exp.If: _if,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _rlike,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Bracket: _bracket,
    exp.Extract: _extract,
    exp.StrPosition: _position,
    exp.Substring: _substring,
    exp.Transform: _transform,
    exp.Trim: _trim,
    exp.DPipe: _pipes,
    exp.CurrentTimestamp: _now,
    exp.CurrentDate: _today,
    exp.Anonymous: _called,
    exp.Filter: _filtered,
    exp.Window: _window,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
}
"""The kinds of nodes that are supported; any other is left to Spark."""
