"""Tables as other readers see them: Spark and delta-rs over commits that neither of them has written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.errors import MissingFile
from headrace.spark.implementations import materialize, small_batches
from headrace.spark.jvm import scala_object
from headrace.spark.small_batches import SmallBatches
from headrace.store.maintenance.passes import Maintenance, Policy
from headrace.tables import delta
from headrace.tables.delta import CommitTable, ReplacedTable

pytestmark = pytest.mark.spark

SCHEMA = StructType().add("n", "long").add("text", "string")


@pytest.fixture
def batches(spark: SparkSession) -> SmallBatches:
    return small_batches(spark.newSession())


def frame(spark: SparkSession, *numbers: int) -> DataFrame:
    return spark.createDataFrame([(number, f"é{number}") for number in numbers], SCHEMA).coalesce(1)


def marked(batch: int) -> dict[str, Any]:
    return {"query": "q", "batch": batch}


def checksum(table: CommitTable) -> dict[str, Any]:
    file = table.path / "_delta_log" / f"{table.newest_version():020}.crc"
    return dict(json.loads(file.read_text("utf-8")))


def holds(table: CommitTable) -> bool:
    """Whether Delta, which sums up the files itself, agrees with the checksum that it finds; an error if not."""
    session: Any = table.spark
    none = session._jvm.scala.Option.empty()
    log = session._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, str(table.path))
    snapshot = log.update(False, none, none)
    return bool(snapshot.validateChecksum(scala_object(session._jvm, "scala.collection.immutable.Map").empty()))


def numbers(table: CommitTable) -> list[int]:
    return sorted(row.n for row in table.snapshot(table.spark).collect())


def jobs(spark: SparkSession, run: Callable[[], object]) -> int:
    scheduler: Any = spark.sparkContext._jsc.sc().dagScheduler()
    before = int(scheduler.numTotalJobs())
    run()
    return int(scheduler.numTotalJobs()) - before


def test_every_commit_has_the_checksum_that_delta_finds(
    spark: SparkSession, batches: SmallBatches, tmp_path: Path
) -> None:
    table = CommitTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    assert checksum(table)["numFiles"] == 0 and holds(table)
    for batch in range(3):
        cached = batches.put("rows", materialize(frame(batches.session, batch)))
        table.append(cached if batch % 2 else frame(spark, batch), marked(batch))
        assert checksum(table)["numFiles"] == batch + 1 and holds(table)
    assert numbers(table) == [0, 1, 2]


def test_table_is_opened_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    table = CommitTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    for batch in range(3):
        table.append(frame(spark, batch), marked(batch))
        assert jobs(spark, lambda: table.snapshot(spark).schema) == 0
    (tmp_path / "t" / "_delta_log" / f"{table.version():020}.crc").unlink()
    table.append(frame(spark, 3), marked(3))
    assert numbers(table) == [0, 1, 2, 3] and holds(table)


def test_checksum_holds_after_commits_of_others(spark: SparkSession, tmp_path: Path) -> None:
    table = CommitTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    table.append(frame(spark, 1), marked(0))
    table.append(frame(spark, 2, 3), marked(1))
    DeltaTable(table.path).optimize.compact()
    table.append(frame(spark, 4), marked(2))
    assert holds(table) and numbers(table) == [1, 2, 3, 4]
    wider = CommitTable(spark, table.path, StructType([*SCHEMA]).add("more", "long"))
    wider.create()
    wider.append(frame(spark, 5).selectExpr("*", "7L as more"), marked(3))
    assert holds(wider) and "more" in json.dumps(checksum(wider)["metadata"])
    assert [row.more for row in wider.snapshot(spark).where("n = 5").collect()] == [7]


def test_rows_of_a_commit_outlast_optimize_and_vacuum_of_another_tool(spark: SparkSession, tmp_path: Path) -> None:
    table = CommitTable(spark, tmp_path / "t", StructType([*SCHEMA]).add("_batch", "long"))
    table.create()
    for batch in range(3):
        table.append(frame(spark, batch).selectExpr("*", f"{batch}L as _batch"), marked(batch))
    first = [*table.commits(0)]
    DeltaTable(table.path).optimize.compact()
    DeltaTable(table.path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    assert not any((table.path / name).is_file() for commit in first for name in commit.files)
    assert [[row.n for row in table.rows(spark, commit).collect()] for commit in first] == [[0], [1], [2]]
    table.append(frame(spark, 3).selectExpr("*", "3L as _batch"), marked(3))
    last = table.commit(table.newest_version())
    (table.path / last.files[0]).unlink()
    with pytest.raises(MissingFile):
        table.rows(spark, last)


def test_rows_are_replaced_and_older_versions_stay(spark: SparkSession, batches: SmallBatches, tmp_path: Path) -> None:
    table = ReplacedTable(spark, tmp_path / "t é", SCHEMA)
    table.create()
    table.replace(frame(spark, 1, 2), marked(0))
    table.replace(batches.put("rows", materialize(frame(batches.session, 3))), marked(1))
    assert numbers(table) == [3] and holds(table)
    assert sorted(row["n"] for row in DeltaTable(table.path).to_pyarrow_table().to_pylist()) == [3]
    assert table.snapshot(spark, 1).count() == 2
    table.replace(frame(spark).where("false"), marked(2))
    assert numbers(table) == [] and holds(table)
    newest = table.newest_marker("q")
    assert newest is not None and newest.batch == 2


def test_replaced_rows_survive_checkpoints(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "CHECKPOINT_INTERVAL", 2)
    table = ReplacedTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    for batch in range(5):
        table.replace(frame(spark, batch), marked(batch))
        assert numbers(table) == [batch] and holds(table)
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint.parquet"))


def test_files_of_older_versions_go_with_maintenance(spark: SparkSession, tmp_path: Path) -> None:
    table = ReplacedTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    files = []
    for number in range(3):
        table.replace(frame(spark, number), marked(number))
        files += table.commit(table.version()).files
    work = Maintenance(table.path, Policy(keep_history=3600.0, kept=0, worth=1))
    work.step()
    assert all((table.path / name).exists() for name in files)
    table.replace(frame(spark, 3), marked(3))
    Maintenance(table.path, Policy(keep_history=0.0, kept=0, worth=1)).step()
    assert [(table.path / name).exists() for name in files] == [False, False, True]
    assert numbers(table) == [3] and holds(table)


def test_readers_count_rows_by_the_log_alone(spark: SparkSession, batches: SmallBatches, tmp_path: Path) -> None:
    """Spark and delta-rs answer `count(*)` from statistics: they are there whoever wrote the files, and right."""
    table = CommitTable(spark, tmp_path / "t", SCHEMA)
    table.create()
    table.append(frame(spark, *range(100)).repartition(3), marked(0))
    table.append(materialize(frame(spark, 1, 2)), marked(1))
    table.append(batches.put("few", materialize(frame(spark, 1, 2, 3))), marked(2))
    assert DeltaTable(table.path).count() == 105
    assert spark.read.format("delta").load(str(table.path)).count() == 105
    DeltaTable(table.path).create_checkpoint()
    assert DeltaTable(table.path).count() == 105
