"""Spark's functions that make one row of many, or many of one, and those that may fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from sqlglot import exp

# fmt: off
AGGREGATES = frozenset(
    (
        "any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k", "approx_top_k_accumulate",
        "approx_top_k_combine", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bitmap_and_agg",
        "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or", "collect_list", "collect_set", "corr",
        "count", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every", "first", "first_value",
        "grouping", "grouping_id", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "kll_merge_agg_bigint",
        "kll_merge_agg_double", "kll_merge_agg_float", "kll_sketch_agg_bigint", "kll_sketch_agg_double",
        "kll_sketch_agg_float", "kurtosis", "last", "last_value", "listagg", "max", "max_by", "mean", "measure",
        "median", "min", "min_by", "mode", "percentile", "percentile_approx", "percentile_cont", "percentile_disc",
        "product", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx",
        "regr_sxy", "regr_syy", "schema_of_avro", "schema_of_json_agg", "schema_of_variant_agg", "skewness", "some",
        "st_union_agg", "std", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "theta_intersection_agg",
        "theta_sketch_agg", "theta_union_agg", "tuple_intersection_agg_double", "tuple_intersection_agg_integer",
        "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double", "tuple_union_agg_integer",
        "try_avg", "try_sum", "var_pop", "var_samp", "variance", "vector_avg", "vector_sum",
    )
)
"""Functions that need a group."""

GENERATORS = frozenset(
    (
        "collations", "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode",
        "posexplode_outer", "sql_keywords", "stack", "variant_explode", "variant_explode_outer",
    )
)
"""Functions that give several rows."""

NEVER_FAILING = frozenset(
    (
        "abs", "add_months", "array", "array_contains", "array_distinct", "array_except", "array_intersect",
        "array_max", "array_min", "array_position", "array_size", "array_sort", "array_union", "arrays_overlap",
        "ascii", "base64", "btrim", "cardinality", "char_length", "concat", "contains", "crc32", "date_add",
        "date_diff", "date_format", "date_sub", "date_trunc", "datediff", "day", "dayofmonth",
        "dayofweek", "dayofyear", "endswith", "equal_null", "exists", "exp", "filter", "flatten", "floor",
        "forall", "get", "get_json_object", "greatest", "hash", "hex", "hour", "ifnull", "initcap", "instr",
        "isnan", "isnotnull", "isnull", "last_day", "least", "left", "len", "length", "ln", "locate", "log10",
        "lower", "lpad", "ltrim", "map_contains_key", "map_keys",
        "map_values", "md5", "minute", "month", "months_between", "named_struct", "nullif", "nullifzero", "nvl",
        "nvl2", "quarter", "regexp_like", "repeat", "replace", "reverse", "right", "round", "rpad", "rtrim",
        "second", "session_window", "sha1", "sha2", "sign", "size", "sort_array", "sqrt", "startswith",
        "struct", "substr", "substring", "timestamp_micros",
        "timestampdiff", "transform", "translate", "trim", "unix_date", "unix_micros",
        "unix_millis", "unix_seconds", "upper", "weekday", "weekofyear", "window", "xxhash64", "year",
        "zeroifnull",
    )
)
"""Functions that give a value or null for any arguments of the right types."""

_CONVERTING = frozenset(
    (
        "abs", "add_months", "date_add", "date_diff", "date_format", "date_sub", "date_trunc", "dateadd", "datediff",
        "day", "dayofmonth", "dayofweek", "dayofyear", "exp", "floor", "hour", "isnan", "last_day", "ln", "log10",
        "make_dt_interval", "make_interval", "minute", "month", "months_between", "nullifzero", "quarter", "round",
        "second", "sign", "sqrt", "timestamp_micros", "timestamp_millis", "timestamp_seconds", "timestampadd",
        "timestampdiff", "unix_date", "unix_micros", "unix_millis", "unix_seconds", "weekday", "weekofyear", "year",
        "zeroifnull",
    )
)
"""Those of them that read a text as a number or a time, which not every text is."""

_LENGTHS = frozenset(("make_dt_interval", "make_interval", "make_ym_interval"))
"""Those that make an interval of numbers, which fails only where these are too large."""

STRICT = frozenset(
    (
        "add_months", "base64", "btrim", "date_add", "date_format", "date_sub", "date_trunc", "datediff",
        "dayofmonth", "dayofweek", "dayofyear", "get_json_object", "hex", "hour", "initcap", "instr",
        "last_day", "lpad", "ltrim", "md5", "minute", "month", "power", "quarter",
        "regexp_extract", "regexp_replace", "replace", "reverse", "right", "round", "rpad", "rtrim", "second",
        "sha1", "sha2", "sign", "split", "sqrt", "timestamp_millis", "timestamp_seconds", "translate", "trunc",
        "unix_millis", "unix_seconds", "unix_timestamp", "weekofyear", "year",
    )
)
"""Functions that give null wherever one of their arguments is null."""

_MIXING = frozenset(("array", "array_contains", "equal_null", "greatest", "ifnull", "least", "nullif", "nvl", "nvl2"))
"""Those that make texts and other values one type."""
# fmt: on

_ISO = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")

_FAILING = (exp.Bracket, exp.Div, exp.IntDiv, exp.Mod)
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)
_ARITHMETIC = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot),
    *(exp.BitwiseLeftShift, exp.BitwiseRightShift, *_DIVISIONS),
)
_CONVERTING_NODES = (*_ARITHMETIC, exp.Abs, exp.Ceil, exp.Floor, exp.Extract)
_MIXING_NODES = (
    *(exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In),
    *(exp.Case, exp.Coalesce),
)
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike)
_OVERFLOWING = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs)
_UNBOUNDED = ("float", "double", "date", "timestamp")
"""Types with which a sum or a product is never too large, or only after many thousands of years."""
_WIDENING = ("tinyint", "smallint", "int", "bigint", "float", "double")
"""Types of numbers, each of which has all values of those before it, if not exactly."""

FAILS = "fails"
"""Notes whether a node itself may raise an error, whatever may be below it."""

OVERFLOWS = "overflows"
"""Notes whether a node itself raises an error where its result is too large for its type."""

OF_WHOLE = "of_whole"
"""Notes whether a node compares whole numbers with one that is written out: `a >= 1` is `a > 0`."""


def noted(tree: exp.Expr, type_of: Callable[[exp.Expr], str | None]) -> exp.Expr:
    """The tree, whose nodes know whether they may raise an error for some row."""
    if "atom" not in tree.meta and FAILS not in tree.meta:
        for each in tree.iter_expressions():
            noted(each, type_of)
        tree.meta[FAILS] = _fails(tree, type_of)
        tree.meta[OVERFLOWS] = _overflows(tree, type_of)
        tree.meta[OF_WHOLE] = _is_of_whole(tree, type_of)
    return tree


def may_fail(tree: exp.Expr, with_overflow: bool = True) -> bool:
    """Whether an expression may raise an error for some row, also for numbers that are too large, if so asked."""
    if "atom" in tree.meta:
        return False
    fails = tree.meta.get(FAILS)
    itself = isinstance(tree, _FAILING) or _is_unknown(tree) if fails is None else bool(fails)
    itself = itself or (with_overflow and bool(tree.meta.get(OVERFLOWS)))
    return itself or any(may_fail(each, with_overflow) for each in tree.iter_expressions())


def _fails(node: exp.Expr, type_of: Callable[[exp.Expr], str | None]) -> bool:
    if type(node) is exp.Cast:
        return _is_narrowing(type_of(node.this), type_of(node)) and not _is_time(node.this.unnest(), type_of(node))
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if name in _LENGTHS and all(map(_is_constant, node.expressions)):
        return False
    values = [each for each in _values(node) if not (isinstance(each, exp.Literal) and each.is_string)]
    texts = [each for each in values if _may_be_text(each, type_of)]
    if name in _CONVERTING or isinstance(node, _CONVERTING_NODES):
        return bool(texts) or _is_unknown(node) or (isinstance(node, _DIVISIONS) and not _is_number(node.expression))
    if name in _MIXING or isinstance(node, _MIXING_NODES):
        others = (isinstance(each, exp.Identifier) or _is_no_text(type_of(each)) for each in values)
        return bool(texts) and any(others)  # an identifier is the argument of a lambda, of any type
    if isinstance(node, _PATTERNS) or name == "regexp_like":
        return not isinstance([*node.iter_expressions()][1].unnest(), exp.Literal)
    return isinstance(node, exp.Bracket) or _is_unknown(node)


def _overflows(node: exp.Expr, type_of: Callable[[exp.Expr], str | None]) -> bool:
    """Whether numbers that are no fractions are added or multiplied, or may be: not all results fit into their type."""
    if not isinstance(node, _OVERFLOWING):
        return False
    parts = [each.unnest() for each in node.iter_expressions()]
    is_constant = all(isinstance(each, exp.Literal) for each in parts)
    is_time = any(isinstance(each, exp.Interval) for each in parts)
    return not (is_constant or is_time or any(type_of(each) in _UNBOUNDED for each in parts))


def _is_of_whole(node: exp.Expr, type_of: Callable[[exp.Expr], str | None]) -> bool:
    if not isinstance(node, (exp.GTE, exp.LTE)):
        return False
    sides = [each.unnest() for each in (node.this, node.expression)]
    written = [each for each in sides if isinstance(each, exp.Literal)]
    return len(written) == 1 and type_of(written[0]) == "int" and all(type_of(each) in _WIDENING[:4] for each in sides)


def _values(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a node makes one type of, or compares; a CASE gives one of several values."""
    for each in node.iter_expressions():
        inner = each.unnest()
        yield from [inner.args["true"]] if isinstance(inner, exp.If) and isinstance(node, exp.Case) else [inner]


def _is_unknown(node: exp.Expr) -> bool:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    return bool(name) and name not in NEVER_FAILING and not name.startswith("try_")


def _is_narrowing(known: str | None, to: str | None) -> bool:
    """Whether not all values of a type are some of another one."""
    widens = known in _WIDENING and to in _WIDENING and _WIDENING.index(known) <= _WIDENING.index(to)
    widens = widens or (known == "boolean" and to in _WIDENING)
    return not (widens or to in ("string", known) or {known, to} == {"date", "timestamp"})


def _is_time(value: exp.Expr, to: str | None) -> bool:
    """Whether it is a day or a time that is written out, and that there is."""
    if to not in ("date", "timestamp") or not isinstance(value, exp.Literal) or not _ISO.fullmatch(value.name):
        return False
    try:
        return bool(datetime.fromisoformat(value.name))
    except ValueError:
        return False


def _may_be_text(tree: exp.Expr, type_of: Callable[[exp.Expr], str | None]) -> bool:
    """Whether a value may be a text; the types of stored columns are known once a query has run."""
    known, atom = type_of(tree), tree.meta.get("atom")
    if known is not None:
        return known == "string"
    if atom is not None:
        return any(_may_be_text(each.unnest(), type_of) for each in atom.made_of)
    if isinstance(tree, exp.Anonymous) and tree.name.lower() in _LENGTHS:
        return False
    return not isinstance(tree, (*_ARITHMETIC, exp.Interval, exp.Literal, exp.Sum, exp.Predicate))


def _is_no_text(known: str | None) -> bool:
    """Whether values are of a type that Spark makes of texts."""
    return known not in (None, "string", "void") and not str(known).startswith(("struct<", "array<", "map<"))


def _is_constant(tree: exp.Expr) -> bool:
    """Whether it is a number that is written out, or null, also as the argument of a macro."""
    tree = tree.unnest()
    if isinstance(tree, exp.Cast):
        return isinstance(tree.this.unnest(), exp.Literal) and not tree.this.unnest().is_string
    return isinstance(tree, (exp.Literal, exp.Null))


def _is_number(tree: exp.Expr) -> bool:
    """Whether a divisor is a number that is not zero."""
    tree = tree.unnest()
    return isinstance(tree, exp.Literal) and not tree.is_string and any(digit in "123456789" for digit in tree.name)
