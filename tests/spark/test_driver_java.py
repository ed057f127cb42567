"""Our own Java in the driver: compiled once per user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import usercache
from headrace.spark.driver import java

pytestmark = pytest.mark.spark

SOURCE = 'public class Thing { public static class Part {} public String name() { return "thing"; } }'


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The sources that were compiled, with a separate cache."""
    found: list[str] = []
    monkeypatch.setattr(usercache, "user_cache_path", lambda _: tmp_path)
    compile_ = java._compiled
    monkeypatch.setattr(java, "_compiled", lambda *arguments: found.append(arguments[2]) or compile_(*arguments))
    return found


def classes(spark: SparkSession, source: str = SOURCE) -> dict[str, bytes]:
    jvm: Any = spark._jvm
    return java._classes(jvm, jvm.java.lang.Thread.currentThread().getContextClassLoader(), source)


def test_source_is_compiled_once(spark: SparkSession, compiled: list[str]) -> None:
    first = classes(spark)
    assert {*first} == {"Thing", "Thing$Part"} and all(code[:4] == b"\xca\xfe\xba\xbe" for code in first.values())
    assert classes(spark) == first
    assert compiled == [SOURCE]


def test_other_source_is_compiled_again(spark: SparkSession, compiled: list[str]) -> None:
    classes(spark)
    assert classes(spark, SOURCE.replace("thing", "other")) != classes(spark)
    assert len(compiled) == 2


@pytest.mark.parametrize("damage", ["", '{"Thing"', '{"Thing": "?"}', "\udcff"])
def test_damaged_code_is_compiled_again(spark: SparkSession, compiled: list[str], tmp_path: Path, damage: str) -> None:
    first = classes(spark)
    (cached,) = (tmp_path / "java").iterdir()
    cached.write_bytes(damage.encode("utf-8", "surrogateescape"))
    assert classes(spark) == first and len(compiled) == 2
    assert classes(spark) == first and len(compiled) == 2


def test_cache_that_cannot_be_written_only_costs_time(spark: SparkSession, compiled: list[str], tmp_path: Path) -> None:
    (tmp_path / "java").write_text("no folder")
    assert classes(spark) == classes(spark) and len(compiled) == 2
