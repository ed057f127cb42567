"""Files written without a job: the same values and columns as those that Spark writes with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from headrace.spark.driver.batches import DriverBatches
from headrace.spark.implementations import materialize

pytestmark = pytest.mark.spark

EVERYTHING = """
select * from values
  (1, 2L, 3S, 4Y, 1.5f, 2.5d, 12.34, 'é漢', cast('raw' as binary), true, date'2026-01-31',
   timestamp'2026-01-31 12:34:56.123456', timestamp_ntz'1880-01-31 12:34:56', interval 3 seconds,
   array(1, null), map('k', named_struct('a', 1, 'b', array('x'))), named_struct('f', cast(null as string))),
  (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
  (-1, -2L, -3S, -4Y, float('nan'), double('-infinity'), -0.01, '', cast('' as binary), false, date'0001-01-01',
   timestamp'1582-10-01 00:00:00', timestamp_ntz'9999-12-31 23:59:59.999999', interval 0 seconds,
   array(), map(), named_struct('f', 'v'))
  as t(i, l, s, y, f, d, m, t, b, o, day, at, ntz, span, list, pairs, one)
"""


def test_values_of_all_types_are_read_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    batches = DriverBatches(spark.newSession())
    frame = batches.session.sql(EVERYTHING)
    for batch in range(2):  # the second with the writer of the first
        cached = batches.put("rows", materialize(frame.coalesce(1)))
        cached.write(tmp_path / f"here{batch}")
        materialize(frame).write(tmp_path / f"job{batch}")
        here, job = (spark.read.parquet(str(tmp_path / f"{kind}{batch}")) for kind in ("here", "job"))
        assert_df_equality(here, job, ignore_nullable=True, allow_nan_equality=True)
        assert here.count() == 3


def test_no_rows_are_a_file_with_columns(spark: SparkSession, tmp_path: Path) -> None:
    batches = DriverBatches(spark.newSession())
    frame = batches.session.sql(EVERYTHING).where("false")
    batches.put("rows", materialize(frame.coalesce(1))).write(tmp_path / "none")
    found = spark.read.parquet(str(tmp_path / "none"))
    assert found.columns == frame.columns and found.count() == 0


def test_failed_write_is_reported_and_the_next_one_works(spark: SparkSession, tmp_path: Path) -> None:
    batches = DriverBatches(spark.newSession())
    cached = batches.put("rows", materialize(batches.session.range(3).coalesce(1)))
    (tmp_path / "taken").write_text("a file where the folder should be")
    with pytest.raises(Exception, match="taken"):
        cached.write(tmp_path / "taken")
    cached.write(tmp_path / "free")
    assert spark.read.parquet(str(tmp_path / "free")).count() == 3
