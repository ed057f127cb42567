"""A model's text as Spark gets it: tables as views, parameters of intervals as literals, positions preserved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.landing.ticks import guarded, watermarked
from headrace.project import loader
from headrace.project.model import Model
from headrace.project.sql import sqltext
from headrace.project.statement import bind, view_names

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def calls() -> Model:
    """The model of calls."""
    return loader.load(PROJECT, "test").model("gold.calls")


def test_parameter_of_an_interval_becomes_a_literal(calls: Model) -> None:
    sql = bind(calls, values={"call_gap": 60, "call_grace": 180}).sql
    assert "watermark half_at delay of interval '180' seconds" in sql
    assert sql.count("interval '60' seconds") == 2


def test_other_parameters_stay(calls: Model) -> None:
    assert "concat(:call_gap, ' seconds')" in bind(calls, values={"call_gap": 60}).sql


def test_place_behind_a_literal_is_that_of_the_file(calls: Model) -> None:
    statement = bind(calls, values={"call_gap": 1_000_000, "call_grace": 1_000_000})
    place = statement.place(statement.sql.index("sessions as"))
    assert calls.text.splitlines()[place.line - 1][place.column - 1 :] == "sessions as ("


def test_watermark_with_a_parameter_takes_ticks(calls: Model) -> None:
    assert [(found.ref.table, found.expression) for found in watermarked(calls)] == [("silver.call_halves", "half_at")]
    assert "delay of interval '180' seconds where case" in guarded(calls, view_names(calls), {"call_grace": 180})


@pytest.mark.parametrize(
    ("clause", "column", "expected"),
    [
        ("at", "at", "watermark at delay"),
        ("`at`", "`at`", "watermark `at` delay"),
        ("data.at", "data.at", "watermark coalesce(_tick_at, data.at) as `at` delay"),
        ("at as t", "at", "watermark coalesce(_tick_at, at) as t delay"),
        (
            "timestamp_seconds(data.ts) t",
            "timestamp_seconds(data.ts)",
            "coalesce(_tick_at, timestamp_seconds(data.ts)) t",
        ),
        ("f(a,\n 'b as c') as t", "f(a,\n 'b as c')", "watermark coalesce(_tick_at, f(a,\n 'b as c')) as t delay"),
    ],
)
def test_tick_gives_what_a_watermark_stands_on(calls: Model, clause: str, column: str, expected: str) -> None:
    model = query(calls, f"select t from stream silver.a watermark {clause} delay of interval 1 minute as a")
    (found,) = watermarked(model)
    assert (found.expression, found.is_column) == (column, clause.strip("`") == "at")
    text = guarded(model, view_names(model), {})
    assert expected in text and text.endswith("<= 1 then not _is_tick end) as a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "it's"], "in ('a', 'it\\'s')"),
        ([1, 2.5, True, None], "in (1, 2.5, true, null)"),
        ([], "in (null)"),
        ("a", "in (:names)"),
    ],
)
def test_list_stands_in_brackets_as_its_values(calls: Model, value: object, expected: str) -> None:
    model = query(calls, "select x in (:names) as y from silver.a")
    assert bind(model, values={"names": value}).sql.startswith(f"select x {expected} as y")


@pytest.mark.parametrize("text", ["in (:names, 'c')", "in (upper(:names))", "= any(:names)"])
def test_list_elsewhere_stays_a_parameter(calls: Model, text: str) -> None:
    model = query(calls, f"select x {text} as y from silver.a")
    assert f"select x {text} as y" in bind(model, values={"names": ["a"]}).sql


def query(calls: Model, text: str) -> Model:
    """A model of another text."""
    found = sqltext.read(text, "m.sql")
    return replace(calls, text=text, inputs=found.inputs, intervals=found.intervals, lists=found.lists)
