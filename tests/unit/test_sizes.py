"""A size that comes from a row is bounded by the text, or refused; so is what a fold carries on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import InvalidProject
from headrace.project.sql import sqltext
from headrace.project.sql.guard.growth.folds import MESSAGE
from headrace.reading.dialect import parsing
from headrace.reading.rows import BadQuery

NEW = "sql/gold/shipping/new.sql"
READY = "sql/gold/shipping/shipment_ready.sql"
FROM = "from stream bronze.orders"
UNBOUNDED = [
    "repeat('x', n)",
    "repeat('x', data.quantity)",
    "builtin.`repeat`('x', n)",
    "size(sequence(1, n))",
    "lpad(a, n)",
    "rpad(a, n, 'x')",
    "space(n)",
    "array_repeat(0, n)",
    "array_insert(array(1), n, 1)",
    "randstr(n)",
    "format_number(x, n)",
    "format_string(f, 1)",
    "printf(concat('%', n, 'd'), 1)",
    # one end is open: a sequence goes down, too, and nulls are passed over
    "sequence(1, least(n, 1000))",
    "sequence(1, n, 1)",
    "sequence(a, b)",
    "sequence(a, least(b, a + interval 30 days))",
    "sequence(a, least(b, a + c), interval 1 day)",
    "sequence(a, a + interval 1 day, make_interval(0, 0, 0, 0, 0, 0, s))",
    "sequence(a, a + 10, s)",
    "repeat('x', least(n, m))",
    "repeat('x', least(n, length(t)))",
    "repeat('x', greatest(n, 3))",
    "repeat('x', coalesce(n, 3))",
    "repeat('x', case when a then 3 else n end)",
    "repeat('x', if(a, n, 3))",
    # a row's size, times another one
    "repeat(t, length(t))",
    "array_repeat(t, size(u))",
    "repeat('x', length(t) * length(u))",
    # arithmetic bounds nothing
    "repeat('x', n - 5)",
    "repeat('x', n / 1000000)",
    "repeat('x', 10 / n)",
    "repeat('x', n & m)",
    "repeat('x', least(n, 0) << 1)",
    "repeat('x', cast(n as int))",
    "repeat('x', year(d))",
    "repeat('x', own_macro(n))",
    "repeat('x', max(n) over (partition by a))",
    "repeat('x', (select max(n) from silver.open_orders))",
    "transform(array(1), i -> repeat('x', i))",
    # what is carried on doubles
    "aggregate(sequence(1, 100), 'x', (a, e) -> concat(a, a))",
    "reduce(x, 'x', (a, e) -> a || ',' || a)",
    "aggregate(x, array(1), (a, e) -> flatten(array(a, a)))",
    "aggregate(x, 'x', (a, e) -> if(e > 1, concat(a, upper(a)), a))",
    "aggregate(x, 'x', (a, e) -> hex(a))",
    "aggregate(x, 'x', (a, e) -> concat(A, `a`))",
    "aggregate(x, s, (a, e) -> named_struct('x', concat(A.x, A.x)))",
    "aggregate(x, 'x', (a, e) -> repeat(a, 2))",
    "aggregate(x, 'x', (a, e) -> regexp_replace(a, 'x', 'xx'))",
    "aggregate(x, array('x'), (a, e) -> transform(a, y -> concat(y, y)))",
    "aggregate(x, 'x', (a, e) -> aggregate(array(1), a, (b, f) -> concat(b, b)))",
    "aggregate(x, s, (a, e) -> named_struct('x', concat(a.x, a.y), 'y', concat(a.x, a.y)))",
    "aggregate(x, 'x', (a, e) -> format_string('%s%s', a, a))",
    "aggregate(x, 'x', (a, e) -> format_string('%1$s%1$s', a))",
    "aggregate(x, 'x', (a, e) -> overlay(a placing a from 1 for 0))",
    "aggregate(x, 'x', (a, e) -> array_join(transform(array(1, 2), z -> a), ''))",
    "aggregate(x, array(1), (a, e) -> flatten(transform(e, z -> a)))",
    "aggregate(x, 'x', (a, e) -> concat_ws('xx', split(a, '')))",
    "aggregate(x, 'x', (a, e) -> encode(a, 'utf-32'))",
    "aggregate(x, 'x', (a, e) -> to_json(struct(a)))",
    "aggregate(x, 'x', (a, e) -> substring(concat(a, a), 1))",
    "aggregate(x, 'x', (a, e) -> left(concat(a, a), 1000000000))",
    "aggregate(x, 'x', (a, e) -> lpad(a, 2 * length(a)))",
    "aggregate(x, array(1), (a, e) -> sequence(1, size(a) + size(a)))",
    "aggregate(x, 'x', (a, e) -> replace(a, 'x', 'xx'))",
    "aggregate(x, 'x', (a, e) -> regexp_replace(a, '', 'x'))",
]
BOUNDED = [
    "repeat('x', least(n, 1000))",
    "repeat('x', least(n, m, 5 * 20))",
    "repeat('x', greatest(0, least(n, 1000)))",
    "repeat('x', n % 100)",
    "repeat('x', mod(n, 100))",
    "repeat('x', pmod(n, 100) + 1)",
    "repeat('x', cast(n as tinyint))",
    "repeat('x', n::smallint)",
    "repeat('x', tinyint(n))",
    "repeat('x', cast(n as decimal(3, 0)))",
    "repeat('x', case when a then 3 else 4 end)",
    "repeat('x', if(a, 3, least(n, 5)))",
    "repeat('x', n & 255)",
    "repeat('x', abs(n % 5))",
    "repeat('x', cast(a > b as int))",
    "repeat('x', size(a) * 2 + 1)",
    "repeat(t, least(length(u), 10))",
    "lpad(a, 10, '0')",
    "lpad(a, length(b))",
    "rpad(a, length(b) + 3, '-')",
    "array_repeat('PASS', size(rules))",
    "array_insert(a, 1, x)",
    "format_number(x, 2)",
    "format_number(x, '#,###.##')",
    "format_string('%5d %s %08.3f %%', 1, a, b)",
    "round(x, 2) + round(x) + ceil(x) + bround(x, -2)",
    "approx_count_distinct(x) + approx_count_distinct(x, 0.01)",
    "sequence(0, int((size(moves) - 1) / 64))",
    "sequence(1, size(orders), int(ceil(sqrt(size(orders)))))",
    "sequence(1, greatest(1, least(n, 1000)))",
    "sequence(1, least(n, 1000), 1)",
    "sequence(1, month(d))",
    "sequence(1, extract(day from d))",
    "sequence(1, date_part('hour', d))",
    "sequence(a, a + 10)",
    "sequence(a, a + interval 10 days, interval 1 hour)",
    "sequence(a, least(b, a + interval 30 days), interval 1 day)",
    "sequence(a, greatest(a, least(b, a + interval 30 days)))",
    "sequence(to_date(a), date_add(to_date(a), 30))",
    "transform(sequence(1, 100), i -> repeat('x', i))",
    "split(data.id, ',')",
    "from_json(data.id, 'array<int>')",
    "aggregate(x, 0, (a, e) -> a + a * e)",
    "aggregate(x, '', (a, e) -> concat(a, ',', e, e))",
    "aggregate(x, '', (a, e) -> if(length(a) > 3, a, concat(a, left(a, 1), e)))",
    "aggregate(x, s, (a, e) -> named_struct('n', a.n + a.n, 't', concat(a.t, e)))",
    "aggregate(x, s, (a, e) -> case when e then concat(a, e) else concat(e, a) end)",
    "aggregate(x, '', (a, e) -> concat_ws(', ', a, e))",
    "aggregate(x, array(1), (a, e) -> array_append(a, element_at(a, -1) + e))",
    "aggregate(x, t, (a, e) -> replace(a, e, ''))",
    "aggregate(x, t, (a, e) -> regexp_replace(a, '[^a-z]', '-'))",
    "aggregate(x, s, (a, e) -> named_struct('n', a.n + 1, 'seen', array_append(a.seen, e)))",
    "transform(items, i -> struct(order_id, i.id, i.name))",
    "zip_with(a, b, (x, y) -> concat(x, y))",
    "transform(a, (x, i) -> concat(x, ':', i))",
    "to_json(struct(to_json(struct(to_json(struct(a, b)))), a, b))",
]
TOO_LARGE = [
    "repeat('x', least(n, 2000000000))",
    "repeat('x', length(t) * 1000000000)",
    "repeat('x', cast(n as decimal(10, 0)))",
    "sequence(a, a + interval 10000 days, interval 1 second)",
    "sequence(a, a + 100, interval 1 second)",
    "format_string('%2000000000d', 1)",
    "printf('%.2000000000f', 1D)",
    "format_number(x, 2000000000)",
    "round(x, 2000000000)",
    "bround(x, -2000000000)",
    "ceil(x, 2000000000)",
    "array_insert(array(1), 2000000000, 1)",
    "array_insert(array(1), -2000000000, 1)",
    "count_min_sketch(x, 0.000000001d, 0.9d, 1)",
    "approx_count_distinct(x, 0.002d)",
]


def codes(text: str) -> list[str]:
    """What is found in a query, apart from its project."""
    try:
        return sorted({finding.code for finding in sqltext.read(text, NEW).costs.findings})
    except InvalidProject as error:
        return sorted({finding.code for finding in error.findings})


@pytest.mark.parametrize("expression", UNBOUNDED)
def test_size_that_rows_decide_is_refused(expression: str) -> None:
    assert codes(f"select {expression} as a {FROM}") == ["unbounded-size"]


@pytest.mark.parametrize("expression", BOUNDED)
def test_size_that_its_text_bounds_passes(expression: str) -> None:
    assert codes(f"select {expression} as a {FROM}") == []


@pytest.mark.parametrize("expression", TOO_LARGE)
def test_bound_beyond_memory_is_refused(expression: str) -> None:
    assert codes(f"select {expression} as a {FROM}") == ["not-allowed"]


GROWING = [
    "concat(@, @)",
    "hex(@)",
    "url_encode(@)",
    "to_json(struct(@))",
    "replace(@, 'x', 'yyy')",
    "regexp_replace(@, '(.)', '$1$1')",
    "regexp_replace(@, 'x?', 'y')",
    "format_string('%1$s%1$s', @)",
    "array_join(split(@, ''), ' and ')",
    "array_join(transform(array(1, 2), x -> @), '')",
    "array_join(transform(array(@), x -> concat(x, @)), '')",
    "array_join(array_append(array(@), @), '')",
    "string(struct(@, @))",
    "to_json(map(1, @, 2, @))",
    "case when length(hex(concat(@, @))) > 1 then concat(@, @) end",
    "(select concat(@, @))",
    "repeat(@, 2)",
    "lpad(@, 2 * length(@))",
    "length(concat(@, @)) || @ || @",
]
"""What makes more than a million characters of one, if it is made of itself 21 times: of `@`."""

SAME = [
    "upper(trim(@))",
    "concat(@, 'x')",
    "replace(@, 'x', 'y')",
    "regexp_replace(@, '\\\\s+', ' ')",
    "coalesce(@, @)",
    "substring(concat(@, @), 1, 20)",
    "sha2(concat(@, @), 256)",
    "element_at(split(@, ','), 1)",
    "mask(@)",
]
"""What stays as long as it is, or nearly."""


def chained(expression: str) -> str:
    columns = (f"{expression.replace('@', f'a{at}')} as a{at + 1}" for at in range(21))
    return f"select key as a0, {', '.join(columns)} {FROM}"


def in_ctes(expression: str) -> str:
    made = expression.replace("@", "a")
    ctes = (f"c{at + 1} as (select {made} as a, b from c{at})" for at in range(21))
    return f"with c0 as (select key as a, topic as b {FROM}), {', '.join(ctes)} select a from c21"


def in_subqueries(expression: str) -> str:
    text = f"(select key as a {FROM})"
    for _ in range(21):
        text = f"(select {expression.replace('@', 'a')} as a from {text})"
    return f"select a from {text}"


@pytest.mark.parametrize("written", [chained, in_ctes, in_subqueries])
@pytest.mark.parametrize("expression", GROWING)
def test_column_that_doubles_again_and_again_is_refused(expression: str, written: Callable[[str], str]) -> None:
    assert codes(written(expression)) == ["not-allowed"]


@pytest.mark.parametrize("written", [chained, in_ctes])
@pytest.mark.parametrize("expression", SAME)
def test_column_that_stays_as_long_as_it_is_passes(expression: str, written: Callable[[str], str]) -> None:
    assert codes(written(expression)) == []


@pytest.mark.parametrize("name", ["hex", "quote", "base64", "url_encode"])
def test_calls_in_each_other_that_double_are_refused(name: str) -> None:
    assert codes(f"select {f'{name}(' * 30}key{')' * 30} as a {FROM}") == ["not-allowed"]
    assert codes(f"select key {FROM} where length({f'{name}(' * 30}key{')' * 30}) > 1") == ["not-allowed"]


def test_columns_that_each_grow_once_pass() -> None:
    ctes = (f"c{at + 1} as (select *, to_json(struct(topic, offset)) as a{at} from c{at})" for at in range(25))
    assert codes(f"with c0 as (select * {FROM}), {', '.join(ctes)} select a1, a24 from c25") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"select explode(sequence(1, data.n)) as a {FROM}", ["unbounded-size"]),
        (f"select a {FROM} lateral view explode(sequence(1, data.n)) as a", ["unbounded-size"]),
        (f"select count(*) as n {FROM} group by repeat('x', data.n)", ["unbounded-size"]),
        ("with recursive r as (select 'x' as a union all select a || a from r) select a from r", ["unbounded-size"]),
        ("with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select n from r", []),
        (f"select count(*) as n {FROM} group by cube({', '.join('abcdefghijkl')})", ["not-allowed"]),
        (f"select count(*) as n {FROM} group by {', '.join('abcdefghijkl')} with cube", ["not-allowed"]),
        (f"select count(*) as n {FROM} group by cube(a, b, c, d, e, f), cube(g, h, i, j, k)", ["not-allowed"]),
        (f"select count(*) as n {FROM} group by cube(a, b, c), rollup(d, e)", []),
        (f"select count(*) as n {FROM} group by grouping sets ((a, b), (a), ())", []),
        (f"select count(*) as n {FROM} group by window(t, '1 day', '1 second')", ["not-allowed"]),
        (f"select count(*) as n {FROM} group by window(t, interval 1 day, interval 1 second)", ["not-allowed"]),
        (f"select count(*) as n {FROM} group by window(t, '1 day', '1 hour')", []),
        ("select a from (values (1)) as t(a) lateral view stack(2000000000, a) s as b", ["not-allowed"]),
        ("select b from (values (1)) as t(a) lateral view stack(2, a, a) s as b", []),
        # columns do not multiply each other: the largest one counts
        (f"select {', '.join(f'lpad(a, 100) as a{i}' for i in range(9))} {FROM}", []),
        (f"select repeat('x', 10000) as a {FROM} group by repeat('x', 10000)", []),
        (
            "select a.id from silver.a as a"
            + "".join(f" join silver.b as b{at} on lpad(a.id, 20) = lpad(b{at}.id, 20)" for at in range(6)),
            [],
        ),
        ("select a from range(1000) as r(a) cross join range(2000) as s(b)", ["not-allowed"]),
        (
            "with a as (select repeat('x', 1000) as x), b as (select repeat(x, 1000) as x from a)"
            " select repeat(x, 1000) as x from b",
            ["not-allowed"],
        ),
        ("with a as (select repeat('x', 1000) as x), b as (select repeat('y', 1000) as x) select x from a", []),
        (
            f"select key as a0, {', '.join(f'concat(a{i}, a{i}) as a{i + 1}' for i in range(25))} {FROM}",
            ["not-allowed"],
        ),
        (f"select concat(a, b) as c, concat(b, a) as d, concat(a, '-', b, '-', c) as e {FROM}", []),
    ],
)
def test_rows_that_multiply_are_judged(query: str, expected: list[str]) -> None:
    assert codes(query) == expected


def test_finding_has_its_place_and_the_way_out(project_files) -> None:
    project_files.write(
        NEW, f"/*\nOne row.\n\nmaterialized: append\n*/\nselect key,\n    repeat('x', offset) as a {FROM}\n"
    )
    with pytest.raises(InvalidProject) as caught:
        project_files.load()
    (found,) = caught.value.findings
    assert (str(found.place), found.code) == (f"{NEW}:7:5", "unbounded-size")
    assert "least(" in found.message


def test_fold_says_what_doubles() -> None:
    (found,) = sqltext.read(f"select aggregate(x, 'x', (a, e) -> a || a) as a {FROM}", NEW).costs.findings
    assert MESSAGE in found.message


def test_header_may_allow_it(project_files) -> None:
    header = "/*\nOne row.\n\nmaterialized: append\n{}*/\n"
    project_files.write(NEW, header.format("") + f"select repeat('x', offset) as a {FROM}\n")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["unbounded-size"]
    allowed = header.format("allow: {unbounded-size: offsets are small here}\n")
    project_files.write(NEW, allowed + f"select repeat('x', offset) as a {FROM}\n")
    assert project_files.findings() == []
    project_files.write(NEW, allowed + f"select key as a {FROM}\n")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["needless-allow"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (READY, "publish:", "log: {}\npublish:"),
        (READY, "value: {orderId: order_id}", "value: {{orderId: order_id}}, tombstone_when: {}"),
        (READY, "publish:", "tests: {{rows: {{good: {}}}}}\npublish:"),
        ("sql/silver/shipping/open_orders.sql", "unique_key:", "delete_when: {}\nunique_key:"),
        ("sql/bronze/shipping.yml", "id <> key", "{}"),
        ("manifest.yml", "gold: {+materialized: append}", "gold: {{+materialized: append, +log: {}}}"),
    ],
)
@pytest.mark.parametrize(
    ("expression", "code"),
    [("repeat('x', item_count) = 'x'", "unbounded-size"), ("'x' rlike order_id", "unbounded-pattern")],
)
def test_expression_in_a_file_is_judged_like_a_model(project_files, path, old, new, expression, code) -> None:
    columns = {"sql/bronze/shipping.yml": ("offset", "key")}.get(path, ("item_count", "order_id"))
    text = expression.replace("item_count", columns[0]).replace("order_id", columns[1])
    project_files.edit(path, old, new.format(f'"{text}"'))
    assert code in [each.split(" ")[1] for each in project_files.findings()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [("repeat('x', n)", ["unbounded-size"]), ("repeat('x', least(n, 10))", []), ("t rlike u", ["unbounded-pattern"])],
)
def test_macro_bounds_its_arguments_itself(project_files, body: str, expected: list[str]) -> None:
    form = "create temporary function bars(n int, t string, u string) returns {} return {}"
    project_files.write("macros/bars.sql", form.format("boolean" if "rlike" in body else "string", body))
    assert [each.split(" ")[1] for each in project_files.findings()] == expected


@pytest.mark.parametrize(
    ("condition", "is_refused"),
    [
        ("length(repeat('x', n)) = 1", True),
        ("order_id = lpad('x', n)", True),
        ("size(sequence(1, n)) = 1", True),
        ("length(repeat('x', least(n, 100))) = 1", False),
        ("order_id = lpad('x', length(order_id))", False),
    ],
)
def test_question_without_spark_is_judged_alike(condition: str, is_refused: bool) -> None:
    for read, text in ((parsing.condition, condition), (parsing.query, f"select 1 from x where {condition}")):
        if is_refused:
            with pytest.raises(BadQuery, match="row"):
                read(text)
        else:
            read(text)
