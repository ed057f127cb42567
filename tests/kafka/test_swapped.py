"""Publishing a table that has replaced another: what was sent is not sent again, what was not is."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headrace.environment import swap
from headrace.errors import HeadraceError
from headrace.project.model import Model, Publish
from headrace.publishing import outlet, publisher
from headrace.publishing.outlet import Outlet
from headrace.publishing.publisher import Publisher
from headrace.publishing.sent import retired_tables
from headrace.store.layout import Layout
from headrace.tables.delta import CommitTable
from tests.kafka.cluster import Cluster
from tests.kafka.crash import Crash
from tests.kafka.test_publisher import POINTS, Client, exhaust
from tests.long import one_of

pytestmark = pytest.mark.kafka

Told = tuple[str, str]
SCHEMA = StructType([StructField("name", StringType()), StructField("text", StringType())])
SCHEMA = SCHEMA.add("_arrival", LongType()).add("_batch", LongType())


@dataclass
class News:
    """A model's table, what it publishes, and tables that replace it."""

    spark: SparkSession
    cluster: Cluster
    folder: Path
    kind: dict[str, Any] = field(default_factory=dict)
    topic: str = field(default_factory=lambda: f"news-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.cluster.create({self.topic: 1, f"{self.topic}-progress": 1})
        self.layout = Layout(self.folder)
        self.write(self.path)
        self.publisher().open()

    @property
    def model(self) -> Model:
        publish = Publish(topic=self.topic, key="name", value=(("text", "text"),))
        settings: dict[str, Any] = {"materialized": "append", "publish": publish, **self.kind}
        return Model("gold", "news", "n", "n.sql", "", "", run="micro_batch", query="news", inputs=(), **settings)

    @property
    def path(self) -> Path:
        of = self.layout.changes if self.model.materialized == "upsert" else self.layout.table
        return of("gold.news")

    def publisher(self) -> Publisher:
        out = Outlet(
            {"bootstrap.servers": self.cluster.bootstrap, "log_level": 0}, f"{self.topic}-progress", self.topic
        )
        table = CommitTable(self.spark, self.path, SCHEMA)
        find_retired = retired_tables(self.spark, self.layout, self.model)
        return Publisher(self.spark, self.model, table, out, self.folder, find_retired=find_retired)

    def write(self, path: Path, *batches: list[Told]) -> CommitTable:
        """Create a table, or continue it: a commit for each batch of names and texts."""
        table = CommitTable(self.spark, path, SCHEMA)
        table.create()
        for rows in batches:
            number = table.newest_version()
            frame = self.spark.createDataFrame([(*row, n, number) for n, row in enumerate(rows)], SCHEMA)
            table.append(frame.coalesce(1), {"query": "news", "batch": number, "rows": len(rows)})
        return table

    def swap(self, *batches: list[Told]) -> Path:
        """Replace the table by one with other batches."""
        beside = self.layout.rebuilds / "news"
        self.write(beside / self.path.relative_to(self.folder), *batches)
        folder = swap.swap(self.layout, beside, ["news"], [self.path], days=7)
        jvm: Any = self.spark._jvm
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # another process would know nothing of the old table
        return folder

    @property
    def seen(self) -> list[tuple[str | None, str | None]]:
        """Key and text of what a reader of committed records sees."""
        return [(sent.key, sent.value and sent.value["text"]) for sent in self.cluster.committed(self.topic)]


@pytest.fixture
def news(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> News:
    return News(spark, cluster, tmp_path)


A, B, C, D, E = (("k", letter) for letter in "abcde")


def test_only_what_is_new_is_sent(news: News) -> None:
    news.write(news.path, [A, B], [C])
    exhaust(news.publisher())
    news.swap([A], [D, B, C])
    exhaust(news.publisher())
    news.write(news.path, [E, A])  # what comes later is sent as it comes
    exhaust(news.publisher())
    assert news.seen == [A, B, C, D, E, A]


@pytest.mark.long
def test_what_the_former_table_had_not_sent_yet_is_sent(news: News) -> None:
    news.write(news.path, [A, B])
    exhaust(news.publisher())
    news.write(news.path, [C, D])
    news.swap([A, B, C, D])
    exhaust(news.publisher())
    assert news.seen == [A, B, C, D]


@pytest.mark.long
def test_equal_rows_are_sent_as_often_as_they_are_there(news: News) -> None:
    news.write(news.path, [A, A])
    exhaust(news.publisher())
    news.swap([A], [A], [A, B])
    exhaust(news.publisher())
    assert news.seen == [A, A, A, B]


def test_key_is_sent_once_whatever_its_row_has_become(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    news = News(spark, cluster, tmp_path, {"once_per": ("name",)})
    news.write(news.path, [("p", "old"), ("q", "old")])
    exhaust(news.publisher())
    news.swap([("p", "new"), ("r", "new"), ("q", "new")])
    exhaust(news.publisher())
    assert news.seen == [("p", "old"), ("q", "old"), ("r", "new")]


@pytest.mark.long
def test_last_message_of_each_key_comes_true(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    news = News(spark, cluster, tmp_path, {"materialized": "upsert", "unique_key": ("name",)})
    news.write(news.path, [("same", "1"), ("other", "1")], [("same", "2"), ("gone", "1")])
    exhaust(news.publisher())
    news.swap([("same", "1"), ("other", "5"), ("other", "6")], [("same", "2"), ("new", "1")])
    exhaust(news.publisher())
    assert news.seen[4:] == [("gone", None), ("other", "6"), ("new", "1")]


@pytest.mark.parametrize("point", one_of(8, POINTS))
def test_crash_repeats_and_loses_nothing(news: News, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    monkeypatch.setattr(publisher, "CHUNK_ROWS", 1)
    news.write(news.path, [A, B])
    exhaust(news.publisher())
    news.swap([C, A], [D, E, B])
    with monkeypatch.context() as patch:
        POINTS[point].arm(patch)
        with pytest.raises(Crash):
            exhaust(news.publisher())
    exhaust(news.publisher())
    assert news.seen == [A, B, C, D, E]


@pytest.mark.long
def test_second_swap_knows_what_the_first_has_sent(news: News, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "Producer", Client)
    monkeypatch.setattr(publisher, "CHUNK_ROWS", 1)
    news.write(news.path, [A])
    exhaust(news.publisher())
    news.swap([A, B, C])
    with monkeypatch.context() as patch:  # B has been sent when it dies
        POINTS["before a later commit"].arm(patch)
        with pytest.raises(Crash):
            exhaust(news.publisher())
    news.swap([D, C, B, A])
    exhaust(news.publisher())
    assert sorted(news.seen) == [A, B, C, D]


def test_unknown_past_is_an_error_not_a_guess(news: News, monkeypatch: pytest.MonkeyPatch) -> None:
    news.write(news.path, [A])
    exhaust(news.publisher())
    folder = news.swap([A, B])
    made = news.publisher()
    made.open()
    swap.remove(news.layout, folder)
    with pytest.raises(HeadraceError, match="headrace reset news"):
        made.step()
    assert news.seen == [A]


@pytest.mark.long
def test_row_set_aside_keeps_its_note(news: News) -> None:
    large = ("k", "x" * 2_000_000)
    news.write(news.path, [A])
    exhaust(news.publisher())
    news.swap([A, large, B])
    exhaust(news.publisher())
    notes = (news.folder / "set_aside" / "news.ndjson").read_text().splitlines()
    assert (news.seen, [json.loads(note)["reason"] for note in notes]) == ([A, B], ["too_large"])
