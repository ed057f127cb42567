"""The index of closed keys: many keys, of which a batch looks up a few."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headrace.spark.implementations import materialize, small_batches
from headrace.spark.session import child
from headrace.tables import keys
from headrace.tables.keys import KeyIndex

pytestmark = pytest.mark.spark

CLOSED = 5_000


@pytest.fixture(params=[20_000, 100], ids=["on the driver", "sorted"])
def index(request: pytest.FixtureRequest, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyIndex]:
    """An index of the even numbers below ten thousand: half of them loaded, the others added."""
    monkeypatch.setattr(keys, "_RECENT_KEYS", request.param)
    made = KeyIndex(small_batches(child(spark, "keys")), "keys", ["id"])
    made.load(spark.range(0, CLOSED, 2))
    made.add(materialize(spark.range(CLOSED, 2 * CLOSED, 2)))
    yield made
    made.drop()


@pytest.mark.parametrize("asked", [[0], [1], [1, 3, 9_999], [0, 2, 4_998, 5_000, 9_998], [7, 8, 20_000, 6_000]])
def test_few_keys_are_looked_up(asked: list[int], index: KeyIndex, spark: SparkSession) -> None:
    rows = materialize(spark.createDataFrame([(each,) for each in asked], "id bigint"))
    left = [row.id for row in index.unclosed(rows).frame.collect()]
    assert sorted(left) == sorted(each for each in asked if each % 2 or each >= 2 * CLOSED)


def test_many_keys_are_joined(index: KeyIndex, spark: SparkSession) -> None:
    left = index.unclosed(materialize(spark.range(2 * CLOSED))).frame
    assert sorted(row.id for row in left.collect()) == [*range(1, 2 * CLOSED, 2)]


def test_no_closed_key_gets_through_one_by_one(index: KeyIndex, spark: SparkSession) -> None:
    for start in range(0, 2 * CLOSED, 1_000):
        rows = materialize(spark.range(start, start + 2 * keys.LOOKUP_KEYS, 2))
        assert index.unclosed(rows).frame.isEmpty()
