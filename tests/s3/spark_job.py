"""What test_spark.py runs in a process of its own: Spark on S3, with the jars and the confs of a store.

Reads the store as JSON from stdin and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.environment import jars
from headrace.project.model import Target
from headrace.spark import session
from headrace.store.hadoop import place_of

BUCKET = "lake"
TABLE = "tables/orders"
SMALL = {"spark.sql.shuffle.partitions": "2", "spark.databricks.delta.snapshotPartitions": "1"}


def main(folder: Path) -> None:
    """Write, commit and read a table; then run a query on it three times, the second time without news."""
    given = json.load(sys.stdin)
    place = place_of(given["url"], given["options"])
    confs = {
        **SMALL,
        **place.confs,
        "spark.jars": ",".join(str(jar) for name in place.jars for jar in jars.resolve(name)),
    }
    store, log = S3Store(BUCKET, **given["options"]), Path(given["log"])
    seen: dict[str, Any] = {}

    def counted(name: str, step: Callable[[], Any]) -> Any:
        before, start = len(log.read_text().splitlines()), time.monotonic()
        result = step()
        seen[name] = {"result": result, "seconds": round(time.monotonic() - start, 2)}
        seen[name]["requests"] = log.read_text().splitlines()[before:]
        return result

    with session.running(Target("s3", folder, spark_conf=confs, compiler="quick", small_batches="jobs")) as spark:
        table = f"{place.uri}/{TABLE}"
        counted("first access", lambda: written(spark, f"{place.uri}/warm", 0))
        counted("write", lambda: written(spark, f"{table}/batch=0", 0))
        counted("commit", lambda: commit(store, 0, "batch=0"))
        counted("parquet", lambda: spark.read.schema("id long").parquet(only_file(store, place.uri, "batch=0")).count())
        counted("delta", lambda: spark.read.format("delta").load(table).count())
        counted("first run", lambda: run(spark, table, f"{place.uri}/checkpoint"))
        counted("run without news", lambda: run(spark, table, f"{place.uri}/checkpoint"))
        written(spark, f"{table}/batch=1", 10)
        commit(store, 1, "batch=1")
        counted("run with news", lambda: run(spark, table, f"{place.uri}/checkpoint"))
    print(json.dumps(seen))


def written(spark: SparkSession, folder: str, start: int) -> None:
    """Write ten rows as one file."""
    rows = spark.range(start, start + 10).coalesce(1)
    rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(folder)


def files_in(store: S3Store, folder: str) -> list[Any]:
    """The data files in a folder of the table; Hadoop's marker of the folder itself is none."""
    return [meta for meta in obstore.list(store, f"{TABLE}/{folder}").collect() if meta["path"].endswith(".parquet")]


def only_file(store: S3Store, root: str, folder: str) -> str:
    """The URI of a folder's one data file."""
    (found,) = files_in(store, folder)
    return f"{root}/{found['path']}"


def commit(store: S3Store, version: int, folder: str) -> None:
    """Put the log entry that names a folder's files."""
    entry = [*(CREATION if version == 0 else ())]
    for meta in files_in(store, folder):
        name = meta["path"].removeprefix(f"{TABLE}/").replace("=", "%3D")
        entry.append({"add": {"path": name, "size": meta["size"], **ADDED}})
    text = "\n".join(json.dumps(action) for action in entry)
    obstore.put(store, f"{TABLE}/_delta_log/{version:020}.json", text.encode(), mode="create")


ADDED = {"partitionValues": {}, "modificationTime": 0, "dataChange": True}
COLUMN = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
CREATION = (
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {
        "metaData": {
            "id": "5e3a6d52-3f0f-4f2b-8a40-6a2c9b0c8f11",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": [COLUMN]}),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 0,
        }
    },
)


def run(spark: SparkSession, table: str, checkpoint: str) -> list[list[int]]:
    """Count even and odd ids until all rows are read; return batch, remainder and count of what changed."""
    told: list[list[int]] = []

    def tell(rows: DataFrame, batch: int) -> None:
        told.extend([batch, row["odd"], row["count"]] for row in rows.orderBy("odd").collect())

    counts = spark.readStream.format("delta").load(table).groupBy((F.col("id") % 2).alias("odd")).count()
    sink = counts.writeStream.foreachBatch(tell).outputMode("update").option("checkpointLocation", checkpoint)
    sink.trigger(availableNow=True).start().awaitTermination()
    return told


if __name__ == "__main__":
    main(Path(sys.argv[1]))
