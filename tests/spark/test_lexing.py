"""The guard against calls of Java reads a text as Spark's parser does: it sees every call that Spark sees."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from headrace.project.sql import lexing

pytestmark = pytest.mark.spark

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
    for _ in range(2500):
        holes = ["".join(chance.choices(PIECES, k=chance.choice((0, 0, 1, 1, 2)))) for _ in range(3)]
        text = chance.choice(TEMPLATES).format(*holes)
        try:
            plan = spark.sql(f"explain extended select {text}").collect()[0][0]
        except ParseException:
            continue
        if "'reflect(a" in plan.lower():
            calls += 1
            assert "reflect" in {routine.name for routine in lexing.routines(text)}, text
        else:
            hidden += 1
    assert calls > 50 and hidden > 5
