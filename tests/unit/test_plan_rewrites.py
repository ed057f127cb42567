"""Expressions written in two ways, as a plan takes them; whether Spark does is tested in tests/spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace.planning.declared import Declared
from headrace.planning.forms.lowering import lower
from headrace.project.sql import sqltext
from tests.plan import corpus
from tests.plan.rewrites import AGGREGATED_ALIKE, ALIKE, COLUMNS, MACRO, OTHERS

VALUES = f"""/*
Values: one row per value.

materialized: append
*/
select {", ".join(f"cast(null as {type_}) as {name}" for name, type_ in COLUMNS.items())}, _arrival
from stream bronze.a
"""

Key = Callable[[str], object]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    files = {**corpus.SHARED, "macros/doubled.sql": MACRO, "sql/gold/s/mixed.sql": VALUES}
    declared = Declared.of(corpus.project(files, tmp_path_factory.mktemp("rewrites")))
    model = declared.by_table["gold.mixed"]

    def found(expression: str) -> object:
        text = f"select {expression} as value from gold.mixed"
        asked = replace(model, text=text, inputs=sqltext.read(text, "value.sql").inputs)
        form = lower(declared, asked, lambda atom: COLUMNS.get(atom.column))
        return form.columns["value"].key

    return found


@pytest.mark.parametrize(("one", "other"), [*ALIKE, *AGGREGATED_ALIKE])
def test_what_spark_takes_for_the_same_is_the_same(one: str, other: str, key: Key) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_only_looks_alike_is_another(one: str, other: str, key: Key) -> None:
    assert key(one) != key(other)
