"""A translated query gives what Spark gives: a corpus of expressions and queries, run on both, value by value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import DataFrame, SparkSession

from headrace.commands.viewing import read_exactly
from headrace.reading.dialect import parsing, queries
from headrace.reading.dialect.complaints import AT_RUN_TIME, LeftToSpark
from headrace.reading.dialect.engine import Engine
from headrace.reading.dialect.queries import Table
from headrace.reading.rows import BadQuery, to_json
from headrace.spark.spark_errors import SPARK_ERRORS
from tests.long import one_of

pytestmark = pytest.mark.spark

SAMPLES = Path(__file__).with_name("dialect_samples.sql")
CORPUS = Path(__file__).with_name("dialect_corpus.sql")
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
PARTS = 8
"""The corpus is tried in so many parts."""
AT_ONCE = 25
"""How many expressions go into one query of Spark; those of a query that fails are run one by one."""


@dataclass(frozen=True)
class Answer:
    """An engine's result: rows, or that it fails, or that it is left to Spark; and the types of the columns."""

    rows: tuple[tuple[Any, ...], ...] | None = None
    types: tuple[str, ...] = ()
    left: bool = False
    error: str = ""


def asked(line: str) -> str:
    return line if line.split()[0] in ("select", "with") else f"select id, {line} as v from samples order by id"


def lines() -> list[str]:
    return [line for line in CORPUS.read_text().splitlines() if line and not line.startswith("--")]


class Ours:
    """The translation over one table."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def answer(self, text: str) -> Answer:
        try:
            return self._answer(text)
        except LeftToSpark as error:
            return Answer(left=True, error=str(error))
        except BadQuery as error:
            return Answer(left=str(error).startswith(AT_RUN_TIME), error=str(error))

    def _answer(self, text: str) -> Answer:
        tree = parsing.query(text)
        stored = DeltaTable(self._path)
        engine = Engine({"s": lambda: QueryBuilder().register("x", stored).execute("select * from x")}, {"s"})
        table = Table("v", engine.columns("s"))
        found = queries.translate(text, tree, {"samples": table})
        rows = engine.run(f"WITH v AS ({queries.stored('s', table)}) {queries.shown(found)}").rows
        values = tuple(tuple(map(_value, row.values())) for row in rows)
        return Answer(values, tuple(str(kind) for _, kind in found.columns))


def _value(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return _NOT_FINITE[str(value)]
    return json.loads(to_json(value), parse_float=Decimal)


class Theirs:
    """Spark over the same table, which it writes."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")
        self._spark.sql(SAMPLES.read_text()).coalesce(1).write.format("delta").save(str(path))
        self._spark.read.format("delta").load(str(path)).cache().createOrReplaceTempView("samples")

    def answers(self, found: Sequence[str]) -> Iterator[Answer]:
        expressions = [line for line in found if asked(line) != line]
        known = dict(zip(expressions, self._expressions(expressions), strict=True))
        for line in found:
            yield known[line] if line in known else self._one(line)

    def _expressions(self, found: Sequence[str]) -> Iterator[Answer]:
        for start in range(0, len(found), AT_ONCE):
            yield from self._together(found[start : start + AT_ONCE])

    def _together(self, found: Sequence[str]) -> list[Answer]:
        if len(found) == 1:
            return [self._one(asked(found[0]))]
        listed = ", ".join(f"{line} as v{at}" for at, line in enumerate(found))
        try:
            frame = self._spark.sql(f"select id, {listed} from samples order by id")
            rows = _rows(frame)
        except SPARK_ERRORS:
            half = len(found) // 2
            return [*self._together(found[:half]), *self._together(found[half:])]
        types = [field.dataType.simpleString() for field in frame.schema.fields]
        return [
            Answer(tuple((row[0], row[at + 1]) for row in rows), (types[0], types[at + 1])) for at in range(len(found))
        ]

    def _one(self, text: str) -> Answer:
        try:
            frame = self._spark.sql(text)
            return Answer(_rows(frame), tuple(field.dataType.simpleString() for field in frame.schema.fields))
        except SPARK_ERRORS as error:
            return Answer(error=str(error).splitlines()[0])


def _rows(frame: DataFrame) -> tuple[tuple[Any, ...], ...]:
    names = [f"c{at}" for at in range(len(frame.columns))]
    return tuple(tuple(map(_plain, row.values())) for row in read_exactly(frame.toDF(*names)))


def _plain(value: Any) -> Any:
    match value:
        case str():
            return re.sub(r"(:\d\d)\.000000Z$", r"\1Z", value)
        case list():
            return [_plain(each) for each in value]
        case dict():
            return {name: _plain(each) for name, each in value.items()}
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Equal; of doubles the last digit may differ."""
    match ours, theirs:
        case (list() | tuple(), list() | tuple()):
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        case (dict(), dict()):
            return list(ours) == list(theirs) and all(map(same, ours.values(), theirs.values()))
        case (bool(), _) | (_, bool()):
            return ours is theirs
        case (int() | Decimal(), int() | Decimal()):
            return abs(Decimal(ours) - Decimal(theirs)) <= abs(Decimal(theirs)) * Decimal("4e-16")
    return bool(ours == theirs)


def same_types(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return len(ours) == len(theirs) and all(
        one == other.split("<")[0] or (one, other) == ("null", "void") for one, other in zip(ours, theirs, strict=True)
    )


@pytest.fixture(scope="module", params=one_of(PARTS, range(PARTS)))
def answers(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Answer, Answer]]:
    """The results of both engines for each line of a part of the corpus."""
    path = tmp_path_factory.mktemp("dialect") / "samples"
    theirs = Theirs(spark, path)
    ours = Ours(path)
    found = lines()[request.param :: PARTS]
    return {line: (ours.answer(asked(line)), other) for line, other in zip(found, theirs.answers(found), strict=True)}


def test_what_is_translated_gives_what_spark_gives(answers: dict[str, tuple[Answer, Answer]]) -> None:
    wrong = {
        line: (ours, theirs)
        for line, (ours, theirs) in answers.items()
        if not ours.left
        and ((ours.rows is None) != (theirs.rows is None) or not same(ours.rows or (), theirs.rows or ()))
    }
    assert not wrong, "\n".join(f"{line}\n  ours   {ours}\n  theirs {theirs}" for line, (ours, theirs) in wrong.items())


def test_types_are_those_of_spark(answers: dict[str, tuple[Answer, Answer]]) -> None:
    wrong = {
        line: (ours.types, theirs.types)
        for line, (ours, theirs) in answers.items()
        if ours.rows is not None and theirs.rows is not None and not same_types(ours.types, theirs.types)
    }
    assert not wrong, "\n".join(f"{line}: {ours}, but in Spark {theirs}" for line, (ours, theirs) in wrong.items())


def test_most_of_the_corpus_is_translated(answers: dict[str, tuple[Answer, Answer]]) -> None:
    translated = [line for line, (ours, _) in answers.items() if ours.rows is not None]
    assert len(translated) > 0.6 * len(answers)


def test_what_is_left_to_spark_is_under_its_heading(answers: dict[str, tuple[Answer, Answer]]) -> None:
    left = CORPUS.read_text().split("-- left to Spark\n")[1].splitlines()
    assert {line for line in left if line in answers and not answers[line][0].left} == set()
