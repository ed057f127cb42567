"""Views, captchas and popular products against plain Python; windows in event time and in processing time."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from headrace.project import loader
from headrace.testing.runs.trial import Models
from tests.long import long
from tests.spark import clicks_oracle as oracle
from tests.spark.clicks_oracle import Event

pytestmark = pytest.mark.spark

PROJECT = Path(__file__).parents[2]
TOPICS = ("logs", "products")


TABLES = ("gold.product_views", "gold.captcha_requests", "gold.popular_products")


def case_batches(batches: Sequence[Sequence[Event]]) -> list[dict[str, Any]]:
    """Landing batches as written in a case; within one, logs arrive before products."""
    return [{topic: [_record(e) for e in batch if e.topic == topic] for topic in TOPICS} for batch in batches]


def _record(event: Event) -> dict[str, Any]:
    return {"key": event.key, "value": event.value, "timestamp": moment(event.at)}


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def cut(events: Sequence[Event], edges: Sequence[int]) -> list[list[Event]]:
    return [list(events[start:end]) for start, end in zip([0, *edges], [*edges, len(events)], strict=True)]


def arrived(batches: Sequence[Sequence[Event]]) -> list[Event]:
    return [event for batch in batches for topic in TOPICS for event in batch if event.topic == topic]


def in_order(rows: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows.orderBy("_arrival").select(*columns).collect()]


@pytest.mark.parametrize("window", [long(None), 20], ids=["all views", "views in a window"])
def test_rows_are_those_of_plain_python(models: Models, window: int | None) -> None:
    chance = random.Random(f"clicks {window}")
    batches = cut([*islice(oracle.load(chance.randrange(10**6)), 400)], sorted(chance.sample(range(1, 400), 4)))
    wanted = oracle.due(arrived(batches), 5, None if window is None else window * 1000, 100)
    found = models.outcome(TABLES, case_batches(batches), captcha_window=window, popular_views=100).stored
    assert len(wanted.captchas) > 15 and len(wanted.popular) > 0
    assert in_order(found["gold.captcha_requests"], "browser_hash", "view_count") == wanted.captchas
    assert in_order(found["gold.product_views"], "product_id", "product_name", "view_count") == wanted.views
    assert in_order(found["gold.popular_products"], "product_id", "view_count") == wanted.popular


def test_windows_do_not_depend_on_cuts_and_order(models: Models) -> None:
    views = (event for event in islice(oracle.load(3), 150) if event.kind == "view")
    events = [view for view in views if abs(view.at - oracle.EPOCH_MS) < 25_000]  # none can be late
    random.Random(1).shuffle(events)
    rows = models.rows("gold.browser_activity", case_batches(cut(events, [7, 25])))
    found = {(row.browser_hash, _ms(row.window_start)): row.view_count for row in rows.collect()}
    assert len(events) > 30
    assert found == oracle.activity(events)


def _ms(found: datetime) -> int:
    """Spark returns naive times, in the zone of this process."""
    return round(found.timestamp() * 1000)


@pytest.fixture
def by_landing(models: Models, tmp_path: Path) -> Models:
    """The project with its windows over the landing time."""
    for name in ("conf", "sql/bronze", "sql/silver/clicks", "macros"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.copy(PROJECT / "manifest.yml", tmp_path)
    (tmp_path / "sql/gold/clicks").mkdir(parents=True)
    text = (PROJECT / "sql/gold/clicks/product_reach.sql").read_text("utf-8").replace("viewed_at", "landed_at")
    text = text.replace("\n*/", "\nallow: {processing-time: that is what is looked at here}\n*/", 1)
    (tmp_path / "sql/gold/clicks/landed_reach.sql").write_text(text, "utf-8")
    return Models(models.sandbox, loader.load(tmp_path, "test"))


@pytest.mark.long
def test_processing_time_is_the_time_of_landing(by_landing: Models) -> None:
    views = [Event("view", oracle.EPOCH_MS + second * 1000, browser, 1) for second, browser in enumerate("abc")]
    noon, half_past = "2026-02-01T12:00:0{}Z", "2026-02-01T12:30:00Z"
    batches = [{**batch, "at": noon.format(n)} for n, batch in enumerate(case_batches([views[:1], views[1:]]))]
    rows = by_landing.rows("gold.landed_reach", [*batches, {"at": half_past}]).collect()
    assert [(row.product_id, _ms(row.window_start), row.browsers) for row in rows] == [(1, 1_769_947_200_000, 3)]
