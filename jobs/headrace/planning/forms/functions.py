"""Spark's functions that make one row of many, or many of one, and those that may fail."""

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

_NEVER_FAILING = frozenset(
    (
        "abs", "add_months", "array", "array_contains", "array_distinct", "array_except", "array_intersect",
        "array_max", "array_min", "array_position", "array_size", "array_sort", "array_union", "arrays_overlap",
        "ascii", "base64", "btrim", "cardinality", "char_length", "concat", "contains", "crc32", "date_add",
        "date_diff", "date_format", "date_sub", "date_trunc", "dateadd", "datediff", "day", "dayofmonth",
        "dayofweek", "dayofyear", "endswith", "equal_null", "exists", "exp", "filter", "flatten", "floor",
        "forall", "get", "get_json_object", "greatest", "hash", "hex", "hour", "ifnull", "initcap", "instr",
        "isnan", "isnotnull", "isnull", "last_day", "least", "left", "len", "length", "ln", "locate", "log10",
        "lower", "lpad", "ltrim", "make_dt_interval", "make_interval", "map_contains_key", "map_keys",
        "map_values", "md5", "minute", "month", "months_between", "named_struct", "nullif", "nullifzero", "nvl",
        "nvl2", "quarter", "regexp_like", "repeat", "replace", "reverse", "right", "round", "rpad", "rtrim",
        "second", "session_window", "sha1", "sha2", "sign", "size", "sort_array", "sqrt", "startswith",
        "struct", "substr", "substring", "timestamp_micros", "timestamp_millis", "timestamp_seconds",
        "timestampadd", "timestampdiff", "transform", "translate", "trim", "unix_date", "unix_micros",
        "unix_millis", "unix_seconds", "upper", "weekday", "weekofyear", "window", "xxhash64", "year",
        "zeroifnull",
    )
)
"""Functions that give a value or null for any arguments of the right types."""
# fmt: on

_FAILING = (exp.Bracket, exp.Div, exp.IntDiv, exp.Mod)
FAILS = "fails"
"""Marks a cast or a comparison of types that not all values have in common."""


def may_fail(tree: exp.Expr) -> bool:
    """Whether an expression may raise an error for some row; numbers that are too large do not count."""
    if "atom" in tree.meta:
        return False
    name = tree.name.lower() if isinstance(tree, exp.Anonymous) else ""
    if name and name not in _NEVER_FAILING and not name.startswith("try_"):
        return True
    return isinstance(tree, _FAILING) or bool(tree.meta.get(FAILS)) or any(map(may_fail, tree.iter_expressions()))
