"""Cached batches: they see new rows, and are planned again when anything but rows has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import InheritableThread, SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.project import loader
from headrace.project.model import Macro
from headrace.queries.group import Group
from headrace.spark.driver.batches import DriverBatches
from headrace.spark.driver.buffer import Buffered
from headrace.spark.implementations import materialize
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.spark.small_batches import SmallBatches
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed

pytestmark = pytest.mark.spark


class Counted:
    """Batches, and how often a plan was made."""

    def __init__(self, batches: SmallBatches) -> None:
        self.batches = batches
        self.made = 0

    def compute(self, text: str, *leaves: DataFrame) -> list[tuple[object, ...]]:
        """The rows of a query over the views `a`, `b`, ..., in no order."""

        def make() -> DataFrame:
            self.made += 1
            for name, leaf in zip("abc", leaves, strict=False):
                leaf.createOrReplaceTempView(name)
            return self.batches.session.sql(text)

        found = self.batches.compute(text, make, *leaves)
        rows = [tuple(row) for row in found.frame.collect()]
        assert found.count == len(rows)
        return sorted(rows, key=repr)


@pytest.fixture
def counted(spark: SparkSession) -> Iterator[Counted]:
    batches = DriverBatches(spark.newSession())
    batches.begin(7, 1)
    yield Counted(batches)
    batches.drop()


def put(batches: SmallBatches, name: str, *values: int | None) -> Materialized:
    rows = batches.session.createDataFrame([(value,) for value in values], "n bigint")
    return batches.put(name, materialize(rows.coalesce(1)))


PLACES = "spark.sql.shuffle.partitions"


def test_rows_are_sent_to_no_more_places_than_there_are_cores(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "defaultParallelism", 3)
    macro = Macro("three", "macros/three.sql", "create temporary function three() returns int return 3")
    assert child(spark, "places", [macro]).conf.get(PLACES) == "3"


def test_state_is_loaded_as_small_as_it_is(sandbox: Sandbox) -> None:
    project = narrowed(loader.load(Path(__file__).parents[2], "test"), ["silver.open_orders"])
    (query,) = project.queries
    group = Group(sandbox.spark, project, sandbox.layout(project), query, sandbox.schemas(project))
    group.session.conf.set(PLACES, "200")
    group.recover()
    assert group.session.conf.get(PLACES) == "1"
    group.drop()


def test_thread_that_has_never_seen_spark_runs_a_cached_plan(counted: Counted) -> None:
    leaf = put(counted.batches, "in", 1).frame
    found: list[int] = []

    def run() -> None:
        found.append(counted.batches.compute("x", lambda: leaf, leaf).count)

    counted.batches.compute("x", lambda: leaf, leaf)
    thread = InheritableThread(run)
    thread.start()
    thread.join()
    assert found == [1]


def test_new_rows_need_no_new_plan(counted: Counted) -> None:
    for values in ((1, 2), (), (None,), (5, 5, 6)):
        leaf = put(counted.batches, "in", *values).frame
        assert counted.compute("select n + 1 from a", leaf) == sorted(
            ((None if n is None else n + 1,) for n in values), key=repr
        )
    assert counted.made == 1


def test_joins_and_windows_see_the_rows_of_each_batch(counted: Counted) -> None:
    text = "select a.n, count(*) over (), b.n is not null from a left join b on a.n = b.n"
    for left, right in (((1, 2), (2, 3)), ((3,), ()), ((1, 2), (1, 2))):
        leaves = (put(counted.batches, "left", *left).frame, put(counted.batches, "right", *right).frame)
        due = sorted(((n, len(left), n in right) for n in left), key=repr)
        assert counted.compute(text, *leaves) == due
        hinted = text.replace("select", "select /*+ broadcast(b) */", 1)
        assert counted.compute(hinted, *leaves) == due
    assert counted.made == 2


def test_rows_that_are_sent_around_twice_are_those_of_the_batch(counted: Counted) -> None:
    text = """
    with same as (select n from b)
    select /*+ broadcast(x), broadcast(y) */ a.n, x.n, y.n
    from a left join same as x on a.n = x.n left join same as y on a.n = y.n
    """
    for number in (1, 2):
        leaves = (put(counted.batches, "left", 1, 2).frame, put(counted.batches, "right", number).frame)
        due = [(n, n if n == number else None, n if n == number else None) for n in (1, 2)]
        assert counted.compute(text, *leaves) == due
    assert counted.made == 1


def test_another_frame_needs_another_plan(counted: Counted, spark: SparkSession) -> None:
    for end in (1, 3):
        assert len(counted.compute("select id from a", counted.batches.session.range(end).toDF("id"))) == end
    assert counted.made == 2


@pytest.mark.parametrize(
    "text",
    [
        "select n, (select max(n) from b) from a",
        "select n, current_timestamp() from a",
        "select n, rand() from a",
        "select n, uuid() from a",
    ],
)
def test_plan_that_holds_a_value_is_made_for_each_batch(counted: Counted, text: str) -> None:
    found = []
    for number in (1, 2):
        leaves = (put(counted.batches, "left", 1).frame, put(counted.batches, "right", number).frame)
        found += counted.compute(text, *leaves)
    assert counted.made == 2 and found[0] != found[1]


def test_query_in_a_condition_is_a_join_and_cached(counted: Counted) -> None:
    for number in (1, 2):
        leaves = (put(counted.batches, "left", 1, 2).frame, put(counted.batches, "right", number).frame)
        assert counted.compute("select n from a where n in (select n from b)", *leaves) == [(number,)]
    assert counted.made == 1


def test_batch_has_its_own_number(counted: Counted) -> None:
    batches = counted.batches
    for batch in (7, 8):
        batches.begin(batch, 1)
        leaf = put(batches, "in", 1).frame
        found = batches.compute("numbered", lambda leaf=leaf: batches.with_batch(leaf), leaf)  # type: ignore[misc]
        assert found.frame.collect() == [(1, batch)]
        assert dict(found.frame.dtypes)["_batch"] == "bigint"


def test_buffer_may_feed_the_plan_that_fills_it(counted: Counted) -> None:
    batches = counted.batches
    state = put(batches, "state")
    for number in range(3):
        new = put(batches, "new", number).frame
        state = batches.compute("state", lambda: state.frame.unionByName(new), state.frame, new)  # noqa: B023
    assert sorted(row.n for row in state.frame.collect()) == [0, 1, 2]


def test_many_rows_from_few_are_held_by_spark(counted: Counted) -> None:
    leaf = put(counted.batches, "in", SMALL_BATCH_ROWS + 5).frame
    found = counted.batches.compute("many", lambda: leaf.select(F.explode(F.sequence(F.lit(1), F.col("n")))), leaf)
    assert found.count == SMALL_BATCH_ROWS + 5 and not isinstance(found, Buffered)


def test_large_batch_is_planned_for_itself(counted: Counted) -> None:
    leaf = put(counted.batches, "in", 1).frame
    counted.batches.begin(8, SMALL_BATCH_ROWS + 1)
    assert not isinstance(counted.batches.compute("all", lambda: leaf, leaf), Buffered)


def test_narrowed_rows_stay_in_their_buffer(counted: Counted) -> None:
    rows = put(counted.batches, "in", 1, 2, 3)
    fewer = rows.narrowed(rows.frame.where("n > 1"))
    assert fewer.frame is rows.frame and fewer.count == 2
    assert counted.compute("select n from a", fewer.frame) == [(2,), (3,)]


def test_one_text_for_the_driver(counted: Counted) -> None:
    for values in ((1,), (2, 3)):
        leaf = put(counted.batches, "in", *values).frame
        text = counted.batches.text("found", lambda leaf=leaf: leaf.select(F.to_json(F.collect_list("n"))), leaf)  # type: ignore[misc]
        assert text == str(list(values)).replace(" ", "")
