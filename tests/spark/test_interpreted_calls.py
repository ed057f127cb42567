"""Expressions that Spark can only interpret, inside of steps for which code is generated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.spark.jvm import each, kind_of
from headrace.spark.session import SMALL_BATCH_ROWS, child, tune

pytestmark = pytest.mark.spark

ROWS = """
    select id, if(id % 3 = 0, null, id) as some, if(id % 4 = 0, null, array(id, null, -id)) as list,
        named_struct('at', timestamp_seconds(id), 'texts', array(string(id), 'a')) as of,
        concat('{"n": ', id, '}') as json
    from range(0, 1000, 1, 2)
"""
EXPRESSIONS = {
    "numbers": "transform(list, each -> each + some)",
    "whole_number": "aggregate(list, 0L, (sum, each) -> sum + coalesce(each, 0))",
    "small_number": "aggregate(list, 0Y, (sum, each) -> tinyint(sum + 1))",
    "truth": "exists(list, each -> each > 5)",
    "time": "aggregate(of.texts, of.at, (time, each) -> time + interval '1' hour)",
    "decimal": "aggregate(list, 0.00, (sum, each) -> cast(sum + 0.25 as decimal(2, 2)), sum -> sum * 2)",
    "text": "array_join(transform(of.texts, each -> upper(each)), '+')",
    "map": "transform_values(map(id, some), (key, value) -> coalesce(value, key))",
    "row": "from_json(json, 'n int')",
    "row_of_calls": "named_struct('a', from_json(json, 'n int').n, 'b', filter(list, each -> each is null))",
    "one_in_another": "transform(filter(list, each -> each < 0), each -> from_json(json, 'n int').n - each)",
    "only_where_needed": "if(some is null, -1, aggregate(list, 0L, (sum, each) -> sum + coalesce(each, some)))",
    "written": "to_json(if(id % 3 = 0, null, struct(id, list, of)))",
    "valid": "make_valid_utf8(if(id % 3 = 0, null, concat(string(id), cast(x'ff' as string))))",
    "written_and_read": "from_json(to_json(of), 'texts array<string>').texts",
    "no_column": "transform(array(1, 2), each -> each * 2)",
}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    made = child(spark, "calls")
    made.sql(ROWS).createOrReplaceTempView("rows")
    tune(made, SMALL_BATCH_ROWS + 1)
    yield made
    tune(made, 1)


def plan_of(session: SparkSession, sql: str) -> str:
    return str(session.sql(sql)._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_says_the_same_as_without(session: SparkSession, expression: str) -> None:
    sql = f"select id, {expression} as found from rows"
    called = sorted(session.sql(sql).collect())
    tune(session, 1)
    assert called == sorted(session.sql(sql).collect())


@pytest.mark.parametrize(
    "sql",
    [
        "select id, transform(list, each -> each + some) as found, id + 1 as next from rows where id > 5",
        "select id from rows where exists(list, each -> each > 5)",
        "select id, explode(transform(list, each -> each + 1)) as found from rows",
    ],
)
def test_step_is_part_of_generated_code(session: SparkSession, sql: str) -> None:
    assert {line.strip("+- :")[:2] for line in plan_of(session, sql).splitlines() if line.strip()} == {"*("}


@pytest.mark.parametrize("expression", ["to_json(of)", "make_valid_utf8(json)", "coalesce(make_valid_utf8(json), '')"])
def test_scala_reflection_is_not_asked(session: SparkSession, expression: str) -> None:
    (column,) = each(session.sql(f"select {expression} from rows")._jdf.queryExecution().optimizedPlan().expressions())
    assert "Called" in {kind_of(part) for part in parts(column)} and "Invoke" not in {*map(kind_of, parts(column))}


def parts(expression: Any) -> Iterator[Any]:
    yield expression
    for child_ in each(expression.children()):
        yield from parts(child_)


def test_totals_are_written_as_by_spark(session: SparkSession) -> None:
    sql = """
        select to_json(array(id % 3)) as rest, to_json(array_sort(collect_list(struct(id, list)))) as all
        from rows group by to_json(array(id % 3))
    """
    called = sorted(session.sql(sql).collect())
    tune(session, 1)
    assert called == sorted(session.sql(sql).collect()) and len(called) == 3


def test_step_too_wide_for_generated_code_says_the_same(session: SparkSession) -> None:
    many = ", ".join(f"id + {number} as n{number}" for number in range(120))
    sql = f"select {many}, transform(list, each -> each + some) as found, to_json(of) as text from rows"
    assert "*(" not in plan_of(session, sql).splitlines()[0]
    called = sorted(map(str, session.sql(sql).collect()))
    tune(session, 1)
    assert called == sorted(map(str, session.sql(sql).collect()))


def test_filter_and_explosion_keep_their_rows(session: SparkSession) -> None:
    sql = "select id, explode(transform(list, each -> each + 1)) as found from rows where exists(list, e -> e > 5)"
    called = sorted(map(str, session.sql(sql).collect()))
    tune(session, 1)
    assert called == sorted(map(str, session.sql(sql).collect())) and len(called) > 1000


def test_subquery_inside_is_left_alone(session: SparkSession) -> None:
    sql = "select from_json(if(id = 1, (select max(json) from rows), json), 'n int').n as found from rows where id < 3"
    assert sorted(row.found for row in session.sql(sql).collect()) == [
        0,
        2,
        9,
    ]  # as texts, 9 and a bracket come after 999


def test_error_is_that_of_the_expression(session: SparkSession) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        session.sql("select transform(list, each -> each / 0) as found from rows").collect()


def test_few_rows_are_planned_as_by_spark(session: SparkSession) -> None:
    tune(session, 1)
    assert session._jsparkSession.experimental().extraOptimizations().isEmpty()
