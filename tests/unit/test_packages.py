"""The packages of headrace: only one reaches into Spark, and none is too large."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "jobs" / "headrace"
SPARK = PACKAGE / "spark"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if SPARK not in path.parents)
PRIVATE = frozenset(
    (
        "_jvm",
        "_jdf",
        "_jsc",
        "_jsparkSession",
        "_jsq",
        "_jc",
        "_jconf",
        "_jwrite",
        "_jreader",
        "_jcols",
        "_jmap",
        "_jseq",
    )
) | {"_gateway", "_sc", "_to_java_object_rdd", "_java_obj"}
"""Attributes by which PySpark reaches into its JVM."""


def reaches(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Attribute(attr=name) if name in PRIVATE:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}: {name}"
            case ast.Import(names=names) if any(each.name.split(".")[0] == "py4j" for each in names):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}: py4j"
            case ast.ImportFrom(module=str(module), names=names) if module.split(".")[0] == "py4j" or (
                module.split(".")[0] == "pyspark" and any(each.name.startswith("_") for each in names)
            ):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}: {module}"


def test_only_one_package_reaches_into_spark() -> None:
    assert [found for path in SOURCES for found in reaches(path)] == []


def test_jobs_need_nothing_but_public_pyspark() -> None:
    assert [found for path in sorted((SPARK / "jobs").rglob("*.py")) for found in reaches(path)] == []


ON_EXECUTORS = frozenset(("parallelize", "udf", "pandas_udf", "mapInArrow", "mapInPandas", "foreachPartition"))
"""Names by which PySpark runs Python on executors. `createDataFrame` does so for Python values, not for Arrow."""


def test_executors_need_no_python() -> None:
    found = set()
    for path in [*SOURCES, *SPARK.rglob("*.py")]:
        nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
        names = {getattr(node, "attr", getattr(node, "id", "")) for node in nodes}
        found |= {(path.name, name) for name in names & {*ON_EXECUTORS, "createDataFrame"}}
    assert found == {("arrow.py", "createDataFrame"), ("columns.py", "createDataFrame")}  # of Arrow, and of no values


def test_java_is_in_that_package_only_and_short() -> None:
    sources = [*PACKAGE.rglob("*.java")]
    assert {path.parent for path in sources} <= {SPARK / "driver"}
    assert sum(len(path.read_text("utf-8").splitlines()) for path in sources) <= 300


PACKAGES = [
    "checking",
    "commands/edits",
    "elsewhere",
    "landing",
    "planning/equality",
    "planning/forms",
    "platforms",
    "publishing",
    "queries",
    "running",
    "spark",
    "store",
    "streaming",
    "tables",
    "testing/cases",
    "testing/cut_trials",
    "testing/runs",
]
PARTS_OF_PROJECT = [
    f"project/{each}" for each in ("declarations", "flows", "kafka_options", "rules", "sql", "sql/guard")
]


@pytest.mark.parametrize("package", [*PACKAGES, *PARTS_OF_PROJECT])
def test_package_is_documented_and_small(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((PACKAGE / package / "__init__.py").read_text("utf-8"))) or ""
    assert len(docstring.splitlines()) >= 5
    assert len([*(PACKAGE / package).glob("*.py")]) <= 16


@pytest.mark.parametrize("package", ["commands", "testing", "planning", "reading", "project"])
def test_package_with_packages_of_its_own_stays_short(package: str) -> None:
    assert len([*(PACKAGE / package).glob("*.py")]) < 20
