"""Where the reading of a topic begins: by a reset, else the target, else its source; and the same after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Place
from headrace.landing.starts import StartOffsets
from headrace.project.model import Topic
from headrace.project.resets import ResetNote

TOPIC = Topic("logs", "eu.logs", Place("sql/bronze/web.yml"))
Wanted = Mapping[str, tuple[int, ...]]


class Admin:
    """A broker that holds offsets 3 to `end` of each partition."""

    def __init__(self) -> None:
        self.end = 9
        self.asked_since = 0

    def starts(self, wanted: Wanted) -> dict[str, dict[int, int]]:
        return {topic: dict.fromkeys(numbers, 3) for topic, numbers in wanted.items()}

    def ends(self, wanted: Wanted, committed: bool) -> dict[str, dict[int, int]]:
        return {topic: dict.fromkeys(numbers, self.end - committed) for topic, numbers in wanted.items()}

    def at(self, wanted: Wanted, millis: int) -> dict[str, dict[int, int]]:
        self.asked_since = millis
        return {topic: dict.fromkeys(numbers, 5) for topic, numbers in wanted.items()}


def offsets(folder: Path, admin: Any, start: Any, default: Any = None, topic_id: str = "id") -> dict[int, int]:
    topic = replace(TOPIC, start=start)
    return StartOffsets(folder, admin, default).of(topic, topic_id, (0, 1))


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("earliest", {0: 3, 1: 3}),
        ("latest", {0: 8, 1: 8}),
        (7, {0: 7, 1: 7}),
        ({"1": 4}, {1: 4}),
        ("2026-01-01T00:00:00Z", {0: 5, 1: 5}),
    ],
)
def test_source_says_where_it_begins(tmp_path: Path, start: Any, wanted: dict[int, int]) -> None:
    assert offsets(tmp_path, Admin(), start) == wanted


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=timezone.utc)),
        ("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=timezone.utc)),
        ("2026-01-01T00:00:00+02:00", datetime(2025, 12, 31, 22, tzinfo=timezone.utc)),
    ],
)
def test_time_without_a_zone_is_utc(tmp_path: Path, text: str, moment: datetime) -> None:
    admin = Admin()
    offsets(tmp_path, admin, text)
    assert admin.asked_since == moment.timestamp() * 1000


def test_latest_stays_the_end_as_it_was_when_decided(tmp_path: Path) -> None:
    admin = Admin()
    before = offsets(tmp_path, admin, "latest")
    admin.end = 20
    assert offsets(tmp_path, admin, "latest") == before
    assert offsets(tmp_path, admin, "latest", topic_id="made again") == {0: 19, 1: 19}


def test_target_goes_before_the_source_and_a_reset_before_both(tmp_path: Path) -> None:
    assert offsets(tmp_path, Admin(), 7, default="earliest") == {0: 3, 1: 3}
    ResetNote("latest").write(tmp_path)
    assert offsets(tmp_path, Admin(), 7, default="earliest") == {0: 8, 1: 8}


@pytest.mark.parametrize("name", ["eu.logs", "logs"])
def test_reset_names_offsets_of_some_topics(tmp_path: Path, name: str) -> None:
    ResetNote({name: {"0": 120}}).write(tmp_path)
    assert offsets(tmp_path, Admin(), 7) == {0: 120}
    other = replace(TOPIC, name="clicks", topic="eu.clicks", start=7)
    assert StartOffsets(tmp_path, Admin()).of(other, "id", (0,)) == {0: 7}  # type: ignore[arg-type]
