"""Data files that are damaged or gone: whoever reads them with Spark learns which file, of which table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.spark.failures import is_transient, message_of
from headrace.spark.implementations import materialize, small_batches
from headrace.tables.delta import CommitTable
from tests.long import long

pytestmark = pytest.mark.spark

SCHEMA = StructType().add("n", "long").add("text", "string")


def scrambled(file: Path) -> None:
    """Its footer is whole."""
    data = bytearray(file.read_bytes())
    data[8:60] = b"\xff" * 52
    file.write_bytes(bytes(data))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda file: file.write_bytes(b""), "torn-file: this data file of gold.t is empty"),
    "cut": (lambda file: file.write_bytes(file.read_bytes()[:-20]), "torn-file: this data file of gold.t is cut short"),
    "scrambled": (scrambled, "torn-file: this data file of gold.t is cut short or damaged"),
    "gone": (lambda file: file.unlink(), "missing-file: this data file of gold.t is gone"),
}
READERS: dict[str, Callable[[SparkSession, CommitTable], object]] = {
    "large batch": lambda session, table: materialize(table.rows(session, table.commit(1))),
    "small batch": lambda session, table: small(session, table),
    "whole table": lambda session, table: table.snapshot(session).collect(),
}


def small(session: SparkSession, table: CommitTable) -> object:
    batches, rows = small_batches(session), table.rows(session, table.commit(1))
    batches.begin(0, 1)
    return batches.compute("rows", lambda: rows, rows)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("has_checksum", [True, long(False)])
def test_reader_names_file_and_table(spark: SparkSession, tmp_path: Path, reader: str, has_checksum: bool) -> None:
    rows = spark.createDataFrame([(n, f"é{n}" * 20) for n in range(100)], SCHEMA).coalesce(1)
    for name, (damage, says) in DAMAGES.items():
        table = CommitTable(spark, tmp_path / name / "tables" / "gold" / "t", SCHEMA)
        table.create()
        table.append(rows, {"query": "q", "batch": 0, "rows": 100})
        (file,) = (each for each in table.path.glob("batch-*/*.parquet") if isinstance(each, Path))
        if not has_checksum:
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        damage(file)
        with pytest.raises(Exception) as error:  # Py4J's or Spark's
            READERS[reader](spark.newSession(), table)
        assert message_of(error.value).startswith(f"{file}: {says}"), (name, str(error.value))
        assert not is_transient(error.value)
