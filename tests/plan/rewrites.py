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
    ("d > 1", "d > 1.0"),
    ("d * 2 - 0.10", "2.0 * d - 0.1"),
    ("d / 3", "d / 3.0"),
    ("d between 1 and 2", "1.0 <= d and d <= 2"),
    ("cast(1.50 as double) + i", "i + 1.5D"),
    ("t between '2026-03-29' and '2026-03-30'", "t >= '2026-03-29' and t <= timestamp '2026-03-30 00:00:00'"),
    ("if(b, i > 1, false)", "coalesce(b, false) and i > 1"),
    ("case when b then i > 1 else false end", "b is true and i > 1"),
    ("if(coalesce(b, false), i, j)", "if(b, i, j)"),
    ("case when i > 1 then j when not coalesce(b, false) then i end", "if(i > 1, j, if(b, null, i))"),
    ("b is not false", "coalesce(b, true)"),
    ("if(coalesce(i < j, false), null, s)", "if(coalesce(i >= j, true), s, null)"),
    ("if(s is not null, 'x', if(b, 'y', null))", "case when s is not null then 'x' when b then 'y' end"),
    ("if(i > 1, 'x', if(s is not null, 'y', null))", "case when i > 1 then 'x' when s is not null then 'y' end"),
    ("case when b or (i is not null and i > 1) then s end", "if(b or i > 1, s, null)"),
    ("d > -1", "d > -1.0"),
    ("struct(i as One).one", "struct(i as One).One"),
    ("b is false", "not coalesce(b, true)"),
    ("sum(case when b then 1 else 0 end) over (partition by j)", "count_if(b) over (partition by j)"),
    ("sum(if(b, 1, 0)) over (partition by j order by i)", "count_if(b) over (partition by j order by i)"),
    ("coalesce(count(i) over (partition by j), 0)", "count(i) over (partition by j)"),
    ("if(count(i) over (partition by j) = 2, b, false)", "count(i) over (partition by j) = 2 and b"),
    ("t + make_dt_interval(0, 0, 1, 30)", "t + interval 90 seconds"),
    ("t - make_dt_interval(1)", "t - interval 1 day"),
    ("element_at(m, 'k')", "m['k']"),
    ("try_element_at(m, 'K')", "m.K"),
    ("trim(both from s)", "trim(s)"),
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
    ("cast(b or i > 1 as boolean)", "b or i > 1"),
    ("cast(case when b then s else '1' end as string)", "if(b, s, '1')"),
    ("cast(hour(t) as int)", "hour(t)"),
    ("cast(sum(i) over (partition by j) as bigint)", "sum(i) over (partition by j)"),
    ("upper(s) between '1' and '5'", "upper(s) >= '1' and upper(s) <= '5'"),
    ("cast(cast(s as string) as int)", "cast(s as int)"),
    ("doubled(n)", "n * 2"),
    ("i in (1, 2, 3)", "i in (3, 1, 2)"),
    ("i not in (1, null)", "i not in (null, 1)"),
    ("transform(a, x -> x + i)", "transform(a, y -> y + i)"),
    ("transform(a, x -> aggregate(a, x, (acc, y) -> acc + y))", "transform(a, p -> aggregate(a, p, (q, r) -> q + r))"),
    ("exists(a, X -> x > i)", "exists(a, y -> Y > i)"),
    ("'it''s'", "'it\\'s'"),
    ("b and i > 1", "i > 1 and b"),
    ("b and i % 2 = 0", "i % 2 = 0 and b"),
    ("b and d + i > 1", "d + i > 1 and b"),
    ("b and t + interval 1 day > t", "t + interval 1 day > t and b"),
    ("b and i > 24 * 60", "i > 24 * 60 and b"),
    ("b and i > -1", "i > -1 and b"),
    ("n * int(i > 1)", "cast(i > 1 as int) * n"),
    ("n * (i + j)", "(i + j) * n"),
    ("b and not (s > '1')", "s <= '1' and b"),
    ("100 * (i / nullif(j, 0))", "(i / nullif(j, 0)) * 100"),
    ("m.k", "m['k']"),
    ("s like '1%'", "startswith(s, '1')"),
    ("s like '%1'", "endswith(s, '1')"),
    ("s like '%1%'", "contains(s, '1')"),
    ("nullif(i, 0)", "case when i <> 0 then i end"),
    (
        "if(s is null, i, case when b then j end)",
        "case when s is not null then case when b then j end else i end",
    ),
    ("n / nullif(i, 0)", "n / case when i = 0 then null else i end"),
    ("date_trunc('MM', t)", "date_trunc('month', t)"),
    ("trunc(t, 'yy')", "trunc(t, 'YEAR')"),
    ("cast(n as decimal(20))", "cast(n as decimal(20, 0))"),
    ("struct(m.k)", "struct(m['k'])"),
    ("struct(i + 1)", "struct(i + 1 as col1)"),
    ("struct(i)", "struct((i))"),
    ("t + interval 1 day", "t + interval 24 hours"),
    ("t + interval 2 minutes", "t + interval 120 seconds"),
    ("t + interval 1 week", "t + interval 7 days"),
    ("date(t) + interval 1 week", "date(t) + interval 7 days"),
    ("date(t) + interval 1 week", "date_add(date(t), 7)"),
    ("date(t) - interval 2 days", "date_sub(date(t), 2)"),
    ("len(s)", "length(s)"),
    ("cardinality(a)", "size(a)"),
    ("char_length(s)", "character_length(s)"),
    ("sum(i) over (order by j)", "sum(i) over (order by j range between unbounded preceding and current row)"),
    ("sum(i) over (order by j)", "sum(i) over (order by j RANGE UNBOUNDED PRECEDING)"),
    ("last(i) over (order by j, n)", "last(i) over (order by j, n range unbounded preceding)"),
    (
        "sum(i) over (partition by j)",
        "sum(i) over (partition by j rows between unbounded preceding and unbounded following)",
    ),
    ("sum(i) over (order by n rows 1 preceding)", "sum(i) over (order by n rows between 1 preceding and CURRENT ROW)"),
    ("t - t > interval 1 minute", "t - t > interval 60 seconds"),
    ("not (i > j)", "i <= j"),
    ("not (d >= i)", "d < i"),
    ("not (i = j)", "i <> j"),
    ("not (i <> j)", "i = j"),
    ("not (b and i > 1)", "not b or i <= 1"),
    ("not (b or i > 1 or s is null)", "not b and i <= 1 and s is not null"),
    ("not not b", "b"),
    ("not (i not in (1, 2))", "i in (1, 2)"),
    ("i = 1 or i = 2 or i = 3", "i in (2, 1, 3)"),
    ("s = '1' or i > 2 or s = '2'", "i > 2 or s in ('1', '2')"),
    ("not (i <> 1 and i <> 2)", "i in (1, 2)"),
    ("case i when 1 then j when n then 2 end", "case when i = 1 then j when i = n then 2 end"),
    ("case s when '1' then 'a' else s end", "case when s = '1' then 'a' else s end"),
    ("case i when null then 1 else 2 end", "case when i = null then 1 else 2 end"),
    ("s || i || '!'", "concat(s, i, '!')"),
    ("a || a", "concat(a, a)"),
    ("isnull(s)", "s is null"),
    ("case when i is null then 0 else i end", "coalesce(i, 0)"),
    ("if(i is not null, i, n)", "coalesce(i, n)"),
    ("nvl2(s, i, j)", "if(s is not null, i, j)"),
    ("if(s is not null, i, j)", "case when s is null then j else i end"),
    ("t > t + make_dt_interval(0, 0, 0, 5)", "t + make_dt_interval(0, 0, 0, 5) < t"),
    ("b and t - make_dt_interval(1) > t", "t - make_dt_interval(1) > t and b"),
    ("zeroifnull(n)", "coalesce(n, 0)"),
    ("n + 0", "n"),
    ("1 * i", "i"),
    ("not false", "true"),
    ("isnotnull(s)", "s is not null"),
    ("b and true", "b"),
    ("b or false", "b"),
    ("b and b", "b"),
    ("1 = 1", "true"),
    ("b = true", "b"),
    ("(b and i > 1) = false", "not b or i <= 1"),
    ("named_struct('i', i, 'A', j)", "struct(i, j as A)"),
    ("to_json(named_struct('i', i))", "to_json(struct(i))"),
    ("date(t)", "cast(t as date)"),
    ("string(i)", "cast(i as string)"),
    ("bigint(i)", "cast(i as bigint)"),
    ("pow(i, 2)", "power(i, 2)"),
    ("day(t)", "dayofmonth(t)"),
    ("signum(d)", "sign(d)"),
    ("date_diff(t, t)", "datediff(t, t)"),
    ("dateadd(date(t), 1)", "date_add(date(t), 1)"),
    ("reduce(a, 0, (acc, x) -> acc + x)", "aggregate(a, 0, (acc, x) -> acc + x)"),
    ("if(b, true, false)", "coalesce(b, false)"),
    ("case when i is null then true else false end", "i is null"),
    ("coalesce(i is null, false)", "isnull(i)"),
    ("i || ' seconds'", "concat(i, ' seconds')"),
    ("60 || ' seconds'", "'60 seconds'"),
    ("mod(i, 7)", "i % 7"),
    ("mod(i + n, 7)", "(i + n) % 7"),
    ("negative(d)", "-d"),
    ("ceiling(d)", "ceil(d)"),
    ("regexp_like(s, '[1-3]')", "s rlike '[1-3]'"),
    ("regexp(s, '[1-3]')", "rlike(s, '[1-3]')"),
    ("like(s, '1%')", "s like '1%'"),
    ("equal_null(i, j)", "i is not distinct from j"),
    ("i is distinct from j", "not (i <=> j)"),
    ("b is true", "coalesce(b, false)"),
    ("b is not true", "not coalesce(b, false)"),
    ("b is false", "b <=> false"),
    ("true <=> b", "b is true"),
    ("nullif(i, 0)", "case when i = 0 then null else i end"),
    ("nullif(s, '1')", "if(s = '1', null, s)"),
    ("to_date(t)", "date(t)"),
    ("to_timestamp(date(t))", "cast(date(t) as timestamp)"),
    ("timestampadd(hour, 2, t)", "date_add(hour, 2, t)"),
    ("timestampdiff(day, t, timestamp '2026-01-01')", "datediff(day, t, timestamp '2026-01-01')"),
    ("extract(year from t)", "year(t)"),
    ("extract(quarter from t)", "date_part('QUARTER', t)"),
    ("extract(month from date(t))", "month(date(t))"),
    ("extract(week from t)", "weekofyear(t)"),
    ("extract(day from t)", "day(t)"),
    ("extract(dow from t)", "dayofweek(t)"),
    ("extract(dayofweek from t)", "dayofweek(t)"),
    ("datepart('doy', t)", "dayofyear(t)"),
    ("extract(hour from t)", "hour(t)"),
    ("extract(minute from t)", "minute(t)"),
    ("date_trunc('HOUR', t)", "date_trunc('hour', t)"),
    ("trunc(t, 'Month')", "trunc(t, 'month')"),
    ("first_value(i, true) over (order by j, n)", "first(i) ignore nulls over (order by j, n)"),
    (
        "max(i) over (partition by j range between unbounded preceding and unbounded following)",
        "max(i) over (partition by j)",
    ),
    (
        "max(i) over (partition by j order by n range between unbounded preceding and unbounded following)",
        "max(i) over (partition by j order by n rows between unbounded preceding and unbounded following)",
    ),
    ("coalesce(i, coalesce(j, n))", "coalesce(i, j, n)"),
    ("coalesce(coalesce(s, '1'), '2')", "coalesce(s, '1', '2')"),
    ("if(i < 0, 'a', if(i = 0, 'b', 'c'))", "case when i < 0 then 'a' when i = 0 then 'b' else 'c' end"),
    ("case when b then i else case when i > 1 then n end end", "case when b then i when i > 1 then n end"),
    ("i > 60 * 60", "i > 3600"),
    ("n + (1 + 2) * 3", "n + 9"),
    ("concat(60, ' seconds')", "'60 seconds'"),
    ("concat(0, ' seconds')", "'0 seconds'"),
    ("greatest(i, j)", "greatest(j, i)"),
    ("least(s, '3')", "least('3', s)"),
    ("t > timestamp '2026-01-01 10:00:00'", "timestamp '2026-01-01 10:00:00' < t"),
    ("b and date(t) = date '2026-01-01'", "date(t) = date '2026-01-01' and b"),
    ("cast(s as char(3))", "cast(s as varchar(4))"),
    ("i >= 1", "i > 0"),
    ("3 >= n", "n < 4"),
    ("i between 1 and 3", "i > 0 and not (i >= 4)"),
    ("coalesce(i, null)", "i"),
    ("coalesce(null, s, null, '1')", "coalesce(s, '1')"),
    ("position('1' in s)", "instr(s, '1')"),
    ("locate('', s)", "instr(s, '')"),
    ("left(s, 1)", "substring(s, 1, 1)"),
    ("left(s, -1)", "substr(s, 1, -1)"),
    ("timestamp '2026-03-29'", "timestamp '2026-03-29 00:00:00'"),
    ("try_cast('2026-02-30' as timestamp)", "try_cast('2026-02-30 00:00:00' as timestamp)"),
    ("lag(i) over (order by j, n)", "lag(i, 1) over (order by j, n)"),
    ("lead(i, 2) over (order by j, n)", "lead(i, 2, null) over (order by j, n)"),
    ("concat(s, cast(i as string), '!')", "s || i || '!'"),
    ("s not like '1%'", "not s like '1%'"),
    ("s not rlike '[12]'", "not regexp_like(s, '[12]')"),
    ("t > '2026-03-30'", "t > timestamp '2026-03-30 00:00:00'"),
    ("'2026-03-29 10:00:00' >= t", "t <= timestamp '2026-03-29 10:00:00'"),
    ("date(t) = '2026-03-30'", "date(t) = date '2026-03-30'"),
    ("case when not (i <=> j) then n end", "case when i <=> j then null else n end"),
    ("if(not isnull(s), i, j)", "if(s is null, j, i)"),
    ("b and mod(i, 7) = 1", "i % 7 = 1 and b"),
    ("b and t > t + make_dt_interval(0, 0, 0, cast(5 as int))", "t > t + make_dt_interval(0, 0, 0, 5) and b"),
)
AGGREGATED_ALIKE = (
    ("coalesce(count(i), 0)", "count(i)"),
    ("coalesce(count_if(b), 0)", "count_if(b)"),
    ("count(*)", "count(1)"),
    ("count_if(i > 1)", "count(*) filter (where i > 1)"),
    ("count(case when i > 1 then 1 end)", "count_if(i > 1)"),
    ("count(if(b, 'x', null)) filter (where i > 1)", "count_if(b) filter (where i > 1)"),
    ("cast(sum(i) filter (where b) as bigint)", "sum(i) filter (where b)"),
    ("avg(d)", "mean(d)"),
    ("bool_or(b)", "some(b)"),
    ("every(b)", "bool_and(b)"),
    ("stddev(i)", "stddev_samp(i)"),
    ("collect_list(i)", "array_agg(i)"),
    ("any(b)", "max(b)"),
    ("every(i > 1)", "min(i > 1)"),
    ("any_value(i)", "first(i)"),
    ("percentile_approx(d, 0.5)", "approx_percentile(d, 0.5)"),
    ("sum(case when i > 1 then n end)", "sum(n) filter (where i > 1)"),
    ("avg(if(b, d, null))", "avg(d) filter (where b)"),
    ("max(case i when 1 then s end)", "max(s) filter (where i = 1)"),
    ("min(if(b, a, null))", "min(a) filter (where b)"),
    ("count(case when b then s end)", "count(s) filter (where b)"),
    ("first(i ignore nulls)", "first(i) ignore nulls"),
    ("count_if(s is not null)", "count(s)"),
    ("count(*) filter (where i is not null)", "count(i)"),
)
TABLES = {"p": "k int, x int, s string", "q": "k int, y int", "r": "k int, z int"}
"""Tables that a test can fill: keys that meet, several times and not at all, and nulls; each has an `_arrival` too."""
TOPICS = {"p": "a", "q": "b", "r": "a"}
"""The topics that they are made of: rows of `p` and `r` arrive together."""
LANDED = {"l": "a", "m": "b"}
"""Sources by their topics, each with the columns `k`, `x` and `_arrival`."""
QUERIES_ALIKE = (
    (
        "select k from p where x > 1 or (x is not null and x <> 0)",
        "select k from p where x <> 0 or coalesce(x > 1, false)",
    ),
    (
        "select k, count(x) as n from p where x is not null group by k",
        "select k, count(*) as n from p where x is not null group by k",
    ),
    ("select k, count(x) as n from p where x > 1 group by k", "select k, count(1) as n from p where x > 1 group by k"),
    (
        "select k, x as v from p union all select k, 1.5D from q",
        "select k, double(x) as v from p union all select k, 1.5D from q",
    ),
    (
        "select p.x, q.y from p join q on p.k = q.k where p.x > 1 and reverse(string(q.y)) like '1%'",
        "select p.x, q.y from p join q on p.k = q.k and reverse(string(q.y)) like '1%' where p.x > 1",
    ),
    (
        "select p.k, coalesce(n, 0) as n from p left join (select k, count(*) as n from q group by k) c on p.k = c.k",
        "select p.k, ifnull(c.n, 0) as n from p left join (select k, count(1) as n from q group by k) c on c.k = p.k",
    ),
    ("select k from p where coalesce(x > 1, false) and x < 9", "select k from p where x < 9 and x > 1"),
    ("select k from p where x > 1 is true", "select k from p where x > 1"),
    ("select k from p where x is not null and x > 1", "select k from p where x > 1"),
    ("select k from p where x <=> 1", "select k from p where x = 1"),
    ("select k from p where if(x = 1, true, false)", "select k from p where x = 1"),
    ("select distinct k, x from p", "select k, x from p group by k, x"),
    # a window over rows with what is looked up for them, and before that
    (
        "with g as (select k, max(z) as z from r group by k) "
        "select p.x, sum(p.x) over (partition by p.k order by p._arrival) + coalesce(g.z, 0) as v "
        "from p left join g on p.k = g.k",
        "with g as (select k, max(z) as z from r group by k), n as ("
        "select x, k, sum(x) over (partition by k order by _arrival) as v from p) "
        "select n.x, n.v + coalesce(g.z, 0) as v from n left join g on n.k = g.k",
    ),
    # independent joins in another order, also above a step for which that of its rows counts
    (
        "with n as (select k, x, row_number() over (partition by k order by x) as i from p) "
        "select n.i, q.y, r.z from n left join q on n.k = q.k left join r on n.x = r.k",
        "with n as (select k, x, row_number() over (partition by k order by x) as i from p) "
        "select n.i, q.y, r.z from n left join r on n.x = r.k left join q on n.k = q.k",
    ),
    (
        "select p.x, q.y, r.z from p left join q on p.k = q.k left join r on p.x = r.k",
        "select p.x, q.y, r.z from p left join r on p.x = r.k left join q on p.k = q.k",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k and q.y > 1 left semi join r on p.x = r.k",
        "select p.x, q.y from p left semi join r on p.x = r.k left join q on q.y > 1 and p.k = q.k",
    ),
    (
        "select p.x, q.y from p left anti join r on p.x = r.k join q on p.k = q.k",
        "select p.x, q.y from p join q on p.k = q.k left anti join r on p.x = r.k",
    ),
    (
        "select p.x, q.y, r.z from p left join q on p.k = q.k join r on q.y = r.k",
        "select p.x, q.y, r.z from p cross join r left join q on p.k = q.k where q.y = r.k",
    ),
    ("select p.x, q.y from p join q on p.k = q.k", "select p.x, q.y from q join p on p.k = q.k"),
    (
        "select p.x, q.y from p left join q on p.k = q.k and q.y > 1",
        "select p.x, q.y from q right join p on p.k = q.k and q.y > 1",
    ),
    # hints
    (
        "select /*+ broadcast(q) */ p.x, q.y from p join q on p.k = q.k",
        "select /*+ repartition(3), merge(p) */ p.x, q.y from p join q on p.k = q.k",
    ),
    (
        "select /*+ coalesce(1), shuffle_hash(q) */ p.x, q.y from p left join q on p.k = q.k",
        "select /*+ rebalance, shuffle_replicate_nl(q) */ p.x, q.y from p left join q on p.k = q.k",
    ),
    # a condition before, in or after a join
    (
        "select p.x, q.y from p join q on p.k = q.k and p.x > 1",
        "select p.x, q.y from p join q on p.k = q.k where p.x > 1",
    ),
    ("select p.x, q.y from p join q on p.k = q.k", "select p.x, q.y from p cross join q where p.k = q.k"),
    (
        "select p.x, q.y from p left join q on p.k = q.k and (q.y > 0 or q.y is null)",
        "select p.x, f.y from p left join (select k, y from q where q.y > 0 or q.y is null) as f on p.k = f.k",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k where p.x > 1",
        "with f as (select k, x from p where x > 1) select f.x, q.y from f left join q on f.k = q.k",
    ),
    (
        "select p.x from p left semi join q on p.k = q.k and p.x > 1 and q.y > 0",
        "select p.x from p left semi join (select k from q where y > 0) as f on p.k = f.k where p.x > 1",
    ),
    (
        "select p.x from p left anti join q on p.k = q.k and q.y > 0",
        "select p.x from p left anti join (select k from q where y > 0) as f on p.k = f.k",
    ),
    ("select p.x from p left anti join q on p.k = q.k", "select p.x from p anti join q on p.k = q.k"),
    # one table looked up twice
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.x = b.k",
        "select p.x, a.y, b.y as other from p left join q as b on p.x = b.k left join q as a on p.k = a.k",
    ),
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.k = b.k and b.y > 1",
        "select p.x, b.y, a.y as other from p left join q as a on p.k = a.k and a.y > 1 left join q as b on p.k = b.k",
    ),
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.k = b.k",
        "select p.x, a.y, b.y as other from p left join q as b on p.k = b.k left join q as a on p.k = a.k",
    ),
    (
        "select a.y, b.y as more, c.y as most from p left join q as a on p.k = a.k left join q as b on p.x = b.k "
        "left join q as c on b.y = c.k",
        "select a.y, b.y as more, c.y as most from p left join q as b on p.x = b.k left join q as c on b.y = c.k "
        "left join q as a on p.k = a.k",
    ),
    (
        "select p.x, a.y, b.y as other from p join q as a on p.k = a.k join q as b on p.x = b.k",
        "select p.x, a.y, b.y as other from q as b cross join q as a join p on p.k = a.k and p.x = b.k",
    ),
    (
        "select p.x, a.n, b.n as other from p left join (select k, count(*) as n from q group by k) as a on p.k = a.k "
        "left join (select y, count(*) as n from q group by y) as b on p.x = b.y",
        "select p.x, a.n, b.n as other from p left join (select y, count(*) as n from q group by y) as b on p.x = b.y "
        "left join (select k, count(*) as n from q group by k) as a on p.k = a.k",
    ),
    (
        "select p.x from p left semi join q as a on p.k = a.k left anti join q as b on p.x = b.k",
        "select p.x from p left anti join q as b on p.x = b.k left semi join q as a on p.k = a.k",
    ),
    # what does not depend on the order in which joins give their rows
    (
        "select q.y, rank() over (order by p.x) as n, sum(q.y) over (order by p._arrival) as m "
        "from p left join q on p.k = q.k left join r on p.x = r.k",
        "select q.y, rank() over (order by p.x) as n, sum(q.y) over (order by p._arrival) as m "
        "from p left join r on p.x = r.k left join q on p.k = q.k",
    ),
    (
        "select p.k, a.n, b.n as m, row_number() over (order by p._arrival) as i from p "
        "left join (select k, count(*) as n from q group by k) as a on p.k = a.k "
        "left join (select k, count(*) as n from r group by k) as b on p.x = b.k",
        "select p.k, a.n, b.n as m, row_number() over (order by p._arrival) as i from p "
        "left join (select k, count(*) as n from r group by k) as b on p.x = b.k "
        "left join (select k, count(*) as n from q group by k) as a on p.k = a.k",
    ),
    # what is 0 before an outer join, and behind it too
    (
        "select p.x, coalesce(f.y, 0) as y from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k",
        "select p.x, coalesce(q.y, 0) as y from p left join q on p.k = q.k",
    ),
    # what EXISTS selects, and the order of the keys of groups
    (
        "select x from p where exists (select 1 from q where q.k = p.k)",
        "select x from p where exists (select q.y, q.k from q where p.k = q.k)",
    ),
    ("select k, x, count(*) as n from p group by k, x", "select k, x, count(*) as n from p group by x, k"),
    # what is null beside an outer join
    (
        "select p.x, f.y, f.s from p left join (select k, -y + 1 as y, substr(upper(y), 1, 1) as s from q) as f "
        "on p.k = f.k",
        "select p.x, -q.y + 1 as y, substr(upper(q.y), 1, 1) as s from p left join q on p.k = q.k",
    ),
    (
        "select q.y, f.x from q right join (select k, coalesce(x, 0) as x from p) as f on q.k = f.k",
        "select q.y, coalesce(p.x, 0) as x from p left join q on q.k = p.k",
    ),
    (
        "select p.x, f.y, r.z from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k "
        "left join r on p.x = r.k",
        "select p.x, f.y, r.z from p left join r on p.x = r.k "
        "left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k",
    ),
    (
        "select p.x, f.y from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k and f.y > 0",
        "select p.x, f.y from p left join (select k, coalesce(y, 0) as y from q where coalesce(y, 0) > 0) as f "
        "on p.k = f.k",
    ),
    # keys of a window in another order
    (
        "select x, sum(x) over (partition by k, s, k order by x) as n from p",
        "select x, sum(x) over (partition by s, k order by x) as n from p",
    ),
    # the first rows of each group
    (
        "select k, x from p qualify row_number() over (partition by k order by x, s) = 1",
        "select k, x from (select k, x, row_number() over (partition by k order by x, s) as n from p) where n = 1",
    ),
    (
        "select k, x, dense_rank() over (partition by k order by x) as n from p where x > 0 qualify n < 3",
        "with t as (select *, dense_rank() over (partition by k order by x) as n from p where x > 0) "
        "select k, x, n from t where n < 3",
    ),
    (
        "select k, -x as x from p qualify rank() over (partition by k order by x) = 1",
        "select k, -x as x from (select k, x, rank() over (partition by k order by x) as n from p) where n = 1",
    ),
    # a left join whose rows must be there, or missing
    (
        "select p.x, q.y from p left join q on p.k = q.k where q.k is not null",
        "select p.x, q.y from p join q on p.k = q.k",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k left join r on p.x = r.k where q.y > 1 and r.k is not null",
        "select p.x, q.y from r join p on p.x = r.k join q on p.k = q.k where 1 < q.y",
    ),
    (
        "select p.x, r.z from p left join q on p.k = q.k left join r on q.y = r.k where r.z not in (1, 2)",
        "select p.x, r.z from p join q on p.k = q.k join r on q.y = r.k where r.z not in (1, 2)",
    ),
    (
        "select p.x from p left join (select q.k, r.z from q left join r on q.k = r.k) as f on p.k = f.k "
        "where f.z = p.x",
        "select p.x from p join q on p.k = q.k join r on q.k = r.k where r.z = p.x",
    ),
    (
        "select p.x from p left join q on p.k = q.k and q.y > 1 where q.k is null and p.x > 1",
        "select p.x from p left anti join q on p.k = q.k and q.y > 1 where p.x > 1",
    ),
    # a condition that asks for rows, as a join
    (
        "select x from p where exists (select 1 from q where q.k = p.k and q.y > 1) and x > 0",
        "select p.x from p left semi join q on p.k = q.k and q.y > 1 where p.x > 0",
    ),
    (
        "select x from p where not exists (select 1 from q where q.k = p.k and p.x > 1)",
        "select p.x from p left anti join q on p.k = q.k and p.x > 1",
    ),
    ("select x from p where k in (select k from q)", "select p.x from p left semi join q on p.k = q.k"),
    (
        "select x from p where k in (select y from q where q.k = p.x) and exists (select 1 from r where r.k = p.k)",
        "select x from p where exists (select 1 from q where p.k = q.y and q.k = x) and k in (select k from r)",
    ),
    # a condition on what a step passes on
    ("select k, sum(x) as v from p group by k having k > 1", "select k, sum(x) as v from p where k > 1 group by k"),
    (
        "with t as (select k, s, count(*) as n from p group by k, s) select k, n from t where k <> 1 and n > 0",
        "select k, count(*) as n from p where k <> 1 group by k, s having count(*) > 0",
    ),
    (
        "with t as (select distinct k, x from p) select k, x from t where k <> x",
        "with t as (select k, x from p where k <> x) select distinct k, x from t",
    ),
    (
        "with t as (select k, x as v from p union all select y, k from q) select k, v from t where v > 1 and k > 0",
        "select k, x as v from p where k > 0 and x > 1 union all select y, k from q where y > 0 and k > 1",
    ),
    (
        "with t as (select k, x, explode(split(s, '')) as v from p) select k, v from t where x > 1 and v <> '1'",
        "with t as (select k, explode(split(s, '')) as v from p where x > 1) select k, v from t where v <> '1'",
    ),
    # rows of lists
    (
        "select k, explode(array(x, k)) as v from p where x > 1",
        "select k, v from p lateral view explode(array(x, k)) as v where x > 1",
    ),
    (
        "select k, explode(map(x, s)) as (v, w) from p where x is not null",
        "with f as (select k, x, s from p where x is not null) "
        "select f.k, t.v, t.w from f, lateral explode(map(f.x, f.s)) as t(v, w)",
    ),
    # distinct rows of two tables
    (
        "select k, x as v from p union select k, y from q",
        "select distinct k, v from (select k, x as v from p union all select k, y from q)",
    ),
    # rows of a group that are counted
    (
        "select k, sum(case when x > 1 then 1 else 0 end) as n, sum(if(s is null, 1, 0)) as m from p group by k",
        "select k, count_if(x > 1) as n, count(*) filter (where s is null) as m from p group by k",
    ),
    ("select p.x, q.y from p join q on true", "select p.x, q.y from p cross join q"),
    # rows in an order in which no two are alike
    (
        "select k, sum(x) over (partition by k order by _arrival) as v from l",
        "select k, sum(x) over (partition by k order by _arrival rows unbounded preceding) as v from l",
    ),
    (
        "with u as (select k, x, _arrival from l union all select k, x, _arrival from m), "
        "g as (select k, count(*) as n from r group by k) select u.k, g.n, "
        "last_value(u.x, true) over (partition by u.k order by u.x, u._arrival desc) as v "
        "from u left join g on u.k = g.k",
        "with u as (select k, x, _arrival from l union all select k, x, _arrival from m), "
        "g as (select k, count(*) as n from r group by k) select u.k, g.n, "
        "last_value(u.x, true) over (partition by u.k order by u.x, u._arrival desc "
        "rows between unbounded preceding and current row) as v from u left join g on u.k = g.k",
    ),
)
QUERIES_OTHER = (
    (
        "select k, count(x) as n from p where x > 1 or k > 1 group by k",
        "select k, count(*) as n from p where x > 1 or k > 1 group by k",
    ),
    (
        "select k, count(distinct x) as n from p where x is not null group by k",
        "select k, count(*) as n from p where x is not null group by k",
    ),
    (
        "select p.k, count(r.y) as n from p left join (select k, y from q where y > 0) r on p.k = r.k group by p.k",
        "select p.k, count(*) as n from p left join (select k, y from q where y > 0) r on p.k = r.k group by p.k",
    ),
    ("select k from p where coalesce(x > 1, true)", "select k from p where x > 1"),
    (
        "select k from p where not (k > 1 or (x is not null and x > 1))",
        "select k from p where not (k > 1 or x > 1)",
    ),
    (
        "select k, count(y) as n from q where k > 1 group by k",
        "select k, count(*) as n from q where k > 1 group by k",
    ),
    (
        "select p.k, coalesce(n, 0) as n from p left join (select k, count(*) as n from q group by k) c on p.k = c.k",
        "select p.k, n from p left join (select k, count(*) as n from q group by k) c on p.k = c.k",
    ),
    (
        "select x from p where exists (select 1 from q where q.k > 90)",
        "select x from p where exists (select max(k) from q where q.k > 90)",
    ),
    ("select x from p where x in (select k from q)", "select x from p where x in (select y from q)"),
    # made before an outer join, or behind it
    (
        "select p.x, coalesce(f.y, 1) as y from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k",
        "select p.x, coalesce(q.y, 0) as y from p left join q on p.k = q.k",
    ),
    (
        "select p.x, coalesce(f.y, 1) as y from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k",
        "select p.x, coalesce(q.y, 1) as y from p left join q on p.k = q.k",
    ),
    (
        "select p.x, f.y from p left join (select k, coalesce(y, 0) as y from q) as f on p.k = f.k",
        "select p.x, coalesce(q.y, 0) as y from p left join q on p.k = q.k",
    ),
    (
        "select p.x from p left join (select k, y is null as n from q) as f on p.k = f.k where f.n",
        "select p.x from p left join q on p.k = q.k where q.y is null",
    ),
    (
        "select p.k, count(f.one) as n from p left join (select k, 1 as one from q) as f on p.k = f.k group by p.k",
        "select p.k, count(*) as n from p left join q on p.k = q.k group by p.k",
    ),
    (
        "select p.x, coalesce(f.one, 0) as n from p left join (select k, 1 as one from q) as f on p.k = f.k",
        "select p.x, f.one as n from p left join (select k, 1 as one from q) as f on p.k = f.k",
    ),
    (
        "select p.x, f.y from (select k, if(y > 1, 'b', 's') as y from q) as f right join p on p.k = f.k",
        "select p.x, if(q.y > 1, 'b', 's') as y from q right join p on p.k = q.k",
    ),
    (
        "select p.x, f.y from p left join (select k, concat_ws('-', y) as y from q) as f on p.k = f.k",
        "select p.x, concat_ws('-', q.y) as y from p left join q on p.k = q.k",
    ),
    (
        "select q.y, f.x from q full join (select k, coalesce(x, 0) as x from p) as f on q.k = f.k",
        "select q.y, coalesce(p.x, 0) as x from q full join p on q.k = p.k",
    ),
    (
        "select p.x, f.n from p left join (select k, (select max(z) from r) as n from q) as f on p.k = f.k",
        "select p.x, (select max(z) from r) as n from p left join q on p.k = q.k",
    ),
    (
        "select p.x, f.z from p left join (select q.k, coalesce(r.z, 0) as z from q left join r on q.k = r.k) as f "
        "on p.k = f.k",
        "select p.x, coalesce(f.z, 0) as z from p left join (select q.k, r.z from q left join r on q.k = r.k) as f "
        "on p.k = f.k",
    ),
    (
        "select p.x, coalesce(f.of, 'c') as of from p "
        "left join (select k, 'a' as of from q union all select k, 'b' from r) as f on p.k = f.k",
        "select p.x, f.of from p left join (select k, 'a' as of from q union all select k, 'b' from r) as f "
        "on p.k = f.k",
    ),
    ("select k from p where not coalesce(x > 1, false)", "select k from p where not x > 1"),
    ("select k from p where coalesce(x > 1, true)", "select k from p where x > 1"),
    ("select distinct k from p", "select k from p group by k, x"),
    ("select k from p where x is not null and k > 1", "select k from p where k > 1"),
    ("select k from p where x is not null and coalesce(x, 2) > 1", "select k from p where coalesce(x, 2) > 1"),
    ("select k from p where x <=> k", "select k from p where x = k"),
    (
        "select k, rank() over (partition by k order by s) as n from p qualify x > 1",
        "select k, rank() over (partition by k order by s) as n from p qualify n > 1",
    ),
    ("select 1 as one from p having 1 = 1", "select 1 as one from p"),
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.x = b.k",
        "select p.x, b.y, a.y as other from p left join q as a on p.k = a.k left join q as b on p.x = b.k",
    ),
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.x = b.k",
        "select p.x, a.y, b.y as other from p left join q as a on p.x = a.k left join q as b on p.k = b.k",
    ),
    (
        "select a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on a.y = b.k",
        "select a.y, b.y as other from p left join q as b on p.k = b.k left join q as a on b.y = a.k",
    ),
    (
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k and a.y > 1 left join q as b on p.x = b.k",
        "select p.x, a.y, b.y as other from p left join q as a on p.k = a.k left join q as b on p.x = b.k and b.y > 1",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k and p.x > 1",
        "select p.x, q.y from p left join q on p.k = q.k where p.x > 1",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k and q.y > 1",
        "select p.x, q.y from p left join q on p.k = q.k where q.y > 1",
    ),
    (
        "select p.x from p left anti join q on p.k = q.k and p.x > 1",
        "select p.x from p left anti join q on p.k = q.k where p.x > 1",
    ),
    (
        "select p.x, q.y, r.z from p left join q on p.k = q.k left join r on q.y = r.k",
        "select p.x, q.y, r.z from p left join r on p.k = r.k left join q on r.z = q.k",
    ),
    (
        "select p.x, q.y, r.z from p left join q on p.k = q.k left join r on q.y = r.k",
        "select p.x, q.y, r.z from p left join q on p.k = q.k join r on q.y = r.k",
    ),
    ("select p.x, q.y from p left join q on p.k = q.k", "select p.x, q.y from q left join p on p.k = q.k"),
    ("select p.x, q.y from p left join q on p.k = q.k", "select p.x, q.y from p right join q on p.k = q.k"),
    (
        "select p.x, q.y from p full join q on p.k = q.k and p.x > 1",
        "select p.x, q.y from p full join q on p.k = q.k where p.x > 1",
    ),
    ("select p.x from p left semi join q on p.k = q.k", "select p.x from p join q on p.k = q.k"),
    (
        "select p.x, q.y from p left join q on p.k = q.k and p.x + q.y > 1",
        "select p.x, q.y from p left join q on p.k = q.k and p.x > 1 - q.y where p.x > 1",
    ),
    (
        "select k, x from p where x > 0 qualify row_number() over (partition by k order by x, s) = 1",
        "select k, x from p qualify row_number() over (partition by k order by x, s) = 1 and x > 0",
    ),
    (
        "select k, x from p qualify rank() over (partition by k order by x) = 1",
        "select k, x from p qualify row_number() over (partition by k order by x) = 1",
    ),
    # a left join that may have no row, or may have one
    (
        "select p.x, q.y from p left join q on p.k = q.k where q.k is not null or p.x > 1",
        "select p.x, q.y from p join q on p.k = q.k where q.k is not null or p.x > 1",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k where coalesce(q.y, 2) > 1",
        "select p.x, q.y from p join q on p.k = q.k where coalesce(q.y, 2) > 1",
    ),
    (
        "select p.x, q.y from p left join q on p.k = q.k where not q.y <=> p.x",
        "select p.x, q.y from p join q on p.k = q.k where not q.y <=> p.x",
    ),
    (
        "select p.x, f.one from p left join (select k, 1 as one from q) as f on p.k = f.k where f.one is null",
        "select p.x, null as one from p join q on p.k = q.k where false",
    ),
    (
        "select p.x from p left join q on p.k = q.k where q.y is null",
        "select p.x from p left anti join q on p.k = q.k",
    ),
    (
        "select p.x from p left join q on p.k <=> q.k where q.k is null",
        "select p.x from p left anti join q on p.k <=> q.k",
    ),
    (
        "select p.x from p left join q on p.k = q.k or q.y > 3 where q.k is null",
        "select p.x from p left anti join q on p.k = q.k or q.y > 3",
    ),
    (
        "select p.x from p full join q on p.k = q.k and p.x > 2 where q.k is not null",
        "select p.x from p join q on p.k = q.k and p.x > 2",
    ),
    # rows that a condition asks for
    (
        "select x from p where k not in (select k from q where y > 1)",
        "select x from p where not exists (select 1 from q where q.k = p.k and q.y > 1)",
    ),
    (
        "select x from p where exists (select 1 from q where q.k = p.k)",
        "select x from p where exists (select count(*) from q where q.k = p.k)",
    ),
    (
        "select x from p where exists (select 1 from q where q.k = p.k)",
        "select x from p where exists (select 1 from q where q.k = k)",
    ),
    (
        "select x from p where exists (select 1 from q where q.k = p.k group by q.k having count(*) > 100)",
        "select x from p where exists (select 1 from q where q.k = p.k)",
    ),
    (
        "select x from p where x > 1 or exists (select 1 from q where q.k = p.k)",
        "select x from p where x > 1 and exists (select 1 from q where q.k = p.k)",
    ),
    # conditions of groups, branches and lists
    (
        "select count(*) as n from p where false",
        "select count(*) as n from p having false",
    ),
    (
        "select k, count(*) as n from p group by k having count(*) > 1",
        "select k, count(*) as n from p where x > 1 group by k",
    ),
    (
        "with t as (select k + 1 as k, count(*) as n from p group by k + 1) select k, n from t where k > 2",
        "select k + 1 as k, count(*) as n from p where k > 2 group by k + 1",
    ),
    (
        "with t as (select k, x as v from p union all select k, y from q) select k, v from t where v > 1",
        "select k, x as v from p where x > 1 union all select k, y from q",
    ),
    (
        "with t as (select k, explode(array(x, 3)) as v from p) select k, v from t where v > 2",
        "with t as (select k, explode(array(x, 3)) as v from p where x > 2) select k, v from t",
    ),
    (
        "select k, explode(array_compact(array(x))) as v from p",
        "select k, v from p lateral view outer explode(array_compact(array(x))) as v",
    ),
    (
        "select k, explode(map(k, x)) as (v, w) from p where k is not null",
        "select k, v, w from p lateral view explode(map(k, x)) as w, v where k is not null",
    ),
    ("select k, x as v from p union select k, y from q", "select k, x as v from p union all select k, y from q"),
    # counts where no row is counted
    (
        "select sum(case when x > 1 then 1 else 0 end) as n from p where false",
        "select count_if(x > 1) as n from p where false",
    ),
    (
        "select k, sum(if(x > 1, 1, 0)) filter (where s is null) as n from p group by k",
        "select k, count_if(x > 1) filter (where s is null) as n from p group by k",
    ),
    (
        "select k, sum(if(k > 1, 1, 0)) over (order by k rows between 2 preceding and 1 preceding) as n "
        "from p group by k",
        "select k, count_if(k > 1) over (order by k rows between 2 preceding and 1 preceding) as n from p group by k",
    ),
    # orders in which rows are alike
    (
        "select k, count(*) over (partition by k order by x) as v from l",
        "select k, count(*) over (partition by k order by x rows unbounded preceding) as v from l",
    ),
    (
        "select l.k, count(*) over (partition by l.k order by l._arrival) as v from l join r on l.k = r.k",
        "select l.k, count(*) over (partition by l.k order by l._arrival rows unbounded preceding) as v "
        "from l join r on l.k = r.k",
    ),
    # a window above a lookup that finds several rows, or that leaves some out
    (
        "select p.x, count(*) over (partition by p.k) as v from p left join q on p.k = q.k",
        "with n as (select x, k, count(*) over (partition by k) as v from p) "
        "select n.x, n.v from n left join q on n.k = q.k",
    ),
    (
        "with g as (select k, max(z) as z from r group by k) "
        "select p.x, count(*) over (partition by p.x) as v from p join g on p.k = g.k",
        "with g as (select k, max(z) as z from r group by k), "
        "n as (select x, k, count(*) over (partition by x) as v from p) "
        "select n.x, n.v from n join g on n.k = g.k",
    ),
    # several texts are one number, so a lookup by a text as a number may find several rows
    (
        "with g as (select if(x > 0, '1', '01') as t, max(x) as y from p group by if(x > 0, '1', '01')) "
        "select l.k, count(*) over (order by l._arrival) as v from l left join g on l.k = g.t",
        "with g as (select if(x > 0, '1', '01') as t, max(x) as y from p group by if(x > 0, '1', '01')) "
        "select l.k, count(*) over (order by l._arrival rows unbounded preceding) as v from l left join g on l.k = g.t",
    ),
    (
        "with u as (select k, _arrival from l union all select x, _arrival from l) "
        "select k, count(*) over (order by _arrival) as v from u",
        "with u as (select k, _arrival from l union all select x, _arrival from l) "
        "select k, count(*) over (order by _arrival rows unbounded preceding) as v from u",
    ),
    (
        "with u as (select k, _arrival, explode(array(1, x)) as v from l) "
        "select k, count(*) over (order by _arrival) as n from u",
        "with u as (select k, _arrival, explode(array(1, x)) as v from l) "
        "select k, count(*) over (order by _arrival rows unbounded preceding) as n from u",
    ),
)
"""Queries that give other rows, if only of some tables."""
QUERIES_UNCERTAIN = (
    (
        "select p.k, collect_list(q.y) as y from p join q on p.k = q.k group by p.k",
        "select p.k, collect_list(q.y) as y from q join p on p.k = q.k group by p.k",
    ),
    (
        "select p.k, listagg(r.s) as s from p left join q on p.k = q.k left join p as r on p.k = r.x group by p.k",
        "select p.k, listagg(r.s) as s from p left join p as r on p.k = r.x left join q on p.k = q.k group by p.k",
    ),
    (
        "select p.k, row_number() over (partition by p.k order by p.x) as n from p join q on p.k = q.k",
        "select p.k, row_number() over (partition by p.k order by p.x) as n from q join p on p.k = q.k",
    ),
    (
        "select q.y, r.z, row_number() over (order by p._arrival) as n from p left join q on p.k = q.k "
        "left join r on p.x = r.k",
        "select q.y, r.z, row_number() over (order by p._arrival) as n from p left join r on p.x = r.k "
        "left join q on p.k = q.k",
    ),
    (
        "select q.y, r.z, sum(q.y) over (order by p._arrival rows unbounded preceding) as n from p "
        "left join q on p.k = q.k left join r on p.x = r.k",
        "select q.y, r.z, sum(q.y) over (order by p._arrival rows unbounded preceding) as n from p "
        "left join r on p.x = r.k left join q on p.k = q.k",
    ),
    (
        "select p.k, max_by(q.y, p.x) as n from p join q on p.k = q.k group by p.k",
        "select p.k, max_by(q.y, p.x) as n from q join p on p.k = q.k group by p.k",
    ),
    (
        "select p.k, sum(q.y / 3.0D) as n from p join q on p.k = q.k group by p.k",
        "select p.k, sum(q.y / 3.0D) as n from q join p on p.k = q.k group by p.k",
    ),
)
"""Queries that give the same rows or others: what they make of a group depends on the order of its rows."""
QUERIES_REFUSED = (
    "select x | k & 1 as v from p",
    "select x | k ^ 1 as v from p",
    "select s || x + 1 as v from p",
    "select s = s < k as v from p",
    "select s = x in (1, 2) as v from p",
    "select s = s like 'a' as v from p",
    "select s = x between 1 and 2 as v from p",
    "select x between 1 and k = 2 as v from p",
    "select -1::string as v from p",
    "select cast('2026-01-01' as timestamp without time zone) as v from p",
    "select k, rank() over (partition by k order by s) as x from p qualify x > 1",
    "select count(s.*) as v from (select struct(k, x) as s from p)",
    "select * except (s.x) from (select struct(k, x) as s, x from p)",
)
"""Queries that Spark reads in another way than sqlglot does."""
_UNITED = "select k, x as v, _arrival from p union all select k, y as v, _arrival from q"
_SWAPPED = "select k, y as v, _arrival from q union all select k, x as v, _arrival from p"
UNIONS_ALIKE = (
    (_UNITED, _SWAPPED),
    (
        "select k, x as v, _arrival from p union all select k, 1.5D, _arrival from q",
        "select k, 1.5D as v, _arrival from q union all select k, x, _arrival from p",
    ),
    (
        "select k, x as v, null as w, _arrival from p union all select k, null, y, _arrival from q",
        "select k, x as v, cast(null as int) as w, _arrival from p union all select k, cast(null as int), y, _arrival "
        "from q",
    ),
    (
        "select k, struct(x as A) as v, _arrival from p union all select k, null, _arrival from q",
        "select k, null as v, _arrival from q union all select k, struct(x as A), _arrival from p",
    ),
    (_UNITED, "select k, y as v, _arrival from q union all select k, x, _arrival from p"),
    (
        "select k, x as v, 'p' as of, _arrival from p where x > 1 union all select k, y, 'q', _arrival from q",
        "select k, y as v, 'q' as of, _arrival from q union all select k, x, 'p', _arrival from p where x > 1",
    ),
    (
        "select k, x as v, null as w, _arrival from p union all select y, k, y as w, _arrival from q",
        "select y as k, k as v, y as w, _arrival from q union all select k, x, null, _arrival from p",
    ),
    (
        f"select k, v + 1 as v, _arrival from ({_UNITED}) where v > 0",
        f"select k, 1 + v as v, _arrival from ({_SWAPPED}) where v > 0",
    ),
    (
        f"select k, v, _arrival, row_number() over (partition by k order by _arrival) as n from ({_UNITED})",
        f"select k, v, _arrival, row_number() over (partition by k order by _arrival) as n from ({_SWAPPED})",
    ),
    (
        f"select k, count(*) as n, max(v) as most, sum(v) as total, max_by(v, _arrival) as last, "
        f"max(_arrival) as _arrival from ({_UNITED}) group by k",
        f"select k, count(*) as n, max(v) as most, sum(v) as total, max_by(v, _arrival) as last, "
        f"max(_arrival) as _arrival from ({_SWAPPED}) group by k",
    ),
    (
        f"select u.k, u.v, r.z, u._arrival from ({_UNITED}) as u left join r on u.k = r.k",
        f"select u.k, u.v, r.z, u._arrival from ({_SWAPPED}) as u left join r on u.k = r.k",
    ),
    (
        "select a.k, a.x as v, b.y, a._arrival from p as a left join q as b on a.k = b.k "
        "union all select a.k, a.y as v, b.y, a._arrival from q as a left join q as b on a.y = b.k",
        "select a.k, a.y as v, b.y, a._arrival from q as a left join q as b on a.y = b.k "
        "union all select a.k, a.x, b.y, a._arrival from p as a left join q as b on a.k = b.k",
    ),
)
"""Unions whose branches stand in another order: rows of `p` and `q` never arrive together."""
UNIONS_OTHER = (
    (_UNITED, "select k, y, _arrival from q union all select k, x as v, _arrival from p"),
    (_UNITED, "select k, k as v, _arrival from q union all select k, x as v, _arrival from p"),
    (_UNITED, f"{_SWAPPED} union all select k, x, _arrival from p"),
    (
        "select k, x as v, _arrival from p where x > 1 union all select k, y, _arrival from q",
        "select k, y as v, _arrival from q where y > 1 union all select k, x, _arrival from p",
    ),
    (
        "select k, x as v, x as w, _arrival from p union all select k, y, k as w, _arrival from q",
        "select k, y as v, y as w, _arrival from q union all select k, x, k as w, _arrival from p",
    ),
    (
        "select k, to_json(v) as v, _arrival from (select k, struct(x as a) as v, _arrival from p "
        "union all select k, struct(y as A), _arrival from q)",
        "select k, to_json(v) as v, _arrival from (select k, struct(y as A) as v, _arrival from q "
        "union all select k, struct(x as a), _arrival from p)",
    ),
    (
        "select k, v, row_number() over (partition by k order by v, _arrival) as n, _arrival from "
        "(select k, 0 as v, x as w, _arrival from p union all select k, 0, z, _arrival from r)",
        "select k, v, row_number() over (partition by k order by v, w) as n, _arrival from "
        "(select k, 0 as v, z as w, _arrival from r union all select k, 0, x, _arrival from p)",
    ),
    (
        f"select k, v, _arrival, lag(v) over (partition by k order by 1) as before from ({_UNITED})",
        f"select k, v, _arrival, lag(v) over (partition by k order by 1) as before from ({_SWAPPED})",
    ),
    (
        "select k, v, _arrival, lag(v) over (partition by k order by _arrival) as before "
        "from (select k, x as v, _arrival from p union all select k, z, _arrival from r)",
        "select k, v, _arrival, lag(v) over (partition by k order by _arrival) as before "
        "from (select k, z as v, _arrival from r union all select k, x, _arrival from p)",
    ),
    (
        f"select k, to_json(collect_list(v)) as v, max(_arrival) as _arrival from ({_UNITED}) group by k",
        f"select k, to_json(collect_list(v)) as v, max(_arrival) as _arrival from ({_SWAPPED}) group by k",
    ),
    (
        f"select k, first(v) as v, max(_arrival) as _arrival from ({_UNITED}) group by k",
        f"select k, first(v) as v, max(_arrival) as _arrival from ({_SWAPPED}) group by k",
    ),
)
"""Unions that are not the same, or are so only by chance."""
UNIONS_UNCERTAIN = (
    (
        "select k, cast(null as bigint) as v, _arrival from p union all select k, y, _arrival from q",
        "select k, null as v, _arrival from p union all select k, y, _arrival from q",
    ),
    (
        "select k, cast(null as int) as v, _arrival from p union all select k, cast(null as int), _arrival from q",
        "select k, null as v, _arrival from p union all select k, null, _arrival from q",
    ),
    (_UNITED, "select k, y as v, _arrival from q union select k, x as v, _arrival from p"),
    ("select k, x as v from p union all select k, y from q", "select k, y as v from q union all select k, x from p"),
    (
        "select k, x as v, _arrival from p union all select k, z, _arrival from r",
        "select k, z as v, _arrival from r union all select k, x, _arrival from p",
    ),
    (
        f"select u.k, u.v, r._arrival from ({_UNITED}) as u join r on u.k = r.k",
        f"select u.k, u.v, r._arrival from ({_SWAPPED}) as u join r on u.k = r.k",
    ),
    (
        f"select k, avg(v) as v, max(_arrival) as _arrival from ({_UNITED}) group by k",
        f"select k, avg(v) as v, max(_arrival) as _arrival from ({_SWAPPED}) group by k",
    ),
    (
        f"select k, sum(v * 1.5D) as v, max(_arrival) as _arrival from ({_UNITED}) group by k",
        f"select k, sum(v * 1.5D) as v, max(_arrival) as _arrival from ({_SWAPPED}) group by k",
    ),
)
"""Unions that are others at a closer look: in rows that are there twice, ties, types of columns, sums of fractions."""
OTHERS = (
    ("coalesce(b, true)", "b"),
    ("coalesce(b, true)", "coalesce(b, false)"),
    ("b is not true", "not b"),
    ("b is not true", "b is false"),
    ("if(b, i > 1, null)", "coalesce(b, false) and i > 1"),
    ("if(coalesce(i < j, true), s, null)", "if(i < j, s, null)"),
    ("if(i > 1, 'x', if(s is not null, 'y', null))", "case when s is not null then 'y' when i > 1 then 'x' end"),
    ("b or (i is not null and i > 1)", "b or i > 1"),
    ("if(not (b or (i is not null and i > 1)), s, null)", "if(not (b or i > 1), s, null)"),
    ("coalesce(max(i) over (partition by j), 0)", "max(i) over (partition by j)"),
    ("if(sum(i) over (partition by j) = 2, b, false)", "sum(i) over (partition by j) = 2 and b"),
    ("t + make_dt_interval(0, 0, 1, 30)", "t + make_dt_interval(0, 0, 1, 31)"),
    ("t + make_dt_interval(1)", "t + interval 1 month"),
    ("t + make_dt_interval(0, 0, 0, null)", "t + interval 0 seconds"),
    ("make_dt_interval(1)", "interval 1 day"),
    ("element_at(a, 1)", "a[1]"),
    ("element_at(m, s)", "m['s']"),
    ("trim(both 'x' from s)", "trim(s)"),
    ("cast(1 as double)", "cast(1 as float)"),
    ("i * 1.5", "i * 1.5D"),
    ("i / 2", "i / 2.0"),
    ("d > 1", "d >= 1.0"),
    ("struct(i as One)", "struct(i as one)"),
    ("cast(cast(struct(i as A) as struct<B: int>) as struct<b: int>)", "cast(struct(i as A) as struct<B: int>)"),
    ("cast(try_cast(s as int) as int)", "cast(s as int)"),
    ("try_cast(cast(s as int) as int)", "try_cast(s as int)"),
    ("t between '2026-03-29' and '2026-03-30'", "t >= '2026-03-29' and t < '2026-03-30'"),
    ("b is false", "not b"),
    ("if(b, i > 1, true)", "coalesce(b, false) and i > 1"),
    ("case when not b then i when d > 1 then j end", "case when b then null when d > 1 then j else i end"),
    ("element_at(m, 'k')", "m['K']"),
    ("date(t) + make_dt_interval(1)", "date(t) + interval 1 day"),
    ("trim(leading from s)", "trim(s)"),
    (
        "sum(if(b, 1, 0)) over (order by i rows between 2 preceding and 1 preceding)",
        "count_if(b) over (order by i rows between 2 preceding and 1 preceding)",
    ),
    ("s and true", "s"),
    ("s or false", "s"),
    ("every(s)", "min(s)"),
    ("any(s)", "max(s)"),
    ("'it''s'", "'it' 's'"),
    ("exists(a, I -> i > 1)", "exists(a, x -> i > 1)"),
    ("j <> 0 and i / j > 1", "i / j > 1 and j <> 0"),
    ("b and i + j > 1", "i + j > 1 and b"),
    ("b or n * 2 > 1", "n * 2 > 1 or b"),
    ("b and -i > 1", "-i > 1 and b"),
    ("b and abs(i) > 1", "abs(i) > 1 and b"),
    ("b and t - make_dt_interval(i) > t", "t - make_dt_interval(i) > t and b"),
    ("if(s is not null, i, j)", "if(s is null, i, j)"),
    ("if(s is not null, struct(i as x), struct(j as X))", "if(s is null, struct(j as X), struct(i as x))"),
    ("if(b, i, j)", "if(not b, j, i)"),
    ("b and e + e > 1", "e + e > 1 and b"),
    ("b and timestamp_seconds(n) > t", "timestamp_seconds(n) > t and b"),
    ("case when b then 1 when i + j > 1 then 2 end", "case when i + j > 1 then 2 when b then 1 end"),
    ("b and not (s > 1)", "not (s > 1) and b"),
    ("b and s between 1 and 5", "s between 1 and 5 and b"),
    ("b and s in (1, 2)", "s in (1, 2) and b"),
    ("b and s + 1 > i", "s + 1 > i and b"),
    ("b or abs(s) > 1", "abs(s) > 1 or b"),
    ("b or hour(s) > 1", "hour(s) > 1 or b"),
    ("b or coalesce(i, s) > 1", "coalesce(i, s) > 1 or b"),
    ("b and s rlike s", "s rlike s and b"),
    ("b and exists(a, x -> x > s)", "exists(a, x -> x > s) and b"),
    ("i + cast(s as int)", "cast(s as int) + i"),
    ("i > cast(s as int)", "cast(s as int) < i"),
    ("+s", "s"),
    ("j = 0 or cast(s as int) > 1", "cast(s as int) > 1 or j = 0"),
    ("b and s > 1", "s > 1 and b"),
    ("session_window(t, '1 day')", "session_window(t, '24 hours')"),
    ("i - j", "j - i"),
    ("i + j + n", "i + (j + n)"),
    ("rand() between 0 and 1", "rand() >= 0 and rand() <= 1"),
    ("if(b, i, j)", "if(b, j, i)"),
    ("cast(i as bigint)", "i"),
    ("cast(coalesce(i, n) as int)", "coalesce(i, n)"),
    ("struct(cast(i as int))", "struct(i)"),
    ("cast(concat(s, s) as int)", "cast(cast(concat(s, s) as binary) as int)"),
    ("cast(d as float)", "d"),
    ("cast(m as map<string,string>)", "cast(m as map<string,int>)"),
    ("i in (1, j)", "i in (1, n)"),
    ("s in (1, '2')", "s = 1 or s = '2'"),
    ("i in (1, 2)", "i in (1, 2, null)"),
    ("not (i <=> j)", "i <> j"),
    ("not (b and i > 1)", "not b and i <= 1"),
    ("i > 1 is null", "not (i > 1)"),
    ("b and null", "b"),
    ("d + 0", "d"),
    ("i + 0L", "i"),
    ("case when i is null then j else n end", "coalesce(i, j)"),
    ("if(struct(i) is null, struct(1 as I), struct(i))", "coalesce(struct(i), struct(1 as I))"),
    ("s = true", "s"),
    ("b <=> true", "b"),
    ("1 = '1'", "true"),
    ("null = null", "true"),
    ("string(t)", "t"),
    ("transform(a, x -> x + i)", "transform(a, x -> x + j)"),
    ("transform(a, (x, k) -> x)", "transform(a, (x, k) -> k)"),
    ("transform(array(m), x -> x.k)", "transform(array(m), x -> x.K)"),
    (
        "transform(a, x -> cast(struct(x as z) as struct<x:int>))",
        "transform(a, y -> cast(struct(y as z) as struct<y:int>))",
    ),
    ("struct(i as x)", "struct(i as y)"),
    ("struct(named_struct('A', i)['A'])", "struct(named_struct('A', i)['a'])"),
    ("named_struct('x', i)", "named_struct('y', i)"),
    ("to_json(named_struct('x', i, 'y', j))", "to_json(named_struct('y', i, 'x', j))"),
    ("to_json(named_struct('i', i))", "to_json(named_struct('I', i))"),
    ("struct(m['k'])", "struct(m['k'] as col1)"),
    ("struct((i))", "struct((I))"),
    ("struct((i))", "struct(i as col1)"),
    ("struct(array(named_struct('A', i))[0].A)", "struct(array(named_struct('A', i))[0].a)"),
    ("arrays_zip((a))", "arrays_zip((A))"),
    ("m.k", "m.K"),
    ("s like '_1%'", "startswith(s, '_1')"),
    ("s like '1'", "startswith(s, '1')"),
    ("s like '%1%'", "endswith(s, '1')"),
    ("nullif(i, j)", "case when i <> j then i end"),
    ("case when i = 0 then null else j end", "case when i <> 0 then j end"),
    ("date_trunc('MM', t)", "date_trunc('minute', t)"),
    ("date(t) + interval 1 day", "date(t) + interval 24 hours"),
    ("date(t) + interval 24 hours", "date_add(date(t), 1)"),
    ("t + interval 1 day", "date_add(t, 1)"),
    ("date(t) + interval 1 day", "date_sub(date(t), 1)"),
    ("cast(interval 1 hour as string)", "cast(interval 60 minutes as string)"),
    (
        "cast(interval 1 hour + interval 2 hours as string)",
        "cast(interval 60 minutes + interval 120 minutes as string)",
    ),
    ("date(t) + interval 1 week", "date(t) + interval 168 hours"),
    ("sum(i) over (order by j)", "sum(i) over (order by j rows unbounded preceding)"),
    ("sum(i) over (order by j)", "sum(i) over (order by j rows between unbounded preceding and unbounded following)"),
    ("sum(i)", "sum(distinct i)"),
    ("greatest(d, i)", "greatest(i, d)"),
    ("b is not true", "b is false"),
    ("if(b, false, true)", "coalesce(b, false)"),
    ("if(s, true, false)", "coalesce(s, false)"),
    ("i is not null and i > 1", "i > 1"),
    ("s is true", "coalesce(s, false)"),
    ("coalesce(s, coalesce(i, j))", "coalesce(s, i, j)"),
    (
        "case when b then s else case when i > 1 then i else j end end",
        "case when b then s when i > 1 then i else j end",
    ),
    ("extract(second from t)", "second(t)"),
    ("extract(day from t - t)", "day(t)"),
    ("2147483647 + 1", "2147483648"),
    ("d >= 1", "d > 0"),
    ("e <= 1", "e < 2"),
    ("s >= 1", "s > 0"),
    ("i >= 1", "i > 1"),
    ("1 >= i", "i > 0"),
    ("i <= 2147483647", "i < 2147483648"),
    ("coalesce(i, null, n)", "i"),
    ("locate('1', s, 2)", "instr(s, '1')"),
    ("instr(s, '1')", "instr('1', s)"),
    ("left(s, 2)", "right(s, 2)"),
    ("date '2026-03-29'", "date '2026-03-29 00:00:00'"),
    ("lag(i, 1, 0) over (order by j, n)", "lag(i) over (order by j, n)"),
    ("lag(i) over (order by j, n)", "lead(i, 1) over (order by j, n)"),
    ("sum(case when b then i else 0 end)", "sum(i) filter (where b)"),
    ("sum(distinct if(b, i, null))", "sum(i) filter (where b)"),
    ("first(if(b, i, null))", "first(i) filter (where b)"),
    ("collect_list(struct(if(b, i, null)))", "collect_list(struct(i)) filter (where b)"),
    ("first(i ignore nulls)", "first(i)"),
    ("concat(007, ' seconds')", "'007 seconds'"),
    ("concat_ws('-', '1', '2')", "'-12'"),
    ("concat_ws('-', s, s) || s", "concat('-', s, s, s)"),
    ("first(i, false) over (order by j, n)", "first(i) ignore nulls over (order by j, n)"),
    ("date_trunc('day', t)", "date_trunc('hour', t)"),
    ("b and date(t) = date '2026-02-30'", "date(t) = date '2026-02-30' and b"),
    ("nullif(i, j)", "nullif(j, i)"),
    ("pmod(i, 7)", "i % 7"),
    ("count(i)", "count(1)"),
    ("count(case when b then i end)", "count_if(b)"),
    ("count(case i when 1 then 1 end)", "count(case j when 1 then 1 end)"),
    ("count(case when b then 1 else 0 end)", "count_if(b)"),
    ("count(distinct 1)", "count(1)"),
    ("case when not b then n end", "case when b then null else n end"),
    ("b and mod(i, j) = 1", "i % j = 1 and b"),
    ("s > '2026-03-30'", "t > '2026-03-30'"),
    ("t > '2026-03-30'", "date(t) > '2026-03-30'"),
    ("concat(a, cast(a as array<int>))", "concat(a, cast(a as array<string>))"),
    ("first(i)", "last(i)"),
    ("count_if(s is null)", "count(s)"),
    ("count(j) filter (where i is not null)", "count(i)"),
    ("count(distinct i)", "count_if(i is not null)"),
    ("s not like any ('1%', '2%')", "not (s like any ('1%', '2%'))"),
    ("s not like all ('1%', '2%')", "not (s like all ('1%', '2%'))"),
    ("2.0D", "2.0"),
    ("1", "true"),
    ("'1'", "1"),
)
"""Expressions that a plan must not take for the same."""
QUERIED = {each.split()[0]: each.split()[1] for columns in TABLES.values() for each in columns.split(", ")}
"""The types of the columns of all tables."""
TYPED = (
    ("i / j", "double"),
    ("n / 3", "double"),
    ("d / i", "double"),
    ("i % 2", "int"),
    ("n div 2", "bigint"),
    ("t + interval 5 minutes", "timestamp"),
    ("t - interval 1 month", "timestamp"),
    ("t + make_dt_interval(0, 0, 0, i)", "timestamp"),
    ("concat(s, i, '!')", "string"),
    ("substring(s, 1, 2)", "string"),
    ("greatest(n, 3)", "bigint"),
    ("nullif(i, 0)", "int"),
    ("unix_millis(t)", "bigint"),
    ("xxhash64(s)", "bigint"),
    ("array_contains(a, 1)", "boolean"),
    ("isnan(d)", "boolean"),
    ("startswith(s, '1')", "boolean"),
    ("exists(a, x -> x > 1)", "boolean"),
    ("to_date(t)", "date"),
    ("date_add(date(t), 1)", "date"),
    ("date(t) + interval 2 days", "date"),
    ("trunc(t, 'month')", "date"),
    ("abs(n)", "bigint"),
    ("round(d, 1)", "double"),
    ("round(i, -1)", "int"),
    ("round(n)", "bigint"),
    ("sort_array(a)", "array<int>"),
    ("array_sort(a)", "array<int>"),
    ("slice(a, 1, 2)", "array<int>"),
    ("array_distinct(a)", "array<int>"),
    ("filter(a, x -> x > 1)", "array<int>"),
    ("get_json_object(s, '$.a')", "string"),
    ("regexp_extract(s, '(1)', 1)", "string"),
    ("sqrt(n)", "double"),
    ("power(i, 2)", "double"),
    ("year(t)", "int"),
    ("hour(t)", "int"),
    ("second(t)", "int"),
    ("datediff(t, t)", "int"),
    ("hash(s)", "int"),
    ("date_format(t, 'yyyy')", "string"),
    ("regexp_replace(s, '1', '2')", "string"),
    ("md5(s)", "string"),
    ("sha2(s, 256)", "string"),
    ("date_trunc('hour', t)", "timestamp"),
    ("from_utc_timestamp(t, 'Asia/Tokyo')", "timestamp"),
    ("timestamp_millis(n)", "timestamp"),
    ("split(s, ',')", "array<string>"),
    ("element_at(split(s, ','), 1)", "string"),
    ("a[0]", "int"),
    ("get(a, 0)", "int"),
    ("cast(i as decimal)", "decimal(10,0)"),
    ("cast(i as decimal(12))", "decimal(12,0)"),
)
"""Expressions whose types are certain without Spark."""
NULL_OF_NULLS = (
    *("i", "-i", "i + 1", "1 - i", "i * j", "i / 2", "i div j", "i % 2", "cast(i as string)", "try_cast(s as int)"),
    *("not b", "upper(s)", "lcase(s)", "i = 1", "i <> 1", "i > j", "1 >= i", "s || 'x'", "concat('x', s, 'y')"),
    *("substring(s, 1, 2)", "trim(s)", "char_length(s)", "ceil(d)", "i in (1, 2)", "i between 1 and 2"),
    *("coalesce(i, j)", "b and i > 1", "b or i > 1", "case when b then i else j end", "if(b, i, null)", "null"),
    *("abs(i)", "add_months(date(t), 1)", "base64(s)", "btrim(s)", "date_add(date(t), 1)", "date_format(t, 'yyyy')"),
    *("date_sub(date(t), 1)", "date_trunc('hour', t)", "datediff(t, t)", "day(t)", "dayofweek(t)", "dayofyear(t)"),
    *("floor(d)", "get_json_object(s, '$.a')", "hex(i)", "hour(t)", "initcap(s)", "instr(s, '1')", "last_day(t)"),
    *("left(s, 1)", "locate('1', s)", "lpad(s, 3, '0')", "ltrim(s)", "md5(s)", "minute(t)", "month(t)", "power(i, 2)"),
    *("quarter(t)", "regexp_extract(s, '(1)', 1)", "regexp_replace(s, '1', '2')", "replace(s, '1', '2')", "reverse(s)"),
    *("right(s, 1)", "round(d, 1)", "rpad(s, 3, '0')", "rtrim(s)", "second(t)", "sha1(s)", "sha2(s, 256)", "sign(d)"),
    *("split(s, ',')", "sqrt(n)", "substr(s, 1)", "timestamp_millis(n)", "timestamp_seconds(n)"),
    *("translate(s, '1', '2')", "trunc(t, 'month')", "unix_millis(t)", "unix_seconds(t)", "unix_timestamp(t)"),
    *("weekofyear(t)", "year(t)"),
)
"""Expressions that are null where all columns are: the same before an outer join and behind it."""
NOT_NULL_OF_NULLS = (
    *("1", "coalesce(i, 0)", "i is null", "i <=> j", "b is not true", "if(b, i, 0)", "case when i > 1 then 'b' end"),
    *(
        "concat_ws('-', s)",
        "struct(i)",
        "array(i)",
        "size(a)",
        "hash(i)",
        "isnull(i)",
        "i in (select j from gold.mixed)",
    ),
)
"""Expressions that may have a value all the same."""
AGGREGATED_TYPED = (
    ("avg(i)", "double"),
    ("avg(d)", "double"),
    ("bool_or(b)", "boolean"),
    ("collect_list(i)", "array<int>"),
    ("collect_set(s)", "array<string>"),
    ("approx_count_distinct(s)", "bigint"),
    ("stddev_samp(i)", "double"),
    ("corr(i, j)", "double"),
)
UNTYPED = (
    *(
        "round(s, 1)",
        "round(e, 1)",
        "array_sort(s)",
        "abs(s)",
        "concat(a, a)",
        "e / 2",
        "greatest(n, d)",
        "avg(e)",
        "date(t) + interval 1 hour",
    ),
    *("datediff(hour, t, t)", "date_add(hour, 1, t)", "9223372036854775808", "-2147483648"),
    *("upper(s collate utf8_lcase)", "concat(s, s collate unicode)", "initcap(s collate unicode_ci)"),
)
"""Expressions whose types only Spark knows."""
MACRO = "create temporary function doubled(v bigint) returns bigint return v * 2"
