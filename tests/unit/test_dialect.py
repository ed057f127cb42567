"""Parsing of streaming Spark SQL: what is accepted, and where errors are shown."""

from __future__ import annotations

import pytest
from sqlglot import exp
from sqlglot.parsers import databricks

from headrace.errors import EnvironmentFault, InvalidProject
from headrace.project.sql import dialect


def finding(text: str) -> tuple[int, int, str]:
    with pytest.raises(InvalidProject) as caught:
        dialect.parse(text, "m.sql")
    (found,) = caught.value.findings
    return found.place.line, found.place.column, found.code


@pytest.mark.parametrize(
    "text",
    [
        "select a from stream x",
        "select a from stream x as s",
        "select a from stream(x) s",
        "select a from stream x with (maxFilesPerTrigger = 1) s",
        "select a from stream x identified by src",
        "select a from stream x with ('a' = 'b') identified by src watermark ts delay of interval 10 minutes as s",
        "select a from x watermark ts delay of interval 10 minutes",
        "select a from x watermark cast(ts as timestamp) as t delay of interval '10' minute as s",
        "select a from (select a from stream x) watermark ts delay of interval 5 seconds",
        "select a from x watermark ts delay of interval 1 hour 30 minutes s",
        "select a from x watermark ts delay of interval '1 02:03:04' day to second s",
        "select a from x watermark ts delay of interval -5 minutes s",
        "select a from x watermark watermark delay of interval 5 minutes s",
        "select watermark from x where watermark > 1",
        "select a from x watermark t delay of interval 1 day join y watermark t delay of interval 1 day on true",
        "select count(*) from x group by window(ts, '10 minutes')",
        "select count(*) from x group by window",
        "select count(*) from x group by k, window(ts, '10 minutes')",
        "select window(ts, '1 minute').start, window_time(window), session_window(ts, '1 minute') from x",
        "select sum(a) over w from x window w as (order by a), v as (order by b)",
        "select a + interval 5 minutes, interval '5 minutes', interval '1 02:03:04' day to second from x",
        "select a from x qualify row_number() over (order by a) = 1",
        "select v:a.b::int from x",
        "select :p, a, x.from from x",
        "from x |> where a > 1 |> select a",
        "select /* a /* nested */ comment */ a from x",
        "with recursive r as (select 1 as n union all select n + 1 from r where n < 5) select n from r",
        "values (1, 2)",
    ],
)
def test_spark_sql_parses(text):
    assert dialect.parse(text, "m.sql").tree is not None


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("select 'it''s'", ["it's"]),
        ("select 'it' 's'", ["it", "s"]),
        ('select "a""b", \'a\' "b"', ['a"b', "a", "b"]),
        ("select '', '''', 'a''''b'", ["", "'", "a''b"]),
        ("select r'a', 'b'", ["a", "b"]),
    ],
)
def test_doubled_quote_is_one_in_a_text(text, values):
    found = dialect.parse(text, "m.sql", as_written=True).tree.find_all(exp.Literal, exp.RawString)
    assert sorted(each.name for each in found) == sorted(values)


@pytest.mark.parametrize("text", ["select f(a, X -> x + x.b + y)", "select f(a, (z, X) -> g(x, Y -> y + x + x.b))"])
def test_argument_of_a_lambda_is_found_in_any_case(text):
    found = dialect.parse(text, "m.sql", as_written=True).tree.find_all(exp.Column)
    assert {each.parts[0].name for each in found} <= {"a", "y"}


@pytest.mark.parametrize(
    ("text", "has_watermark"),
    [("select a from x watermark ts delay of interval 1 day", True), ("select watermark, delay from x", False)],
)
def test_watermark_is_noticed(text, has_watermark):
    assert dialect.parse(text, "m.sql").has_watermark is has_watermark


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a form x", (1, 10, "syntax")),
        ("select a\nfrom x\ngruop by a", (3, 1, "syntax")),
        ("select a from x\nwher a = 1", (2, 1, "syntax")),
        ("select a from x where a = ", (1, 25, "syntax")),
        ("select a\nfrom (select b from y", (2, 6, "syntax")),
        ("select a,\n  'abc from x", (2, 3, "syntax")),
        ("select a /* abc from x", (1, 10, "syntax")),
        ("selct a from x", (1, 1, "syntax")),
        ("", (1, 1, "syntax")),
        ("-- nothing", (1, 1, "syntax")),
        ("select " + "(" * 5000, (1, 5007, "syntax")),
        ("select " + "(" * 5000 + "a" + ")" * 5000, (1, 1, "syntax")),
        ("select a from x watermark ts delay of interval", (1, 27, "syntax")),
        ("select a from x as s watermark ts delay of interval 1 day", (1, 22, "syntax")),
        ("select a from (select a from x) s watermark ts delay of interval 1 day", (1, 35, "syntax")),
        ("with x as (show tables) select * from x", (1, 12, "syntax")),
        ("select 1 |> except select 2", (1, 1, "syntax")),
        ("select a from x; select b from y", (1, 16, "not-allowed")),
        ("insert into x select 1", (1, 1, "not-allowed")),
        ("create table x as select 1", (1, 1, "not-allowed")),
        ("set x = 1", (1, 1, "not-allowed")),
    ],
)
def test_error_stands_where_it_is(text, expected):
    assert finding(text) == expected


@pytest.mark.parametrize(
    ("text", "word"), [("select a form x", "from"), ("selct 1", "select"), ("select a from x gruop by a", "group")]
)
def test_misspelt_keyword_suggests_the_right_one(text, word):
    with pytest.raises(InvalidProject, match=f"Did you mean {word}"):
        dialect.parse(text, "m.sql")


def test_compiled_sqlglot_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databricks, "__file__", "sqlglot/parsers/databricks.cpython-311-x86_64-linux-gnu.so")
    with pytest.raises(EnvironmentFault, match="pip uninstall sqlglotc"):
        dialect.parse("select 1", "m.sql")
