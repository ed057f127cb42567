"""Landing from a real broker: after kills, cuts, additions, aborts or recreation every record is there once."""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from chispa import assert_df_equality
from confluent_kafka import KafkaException, Producer
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError, Place
from headrace.landing.broker_admin import BrokerAdmin
from headrace.landing.classify import data_column
from headrace.landing.landing import KafkaSource, LandingQuery
from headrace.landing.landing_time import LandingTime
from headrace.landing.relations import bronze
from headrace.project.model import SEED_PARTITION, TICK_TOPIC, Field, Kafka, Landing, Seed, Topic
from headrace.queries.sources import Source
from headrace.running.tasks.landing import LandingTask
from headrace.running.tasks.task import CommitSignals
from headrace.spark import mode
from headrace.spark.failures import is_transient
from headrace.spark.implementations import small_batches
from headrace.spark.session import SMALL_BATCH_ROWS
from headrace.store.layout import Layout
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from tests.kafka.cluster import Cluster
from tests.kafka.crash import Crash, Point
from tests.long import long
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.kafka

HERE = Place("things.yml")
EVERYTHING = 1_000


@dataclass
class Pier:
    """One topic and the table it lands in."""

    spark: SparkSession
    cluster: Cluster
    layout: Layout
    topic: Topic

    def landing(self, commit_cache: CommitCache | None = None) -> LandingQuery:
        """A landing query that starts from its stored state only."""
        source = KafkaSource.of(Kafka(self.cluster.bootstrap), "test")
        landing = LandingQuery(
            self.spark, self.layout, Landing("things", (self.topic,), HERE), source, commit_cache=commit_cache
        )
        landing.table.create()
        return landing

    def send(self, *numbers: int) -> None:
        self.cluster.send((self.topic.topic, str(n), json.dumps({"n": n})) for n in numbers)

    @property
    def landed(self) -> list[tuple[int, int]]:
        """Landing batch and number of every row, sorted."""
        rows = self.landing().table.snapshot(self.spark).select("landing_batch", "value").collect()
        return sorted((row[0], json.loads(row[1])["n"]) for row in rows)


@pytest.fixture
def pier(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> Pier:
    name = f"things-{uuid.uuid4().hex[:8]}"
    cluster.create({name: 1})
    return Pier(spark, cluster, Layout(tmp_path), Topic("things", name, HERE, fields=(Field("n", "bigint", True),)))


def producer(cluster: Cluster, name: str, **settings: Any) -> Producer:
    """A transactional producer in its first transaction."""
    made = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": name, **settings})
    made.init_transactions(PATIENCE)
    made.begin_transaction()
    return made


def lands(landing: LandingQuery) -> bool:
    """Whether a step lands anything; what passes by itself is left to pass, as the runner does."""
    try:
        return landing.step(EVERYTHING) is not None
    except KafkaException as error:
        assert is_transient(error)
        return False


@pytest.mark.parametrize("when", ["before", long("after")])
def test_crash_at_the_commit_lands_all_once(pier: Pier, monkeypatch: pytest.MonkeyPatch, when: Any) -> None:
    pier.send(1, 2)
    with monkeypatch.context() as patch:
        Point(CommitTable, "append", when).arm(patch)
        with pytest.raises(Crash):
            pier.landing().step(EVERYTHING)
    pier.send(3)
    landing = pier.landing()
    while landing.step(EVERYTHING):
        pass
    assert pier.landed == ([(0, 1), (0, 2), (0, 3)] if when == "before" else [(0, 1), (0, 2), (1, 3)])


def test_forgotten_progress_is_read_from_the_table(pier: Pier) -> None:
    pier.send(1)
    landing = pier.landing()
    landing.step(EVERYTHING)
    landing.forget()
    assert (landing.step(EVERYTHING), pier.landed) == (None, [(0, 1)])


@pytest.mark.long
def test_backlog_is_cut_into_batches(pier: Pier) -> None:
    pier.send(*range(7))
    landing = pier.landing()
    while landing.step(max_rows=3):
        pass
    assert pier.landed == [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5), (2, 6)]


def test_topic_that_became_shorter_is_refused(pier: Pier, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a broker was restored from an older copy: what comes next would take offsets that count as read."""
    pier.send(1, 2, 3)
    landing, ends = pier.landing(), BrokerAdmin.ends
    landing.step(EVERYTHING)

    def shorter(admin: BrokerAdmin, partitions: Any, committed: bool) -> Any:
        return {
            topic: {p: end - 2 for p, end in found.items()}
            for topic, found in ends(admin, partitions, committed).items()
        }

    monkeypatch.setattr(BrokerAdmin, "ends", shorter)
    with pytest.raises(HeadraceError, match="ends at offset 1 in partition 0, but was read up to offset 3") as refused:
        landing.step(EVERYTHING)
    assert is_transient(refused.value) is False


@pytest.mark.parametrize("lands_first", [long(False), True])
def test_tick_claims_no_time_after_kafka_was_asked(
    pier: Pier, monkeypatch: pytest.MonkeyPatch, lands_first: bool
) -> None:
    """A record that is acknowledged while a step is running lands later, but not later than a tick that it met."""
    landing = pier.landing()
    pier.send(1)
    if not lands_first:
        landing.step(EVERYTHING)
    asked = BrokerAdmin.ends

    def slowly(admin: BrokerAdmin, *args: Any) -> Any:
        found = asked(admin, *args)
        pier.send(2)  # between the question and all that comes of it
        return found

    with monkeypatch.context() as patch:
        patch.setattr(BrokerAdmin, "ends", slowly)
        assert (landing.step(EVERYTHING) is None) is not lands_first
        assert landing.tick() is not None
    landing.step(EVERYTHING)
    rows = (
        landing.table.snapshot(pier.spark).orderBy("landing_batch").select("value", "topic", "timestamp", "landed_at")
    )
    first, tick, met = rows.collect()
    assert [first.value, tick.topic, met.value] == ['{"n": 1}', TICK_TOPIC, '{"n": 2}']
    assert first.landed_at <= tick.landed_at <= met.timestamp and tick.landed_at <= met.landed_at


def test_no_tick_overtakes_what_kafka_held_before_it(pier: Pier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records acknowledged before the moment of a tick land before it, however slow each step between them is."""
    landing, chance, asked = pier.landing(), Random(33), BrokerAdmin.ends
    acked_at: dict[int, datetime] = {}
    over = threading.Event()

    def send() -> None:
        for n in count():
            if over.wait(chance.random() * 0.1):
                return
            pier.send(n)
            acked_at[n] = datetime.now(timezone.utc)

    def slowly(admin: BrokerAdmin, *args: Any) -> Any:
        time.sleep(chance.random() * 0.3)
        found = asked(admin, *args)
        time.sleep(chance.random() * 0.3)
        return found

    sender = threading.Thread(target=send)
    sender.start()
    try:
        monkeypatch.setattr(BrokerAdmin, "ends", slowly)
        for _ in range(10):
            landing.step(EVERYTHING)  # as the runner does when this brings nothing; here time passes anyhow
            landing.tick()
    finally:
        over.set()
        sender.join()
    landing.step(EVERYTHING)
    rows = landing.table.snapshot(pier.spark).select("landing_batch", "topic", "value", "landed_at").collect()
    ticks = [(row.landing_batch, row.landed_at.astimezone(timezone.utc)) for row in rows if row.topic == TICK_TOPIC]
    batches = {json.loads(row.value)["n"]: row.landing_batch for row in rows if row.topic != TICK_TOPIC}
    assert batches.keys() == acked_at.keys() and len(batches) > 20 and len(ticks) > 5
    overtaken = {n for n, at in acked_at.items() for tick, moment in ticks if at < moment and batches[n] > tick}
    assert not overtaken


def test_new_partition_is_read_from_its_start(pier: Pier) -> None:
    landing = pier.landing()
    pier.send(0)
    landing.step(EVERYTHING)
    pier.cluster.widen(pier.topic.topic, 3)
    pier.send(*range(1, 20))
    wait_for(lambda: lands(landing) and len(pier.landed) >= 20, "records of new partitions")
    assert {record.partition for record in pier.cluster.acked} == {0, 1, 2}
    assert sorted(n for _, n in pier.landed) == list(range(20))


def test_no_tick_while_there_is_a_partition_that_was_not_asked_for(pier: Pier) -> None:
    landing = pier.landing()
    pier.send(0)
    landing.step(EVERYTHING)
    assert landing.tick() is not None
    pier.cluster.widen(pier.topic.topic, 3)
    assert landing.tick() is None
    wait_for(lambda: not lands(landing) and landing.tick() is not None, "a tick that knows the new partitions")


def test_topics_are_not_described_at_every_look(pier: Pier, monkeypatch: pytest.MonkeyPatch) -> None:
    landing, asked, describe = pier.landing(), count(), BrokerAdmin.describe

    def counted(admin: BrokerAdmin, topics: Any) -> Any:
        next(asked)
        return describe(admin, topics)

    monkeypatch.setattr(BrokerAdmin, "describe", counted)
    monkeypatch.setattr("headrace.landing.topics.DESCRIBED_SECONDS", 600.0)
    for _ in range(20):
        landing.step(EVERYTHING)
    assert next(asked) == 1


def test_topic_that_is_gone_is_told_and_nobody_claims_to_be_up_to_date(pier: Pier) -> None:
    lines: list[dict[str, Any]] = []
    task = LandingTask(pier.landing(), 0, EVERYTHING, CommitSignals(), lambda event, **of: lines.append({event: of}))
    pier.send(1, 2)
    task.step()
    pier.cluster.delete(pier.topic.topic)
    wait_for(lambda: not task.step() and task.query.gone == {pier.topic.topic}, "the end of the topic")
    task.step()
    status = task.status()
    assert (status.behind_by, pier.topic.topic in str(status.last_error)) == (None, True)
    assert [line["topic_gone"]["topic"] for line in lines if "topic_gone" in line] == [pier.topic.topic]
    assert pier.landed == [(0, 1), (0, 2)]


@pytest.mark.parametrize("alive", [True, long(False)])
def test_topic_made_again_is_refused(pier: Pier, alive: bool) -> None:
    landing = pier.landing()
    pier.send(1, 2)
    landing.step(EVERYTHING)
    pier.cluster.delete(pier.topic.topic)
    pier.cluster.create({pier.topic.topic: 1})
    pier.send(3, 4, 5)
    with pytest.raises(HeadraceError, match="headrace reset ingest_things"):
        (landing if alive else pier.landing()).step(EVERYTHING)
    assert pier.landed == [(0, 1), (0, 2)]


@pytest.mark.parametrize("records", [long(3), SMALL_BATCH_ROWS + 1])
def test_topic_made_again_while_it_is_read_is_refused(
    pier: Pier, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    """Its offsets are there again, with other records: they would count as those that were asked for."""
    pier.send(*range(records))
    landing, asked = pier.landing(), BrokerAdmin.ends

    def then_made_again(admin: BrokerAdmin, *args: Any) -> Any:
        found = asked(admin, *args)
        pier.cluster.delete(pier.topic.topic)
        pier.cluster.create({pier.topic.topic: 1})
        pier.send(*range(records, 2 * records))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(BrokerAdmin, "ends", then_made_again)
        with pytest.raises(HeadraceError, match="was deleted and made again"):
            landing.step(2 * SMALL_BATCH_ROWS)
    assert pier.landed == []


def test_aborted_records_do_not_land(pier: Pier) -> None:
    sending = producer(pier.cluster, pier.topic.topic)
    sending.produce(pier.topic.topic, '{"n": 1}', "1")
    sending.flush(PATIENCE)
    sending.abort_transaction(PATIENCE)
    pier.send(2)
    landing = pier.landing()
    wait_for(lambda: lands(landing), "records behind an aborted transaction")
    assert pier.landed == [(0, 2)]
    newest = landing.table.newest_marker(landing.landing.query)
    assert newest is not None and newest.marker["records"] == 1  # what marks the end of a transaction is no record


def test_open_transaction_holds_back_what_follows(pier: Pier) -> None:
    sending = producer(pier.cluster, pier.topic.topic)
    sending.produce(pier.topic.topic, '{"n": 1}', "1")
    sending.flush(PATIENCE)
    pier.send(2)
    landing = pier.landing()
    assert landing.step(EVERYTHING) is None
    sending.commit_transaction(PATIENCE)
    # the broker answers a commit before its markers are written
    wait_for(lambda: lands(landing), "records of a committed transaction")
    assert pier.landed == [(0, 1), (0, 2)]


def test_start_skips_what_lies_before_it(pier: Pier) -> None:
    pier.send(0, 1, 2)
    pier.topic = replace(pier.topic, start={"0": 1})
    pier.landing().step(EVERYTHING)
    assert pier.landed == [(0, 1), (0, 2)]


def test_latest_begins_with_what_comes(pier: Pier) -> None:
    pier.send(0)
    pier.topic = replace(pier.topic, start="latest")
    landing = pier.landing()
    landing.step(EVERYTHING)
    pier.send(1)
    landing.step(EVERYTHING)
    assert pier.landed == [(0, 1)]


def test_latest_stays_where_it_was_when_it_was_asked_for(pier: Pier) -> None:
    pier.send(0)
    pier.topic = replace(pier.topic, start="latest")
    pier.landing().settle()
    pier.send(1)
    pier.landing().step(EVERYTHING)
    assert pier.landed == [(0, 1)]


def test_other_start_is_looked_up_again(pier: Pier) -> None:
    pier.send(0)
    pier.topic = replace(pier.topic, start="latest")
    pier.landing().settle()
    pier.topic = replace(pier.topic, start="earliest")
    pier.landing().step(EVERYTHING)
    assert pier.landed == [(0, 0)]


@pytest.mark.long
def test_few_large_records_land_as_many(pier: Pier) -> None:
    padding = "x" * 900_000
    pier.cluster.send((pier.topic.topic, str(n), json.dumps({"n": n, "more": padding})) for n in range(80))
    commit_cache = CommitCache()
    landing = pier.landing(commit_cache)
    landing.step(EVERYTHING)
    (commit,) = landing.table.commits(0)
    assert commit_cache.take(small_batches(pier.spark), "read", landing.table, [commit]) is None
    pier.send(80)
    landing.step(EVERYTHING)
    assert pier.landed == [*((0, n) for n in range(80)), (1, 80)]


@pytest.mark.parametrize(("megabytes", "reason"), [(10, None), long(25, "too_large")])
def test_very_large_record_lands_and_holds_nothing_up(pier: Pier, megabytes: int, reason: str | None) -> None:
    name, size = f"{pier.topic.topic}-large", megabytes << 20
    pier.cluster.create({name: 1}, {"max.message.bytes": str(2 * size)})
    pier.topic = replace(pier.topic, topic=name)
    sending = Producer({"bootstrap.servers": pier.cluster.bootstrap, "message.max.bytes": 2 * size})
    sending.produce(name, json.dumps({"n": 0, "more": "x" * size}), "0")
    assert sending.flush(PATIENCE) == 0
    pier.send(1)
    landing = pier.landing()
    assert landing.step(EVERYTHING) is not None
    rows = landing.table.snapshot(pier.spark).orderBy("offset").selectExpr("reject_reason", "length(value)").collect()
    assert [tuple(row) for row in rows] == [(reason, size + 20), (None, 8)]


@pytest.mark.parametrize("others", [1, long(SMALL_BATCH_ROWS)])
def test_record_of_any_time_lands_and_holds_nothing_up(pier: Pier, others: int) -> None:
    """Spark's own source fails on all records of a batch with one whose microseconds are no long."""
    name = f"{pier.topic.topic}-times"
    pier.cluster.create({name: 1}, {f"message.timestamp.{side}.max.ms": str(2**63 - 1) for side in ("before", "after")})
    pier.topic = replace(pier.topic, topic=name)
    for number, moment in enumerate((1, -5, 253_402_300_799_999, 253_402_300_800_000, 2**63 // 1000, 2**63 - 1)):
        pier.cluster.sender.send([(name, str(number), json.dumps({"n": number}))], moment)
    pier.send(*range(6, 6 + others))
    landing = pier.landing()
    while landing.step(2 * SMALL_BATCH_ROWS) is not None:
        pass
    rows = landing.table.snapshot(pier.spark).orderBy("offset").selectExpr("reject_reason", "timestamp is null")
    found = [tuple(row) for row in rows.collect()]
    assert found[:6] == [("time_out_of_range", is_null) for is_null in (False, False, False, True, True, True)]
    assert found[6:] == [(None, False)] * others


@pytest.mark.long
@pytest.mark.parametrize("records", [SMALL_BATCH_ROWS + 1, long(200_000)])
def test_flood_of_bad_records_lands_and_holds_no_good_one_up(pier: Pier, records: int) -> None:
    pier.cluster.send((pier.topic.topic, str(n), json.dumps({"n": f"{n}"})) for n in range(records))
    pier.send(1)
    landing = pier.landing()
    report = landing.step(records + 1)
    assert report is not None and (report.records, report.rejected) == (records + 1, records)
    good = landing.table.snapshot(pier.spark).where("reject_reason is null").select("value").collect()
    assert [row.value for row in good] == ['{"n": 1}']


def test_clock_that_jumps_a_day_and_back_loses_and_rejects_nothing(pier: Pier) -> None:
    days, landing = [0], pier.landing()
    landing.time = LandingTime(lambda: datetime.now(timezone.utc) + timedelta(days=days[-1]))
    for n, ahead in enumerate((0, 1, 0, -1)):
        days.append(ahead)
        pier.send(n)
        report = landing.step(EVERYTHING)
        assert report is not None and (report.records, report.rejected) == (1, 0)
        assert landing.tick() is not None
    assert landing.time.ahead > timedelta(days=1)
    rows = landing.table.snapshot(pier.spark).orderBy("landing_batch", "offset").select("landed_at", "value").collect()
    assert [row.landed_at for row in rows] == sorted(row.landed_at for row in rows)
    assert [json.loads(row.value)["n"] for row in rows[::2]] == [0, 1, 2, 3]


def test_large_batch_reaches_readers_as_it_was_read(pier: Pier):
    commit_cache, session = CommitCache(), pier.spark.newSession()
    pier.send(*range(SMALL_BATCH_ROWS + 1))
    pier.cluster.send([(pier.topic.topic, "bad", "{")])
    landing = pier.landing(commit_cache)
    report = landing.step(2 * SMALL_BATCH_ROWS)
    assert report is not None and (report.records, report.rejected) == (SMALL_BATCH_ROWS + 2, 1)
    source = Source(landing.table)
    at_once, later = (
        source.read(small_batches(session), "things", source.commits(0, report.version), each)
        for each in (commit_cache, CommitCache())
    )
    is_shared = not mode.is_jobs(session)  # as jobs, readers of many rows read the files
    assert (data_column(pier.topic) in at_once.frame.columns) is is_shared
    assert data_column(pier.topic) not in later.frame.columns
    assert landing.table.snapshot(session).columns == later.frame.columns
    numbers = [bronze(each.frame, pier.topic).select("data.n", "_arrival") for each in (at_once, later)]
    assert_df_equality(*numbers, ignore_row_order=True, ignore_nullable=True)
    assert numbers[0].count() == SMALL_BATCH_ROWS + 1


@pytest.mark.long
def test_records_of_another_form_are_looked_at_one_by_one(pier: Pier):
    landing, many = pier.landing(), SMALL_BATCH_ROWS + 1
    for batch in range(2):
        numbers = range(batch * many, (batch + 1) * many)
        pier.cluster.send((pier.topic.topic, str(n), json.dumps({"more": "", "n": n})) for n in numbers)
        report = landing.step(2 * many)
        assert report is not None and (report.batch, report.records, report.rejected) == (batch, many, 0)
    rows = bronze(landing.table.snapshot(pier.spark), pier.topic)
    assert rows.where("data.n = offset and data.n = key").count() == 2 * many


@pytest.mark.parametrize("records", [long(0), 3, long(SMALL_BATCH_ROWS + 1)])
def test_rows_of_the_project_land_before_the_first_records(pier: Pier, records: int):
    seeds = (Seed(2, "7", json.dumps({"n": 7})), Seed(3, "bad", "{"))
    seeded = replace(pier, topic=replace(pier.topic, seeds=seeds))
    seeded.send(*range(records))
    report = seeded.landing().step(2 * SMALL_BATCH_ROWS)
    last = 1 if records else 0
    assert report is not None and (report.batch, report.records, report.rejected) == (last, records + 2, 1)
    seeded.send(records)
    again = seeded.landing()
    report = again.step(EVERYTHING)
    assert report is not None and (report.batch, report.records) == (last + 1, 1)
    assert again.step(EVERYTHING) is None
    rows = again.table.snapshot(pier.spark)
    first = rows.where("landing_batch = 0").orderBy("offset").select("partition", "offset", "key").collect()
    assert [tuple(row) for row in first] == [(SEED_PARTITION, 2, "7"), (SEED_PARTITION, 3, "bad")]
    arrived = bronze(rows, seeded.topic).orderBy("_arrival").select("_arrival.landing_batch", "data.n").collect()
    assert [row[0] for row in arrived] == [0] + [1] * records + [last + 1]
    assert [row[1] for row in arrived] == [7, *range(records + 1)]


@pytest.mark.long
def test_edited_rows_of_the_project_land_as_changes(pier: Pier):
    def landed(null_value: bool, *lines: tuple[str, int]) -> list[tuple[Any, ...]]:
        seeds = tuple(Seed(line, key, json.dumps({"n": n})) for line, (key, n) in enumerate(lines, 2))
        edited = replace(pier, topic=replace(pier.topic, seeds=seeds, null_value=null_value))
        landing = edited.landing()
        landing.settle()
        landing.seed()
        landing.step(EVERYTHING)
        rows = landing.table.snapshot(pier.spark).orderBy("landing_batch", "offset")
        return [tuple(row) for row in rows.select("landing_batch", "partition", "key", "value").collect()]

    first = [(0, SEED_PARTITION, "a", '{"n": 1}'), (0, SEED_PARTITION, "b", '{"n": 2}')]
    assert landed(False, ("a", 1), ("b", 2)) == first
    pier.send(5)
    assert landed(False, ("a", 1), ("b", 2))[2:] == [(1, 0, "5", '{"n": 5}')]
    more = landed(False, ("b", 3), ("c", 1))[3:]
    assert more == [(2, SEED_PARTITION, "b", '{"n": 3}'), (2, SEED_PARTITION, "c", '{"n": 1}')]
    assert landed(True, ("b", 3))[5:] == [(3, SEED_PARTITION, "a", None), (3, SEED_PARTITION, "c", None)]
    assert landed(True, ("b", 3))[5:] == [(3, SEED_PARTITION, "a", None), (3, SEED_PARTITION, "c", None)]
