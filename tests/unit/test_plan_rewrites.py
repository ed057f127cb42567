"""Expressions written in two ways, as a plan takes them; whether Spark does is tested in tests/spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace.planning.declared import Declared
from headrace.planning.forms import normal
from headrace.planning.forms.lowering import lower
from headrace.planning.forms.steps import Form
from headrace.planning.forms.terms import Atom, Term
from headrace.planning.forms.types import of_atoms, type_of
from headrace.project.sql import sqltext
from tests.plan import corpus
from tests.plan.rewrites import (
    AGGREGATED_ALIKE,
    AGGREGATED_TYPED,
    ALIKE,
    COLUMNS,
    MACRO,
    OTHERS,
    QUERIES_ALIKE,
    QUERIES_OTHER,
    TABLES,
    TYPED,
    UNTYPED,
)

VALUES = f"""/*
Values: one row per value.

materialized: append
*/
select {", ".join(f"cast(null as {type_}) as {name}" for name, type_ in COLUMNS.items())}, _arrival
from stream bronze.a
"""

Made = Callable[[str], Term]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    files = {**corpus.BASE, "macros/doubled.sql": MACRO, "sql/gold/s/mixed.sql": VALUES}
    declared = Declared.of(corpus.project(files, tmp_path_factory.mktemp("rewrites")))
    model = declared.by_table["gold.mixed"]

    def found(expression: str) -> Term:
        text = f"select {expression} as value from gold.mixed"
        asked = replace(model, text=text, inputs=sqltext.read(text, "value.sql").inputs)
        return lower(declared, asked, _type).columns["value"]

    return found


@pytest.fixture(scope="module")
def formed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Form]:
    files = {f"sql/gold/s/{name}.sql": _table(name, columns) for name, columns in TABLES.items()}
    declared = Declared.of(corpus.project({**corpus.BASE, **files}, tmp_path_factory.mktemp("queries")))

    def found(query: str) -> Form:
        text = re.sub(r"\b(from|join) ([pqr])\b(?! as)", r"\1 gold.\2 as \2", query)
        asked = replace(declared.by_table["gold.p"], text=text, inputs=sqltext.read(text, "value.sql").inputs)
        return lower(declared, asked, _type)

    return found


def _table(name: str, columns: str) -> str:
    fields = ", ".join(f"cast(null as {each.split()[1]}) as {each.split()[0]}" for each in columns.split(", "))
    header = f"/*\nValues of {name}: one row per value.\n\nmaterialized: append\n*/\n"
    return f"{header}select {fields}, _arrival\nfrom stream bronze.a\n"


def _type(atom: Atom) -> str | None:
    return COLUMNS.get(atom.column)


@pytest.mark.parametrize(("one", "other"), [*ALIKE, *AGGREGATED_ALIKE])
def test_what_spark_takes_for_the_same_is_the_same(one: str, other: str, made: Made) -> None:
    assert made(one).key == made(other).key


@pytest.mark.parametrize(("one", "other"), QUERIES_ALIKE)
def test_queries_with_the_same_rows_are_the_same(one: str, other: str, formed: Callable[[str], Form]) -> None:
    assert normal.same(formed(one), formed(other))


@pytest.mark.parametrize(("one", "other"), QUERIES_OTHER)
def test_queries_with_other_rows_are_others(one: str, other: str, formed: Callable[[str], Form]) -> None:
    assert not normal.same(formed(one), formed(other))


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_only_looks_alike_is_another(one: str, other: str, made: Made) -> None:
    assert made(one).key != made(other).key


@pytest.mark.parametrize(("expression", "type_"), [*TYPED, *AGGREGATED_TYPED, *((each, None) for each in UNTYPED)])
def test_type_is_known_where_it_is_certain(expression: str, type_: str | None, made: Made) -> None:
    assert type_of(made(expression).tree, of_atoms(_type)) == type_
