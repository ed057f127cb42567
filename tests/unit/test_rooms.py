"""The rooms of the package: what touches Spark's inside lives behind one door, and no room is crowded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "jobs" / "headrace"
DOOR = PACKAGE / "spark"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if DOOR not in path.parents)
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


def test_only_the_door_reaches_into_spark() -> None:
    assert [found for path in SOURCES for found in reaches(path)] == []


def test_jobs_need_nothing_but_public_pyspark() -> None:
    assert [found for path in sorted((DOOR / "jobs").rglob("*.py")) for found in reaches(path)] == []


def test_java_is_behind_the_door_and_short() -> None:
    sources = [*PACKAGE.rglob("*.java")]
    assert {path.parent for path in sources} <= {DOOR / "driver"}
    assert sum(len(path.read_text("utf-8").splitlines()) for path in sources) <= 300


@pytest.mark.parametrize(
    "room",
    ["checking", "elsewhere", "landing", "publishing", "queries", "running", "spark", "streaming", "tables"],
)
def test_room_says_what_it_is_for_and_is_not_crowded(room: str) -> None:
    said = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text("utf-8"))) or ""
    assert len(said.splitlines()) >= 5
    assert len([*(PACKAGE / room).glob("*.py")]) <= 15
