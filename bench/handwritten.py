"""What an engineer would write for shipping without headrace: two streaming queries, Delta state, Kafka sink.

Usage: python -m bench.handwritten <bootstrap> <data folder>
"""

from __future__ import annotations

import sys
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.environment.jars import resolve

VALUE = "struct<id: string, items: array<struct<id: bigint, name: string>>, orderId: string, productId: bigint>"


def session() -> SparkSession:
    """A session with the settings that the guides recommend for small streams."""
    confs = {
        "spark.jars": ",".join(str(jar) for jar in resolve("spark")),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("handwritten")
    for key, value in confs.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Shipping:
    """Bronze, state and shipments of one job."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark, self._bootstrap = spark, bootstrap
        self._bronze, self._state, self._ready = (str(folder / name) for name in ("bronze", "state", "shipment_ready"))
        self._folder = folder

    def start(self) -> None:
        """Start landing and reconciliation."""
        self._create(self._bronze, "topic string, partition int, offset bigint, key string, value string")
        self._create(self._state, "order_id string, ordered array<bigint>, made array<bigint>, shipped boolean")
        self._create(self._ready, "order_id string")
        source = self._spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._bootstrap)
        source = source.option("subscribe", "orders,manufactured").option("startingOffsets", "earliest")
        source = source.option("maxOffsetsPerTrigger", 100_000).option("kafka.fetch.max.wait.ms", "20")
        landed = source.option("kafka.isolation.level", "read_committed").load()
        columns = ["topic", "partition", "offset", "cast(key as string) key", "cast(value as string) value"]
        landed = landed.selectExpr(*columns)
        writer = landed.writeStream.format("delta").option("checkpointLocation", str(self._folder / "cp_bronze"))
        writer.trigger(processingTime="1 second").start(self._bronze)
        bronze = self._spark.readStream.format("delta").load(self._bronze)
        reconciled = bronze.writeStream.foreachBatch(self._reconcile)
        reconciled.option("checkpointLocation", str(self._folder / "cp_shipping")).start()

    def _create(self, path: str, columns: str) -> None:
        self._spark.createDataFrame([], columns).write.format("delta").mode("ignore").save(path)

    def _reconcile(self, batch: DataFrame, number: int) -> None:
        spark = batch.sparkSession
        state = spark.read.format("delta").load(self._state)
        after = self._after(batch, state).persist()
        done = after.where("size(ordered) > 0 and size(array_except(ordered, made)) = 0 and not shipped")
        ids = done.select("order_id")
        options = {"txnAppId": "shipping", "txnVersion": str(number)}
        ids.write.format("delta").mode("append").options(**options).save(self._ready)
        value = F.to_json(F.struct(F.col("order_id").alias("orderId")))
        sent = ids.select(F.col("order_id").alias("key"), value.alias("value"))
        sent.write.format("kafka").option("kafka.bootstrap.servers", self._bootstrap).option("topic", "shipping").save()
        marked = after.withColumn(
            "shipped", F.expr("shipped or size(ordered) > 0 and size(array_except(ordered, made)) = 0")
        )
        table = DeltaTable.forPath(spark, self._state).alias("s")
        merge = table.merge(marked.alias("n"), "s.order_id = n.order_id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        after.unpersist()

    def _after(self, batch: DataFrame, state: DataFrame) -> DataFrame:
        data = batch.select("topic", "partition", "offset", "key", F.from_json("value", VALUE).alias("v"))
        order = "max_by(v.items.id, struct(partition, offset)) filter (where topic = 'orders')"
        made = "collect_set(v.productId) filter (where topic = 'manufactured')"
        news = data.groupBy(F.col("key").alias("order_id")).agg(F.expr(order).alias("o"), F.expr(made).alias("m"))
        joined = news.join(state, "order_id", "left")
        return joined.selectExpr(
            "order_id",
            "coalesce(o, ordered, array()) as ordered",
            "array_union(coalesce(made, array()), m) as made",
            "coalesce(shipped, false) as shipped",
        )


if __name__ == "__main__":
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    Shipping(spark, sys.argv[1], Path(sys.argv[2])).start()
    print("started", flush=True)
    spark.streams.awaitAnyTermination()
