"""Texts that cost more than they show: long ones, deep ones, and macros, views and CTEs that double each other."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject
from headrace.project.sql import dialect
from headrace.reading.dialect import parsing
from headrace.reading.rows import BadQuery

NEW = "sql/gold/shipping/new.sql"
FROM = " from stream bronze.orders"
APPEND, VIEW = (f"/*\nOne row.\n\nmaterialized: {kind}\n*/\n" for kind in ("append", "view"))
NUMBERS = ", ".join(f"'{number}'" for number in range(20_000))


def doubled(name: str, count: int) -> str:
    """A chain of CTEs, each of which reads the one before twice."""
    both = "c{0} as (select {1} from c{2} union all select {1} from c{2})"
    chain = ", ".join(both.format(at, name, at - 1) for at in range(1, count))
    return f"with c0 as (select {name}{FROM}), {chain} select {name} from c{count - 1}"


TOO_MUCH = {
    "a long text": f"select key{FROM} -- {'x' * 50_000_000}",
    "a long list": f"select key{FROM} where key in ({NUMBERS})",
    "many values": f"select key{FROM} where key in ({', '.join('1' for _ in range(6000))})",
    "a thousand unions": " union all ".join([f"select key{FROM}"] * 1000),
    "a chain of unions": " union all ".join([f"select key{FROM}"] * 300),
    "a chain of conditions": f"select key{FROM} where {' and '.join(['key <> topic'] * 500)}",
    "deep brackets": f"select {'(' * 4000}key{')' * 4000} as a{FROM}",
    "deep calls": f"select {'upper(' * 300}key{')' * 300} as a{FROM}",
    "deep negations": f"select key{FROM} where {'not ' * 5000}true",
    "deep cases": f"select {'case when true then 1 else ' * 300}1{' end' * 300} as a{FROM}",
    "deep subqueries": f"{'select key from (' * 100}select key{FROM}{')' * 100}",
}
"""No text of these is judged: they are too long, or too deep."""


def findings(project_files) -> list[tuple[str, str]]:
    with pytest.raises(InvalidProject) as caught:
        project_files.load()
    return [(found.place.path, found.code) for found in caught.value.findings]


@pytest.mark.parametrize("name", TOO_MUCH)
def test_long_and_deep_texts_are_refused(name: str, project_files) -> None:
    project_files.write(NEW, f"{APPEND}{TOO_MUCH[name]}\n")
    assert findings(project_files) == [(NEW, "syntax")]


def test_long_macro_is_refused(project_files) -> None:
    text = f"create temporary function f(a string) returns boolean return a in ({NUMBERS})"
    project_files.write("macros/f.sql", text)
    assert findings(project_files) == [("macros/f.sql", "syntax")]


def test_texts_of_usual_size_pass(project_files) -> None:
    listed = ", ".join(f"'{number}'" for number in range(1000))
    branches = " union all ".join([f"select key{FROM} where key not in ({listed})"] + [f"select key{FROM}"] * 20)
    project_files.write(NEW, f"{APPEND}{branches}\n")
    assert project_files.findings() == []


def test_deep_part_is_named_at_its_place() -> None:
    with pytest.raises(InvalidProject) as caught:
        dialect.parse(f"select a,\n    {' + '.join(['b'] * 500)} as c from silver.x", "m.sql")
    (found,) = caught.value.findings
    assert (found.code, found.place.line) == ("syntax", 2)


@pytest.mark.parametrize(
    "condition", [f"order_id in ({NUMBERS})", f"order_id = '{'x' * 200_000}'", " and ".join(["a = b"] * 500)]
)
def test_question_without_spark_is_no_longer_either(condition: str) -> None:
    with pytest.raises(BadQuery):
        parsing.condition(condition)
    with pytest.raises(BadQuery):
        parsing.query(f"select 1 from x where {condition}")


def test_ctes_that_double_are_refused(project_files) -> None:
    project_files.write(NEW, f"{APPEND}{doubled('key', 30)}\n")
    assert findings(project_files) == [(NEW, "not-allowed")]


def test_few_ctes_that_double_pass(project_files) -> None:
    project_files.write(NEW, f"{APPEND}{doubled('key', 5)}\n")
    assert project_files.findings() == []


def test_views_that_double_are_refused(project_files) -> None:
    project_files.write("sql/silver/shipping/v0.sql", f"{VIEW}select key{FROM}\n")
    for at in range(1, 40):
        branch = f"select key from stream silver.v{at - 1}"
        project_files.write(f"sql/silver/shipping/v{at}.sql", f"{VIEW}{branch} union all {branch}\n")
    assert {code for _, code in findings(project_files)} == {"not-allowed"}


def test_macros_that_double_are_refused(project_files) -> None:
    form = "create temporary function m{}(a string) returns string return {}"
    project_files.write("macros/m0.sql", form.format(0, "upper(a)"))
    for at in range(1, 40):
        project_files.write(f"macros/m{at}.sql", form.format(at, f"if(a > 'x', m{at - 1}(a), m{at - 1}(lower(a)))"))
    assert {code for _, code in findings(project_files)} == {"not-allowed"}


@pytest.mark.parametrize(
    ("macro", "expression", "expected"),
    [
        ("concat(a, a)", "twice(twice(twice(key)))", []),
        ("concat(a, a)", "twice(" * 21 + "key" + ")" * 21, ["not-allowed"]),
        ("lpad(a, 10000)", "twice(twice(key))", ["not-allowed"]),
        ("concat(a, a)", "aggregate(array(1), key, (carried, one) -> twice(carried))", ["unbounded-size"]),
        ("upper(a)", "aggregate(array(1), key, (carried, one) -> twice(carried))", []),
    ],
)
def test_what_macros_make_counts_where_they_are_called(project_files, macro, expression, expected) -> None:
    project_files.write("macros/twice.sql", f"create temporary function twice(a string) returns string return {macro}")
    project_files.write(NEW, f"{APPEND}select {expression} as a{FROM}\n")
    assert [each.split(" ")[1] for each in project_files.findings()] == expected


def test_what_views_make_counts_where_they_are_read(project_files) -> None:
    project_files.write("sql/silver/shipping/v.sql", f"{VIEW}select repeat('x', 10000) as a{FROM}\n")
    project_files.write(NEW, f"{APPEND}select upper(a) as a from stream silver.v\n")
    assert project_files.findings() == []
    project_files.write(NEW, f"{APPEND}select repeat(a, 10000) as a from stream silver.v\n")
    assert [each.split(" ")[1] for each in project_files.findings()] == ["not-allowed"]
