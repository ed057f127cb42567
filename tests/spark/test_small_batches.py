"""Both implementations of small batches give the same rows, whatever is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.spark import implementations, mode
from headrace.spark.columns import columns_of
from headrace.spark.driver.batches import DriverBatches
from headrace.spark.implementations import self_test
from headrace.spark.jobs.batches import JobBatches
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.spark.small_batches import SmallBatches

pytestmark = pytest.mark.spark

MANY = SMALL_BATCH_ROWS + 1
MOMENT = datetime(2026, 1, 1, 10, 30, 0, 123456, tzinfo=timezone.utc)
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "at": "timestamp",
    "headers": "array<struct<key: string, value: binary>>",
    "inner": "struct<a: struct<b: timestamp>, c: array<array<int>>>",
    "names": "map<string, bigint>",
    "exact": "decimal(38, 8)",
}
VALUES = [
    (
        1,
        "é漢",
        MOMENT,
        [("k", b"\xff"), ("none", None), None],
        Row(a=Row(b=MOMENT), c=[[1, None], None]),
        {"a": 1},
        None,
    ),
    (2, None, None, None, None, None, None),
    (3, "", 1_767_263_400_123_456, [], Row(a=None, c=[]), {}, Decimal(0)),
]


@pytest.fixture(params=[DriverBatches, JobBatches])
def batches(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SmallBatches]:
    made: SmallBatches = request.param(spark.newSession())
    made.begin(7, 1)
    yield made
    made.drop()


@pytest.fixture
def schema(spark: SparkSession) -> StructType:
    return columns_of(COLUMNS)


def numbers(batches: SmallBatches, name: str, *values: int) -> DataFrame:
    return batches.fill(name, [(value,) for value in values], StructType().add("n", "long")).frame


def in_order(frame: DataFrame) -> list[int]:
    return sorted(row[0] for row in frame.collect())


def test_values_of_python_are_rows(batches: SmallBatches, schema: StructType) -> None:
    found = batches.fill("rows", VALUES, schema)
    due = batches.session.createDataFrame([*VALUES[:2], (*VALUES[2][:2], MOMENT, *VALUES[2][3:])], schema)
    assert found.count == 3
    assert sorted(map(str, found.frame.collect())) == sorted(map(str, due.collect()))


def test_rows_are_computed_over_what_each_batch_has(batches: SmallBatches) -> None:
    text = "select n, count(*) over () from a where n > 1"
    for values in ((1, 2, 3), (), (5,)):
        leaf = numbers(batches, "in", *values)
        leaf.createOrReplaceTempView("a")
        found = batches.compute("x", lambda: batches.session.sql(text), leaf)
        due = [n for n in values if n > 1]
        assert (found.count, in_order(found.frame)) == (len(due), due)
        found.release()


def test_few_rows_may_become_many(batches: SmallBatches) -> None:
    leaf = numbers(batches, "in", MANY)
    found = batches.compute("many", lambda: leaf.select(F.explode(F.sequence(F.lit(1), F.col("n")))), leaf)
    assert found.count == MANY == found.frame.count() and found.held is None
    assert found.count_where("col > 10") == MANY - 10
    found.release()


def test_large_batch_that_gives_nothing(batches: SmallBatches) -> None:
    batches.begin(8, MANY)
    found = batches.compute("none", lambda: batches.session.range(5).where("id > rand() + 5"))
    assert (found.count, found.frame.columns, found.frame.collect()) == (0, ["id"], [])


def test_text_is_the_only_value(batches: SmallBatches) -> None:
    for values in ((1,), (2, 3)):
        leaf = numbers(batches, "in", *values)
        found = batches.text("found", lambda leaf=leaf: leaf.select(F.to_json(F.collect_list("n"))), leaf)  # type: ignore[misc]
        assert found == str(list(values)).replace(" ", "")


def test_rows_from_elsewhere_take_the_place_of_the_last(batches: SmallBatches) -> None:
    for end in (3, 0, 5):
        put = batches.put("rows", batches.materialize(batches.session.range(end)))
        assert (put.count, in_order(put.frame)) == (end, [*range(end)])
    many = batches.put("rows", batches.materialize(batches.session.range(MANY)))
    assert many.count == MANY == many.frame.count()
    many.release()


def test_held_rows_are_read_by_another_session(batches: SmallBatches) -> None:
    schema = StructType().add("n", "long")
    parts = [batches.fill(f"part {end}", [(n,) for n in range(end)], schema).held for end in (2, 3)]
    parts.append(batches.hold(batches.session.range(4, 6).toDF("n")))
    held = [part for part in parts if part is not None]
    assert [len(part) for part in held] == [2, 3, 2] and held[-1].nbytes > 0
    other = type(batches)(batches.session.newSession())  # type: ignore[call-arg]
    for size in (1, MANY):
        other.begin(0, size)
        found = other.take("read", held, schema)
        assert found.count == 7 and in_order(found.frame) == [0, 0, 1, 1, 2, 4, 5]
    lasting = batches.frame_of(held, schema)
    batches.fill("part 2", [(9,)], schema)
    assert in_order(lasting) == [0, 0, 1, 1, 2, 4, 5]
    assert batches.frame_of([], schema).collect() == []


def test_narrowed_rows_take_the_place_of_all(batches: SmallBatches) -> None:
    rows = batches.fill("in", [(n,) for n in range(4)], StructType().add("n", "long"))
    fewer = rows.narrowed(rows.frame.where("n > 1"))
    assert (fewer.count, in_order(fewer.frame)) == (2, [2, 3])
    many = batches.materialize(batches.session.range(MANY))
    fewer = many.narrowed(many.frame.where("id > 9"))
    assert fewer.count == MANY - 10 == fewer.frame.count()
    fewer.release()


@pytest.mark.parametrize("rows", [1, MANY])
def test_rows_know_their_batch(batches: SmallBatches, rows: int) -> None:
    for batch in (7, 8):
        batches.begin(batch, rows)
        leaf = numbers(batches, "in", 1)
        found = batches.compute("numbered", lambda leaf=leaf: batches.with_batch(leaf), leaf)  # type: ignore[misc]
        assert found.frame.collect() == [(1, batch)]
        assert dict(found.frame.dtypes)["_batch"] == "bigint"


@pytest.mark.parametrize("rows", [1, MANY])
def test_nothing_has_columns(batches: SmallBatches, schema: StructType, rows: int) -> None:
    batches.begin(7, rows)
    found = batches.nothing("none", schema)
    assert (found.count, found.frame.columns, found.frame.collect()) == (0, schema.names, [])


def test_written_rows_are_read_as_they_were(batches: SmallBatches, schema: StructType, tmp_path: Path) -> None:
    batches.fill("rows", VALUES, schema).write(tmp_path / "few")
    batches.nothing("none", schema).write(tmp_path / "none")
    batches.materialize(batches.session.range(3)).write(tmp_path / "job")
    read = batches.session.read.parquet
    assert in_order(read(str(tmp_path / "few"))) == [1, 2, 3]
    assert read(str(tmp_path / "none")).columns == schema.names
    assert in_order(read(str(tmp_path / "job"))) == [0, 1, 2]


def test_rows_that_read_their_own_past_are_planned_as_fast_as_ever(batches: SmallBatches) -> None:
    batches.begin(0, MANY)
    state = batches.materialize(batches.session.range(100))
    for _ in range(12):
        joined = state.frame.alias("a").join(state.frame.alias("b"), "id")
        former, state = state, batches.materialize(joined.union(state.frame).distinct())
        former.release()
    size = state.frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    assert len(str(size)) < 15
    state.release()


def test_sorted_rows_whose_columns_were_renamed_are_read_again(batches: SmallBatches) -> None:
    """Without its empty half, Spark takes a union for the other half, whose columns have names of their own."""
    rows = batches.materialize(batches.session.range(MANY).selectExpr("id % 7000 as k", "id as a")).frame
    newest = rows.selectExpr("k", "a", "row_number() over (partition by k order by a desc) as n").where("n = 1")

    found = batches.materialize(rows.where("false").union(newest.drop("n")))

    again = batches.materialize(found.frame.groupBy("k").agg(F.max("a").alias("a")))
    assert again.frame.selectExpr("count(*)", "min(a)", "max(a)").first() == (7000, MANY - 7000, MANY - 1)


def test_build_that_we_test_passes_its_own_test(spark: SparkSession) -> None:
    assert self_test(spark.newSession()) is None


def test_build_that_fails_it_runs_jobs_and_says_so_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(implementations, "self_test", lambda session: "NoSuchMethodError: cloned")
    implementations._trouble.cache_clear()
    session = spark.newSession()
    session.conf.set(mode.KEY, "auto")
    for _ in range(2):
        assert isinstance(implementations.small_batches(session), JobBatches)
    assert capsys.readouterr().err.splitlines() == [
        "headrace: small batches run as Spark jobs, which is slower: NoSuchMethodError: cloned"
    ]
    implementations._trouble.cache_clear()


def test_text_that_overflows_javas_stack_is_an_error_and_no_silence(batches: SmallBatches) -> None:
    rows = batches.fill("texts", [("a" * 200_000,)], StructType().add("text", "string")).frame
    with pytest.raises(Exception, match="StackOverflowError"):
        batches.compute("matches", lambda: rows.selectExpr("text rlike '^(a|b)*$' as matches"), rows)
    assert in_order(numbers(batches, "others", 1, 2)) == [1, 2]


def test_array_is_computed_once_before_it_is_exploded(
    batches: SmallBatches, capsys: pytest.CaptureFixture[str]
) -> None:
    """A look whether there is one repeats what makes it: sessions of 200,000 orders were not there after minutes."""
    batches.begin(7, MANY)
    arrays = batches.session.range(3).selectExpr("transform(sequence(0L, id), n -> n + 1) as numbers")
    numbers = arrays.selectExpr("explode(numbers) as number")
    assert numbers.count() == 6
    numbers.explain()
    assert "Filter" not in capsys.readouterr().out
