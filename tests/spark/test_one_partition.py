"""Plans over buffers that run without a job: the rows that Spark finds, batch after batch, and nothing left behind."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession

from headrace.spark.driver.batches import DriverBatches
from headrace.spark.driver.one_partition import OnePartition
from headrace.spark.driver.plan_cache import CachedPlan
from headrace.spark.implementations import materialize
from tests.long import one_of

pytestmark = pytest.mark.spark

COLUMNS = "id bigint, part int, name string, amount decimal(12, 2), tags array<string>"

SHAPES = (
    "select * from a",
    "select part, count(*), sum(amount), max(name), collect_set(name) from a group by part",
    "select count(*), sum(amount) from a",
    "select a.id, b.name from a join b on a.id = b.id",
    "select a.id, b.name from a left join b on a.id = b.id and a.amount > b.amount",
    "select a.id, b.name from a full join b using (id)",
    "select * from a left anti join b on a.part = b.part",
    "select * from a where name in (select name from b)",
    "select * from a where not exists (select 1 from b where b.part = a.part and b.id > 5)",
    "select a.id, b.id from a join b on a.id < b.id",
    "select part, count(*) n from (select * from a union all select * from b) group by part having n > 1",
    "with both as (select * from a union all select * from b) select x.id, y.part from both x join both y using (id)",
    "select distinct name from (select name from a union select name from b)",
    "select name from a intersect select name from b",
    "select name from a except select name from b",
    "select id, rank() over (partition by part order by amount, id), lag(name) over (order by id, name, amount) from a",
    "select id, tag, pos from a lateral view posexplode(tags) as pos, tag",
    "select id, transform(tags, t -> upper(t)), aggregate(tags, 0, (n, t) -> n + length(t)) from a",
    "select to_json(sort_array(collect_list(struct(id, name)))) from (select * from a union all select * from b)",
    "select from_json(to_json(struct(id, name)), 'id bigint, name string') from a",
    "select part, count(distinct name), count(distinct id) from a group by part",
    "select part, name, sum(amount) from a group by rollup (part, name)",
    "select id from (select * from a union all select * from b) order by id desc, name, amount limit 3",
    "select 1 as one, 'x' as name",
    "select v.k, a.name from values (0), (1), (2) as v(k) left join a on a.part = v.k",
)


@pytest.fixture
def batches(spark: SparkSession) -> Iterator[DriverBatches]:
    made = DriverBatches(spark.newSession())
    made.begin(1, 1)
    yield made
    made.drop()


def rows(chance: random.Random, at_most: int = 12) -> list[tuple[object, ...]]:
    def each() -> tuple[object, ...]:
        name = chance.choice(("a", "é", "", "漢字", None))
        tags = chance.choice((None, [], ["x"], ["y", None, "z"]))
        amount = chance.choice((None, 0, 12.25, -3))
        return chance.choice((None, *range(8))), chance.choice((None, 0, 1, 2)), name, amount, tags

    return [each() for _ in range(chance.randrange(at_most))]


def put(batches: DriverBatches, name: str, values: list[tuple[object, ...]]) -> DataFrame:
    exact = [(*v[:3], None if v[3] is None else Decimal(str(v[3])), v[4]) for v in values]
    frame = batches.session.createDataFrame(exact, COLUMNS).coalesce(1)
    filled = batches.put(name, materialize(frame)).frame
    filled.createOrReplaceTempView(name)
    frame.createOrReplaceTempView(f"plain_{name}")
    return filled


def over_plain_views(text: str) -> str:
    """The same query over frames made by Spark, run in its normal way."""
    return re.sub(r"\b(from|join) ([ab])\b", r"\1 plain_\2 as \2", text)


def jobs(session: SparkSession) -> int:
    scheduler: Any = session.sparkContext._jsc.sc().dagScheduler()
    return int(scheduler.numTotalJobs())


def in_no_order(found: DataFrame) -> list[str]:
    return sorted(str(row) for row in found.collect())


@pytest.mark.parametrize("text", one_of(6, SHAPES))
def test_rows_are_those_that_spark_finds_and_no_job_runs(batches: DriverBatches, text: str) -> None:
    chance = random.Random(text)
    for _ in range(4):
        leaves = tuple(put(batches, name, rows(chance)) for name in "ab")
        batches.compute("x", lambda: batches.session.sql(text), *leaves)  # planned, the first time
        before = jobs(batches.session)
        found = batches.compute("x", lambda: batches.session.sql(text), *leaves)
        assert jobs(batches.session) == before
        due = batches.session.sql(over_plain_views(text))
        assert in_no_order(found.frame) == in_no_order(due)


def test_outer_join_without_equality_needs_its_rows_sent(batches: DriverBatches) -> None:
    text = "select a.id, b.id from a full join b on a.id < b.id"
    for number in (1, 2):
        leaves = (put(batches, "a", [(number, 0, "x", 1, [])]), put(batches, "b", [(2, 0, "y", 1, [])]))
        found = batches.compute("x", lambda: batches.session.sql(text), *leaves)
        due = [(1, 2)] if number == 1 else [(2, None), (None, 2)]
        assert sorted(map(tuple, found.frame.collect()), key=repr) == sorted(due, key=repr)


def test_error_in_a_row_is_raised_and_leaves_nothing_behind(batches: DriverBatches) -> None:
    text = "select if(id > 1, raise_error('too large'), id) as id, sum(amount) over (order by part) from a"
    for values, fails in (([1, 2], True), ([1], False), ([3], True), ([0, 1], False)):
        leaf = put(batches, "a", [(value, 0, "x", 1, []) for value in values])
        if fails:
            with pytest.raises(SparkRuntimeException, match="too large"):
                batches.compute("x", lambda: batches.session.sql(text), leaf)
        else:
            assert batches.compute("x", lambda: batches.session.sql(text), leaf).count == len(values)
    assert _free_of_tasks(batches.session)


def test_what_is_not_read_to_its_end_may_be_filled_again(batches: DriverBatches) -> None:
    leaf = put(batches, "a", [(number, 0, "x", 1, []) for number in range(100)])
    first = CachedPlan(batches.session.sql("select id from a where id >= 0"), (leaf,), 1)
    for _ in range(3):
        assert len(first.rows()) == 1
        leaf = put(batches, "a", [(number, 0, "x", 1, []) for number in range(100)])
    assert _free_of_tasks(batches.session)


def test_thread_is_no_task_afterwards(batches: DriverBatches) -> None:
    leaf = put(batches, "a", [(1, 0, "x", 1, [])])
    batches.compute("x", lambda: leaf, leaf)
    jvm: Any = batches.session._jvm
    assert jvm.org.apache.spark.TaskContext.get() is None


def test_tables_are_read_by_a_job(spark: SparkSession) -> None:
    made = spark.range(3).repartition(2)._jdf.queryExecution().executedPlan()
    assert OnePartition.of(spark, made, 5) is None


def _free_of_tasks(session: SparkSession) -> bool:
    """Whether no memory is held by a task."""
    jvm: Any = session._jvm
    return int(jvm.org.apache.spark.SparkEnv.get().memoryManager().executionMemoryUsed()) == 0
