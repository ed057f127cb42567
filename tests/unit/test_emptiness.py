"""Which queries give no rows, by which of their inputs have none."""

from __future__ import annotations

import pytest

from headrace.project.sql import emptiness


def gives_nothing(query: str, *empty: str) -> bool:
    return emptiness.of(query, "q.sql")(lambda ref: ref.table in empty)


@pytest.mark.parametrize(
    ("query", "empty", "expected"),
    [
        ("select a from stream silver.a", "silver.a", True),
        ("select a from stream silver.a", "silver.b", False),
        ("with x as (select a from stream silver.a), y as (select * from x) select * from y", "silver.a", True),
        ("with x as (select a from silver.a) select a from silver.b as x", "silver.a", False),
        ("select 1 as n", "silver.a", False),
        ("select * from silver.a join silver.b using (k)", "silver.b", True),
        ("select * from silver.a, silver.b", "silver.b", True),
        ("select * from silver.a cross join silver.b", "silver.a", True),
        ("select * from silver.a left join silver.b using (k)", "silver.b", False),
        ("select * from silver.a left join silver.b using (k)", "silver.a", True),
        ("select * from silver.a right join silver.b using (k)", "silver.a", False),
        ("select * from silver.a right join silver.b using (k)", "silver.b", True),
        ("select * from silver.a full join silver.b using (k)", "silver.a", False),
        ("select * from silver.a full join silver.b using (k)", "silver.a silver.b", True),
        ("select * from silver.a left semi join silver.b using (k)", "silver.b", True),
        ("select * from silver.a left anti join silver.b using (k)", "silver.b", False),
        ("select * from silver.a left anti join silver.b using (k)", "silver.a", True),
        ("select k from silver.a union all select k from silver.b", "silver.a", False),
        ("select k from silver.a union all select k from silver.b", "silver.a silver.b", True),
        ("select k from silver.a intersect select k from silver.b", "silver.b", True),
        ("select k from silver.a except select k from silver.b", "silver.b", False),
        ("select k from silver.a except select k from silver.b", "silver.a", True),
        ("select count(*) as n from silver.a", "silver.a", False),
        ("select collect_list(k) as n from silver.a", "silver.a", False),
        ("select 1 + coalesce(max(k), 0) as n from silver.a", "silver.a", False),
        ("select kll_sketch_agg(k) as n from silver.a", "silver.a", False),
        ("select 1 as n from silver.a having true", "silver.a", False),
        ("select k, count(*) as n from silver.a group by k", "silver.a", True),
        ("select count(*) as n from silver.a group by ()", "silver.a", False),
        ("select k, count(*) as n from silver.a group by rollup (k)", "silver.a", False),
        ("select k, count(*) as n from silver.a group by cube (k)", "silver.a", False),
        ("select k, count(*) as n from silver.a group by k with rollup", "silver.a", False),
        ("select k, count(*) as n from silver.a group by k grouping sets ((k), ())", "silver.a", False),
        ("select count(*) as n from silver.a group by all", "silver.a", False),
        ("select row_number() over (order by k) as n from silver.a", "silver.a", True),
        ("select sum(k) over (partition by k) as n from silver.a", "silver.a", True),
        ("select max(k) over (partition by max(k)) as n from silver.a", "silver.a", False),
        ("select max(k) over (order by max(k)) as n from silver.a", "silver.a", False),
        ("select max(k) filter (where k > 1) over (partition by k) as n from silver.a", "silver.a", True),
        ("select sum(sum(k)) over () as n from silver.a", "silver.a", False),
        ("select k, (select max(k) from silver.b) as n from silver.a", "silver.a", True),
        ("select aggregate(ks, 0, (sum, k) -> sum + k) as n from silver.a", "silver.a", True),
        ("select k, explode(ks) as each from silver.a", "silver.a", True),
        ("select k from silver.a lateral view outer explode(ks) as each", "silver.a", True),
        ("select n from silver.a, lateral (select 1 as n)", "silver.a", True),
        ("select * from (select k from silver.a) as x join silver.b using (k)", "silver.a", True),
        ("select * from (select count(*) as n from silver.a) as x", "silver.a", False),
        ("select * from range(3)", "silver.a", False),
        ("select * from (values (1)) as x", "silver.a", False),
        ("select * from silver.a pivot (count(*) for k in (1, 2))", "silver.a", False),
        ("from silver.a |> where k > 1 |> extend k + 1 as n |> select n", "silver.a", True),
        ("from silver.a |> where k > 1 |> aggregate count(*) as n", "silver.a", False),
        ("from silver.a |> aggregate count(*) as n group by k", "silver.a", True),
        ("from silver.a |> left join silver.b using (k) |> select k", "silver.b", False),
        ("with recursive x as (select 1 as k union all select k + 1 from x where k < 3) select * from x", "", False),
        ("with x as (select k from silver.a) select y.k from x as y cross join x as z", "silver.a", True),
        ("select k from (silver.a join silver.b using (k))", "silver.c", False),
        ("select k from silver.a tablesample (10 rows)", "silver.a", True),
        ("select k from silver.a where exists (select 1 from silver.b)", "silver.a", True),
    ],
)
def test_query_gives_nothing(query, empty, expected):
    assert gives_nothing(query, *empty.split()) == expected
