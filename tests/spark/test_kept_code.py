"""Code that Spark has generated: compiled once, read back, and compiled again where that is not possible."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace import usercache
from headrace.spark import driver_java
from headrace.spark.jvm import objects
from headrace.spark.session import SMALL_BATCH_ROWS, tune

pytestmark = pytest.mark.spark

GENERATED = "org.apache.spark.sql.catalyst.expressions.codegen.GeneratedClass"
SOURCE = """
public Object generate(Object[] references) { return new Part().text(); }
class Part { String text() { return %s; } }
"""


@pytest.fixture
def kept(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """What Spark asks first, over a folder of its own."""
    with monkeypatch.context() as only_here:
        only_here.setattr(usercache, "user_cache_path", lambda _: tmp_path)
        found = driver_java.kept_code(spark.sparkContext)
    found.install()
    yield found
    driver_java.kept_code(spark.sparkContext).install()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "generated"


def compiled(spark: SparkSession, kept: Any, text: str) -> tuple[str, str]:
    """What generated code returns, and the sizes of its methods, as Spark asks for both."""
    jvm: Any = spark._jvm
    nothing = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    code = jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment(SOURCE % text, nothing)
    found = kept.apply(jvm.scala.Tuple2(None, code))
    # Py4J tells classes apart by their names alone, and all that is generated has the same name.
    (generate,) = jvm.java.lang.Class.forName(GENERATED).getDeclaredMethods()
    return generate.invoke(found._1(), objects(spark, objects(spark))), found._2().toString()


def time_of_compiling(spark: SparkSession) -> int:
    """How long Spark has compiled in this process, in nanoseconds: more after each time."""
    jvm: Any = spark._jvm
    return int(jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.compileTime())


def test_code_is_compiled_once(spark: SparkSession, kept: Any, folder: Path) -> None:
    before = time_of_compiling(spark)
    first = compiled(spark, kept, '"é"')
    after = time_of_compiling(spark)
    assert first[0] == "é" and after > before
    assert compiled(spark, kept, '"é"') == first and time_of_compiling(spark) == after
    assert compiled(spark, kept, '"other"')[0] == "other" and time_of_compiling(spark) > after
    assert len([*folder.iterdir()]) == 2


@pytest.mark.parametrize("damage", [b"", b"\0" * 20, b"\0" * 2000, None], ids=["empty", "short", "zeros", "half"])
def test_damaged_code_is_compiled_again(spark: SparkSession, kept: Any, folder: Path, damage: bytes | None) -> None:
    first = compiled(spark, kept, '"damaged"')
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert compiled(spark, kept, '"damaged"') == first
    assert file.read_bytes() == whole


def test_folder_that_cannot_be_written_only_costs_time(spark: SparkSession, kept: Any, folder: Path) -> None:
    folder.write_text("no folder")
    first, after = compiled(spark, kept, '"unwritten"'), time_of_compiling(spark)
    assert compiled(spark, kept, '"unwritten"') == first and time_of_compiling(spark) > after


def test_code_that_does_not_compile_is_an_error_and_not_kept(spark: SparkSession, kept: Any, folder: Path) -> None:
    with pytest.raises(Py4JJavaError, match="CompileException"):
        compiled(spark, kept, "no such")
    assert not folder.exists()


def test_spark_asks_there_first(spark: SparkSession, kept: Any, folder: Path) -> None:
    session = spark.newSession()
    tune(session, SMALL_BATCH_ROWS + 1)
    rows = session.range(5).selectExpr("id * 917 + 3 as found").where("found % 2 = 1")
    assert [row.found for row in rows.collect()] == [3, 1837, 3671]
    assert [*folder.iterdir()]


def test_only_the_newest_stay(spark: SparkSession, kept: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        compiled(spark, kept, f'"{number}"')
    at = time.time() - 1000
    for number, file in enumerate(sorted(folder.iterdir())):
        os.utime(file, (at + number, at + number))
    oldest = min(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    monkeypatch.setattr(usercache, "user_cache_path", lambda _: folder.parent)
    monkeypatch.setattr(driver_java, "_GENERATED_KEPT", 2)
    driver_java.kept_code(spark.sparkContext)
    assert len([*folder.iterdir()]) == 2 and not oldest.exists()


def test_what_was_read_is_new_again(spark: SparkSession, kept: Any, folder: Path) -> None:
    compiled(spark, kept, '"old"')
    (file,) = folder.iterdir()
    os.utime(file, (0, 0))
    compiled(spark, kept, '"old"')
    assert file.stat().st_mtime > time.time() - 60
