"""What a model's text says: inputs, parameters, calls, stars, columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidProject
from headrace.project.sql import sqltext


def inputs(text: str) -> list[tuple[str, bool, str, bool]]:
    found = sqltext.read(text, "m.sql").inputs
    return [(input_.table, input_.stream, text[input_.start : input_.end], input_.has_alias) for input_ in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1 from silver.a", ("silver.a", False, "silver.a", False)),
        ("select 1 from Silver.A as b", ("silver.a", False, "Silver.A", True)),
        ("select 1 from `silver`.`a`", ("silver.a", False, "`silver`.`a`", False)),
        ("select 1 from stream silver.a", ("silver.a", True, "stream silver.a", False)),
        ("select 1 from STREAM\n  silver.a s", ("silver.a", True, "STREAM\n  silver.a", True)),
        ("select 1 from stream(silver.a)", ("silver.a", True, "stream(silver.a)", False)),
        ("select 1 from stream ( silver.a ) s", ("silver.a", True, "stream ( silver.a )", True)),
        ("select 1 from stream silver.a identified by me s", ("silver.a", True, "stream silver.a", True)),
        ("select 1 from stream silver.a with (x = 1)", ("silver.a", True, "stream silver.a", False)),
        (
            "select 1 from stream silver.a watermark ts delay of interval 1 day",
            ("silver.a", True, "stream silver.a", False),
        ),
        (
            "select 1 from stream silver.a watermark t as u delay of interval 1 day b",
            ("silver.a", True, "stream silver.a", True),
        ),
        ("select 1 from orders", ("orders", False, "orders", False)),
    ],
)
def test_input_covers_stream_and_name(text, expected):
    assert inputs(text) == [expected]


def test_inputs_of_all_clauses_are_found_in_order():
    found = inputs(
        "with a as (select id from stream silver.a)\nselect a.id from a join silver.b using (id)\n"
        "where exists (select 1 from gold.c) and a.id in (select id from (select id from gold.d))\n"
        "union all from stream silver.e |> select id"
    )
    assert [table for table, *_ in found] == ["silver.a", "silver.b", "gold.c", "gold.d", "silver.e"]


def test_ctes_functions_and_hints_are_no_inputs():
    text = (
        "with silver as (select 1 as x) select /*+ broadcast(q) */ x from silver, range(3) r, explode(array(1)) as e(i)"
    )
    assert inputs(text) == []


def test_input_knows_its_line_and_column():
    (found,) = sqltext.read("select\n  1\nfrom stream silver.a", "m.sql").inputs
    assert str(found.place) == "m.sql:3:6"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select :a, (:b), x=:c from silver.t limit :d", ["a", "b", "c", "d"]),
        ("select v:a.b, v[0]:c, f(x):d, x::int from silver.t", []),
        ("select cast(x as struct<a:int, b: string>) from silver.t", []),
        ("select ':a' /* :b */ from silver.t -- :c", []),
        ("select 1 from silver.t watermark ts delay of interval :w seconds", ["w"]),
    ],
)
def test_parameters_are_found(text, expected):
    assert [parameter.name for parameter in sqltext.read(text, "m.sql").parameters] == expected


def test_calls_are_named_as_typed():
    found = sqltext.read(
        "select now(), current_date, FIRST(a), first_value(b) ignore nulls over (order by c),\n"
        "unix_timestamp(), lag(a) over w from silver.t window w as (order by a)",
        "m.sql",
    ).calls
    assert [(call.name, call.has_order, call.has_arguments) for call in found] == [
        ("now", False, False),
        ("current_date", False, False),
        ("first", False, True),
        ("first_value", True, True),
        ("unix_timestamp", False, False),
        ("lag", True, True),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from silver.t", ["m.sql:1:8"]),
        ("select a, t.* from silver.t", ["m.sql:1:13"]),
        ("with c as (select * from silver.t) select * from c", ["m.sql:1:19"]),
        ("with c as (select a from silver.t) select c.*, u.b from c join silver.u", []),
        ("select * from (select a from silver.t)", []),
        ("select count(*) from silver.t", []),
    ],
)
def test_stars_of_stored_tables_are_found(text, expected):
    assert [str(place) for place in sqltext.read(text, "m.sql").stars] == expected


@pytest.mark.parametrize(
    "text",
    [
        "select reflect('java.lang.System', 'exit')",
        "select `java_method`('a', 'b')",
        "select try_reflect('a', 'b')",
        "select reflect /* x */ ('java.lang.System', 'getenv', 'HOME')",
        "select java_method -- x\n('java.lang.System', 'exit')",
        "select `REFLECT` /* a */ /* b */\n\t('a', 'b')",
        "select a from identifier(:t)",
        "select identifier(:c) from silver.t",
        "select a from text.`/etc/passwd`",
        "select a from parquet.`s3://x`",
        "select a from read_files('/x')",
        "select transform(a) using 'cat' as (b) from silver.t",
        "select a into b from silver.t",
        "with x as (select 1) insert into t select * from x",
        "from silver.t insert into u select a",
        "with x as (select 1 as a) select a from stream x",
        "values (1)",
    ],
)
def test_more_than_a_query_is_refused(text):
    with pytest.raises(InvalidProject) as caught:
        sqltext.read(text, "m.sql")
    assert {found.code for found in caught.value.findings} == {"not-allowed"}


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("select a from {{ ref('orders') }}", "m.sql:1:15", "stream silver.orders"),
        ("select a\nfrom {{source('shop', 'orders')}}", "m.sql:2:6", "stream bronze.orders"),
        ("{{ config(materialized='table') }} select 1 as a", "m.sql:1:1", "first comment"),
        ("select a from silver.t where b > {{ var('x') }}", "m.sql:1:34", ":name"),
        ("select {% if x %} a {% endif %} from silver.t", "m.sql:1:8", "macros/"),
    ],
)
def test_template_is_refused_with_the_form_to_use(text, place, hint):
    with pytest.raises(InvalidProject) as caught:
        sqltext.read(text, "m.sql")
    first = caught.value.findings[0]
    assert (first.code, str(first.place), hint in first.message) == ("jinja", place, True)


@pytest.mark.parametrize("text", ["'{{ a }}'", "/* {{ a }} */ 'x'", '"{% b %}"', "'it\\'s {{' -- {# c #}\n"])
def test_braces_in_texts_and_comments_are_no_template(text):
    assert sqltext.read(f"select {text} as a", "m.sql").columns == ("a",)


WORDS = ["select", "from", "stream", "silver.t", "a", ",", "(", ")", "as", "watermark", "ts", "delay", "of", "interval"]
WORDS += [
    "1",
    "minute",
    "with",
    "x",
    "where",
    "=",
    ":p",
    "'q'",
    "\n",
    "/* c */",
    "identified",
    "by",
    "window",
    "|>",
    "*",
]


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_words_are_a_query_or_a_finding(words):
    text = " ".join(["select", *words])
    try:
        found = sqltext.read(text, "m.sql").inputs
    except InvalidProject as error:
        assert {finding.code for finding in error.findings} <= {"syntax", "not-allowed"}
    else:
        assert all(input_.table.split(".")[-1] in text[input_.start : input_.end] for input_ in found)


@given(st.text(alphabet=" \n\t", max_size=5), st.text(alphabet=" \n", min_size=1, max_size=5), st.sampled_from("ä😀a"))
def test_positions_survive_what_is_left_out(before, gap, letter):
    clause = f"identified by{gap}me with (a = '{letter}') watermark{gap}ts delay of{gap}interval 10 minutes"
    text = f"select '{letter}',{before} x from stream{gap}silver.a {clause} as a join silver.b on true"
    assert [covered for _, _, covered, _ in inputs(text)] == [f"stream{gap}silver.a", "silver.b"]
