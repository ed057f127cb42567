"""Expressions that are written in several ways and have the same value and type in Spark, for every row: one form each.

`tests/spark/test_rewrites.py` has Spark compute both sides of each over random values and nulls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from headrace.planning.forms import aggregates, terms, truths
from headrace.planning.forms.durations import TypeOf
from headrace.planning.forms.functions import noted
from headrace.planning.forms.types import (
    ARRIVALS,
    INTEGERS,
    SPOKEN,
    canonical,
    is_exact,
    is_never_null,
    is_null_of_nulls,
    is_repeatable,
)

NO_CHANGE = "no_change"
"""Marks a cast to the type that a value has anyway."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SYNONYMS = {
    "any": "bool_or", "any_value": "first", "array_agg": "collect_list", "curdate": "current_date",
    "date_diff": "datediff", "date_part": "extract", "dateadd": "date_add", "datepart": "extract",
    "day": "dayofmonth", "every": "bool_and", "first_value": "first", "last_value": "last", "mean": "avg",
    "now": "current_timestamp", "percentile_approx": "approx_percentile", "pow": "power", "reduce": "aggregate",
    "signum": "sign", "some": "bool_or", "std": "stddev_samp", "stddev": "stddev_samp", "timestampadd": "date_add",
    "timestampdiff": "datediff", "variance": "var_samp",
}  # fmt: skip
_SUMS = (exp.Add, exp.Mul)
_OF_DOUBLES = (*truths.COMPARED, exp.NullSafeEQ, exp.Add, exp.Sub, exp.Mul, exp.Div)
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")
"""Numbers that Spark reads as whole ones or decimals, and takes for the nearest double beside one."""

_NAMED_CASTS = ("bigint", "boolean", "date", "double", "float", "int", "smallint", "string", "timestamp", "tinyint")
_CASTS = {"to_date": "date", "to_timestamp": "timestamp", **{name: name for name in _NAMED_CASTS}}
"""Functions of one argument that are casts, and to what."""

_PARTS = {
    **{name: name for name in ("year", "quarter", "month", "hour", "minute", "dayofweek")},
    **{"day": "dayofmonth", "week": "weekofyear", "doy": "dayofyear", "dow": "dayofweek"},
}
"""The functions that give parts of a time."""

_UNIT_AT = {"date_trunc": 0, "trunc": 1}
"""Functions that take a unit as text, in any case, and which of their arguments it is."""

_UNITS = {"dd": "day", "mm": "month", "mon": "month", "yy": "year", "yyyy": "year"}

_PATTERNS = {"startswith": "{}%", "endswith": "%{}", "contains": "%{}%"}
"""Functions of texts that LIKE is too, and its pattern."""

_ENTRIES = ("element_at", "try_element_at")
"""Functions that give the entry of a map, or null, as `a['b']` does."""

_OF_FIRST = ("first", "last")


def in_one_form(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A resolved node, whose parts are in one form already."""
    return noted(_rewritten(node, type_of), type_of)


def coalesced(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`case when a is null then b else a end` is `coalesce(a, b)` for all that do not ask whether it can be null.

    Of a struct, the fields of the one would have the names of those of `b`, and of the other those of `a`.
    """
    branches, other = node.args.get("ifs", []), node.args.get("default")
    if not isinstance(node, exp.Case) or len(branches) > 1 or other is None:
        return node
    condition, value = branches[0].this.unnest(), branches[0].args["true"]
    if not (truths.asks_for_null(condition) and "atom" in condition.this.unnest().meta):
        return node
    if terms.key(condition.this) != terms.key(other) or "<" in (type_of(other) or "<"):
        return node
    return noted(_described(exp.Coalesce(this=other, expressions=[value]), node), type_of)


def _rewritten(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    if isinstance(node, truths.COMPARED):
        node = _described(_with_times(node, type_of), node)
    if isinstance(node, _OF_DOUBLES):
        node = _described(_with_doubles(node, type_of), node)
    rewrite = _REWRITES.get(type(node))
    if rewrite is not None:
        return _described(rewrite(node), node)
    if isinstance(node, exp.Between):
        return _described(_between(node, type_of), node)
    if isinstance(node, exp.If):
        return _described(_conditional(node, type_of), node)
    if isinstance(node, exp.Case):
        return _described(_branched(_searched(node, type_of), type_of), node)
    if isinstance(node, (exp.Add, exp.Sub)) and (moved := _days_later(node, type_of)) is not None:
        return _described(moved, node)
    if isinstance(node, _SUMS):
        return _described(_without_neutral(node, type_of), node)
    if isinstance(node, exp.EQ):
        return _described(_equality(node, type_of), node)
    if isinstance(node, exp.DPipe):
        return _described(_concat(node, type_of), node)
    if type(node) is exp.Concat:  # `concat_ws` is one, too
        return _described(_constant(node, type_of), node)
    if isinstance(node, exp.Connector):
        node.meta[terms.OF_TRUTHS] = type_of(node.this) == type_of(node.expression) == "boolean"
    if isinstance(node, (exp.Not, exp.Connector, exp.In)):
        return _described(truths.in_one_form(node, type_of), node)
    if isinstance(node, exp.Anonymous):
        made = _call(node, type_of)
        made = aggregates.of_truths(made, type_of) if isinstance(made, exp.Anonymous) else _rewritten(made, type_of)
        return _described(made, node)
    if isinstance(node, exp.Coalesce):
        return _described(_flat(node, type_of), node)
    if isinstance(node, (exp.Is, exp.NullSafeEQ)):
        return _described(_certain_truth(node, type_of), node)
    if isinstance(node, exp.NullSafeNEQ):
        equal = _rewritten(exp.NullSafeEQ(this=node.this, expression=node.expression), type_of)
        return _described(_rewritten(exp.Not(this=equal), type_of), node)
    if isinstance(node, exp.Extract):
        return _described(_part(node, node.name, node.expression, type_of), node)
    if type(node) in (exp.Sum, exp.Min, exp.Max):
        return _described(aggregates.of_a_case(node), node)
    if isinstance(node, exp.Cast) and type(node) in (exp.Cast, exp.TryCast):
        if type_of(node) == "double" and (number := _double(node.this.unnest())) is not None:
            return _described(number, node)
        cast = _of_midnight(node, type_of)
        cast.meta[NO_CHANGE] = _changes_nothing(cast, type_of)
        return _described(cast, node)
    return node


def _described(made: exp.Expr, node: exp.Expr) -> exp.Expr:
    if made is not node:
        made.meta.update({**terms.notes(node), **made.meta})
    return made


def _changes_nothing(cast: exp.Cast, type_of: TypeOf) -> bool:
    """A cast to the very type; fields of a struct could get other names, so of these only a second such cast counts."""
    to, of = type_of(cast), cast.this.unnest()
    is_again = type(of) in (exp.Cast, exp.TryCast) and terms.key(of.to) == terms.key(cast.to)
    return is_again or (to is not None and "<" not in to and type_of(of) == to)


def _of_midnight(cast: exp.Cast, type_of: TypeOf) -> exp.Cast:
    """`timestamp '2026-01-01'` is `timestamp '2026-01-01 00:00:00'`."""
    of = cast.this.unnest()
    is_day = isinstance(of, exp.Literal) and of.is_string and _DAY.fullmatch(of.name)
    if not is_day or type_of(cast) != "timestamp":
        return cast
    return type(cast)(**{**cast.args, "this": exp.Literal.string(f"{of.name} 00:00:00")})


def _with_times(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`t > '2026-01-01'` is `t > timestamp '2026-01-01'`, if `t` is a time."""
    sides = [each.unnest() for each in (node.this, node.expression)]
    types = {*map(type_of, sides)} - {"string"}
    texts = [each for each in sides if isinstance(each, exp.Literal) and each.is_string]
    if len(texts) != 1 or types not in ({"timestamp"}, {"date"}):
        return node
    to = exp.DataType.build(str(types.pop()), dialect="databricks")
    made = [in_one_form(exp.Cast(this=each, to=to), type_of) if each in texts else each for each in sides]
    return type(node)(this=made[0], expression=made[1])


def _with_doubles(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A number that is written beside a double is one too: `x > 20` is `x > 20.0`, if `x` is a double."""
    sides = {part: node.args[part] for part in ("this", "expression")}
    if "double" not in map(type_of, sides.values()):
        return node
    numbers = {part: made for part, each in sides.items() if (made := _double(each.unnest())) is not None}
    return type(node)(**{**node.args, **numbers}) if numbers else node


def _double(value: exp.Expr) -> exp.Expr | None:
    """A number that is written out, as a double."""
    if isinstance(value, exp.Neg):
        number = _double(value.this.unnest())
        return exp.Neg(this=number) if number is not None and float(number.name[:-1]) else None  # `-0.0` is not `-0`
    if not isinstance(value, exp.Literal) or value.is_string or not _NUMBER.fullmatch(value.name):
        return None
    return exp.Literal.number(f"{float(value.name)}{terms.OF_DOUBLE}")


def _days_later(node: exp.Expr, type_of: TypeOf) -> exp.Expr | None:
    """`d + interval 7 days` is `date_add(d, 7)`, if `d` is a day."""
    day, length = node.this, node.expression.meta.get("length", "")
    if not length.endswith(" days") or type_of(day) != "date":
        return None
    name, days = "date_add" if isinstance(node, exp.Add) else "date_sub", float(length.split()[0]) / 86400
    return exp.Anonymous(this=name, expressions=[day, exp.Literal.number(int(days))]) if days.is_integer() else None


def _trim(node: exp.Expr) -> exp.Expr:
    """`trim(both from a)` is `trim(a)`."""
    return exp.Trim(this=node.this) if node.args.get("position") == "BOTH" and not node.expression else node


def _position(node: exp.Expr) -> exp.Expr:
    """`position(a in b)` is `instr(b, a)`."""
    parts = {part: value for part, value in node.args.items() if value}
    is_plain = parts.keys() == {"this", "substr"}
    return exp.Anonymous(this="instr", expressions=[node.this, node.args["substr"]]) if is_plain else node


def _like(node: exp.Expr) -> exp.Expr:
    """`a not like b` is `not a like b`; `a not like any (b, c)` denies each of them, and asks for one."""
    plain = {part: value for part, value in node.args.items() if part != "negate"}
    is_of_one = not isinstance(node.expression, (exp.Any, exp.All))
    return _denied(type(node)(**plain)) if node.args.get("negate") and is_of_one else node


def _between(node: exp.Between, type_of: TypeOf) -> exp.Expr:
    """`a between 1 and 2` is `a >= 1 and a <= 2`."""
    if node.args.get("symmetric") or not is_repeatable(node.this):
        return node
    asked = (
        exp.GTE(this=node.this, expression=node.args["low"]),
        exp.LTE(this=node.this, expression=node.args["high"]),
    )
    low, high = (in_one_form(each, type_of) for each in asked)
    return in_one_form(exp.And(this=low, expression=high), type_of)


def _conditional(node: exp.If, type_of: TypeOf) -> exp.Expr:
    """`if(a, b, c)` is `case when a then b else c end`; the branches of a CASE are such nodes without a third part."""
    if node.args.get("false") is None:
        return node
    branch = exp.If(this=node.this, true=node.args["true"])
    return _branched(exp.Case(ifs=[branch], default=node.args["false"]), type_of)


def _branched(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A CASE of conditions, in one form."""
    made = _unnested(_affirmed(_unnested(_case(_others(node, type_of)), type_of), type_of), type_of)
    return _truth(_asked(made, type_of), type_of) if isinstance(made, exp.Case) else made


def _asked(node: exp.Case, type_of: TypeOf) -> exp.Case:
    """A CASE only asks whether a condition is true: `coalesce(a, false)` is `a` there."""
    conditions = [truths.condition(each.this, type_of) for each in node.args["ifs"]]
    if all(made is each.this for made, each in zip(conditions, node.args["ifs"], strict=True)):
        return node
    pairs = zip(conditions, node.args["ifs"], strict=True)
    branches = [noted(exp.If(this=made, true=each.args["true"]), type_of) for made, each in pairs]
    return exp.Case(ifs=branches, default=node.args.get("default"))


def _case(node: exp.Expr) -> exp.Expr:
    """What no branch takes is null, said or not."""
    if not isinstance(node.args.get("default"), exp.Null):
        return node
    return exp.Case(**{part: value for part, value in node.args.items() if part != "default"})


def _others(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`case when a = 0 then null else a end` is `case when a <> 0 then a end`: what is null is so anyway."""
    branches, other = node.args["ifs"], node.args.get("default")
    condition = branches[0].this.unnest()
    if other is None or len(branches) > 1 or not isinstance(condition, exp.EQ) or not is_repeatable(other):
        return node
    sides = [each.unnest() for each in (condition.this, condition.expression)]
    is_of_other = terms.key(other) in map(terms.key, sides) and any(isinstance(each, exp.Literal) for each in sides)
    if not is_of_other or not isinstance(branches[0].args["true"].unnest(), exp.Null):
        return node
    is_another = noted(exp.NEQ(this=condition.this, expression=condition.expression), type_of)
    return exp.Case(ifs=[noted(exp.If(this=is_another, true=other), type_of)])


def _unnested(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A CASE whose other case is one too, as one with all branches, if all give values of one type anyway."""
    other = node.args.get("default")
    inner = other.unnest() if other is not None else None
    if node.this is not None or not isinstance(inner, exp.Case) or inner.this is not None:
        return node
    branches, default = [*node.args["ifs"], *inner.args["ifs"]], inner.args.get("default")
    values = [each.args["true"] for each in branches] + ([default] if default is not None else [])
    return exp.Case(ifs=branches, default=default) if _are_alike(values, type_of) else node


def _truth(node: exp.Case, type_of: TypeOf) -> exp.Expr:
    """`case when a then b else false end` is `coalesce(a, false) and b`, if both are truth values."""
    (first, *others), other = node.args["ifs"], node.args.get("default")
    value = first.args["true"].unnest()
    is_plain = node.this is None and not others and type_of(first.this) == type_of(value) == "boolean"
    if not is_plain or other is None or terms.key(other) != terms.key(exp.false()):
        return node
    condition = noted(_flat(exp.Coalesce(this=first.this, expressions=[exp.false()]), type_of), type_of)
    if isinstance(value, exp.Boolean) and value.this:
        return condition
    return in_one_form(exp.And(this=truths.bracketed(condition), expression=truths.bracketed(value)), type_of)


def _flat(node: exp.Coalesce, type_of: TypeOf) -> exp.Expr:
    """`coalesce(a, coalesce(b, 1), c)` is `coalesce(a, b, 1)`, if all are of one type anyway.

    `coalesce(a, true)` is `not coalesce(not a, false)`, if `a` is a truth value.
    """
    parts = [each.unnest() for each in (node.this, *node.expressions)]
    parts = [_behind(each, after) for each, after in zip(parts, [*parts[1:], None], strict=True)]
    inner = [[each.this, *each.expressions] if isinstance(each, exp.Coalesce) else [each] for each in parts]
    values: list[exp.Expr] = [each.unnest() for part in inner for each in part]
    if not _are_alike(values, type_of):
        return node
    values = [each for each in values if not isinstance(each, exp.Null)] or values[:1]
    last = next((at for at, each in enumerate(values) if is_never_null(each)), len(values))
    found = values[: last + 1]
    if len(found) == 2 and isinstance(found[1], exp.Boolean) and found[1].this and type_of(found[0]) == "boolean":
        return _denied(noted(exp.Coalesce(this=_not(found[0], type_of), expressions=[exp.false()]), type_of))
    return exp.Coalesce(this=found[0], expressions=found[1:]) if len(found) > 1 else found[0]


def _not(value: exp.Expr, type_of: TypeOf) -> exp.Expr:
    return _rewritten(exp.Not(this=truths.bracketed(value)), type_of)


def _behind(value: exp.Expr, after: exp.Expr | None) -> exp.Expr:
    """`coalesce(a, 0)`, made before an outer join, if it is 0 in any case where the join has no row for it."""
    atom = value.meta.get("atom")
    made = atom.made_of[0].unnest() if atom is not None and atom.kind == "outer" else None
    if (
        not isinstance(made, exp.Coalesce)
        or after is None
        or not isinstance(made.expressions[-1].unnest(), exp.Literal)
    ):
        return value
    is_same = terms.key(made.expressions[-1]) == terms.key(after)
    return made if is_same and all(map(is_null_of_nulls, (made.this, *made.expressions[:-1]))) else value


def _are_alike(values: list[exp.Expr], type_of: TypeOf) -> bool:
    """Whether values have one simple type, or are whole numbers: it makes no difference which Spark casts first."""
    types = {type_of(each) for each in values} - {"void"}
    return types <= {*INTEGERS} or (len(types) == 1 and not any(each is None or "<" in each for each in types))


def _certain_truth(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`a is true` is `a <=> true`, and that is `coalesce(a, false)`; `a is false` is `coalesce(not a, false)`."""
    sides = [each.unnest() for each in (node.this, node.expression)]
    for value, other in (sides, sides[::-1]):
        if isinstance(other, exp.Boolean) and type_of(value) == "boolean":
            asked = value if other.this else _not(value, type_of)
            return _flat(exp.Coalesce(this=asked, expressions=[exp.false()]), type_of)
    is_of_truth = isinstance(node, exp.Is) and isinstance(sides[1], exp.Boolean)
    return exp.NullSafeEQ(this=node.this, expression=node.expression) if is_of_truth else node


def _part(node: exp.Expr, unit: str, of: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`extract(year from t)` is `year(t)`; of an interval it is something else."""
    name = _PARTS.get(unit.lower())
    is_part = name is not None and type_of(of) in ("date", "timestamp")
    return exp.Anonymous(this=name, expressions=[of]) if is_part else node


def _affirmed(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`case when not a then b else c end` is `case when a then c else b end`, if `a` is never null.

    Of structs, the first one would give its names to the fields of both.
    """
    *before, last = node.args["ifs"]
    other = node.args.get("default") or exp.null()
    condition, value = last.this.unnest(), last.args["true"]
    if node.this is not None or not isinstance(condition, exp.Not) or not is_never_null(condition.this):
        return node
    if any("<" in (type_of(each) or "<") for each in (value, other)):
        return node
    branches = [*before, exp.If(this=condition.this.unnest(), true=other)]
    return noted(exp.Case(ifs=branches, default=value), type_of)


def _equality(node: exp.EQ, type_of: TypeOf) -> exp.Expr:
    """`1 = 1` is true, and `b = true` is `b`."""
    sides = [each.unnest() for each in (node.this, node.expression)]
    if all(isinstance(each, exp.Literal) for each in sides) and terms.key(sides[0]) == terms.key(sides[1]):
        return exp.true()
    for value, other in (sides, sides[::-1]):
        if isinstance(other, exp.Boolean) and type_of(value) == "boolean":
            return value if other.this else _rewritten(exp.Not(this=value), type_of)
    return node


def _data_type(node: exp.Expr) -> exp.Expr:
    """`decimal(12)` is `decimal(12, 0)`."""
    is_short = node.this is exp.DataType.Type.DECIMAL and len(node.expressions) < 2
    return exp.DataType.build(canonical(node.sql(dialect="databricks")), dialect="databricks") if is_short else node


def _now(node: exp.Expr) -> exp.Expr:
    """`current_timestamp` without brackets."""
    name = "current_date" if isinstance(node, exp.CurrentDate) else "current_timestamp"
    return node if node.this else exp.Anonymous(this=name, expressions=[])


def _named_struct(arguments: list[exp.Expr]) -> exp.Expr | None:
    """`named_struct('x', a)` is `struct(a as x)`."""
    names, values = arguments[::2], arguments[1::2]
    if len(names) != len(values) or not all(isinstance(each, exp.Literal) and each.is_string for each in names):
        return None
    pairs = zip(names, values, strict=True)
    fields = [exp.PropertyEQ(this=exp.Identifier(this=name.name), expression=value) for name, value in pairs]
    return exp.Struct(expressions=fields)


def _searched(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`case a when b then c end` is `case when a = b then c end`."""
    of = node.this
    if of is None:
        return node
    branches = [
        exp.If(this=in_one_form(exp.EQ(this=of, expression=each.this), type_of), true=each.args["true"])
        for each in node.args["ifs"]
    ]
    return exp.Case(ifs=[noted(each, type_of) for each in branches], default=node.args.get("default"))


def _without_neutral(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`60 * 60` is `3600`, and `a + 0` and `a * 1` are `a`, for whole numbers of the same type, as there is `-0.0`."""
    sides = [each.unnest() for each in (node.this, node.expression)]
    if all(isinstance(each, exp.Literal) and type_of(each) == "int" for each in sides):
        one, other = (int(each.name) for each in sides)
        found = exp.Literal.number(one * other if isinstance(node, exp.Mul) else one + other)
        return found if type_of(found) == "int" else node
    neutral = "1" if isinstance(node, exp.Mul) else "0"
    for value, other in ((node.this, node.expression), (node.expression, node.this)):
        is_neutral = isinstance(other.unnest(), exp.Literal) and terms.key(other) == neutral
        if is_neutral and type_of(value) in INTEGERS and type_of(node) == type_of(value):
            return value  # type: ignore[no-any-return]
    return node


def _concat(node: exp.DPipe, type_of: TypeOf) -> exp.Expr:
    """`a || b || c` is `concat(a, b, c)`, if all of them are texts or become such."""
    first = node.this.unnest()
    inner = first.expressions if type(first) is exp.Concat and type_of(first) == "string" else [node.this]
    return _constant(exp.Concat(expressions=[*inner, node.expression], safe=True, coalesce=False), type_of)


def _constant(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`concat(60, ' seconds')` is `'60 seconds'`, and `concat(string(a), b)` is `concat(a, b)`."""
    parts = [each.unnest() for each in node.expressions]
    is_text = all(isinstance(each, exp.Literal) and (each.is_string or _is_plain_number(each)) for each in parts)
    if is_text:
        return exp.Literal.string("".join(each.name for each in parts))
    spoken = [_spoken(each, type_of) for each in parts] if type_of(node) == "string" else parts
    return node if spoken == parts else exp.Concat(**{**node.args, "expressions": spoken})


def _spoken(part: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A value that becomes text by itself, also where a cast says so."""
    is_said = type(part) is exp.Cast and type_of(part) == "string" and type_of(part.this) in SPOKEN
    return part.this if is_said else part


def _is_plain_number(literal: exp.Literal) -> bool:
    """Whether a number becomes the text that it is written as; `007` does not."""
    return literal.name.isdecimal() and str(int(literal.name)) == literal.name


def _call(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A function by its first name, or as the operator that it is; a window whose slide is its length slides itself."""
    name, arguments = node.name.lower(), [*node.expressions]
    name = _SYNONYMS.get(name, name)
    if name == "named_struct":
        return _named_struct(arguments) or node
    if operator := _OPERATORS.get((name, len(arguments))):
        return operator(*arguments)
    if name in _CASTS and len(arguments) == 1:
        return exp.Cast(this=arguments[0], to=exp.DataType.build(_CASTS[name], dialect="databricks"))
    if name == "extract" and isinstance(arguments[0], exp.Literal):
        return _part(node, arguments[0].name, arguments[1], type_of)
    if name == "nullif" and len(arguments) == 2 and "atom" in arguments[0].unnest().meta:
        equal = in_one_form(exp.EQ(this=arguments[0], expression=arguments[1]), type_of)
        return exp.Case(ifs=[exp.If(this=equal, true=exp.null())], default=arguments[0])
    if name in _OF_FIRST and len(arguments) == 2 and isinstance(arguments[1], exp.Boolean) and arguments[1].this:
        return exp.IgnoreNulls(this=exp.Anonymous(this=name, expressions=arguments[:1]))
    if name in _OF_FIRST and isinstance(arguments[0], exp.IgnoreNulls):
        return exp.IgnoreNulls(this=exp.Anonymous(this=name, expressions=[arguments[0].this]))
    if name in _ENTRIES and (type_of(arguments[0]) or "").startswith("map<string,") and _is_text(arguments[1]):
        return exp.Dot(this=arguments[0], expression=exp.Identifier(this=arguments[1].name))
    if name in _PATTERNS and type_of(arguments[0]) == "string" and _is_plain_text(arguments[1]):
        return exp.Like(this=arguments[0], expression=exp.Literal.string(_PATTERNS[name].format(arguments[1].name)))
    if name in ("locate", "position") and len(arguments) == 2:
        return exp.Anonymous(this="instr", expressions=arguments[::-1])
    if name == "avg" and len(arguments) == 1 and isinstance(arguments[0].unnest(), exp.Case):
        return aggregates.of_a_case(exp.Anonymous(this=name, expressions=[arguments[0].unnest()]))
    if name == "window" and len(arguments) == 3 and _is_same_length(*arguments[1:]):
        return exp.Anonymous(this=node.this, expressions=arguments[:2])
    if name in ("greatest", "least") and (is_exact(type_of(node)) or type_of(node) == ARRIVALS):
        arguments.sort(key=terms.key)
    if (at := _UNIT_AT.get(name)) is not None and isinstance(arguments[at], exp.Literal):
        unit = arguments[at].name.lower()
        arguments[at] = exp.Literal.string(_UNITS.get(unit, unit))
    is_same = name == node.name.lower() and arguments == node.expressions
    return node if is_same else exp.Anonymous(this=name, expressions=arguments)


def _is_text(tree: exp.Expr) -> bool:
    """Whether it is a text that is written out."""
    return isinstance(tree, exp.Literal) and bool(tree.is_string)


def _is_plain_text(tree: exp.Expr) -> bool:
    """Whether it is such a text, in which a pattern would see no signs of its own."""
    return _is_text(tree) and not {*tree.name} & {*"%_\\"}


def _denied(tree: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Paren(this=tree))


_OPERATORS: Mapping[tuple[str, int], Callable[..., exp.Expr]] = {
    ("cardinality", 1): lambda a: exp.ArraySize(this=a),
    ("ceiling", 1): lambda a: exp.Ceil(this=a),
    ("equal_null", 2): lambda a, b: exp.NullSafeEQ(this=a, expression=b),
    ("isnotnull", 1): lambda a: _denied(exp.Is(this=a, expression=exp.Null())),
    ("isnull", 1): lambda a: exp.Is(this=a, expression=exp.Null()),
    ("left", 2): lambda a, b: exp.Substring(this=a, start=exp.Literal.number(1), length=b),
    ("like", 2): lambda a, b: exp.Like(this=a, expression=b),
    ("mod", 2): lambda a, b: exp.Mod(this=exp.Paren(this=a), expression=exp.Paren(this=b)),
    ("negative", 1): lambda a: exp.Neg(this=exp.Paren(this=a)),
    ("nvl2", 3): lambda a, b, c: exp.If(this=_denied(exp.Is(this=a, expression=exp.Null())), true=b, false=c),
    ("regexp", 2): lambda a, b: exp.RegexpLike(this=a, expression=b),
    ("regexp_like", 2): lambda a, b: exp.RegexpLike(this=a, expression=b),
    ("rlike", 2): lambda a, b: exp.RegexpLike(this=a, expression=b),
    ("zeroifnull", 1): lambda a: exp.Coalesce(this=a, expressions=[exp.Literal.number(0)]),
}
"""Functions that are written as operators too, by their name and the number of their arguments."""


def _is_same_length(length: exp.Expr, slide: exp.Expr) -> bool:
    are_texts = all(isinstance(each, exp.Literal) and each.is_string for each in (length, slide))
    return are_texts and terms.seconds(length.name) == terms.seconds(slide.name)


def _lambda(node: exp.Expr) -> exp.Expr:
    """A function of values whose arguments have numbers, counted from inside: their names mean nothing."""
    depth = 1 + max((each.meta["depth"] for each in node.find_all(exp.Lambda) if "depth" in each.meta), default=0)
    names = {each.name.lower(): f"argument{depth}_{at}" for at, each in enumerate(node.expressions)}
    made = exp.Lambda(
        this=_renamed(node.this, names),
        expressions=[exp.Identifier(this=names[each.name.lower()]) for each in node.expressions],
    )
    made.meta["depth"] = depth
    return made


def _renamed(node: exp.Expr, names: dict[str, str]) -> exp.Expr:
    """An expression with other arguments; fields and aliases that have their names are none."""
    if "atom" in node.meta or isinstance(node, exp.DataType):
        return node
    if isinstance(node, exp.Identifier):
        return exp.Identifier(this=names.get(node.name.lower(), node.name), quoted=node.args.get("quoted"))
    made = type(node)(**{part: _renamed_part(node, part, value, names) for part, value in node.args.items()})
    made.meta.update(terms.notes(node))
    return made


def _renamed_part(node: exp.Expr, part: str, value: object, names: dict[str, str]) -> object:
    is_label = part == "alias" or (part, type(node)) in (("expression", exp.Dot), ("this", exp.PropertyEQ))
    if isinstance(value, exp.Expr) and not (is_label and isinstance(value, exp.Identifier)):
        return _renamed(value, names)
    if isinstance(value, list):
        return [_renamed(each, names) if isinstance(each, exp.Expr) else each for each in value]
    return value


_REWRITES: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.CountIf: aggregates.count_if,
    exp.Count: aggregates.count,
    exp.CurrentDate: _now,
    exp.DataType: _data_type,
    exp.CurrentTimestamp: _now,
    exp.Filter: aggregates.filtered,
    exp.Like: _like,
    exp.ILike: _like,
    exp.RegexpLike: _like,
    exp.Lag: aggregates.lag,
    exp.Lead: aggregates.lag,
    exp.StrPosition: _position,
    exp.Trim: _trim,
    exp.Lambda: _lambda,
    exp.WindowSpec: aggregates.frame,
    exp.Window: aggregates.window,
}
