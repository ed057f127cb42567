"""Expressions that a plan takes for the same: Spark computes both, over random values and nulls, and of one type."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.plan.rewrites import (
    AGGREGATED_ALIKE,
    AGGREGATED_TYPED,
    ALIKE,
    COLUMNS,
    LANDED,
    MACRO,
    NULL_OF_NULLS,
    QUERIES_ALIKE,
    QUERIES_OTHER,
    TABLES,
    TOPICS,
    TYPED,
    UNIONS_ALIKE,
    UNIONS_OTHER,
)

pytestmark = pytest.mark.spark

DRAWN = random.Random(7)
ARRIVAL = "struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>"


def row() -> tuple[object, ...]:
    number = DRAWN.randint(-3, 4)
    values: tuple[object, ...] = (
        number,
        DRAWN.randint(-3, 4),
        DRAWN.randint(-(2**40), 2**40),
        DRAWN.choice([0.1, -2.5, 1e300, float("nan"), float("inf")]),
        Decimal(DRAWN.randint(-9999, 9999)) / 100,
        DRAWN.choice([True, False]),
        datetime(2026, 3, 29) + timedelta(minutes=DRAWN.randint(0, 5000)),
        str(number),
        [DRAWN.randint(0, 5), None, number],
        {"k": str(number), "K": "other"},
    )
    return tuple(None if DRAWN.random() < 0.25 else value for value in values)


@pytest.fixture(scope="module")
def mixed(spark: SparkSession) -> Iterator[DataFrame]:
    spark.sql(MACRO)
    yield spark.createDataFrame([row() for _ in range(300)], ", ".join(f"{n} {t}" for n, t in COLUMNS.items())).cache()
    spark.sql("drop temporary function doubled")


def computed(mixed: DataFrame, expressions: Sequence[str]) -> tuple[list[str], list[str]]:
    """The types of some expressions, and their rows as text, in which every NaN is the same."""
    found = mixed.selectExpr(*(f"{each} as c{at}" for at, each in enumerate(expressions)))
    return [field.dataType.simpleString() for field in found.schema], [*map(str, found.collect())]


@pytest.mark.parametrize("pairs", [TYPED, AGGREGATED_TYPED], ids=["rows", "groups"])
def test_types_that_a_plan_knows_are_those_of_spark(pairs: Sequence[tuple[str, str]], mixed: DataFrame) -> None:
    fields = mixed.selectExpr(*(f"{expression} as c{at}" for at, (expression, _) in enumerate(pairs))).schema
    found = [field.dataType.simpleString() for field in fields]
    assert [*zip((expression for expression, _ in pairs), found, strict=True)] == [*pairs]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    for name, columns in TABLES.items():
        values = [
            [None if DRAWN.random() < 0.2 else value for value in (DRAWN.randint(0, 4), DRAWN.randint(-1, 4), "s")]
            for _ in range(40)
        ]
        width = columns.count(",") + 1
        rows = [(*row[:width], (0, TOPICS[name], 0, at)) for at, row in enumerate(values)]
        spark.createDataFrame(rows, f"{columns}, _arrival {ARRIVAL}").createOrReplaceTempView(name)
    for name, topic in LANDED.items():
        records = [(DRAWN.randint(0, 4), DRAWN.randint(-1, 4), (0, topic, 0, at)) for at in range(20)]
        spark.createDataFrame(records, f"k int, x int, _arrival {ARRIVAL}").createOrReplaceTempView(name)
    yield
    for name in (*TABLES, *LANDED):
        spark.catalog.dropTempView(name)


def rows(spark: SparkSession, query: str) -> Counter[str]:
    return Counter(map(str, spark.sql(query).collect()))


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("one", "other"), [*QUERIES_ALIKE, *UNIONS_ALIKE])
def test_queries_have_the_same_rows_as_often(one: str, other: str, spark: SparkSession) -> None:
    found = rows(spark, one)
    assert found == rows(spark, other)
    assert found


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("one", "other"), [*QUERIES_OTHER, *UNIONS_OTHER])
def test_queries_that_look_alike_have_other_rows(one: str, other: str, spark: SparkSession) -> None:
    assert rows(spark, one) != rows(spark, other)


@pytest.mark.parametrize("pairs", [ALIKE, AGGREGATED_ALIKE], ids=["rows", "groups"])
def test_both_have_the_same_values_and_types(pairs: Sequence[tuple[str, str]], mixed: DataFrame) -> None:
    assert computed(mixed, [one for one, _ in pairs]) == computed(mixed, [other for _, other in pairs])


def test_spark_gives_null_where_all_columns_are_null(mixed: DataFrame) -> None:
    nothing = mixed.limit(1).selectExpr(*(f"if(false, {name}, null) as {name}" for name in COLUMNS))
    (found,) = nothing.selectExpr(*(f"{each} as c{at}" for at, each in enumerate(NULL_OF_NULLS))).collect()
    assert [each for each, value in zip(NULL_OF_NULLS, found, strict=True) if value is not None] == []
