"""The guard reads a text as Spark's parser does: it sees every call that Spark sees, and knows every function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from headrace.checking import parsed
from headrace.project import loader
from headrace.project.sql import lexing
from headrace.project.sql.guard import builtins
from headrace.spark import parser
from tests.unit.test_attacks import ATTACKS, CALLS, mutated

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PIECES = (
    " ",
    "\n",
    "\r",
    "--",
    "-- \\\n",
    "\\",
    "/*",
    "*/",
    "/* /* */",
    "/*+",
    "'",
    "''",
    "\\'",
    '"',
    "`",
    "``",
    "r'",
    "\u00a0",
    "1",
)
TEMPLATES = (
    "struct(1 {} , reflect{}('a', 'b') {})",
    "struct('x' {} , `reflect` {} ('a') {})",
    "concat({}, Reflect{}('a'){})",
)


def test_every_call_that_spark_sees_is_seen(spark: SparkSession) -> None:
    chance, calls, hidden = Random(41), 0, 0
    for _ in range(1000):
        holes = ["".join(chance.choices(PIECES, k=chance.choice((0, 0, 1, 1, 2)))) for _ in range(3)]
        text = chance.choice(TEMPLATES).format(*holes)
        try:
            names = parser.called(spark, f"select {text}")
        except ParseException:
            continue
        if "reflect" in names:
            calls += 1
            assert "reflect" in {routine.name for routine in lexing.routines(text)}, text
        else:
            hidden += 1
    assert calls > 50 and hidden > 5


def test_mutations_are_attacks_to_spark_too(spark: SparkSession) -> None:
    chance, seen = Random(7), 0
    for attack in (text for text in CALLS if "(" in text and "`current" not in text):
        text = f"select {mutated(attack, chance)}"
        try:
            names = parser.called(spark, text)
        except ParseException:
            continue
        seen += bool({name.rpartition(".")[2] for name in names} - builtins.ALLOWED)
    assert seen > 50


def test_calls_are_seen_in_every_clause(spark: SparkSession) -> None:
    unseen = list[str]()
    for text in (text for text in ATTACKS["queries"] if "reflect('a', 'b')" in text and "bronze." not in text):
        try:
            names = parser.called(spark, text)
        except ParseException:
            continue
        unseen += [] if names & {"reflect", "java_method"} else [text]
    assert unseen == []


def test_every_function_of_spark_is_decided_on(spark: SparkSession) -> None:
    known = {row[0] for row in spark.newSession().sql("show system functions").collect()}
    decided = builtins.ALLOWED | builtins.NEVER.keys() | builtins.UNLESS_ASKED.keys()
    assert {name for name in known if name[0].isalpha()} - decided == set()


def test_what_only_spark_sees_is_a_finding(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    project = loader.load(ROOT, "local")
    assert [*parsed.findings(spark, project)] == []
    monkeypatch.setattr(lexing, "routines", lambda text: iter(()))
    found = [*parsed.findings(spark, replace(project, functions=frozenset()))]
    assert {finding.code for finding in found} == {"not-allowed"}
    assert {finding.place.path.split("/")[0] for finding in found} == {"sql"}
