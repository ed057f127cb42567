"""The cache of the newest commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import StructType

from headrace.spark.session import SMALL_BATCH_BYTES, SMALL_BATCH_ROWS
from headrace.tables.commit_cache import CommitCache

TABLE = Path("t")


@dataclass
class Rows:
    """Rows that count how often they are asked how many they are."""

    count: int
    nbytes: int = 1
    asked: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        self.asked.append("len")
        return self.count


def commit(count: int, nbytes: int = 1, asked: list[str] | None = None) -> Any:
    rows = Rows(count, nbytes, [] if asked is None else asked)
    return SimpleNamespace(frame=SimpleNamespace(schema=StructType()), count=count, held=rows)


@pytest.fixture
def cached() -> Iterator[Any]:
    """The versions that a cache still has."""
    cache = CommitCache()

    def versions(commits: list[Any]) -> list[int]:
        for version, each in enumerate(commits):
            cache.put(TABLE, version, each)
        table = SimpleNamespace(path=TABLE, schema=StructType())
        batches: Any = SimpleNamespace(take=lambda name, parts, schema: parts)
        found = (
            (version, cache.take(batches, "rows", table, [SimpleNamespace(version=version, added_rows=1)]))  # type: ignore[arg-type,list-item]
            for version in range(len(commits))
        )
        return [version for version, rows in found if rows]

    yield versions


def test_another_commit_costs_the_same_however_many_are_cached(cached: Any) -> None:
    asked: list[str] = []
    assert cached([commit(3, asked=asked) for _ in range(2_000)])[-1] == 1_999
    assert len(asked) <= 2_000  # each one may be a call to the JVM


def test_memory_does_not_grow_with_commits_of_a_row(cached: Any) -> None:
    assert len(cached([commit(1) for _ in range(2_000)])) == 100


def test_oldest_commits_go_where_rows_are_many(cached: Any) -> None:
    half = SMALL_BATCH_ROWS // 2
    assert cached([commit(half), commit(half), commit(1)]) == [1, 2]


def test_oldest_commits_go_where_rows_are_large(cached: Any) -> None:
    assert cached([commit(1, SMALL_BATCH_BYTES), commit(1), commit(1)]) == [1, 2]
