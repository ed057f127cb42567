"""Columns that a query gives, and columns that cannot exist."""

from __future__ import annotations

import pytest

from headrace.project.sql import dialect, scopes
from headrace.project.sql.scopes import Relation

RELATIONS = {
    "bronze.o": Relation(("key", "value", "timestamp", "data", "_arrival"), ("id", "items")),
    "silver.t": Relation(("id", "a", "b", "ts", "items", "_arrival"), bookkeeping=True),
    "silver.u": Relation(("id", "c")),
}


def unknown(text: str) -> list[str]:
    read = dialect.parse(text, "m.sql")
    return [found.name for found in scopes.unknown_columns(read, lambda table: RELATIONS.get(table, Relation(None)))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select id, a as b, t.c, d.e.f from silver.t", ("id", "b", "c", "f")),
        ("with x as (select id, a from silver.t) select * from x", ("id", "a")),
        ("with x as (select id, a from silver.t) select x.*, 1 as n from x join silver.u", ("id", "a", "n")),
        ("with x as (select id, a from silver.t) select * except (A) from x", ("id",)),
        ("with x(p, q) as (select id, a from silver.t) select * from x", ("p", "q")),
        ("select id from silver.t union all select c from silver.u", ("id",)),
        ("select posexplode(items) as (pos, item) from silver.t", ("pos", "item")),
        ("from silver.t |> select id, a as b", ("id", "b")),
        ("select * from silver.t", None),
        ("with x as (select 1 as a), y as (select 2 as b) select * from x, y", None),
        ("select a + 1 from silver.t", None),
        ("select inline(items) from silver.t", None),
        ("select * from (select id, a from silver.t) pivot (sum(a) for id in (1, 2))", None),
    ],
)
def test_output_columns_are_known_or_none(text, expected):
    assert scopes.output_columns(dialect.parse(text, "m.sql")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select idd from silver.t", ["idd"]),
        ("select t.idd from silver.t", ["idd"]),
        ("select x.idd from silver.t as x", ["idd"]),
        ("with x as (select id from silver.t) select a from x", ["a"]),
        ("with x as (select id from silver.t) select id from x where x.b = 1 group by bb", ["b", "bb"]),
        ("select t.id from silver.t join silver.u on t.id = u.idd", ["idd"]),
        ("select id from silver.t where exists (select 1 from silver.u where u.id = t.idd)", ["idd"]),
        ("select id from silver.t where c in (select c from silver.u)", ["c"]),
        ("select id, sum(a) over (partition by bb order by ts) as s from silver.t", ["bb"]),
        ("select transform(items, i -> i.x + zz) as z from silver.t", ["zz"]),
        ("select id from silver.t union all select a from silver.u", ["a"]),
        ("select data.idd, o.data.itemz, data.id from bronze.o", ["data.idd", "data.itemz"]),
        ("select _arival from bronze.o", ["_arival"]),
        ("select a as k, kk + 1 as l from silver.t", ["kk"]),
        ("select x.item, x.itm from silver.t lateral view explode(items) x as item", ["itm"]),
    ],
)
def test_unknown_columns_are_found(text, expected):
    assert sorted(unknown(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "select anything from silver.elsewhere",
        "select t.id, whatever from silver.t join silver.elsewhere",
        "select ID, T.A, `b`, silver.t.b from silver.t",
        "select items.name, items[0].name, ts.x.y.z.q from silver.t",
        "select a as k, k + 1 as l from silver.t group by k having l > 1 order by l",
        "select id, (select max(c) from silver.u where u.id = t.id and a > 1) as m from silver.t",
        "select id from silver.t left anti join silver.u on t.id = u.id and u.c > 1",
        "select id, l.c from silver.t as s, lateral (select c from silver.u where u.id = s.id) as l",
        "select item, pos from silver.t lateral view explode(items) x as item lateral view posexplode(items) as pos, z",
        "select anything from silver.t lateral view explode(items) x",
        "select filter(items, i -> i.id > a) as f, aggregate(items, 0, (s, i) -> s + i.v, s -> s) as g from silver.t",
        "select window.start as s, count(*) as n from silver.t group by window(ts, '1 minute')",
        "select timestampdiff(second, ts, ts) as d, extract(hour from ts) as h, localtimestamp from silver.t",
        "select _batch, _deleted from silver.t",
        "select v.x, y from values (1, 2) as v(x, y)",
        "select * from (select id, a from silver.t) pivot (sum(a) as s for id in (1 as one))",
        "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select n from r",
        "select data.items[0].anything, data.items.name, key from bronze.o",
        "from silver.t |> where a > 1 |> extend a + 1 as z |> select z",
        "select a:b.c as v, f(x => a) as w, struct(a as q).q as s from silver.t",
        "select x.* from silver.t as x qualify row_number() over (partition by a order by ts) = 1",
    ],
)
def test_what_is_not_certain_is_left_to_spark(text):
    assert unknown(text) == []
