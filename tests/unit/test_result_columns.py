"""The columns of a query's result, with and without names."""

from __future__ import annotations

import pytest

from headrace.project.sql import dialect, result_columns


def columns(text: str) -> list[str] | None:
    """The names of the columns, and in brackets what has none."""
    found = result_columns.of(dialect.parse(text, "m.sql").scopes)
    return None if found is None else [each if isinstance(each, str) else f"({each.sql()})" for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a, b as c, t.d, e.f.g, (h), cast(i as int) from silver.t", ["a", "c", "d", "g", "h", "i"]),
        ("select a, b + 1, -c, cast(d + 1 as int) from silver.t", ["a", "(b + 1)", "(-c)", "(CAST(d + 1 AS INT))"]),
        ("with x as (select a, b + 1 from silver.t) select * from x", ["a", "(b + 1)"]),
        ("with x as (select a, b + 1 from silver.t) select x.*, 1 as n from x join silver.u", ["a", "(b + 1)", "n"]),
        ("with x as (select a, b + 1 from silver.t) select * except (A) from x", ["(b + 1)"]),
        ("with x(p, q) as (select a, b + 1 from silver.t) select * from x", ["p", "q"]),
        ("select a, 1 + 1 from silver.t union all select b, c from silver.u", ["a", "(1 + 1)"]),
        ("select posexplode(items) as (pos, item) from silver.t", ["pos", "item"]),
        ("select a, inline(items) from silver.t", None),
        ("select a, json_tuple(b, 'c') from silver.t", None),
        ("select * from silver.t", None),
        ("with x as (select 1 as a), y as (select 2 as b) select * from x, y", None),
        ("with x as (select a + 1 from silver.t) select * from x as y(b)", None),
        ("with recursive x as (select * from x) select * from x", None),
    ],
)
def test_columns_are_listed_one_by_one(text: str, expected: list[str] | None) -> None:
    assert columns(text) == expected


@pytest.mark.parametrize(
    ("column", "line"),
    [("total", 3), ("TOTAL", 3), ("key", 1), ("nothing", 1)],
)
def test_place_of_a_column_is_where_it_is_made(column: str, line: int) -> None:
    text = """with summed as (
    select key,
        sum(n) as total
    from bronze.a group by key)
select * from summed"""
    assert result_columns.place(text, "a.sql", column).line == line
