"""Records of known offsets, few and many: the same rows as from Spark's Kafka source."""

from __future__ import annotations

import json
import uuid

import pytest
from chispa import assert_df_equality
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from headrace.landing.landing import KafkaSource
from headrace.landing.records import SCHEMA, Ranges, RecordReader
from headrace.project.model import Kafka
from headrace.spark.implementations import small_batches
from tests.kafka.cluster import Cluster
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka


def spark_reads(spark: SparkSession, options: dict[str, str], ranges: Ranges) -> DataFrame:
    """The rows of Spark's own source."""
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), (start, end) in ranges.items():
        starts.setdefault(topic, {})[str(partition)] = start
        ends.setdefault(topic, {})[str(partition)] = end
    reader = spark.read.format("kafka").options(**options).option("includeHeaders", "true")
    reader = reader.option("assign", json.dumps({topic: [int(p) for p in found] for topic, found in starts.items()}))
    return reader.option("startingOffsets", json.dumps(starts)).option("endingOffsets", json.dumps(ends)).load()


def reader_of(spark: SparkSession, cluster: Cluster) -> RecordReader:
    source = KafkaSource.of(Kafka(cluster.bootstrap), "test")
    return RecordReader(spark, source.spark_options, source.client_config)


@pytest.fixture
def topics(cluster: Cluster) -> tuple[str, str]:
    """Two topics with records of all shapes, in three partitions and in transactions."""
    one, two = (f"records-{uuid.uuid4().hex[:8]}" for _ in range(2))
    cluster.create({one: 3, two: 1})
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": one})
    producer.init_transactions(PATIENCE)
    for number, commits in enumerate((True, False, True)):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(
                one, f'{{"n": {number}}}', f"é{number}", partition, headers=[("h", b"\xff"), ("none", None)]
            )
        producer.produce(two, None, None, 0)
        producer.produce(two, b"\x00\xff", b"", 0, timestamp=1)
        producer.flush(PATIENCE)
        producer.commit_transaction(PATIENCE) if commits else producer.abort_transaction(PATIENCE)
    return one, two


def test_rows_are_those_of_sparks_own_source(spark: SparkSession, cluster: Cluster, topics: tuple[str, str]) -> None:
    one, two = topics
    options = dict(KafkaSource.of(Kafka(cluster.bootstrap), "test").spark_options)
    batches = small_batches(spark.newSession())
    reader = reader_of(batches.session, cluster)
    whole: Ranges = {(one, 0): (0, 6), (one, 1): (0, 6), (one, 2): (0, 6), (two, 0): (0, 9)}
    parts: Ranges = {(one, 0): (2, 6), (two, 0): (1, 2)}
    for ranges in (whole, parts, whole):
        found = batches.fill("records", reader.few(ranges) or (), SCHEMA).frame
        due = spark_reads(spark, options, ranges)
        assert due.count() > 0
        assert_df_equality(found, due, ignore_nullable=True, ignore_row_order=True)
        assert_df_equality(reader.many(ranges), due, ignore_nullable=True, ignore_row_order=True)


def test_many_records_are_read_in_parts(spark: SparkSession, cluster: Cluster, topics: tuple[str, str]) -> None:
    reader = reader_of(spark, cluster)
    cores = spark.sparkContext.defaultParallelism
    for ranges in ({(topics[0], 0): (0, 6)}, {(topics[0], 0): (0, 6), (topics[0], 1): (0, 6)}):
        assert reader.many(ranges).rdd.getNumPartitions() == max(cores, len(ranges))


def test_offsets_that_are_gone_are_an_error(spark: SparkSession, cluster: Cluster, topics: tuple[str, str]) -> None:
    reader = reader_of(spark, cluster)
    gone = {(topics[0], 0): (1_000, 1_010)}
    with pytest.raises(Exception, match=r"(?i)offset|data"):
        reader.few(gone)
    with pytest.raises(Exception, match=r"(?i)offset|data"):
        reader.many(gone).count()
