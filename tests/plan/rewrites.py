"""Expressions written in two ways, over columns of a table that a test can fill: alike for every row, or not."""

from __future__ import annotations

COLUMNS = {
    "i": "int",
    "j": "int",
    "n": "bigint",
    "d": "double",
    "e": "decimal(10,2)",
    "b": "boolean",
    "t": "timestamp",
    "s": "string",
    "a": "array<int>",
    "m": "map<string,string>",
}
"""Columns and their types."""

ALIKE = (
    ("i + j", "j + i"),
    ("n * i", "i * n"),
    ("e * n", "n * e"),
    ("d + i", "i + d"),
    ("i between 1 and j", "i >= 1 and i <= j"),
    ("not (n between i and j)", "not (n <= j and n >= i)"),
    ("if(b, i, j)", "case when b then i else j end"),
    ("if(b, i, null)", "case when b then i end"),
    ("case when i > 1 then j end", "case when i > 1 then j else null end"),
    ("cast(i as int)", "i"),
    ("cast(n + 1 as bigint)", "n + 1"),
    ("cast(cast(s as string) as int)", "cast(s as int)"),
    ("doubled(n)", "n * 2"),
    ("i in (1, 2, 3)", "i in (3, 1, 2)"),
    ("i not in (1, null)", "i not in (null, 1)"),
    ("transform(a, x -> x + i)", "transform(a, y -> y + i)"),
    ("transform(a, x -> aggregate(a, x, (acc, y) -> acc + y))", "transform(a, p -> aggregate(a, p, (q, r) -> q + r))"),
    ("m.k", "m['k']"),
    ("t + interval 1 day", "t + interval 24 hours"),
    ("t + interval 2 minutes", "t + interval 120 seconds"),
    ("t - t > interval 1 minute", "t - t > interval 60 seconds"),
)
AGGREGATED_ALIKE = (
    ("count(*)", "count(1)"),
    ("count_if(i > 1)", "count(*) filter (where i > 1)"),
    ("avg(d)", "mean(d)"),
    ("bool_or(b)", "some(b)"),
    ("every(b)", "bool_and(b)"),
    ("stddev(i)", "stddev_samp(i)"),
    ("collect_list(i)", "array_agg(i)"),
)
OTHERS = (
    ("i - j", "j - i"),
    ("i + j + n", "i + (j + n)"),
    ("rand() between 0 and 1", "rand() >= 0 and rand() <= 1"),
    ("if(b, i, j)", "if(b, j, i)"),
    ("cast(i as bigint)", "i"),
    ("cast(concat(s, s) as int)", "cast(cast(concat(s, s) as binary) as int)"),
    ("cast(d as float)", "d"),
    ("cast(m as map<string,string>)", "cast(m as map<string,int>)"),
    ("i in (1, j)", "i in (1, n)"),
    ("transform(a, x -> x + i)", "transform(a, x -> x + j)"),
    ("transform(a, (x, k) -> x)", "transform(a, (x, k) -> k)"),
    ("transform(array(m), x -> x.k)", "transform(array(m), x -> x.K)"),
    ("struct(i as x)", "struct(i as y)"),
    ("m.k", "m.K"),
    ("date(t) + interval 1 day", "date(t) + interval 24 hours"),
    ("cast(interval 1 hour as string)", "cast(interval 60 minutes as string)"),
    ("sum(i)", "sum(distinct i)"),
    ("count(i)", "count(1)"),
    ("count(distinct 1)", "count(1)"),
    ("first(i)", "last(i)"),
    ("2.0D", "2.0"),
    ("1", "true"),
    ("'1'", "1"),
)
"""Expressions that a plan must not take for the same."""
MACRO = "create temporary function doubled(v bigint) returns bigint return v * 2"
