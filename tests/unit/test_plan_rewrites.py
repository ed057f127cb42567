"""Expressions written in two ways, as a plan takes them; whether Spark does is tested in tests/spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from sqlglot import exp

from headrace.planning.declared import Declared
from headrace.planning.equality import queries, unions
from headrace.planning.forms.functions import STRICT
from headrace.planning.forms.lowering import lower
from headrace.planning.forms.scope import NotUnderstood
from headrace.planning.forms.terms import Atom, Term
from headrace.planning.forms.types import is_null_of_nulls, of_atoms, type_of
from headrace.project.sql import sqltext
from tests.plan import corpus
from tests.plan.rewrites import (
    AGGREGATED_ALIKE,
    AGGREGATED_TYPED,
    ALIKE,
    COLUMNS,
    LANDED,
    MACRO,
    NOT_NULL_OF_NULLS,
    NULL_OF_NULLS,
    OTHERS,
    QUERIED,
    QUERIES_ALIKE,
    QUERIES_OTHER,
    QUERIES_REFUSED,
    QUERIES_UNCERTAIN,
    TABLES,
    TOPICS,
    TYPED,
    UNIONS_ALIKE,
    UNIONS_OTHER,
    UNIONS_UNCERTAIN,
    UNTYPED,
)

VALUES = f"""/*
Values: one row per value.

materialized: append
*/
select {", ".join(f"cast(null as {type_}) as {name}" for name, type_ in COLUMNS.items())}, _arrival
from stream bronze.a
"""

LANDED_AS = "data.x as k, data.y as x, _arrival"
LANDED_TYPES = {"data.x": "bigint", "data.y": "bigint"}

Made = Callable[[str], Term]
Sided = Callable[[str], queries.Side]


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
def sided(tmp_path_factory: pytest.TempPathFactory) -> Sided:
    files = {f"sql/gold/s/{name}.sql": _table(name, columns) for name, columns in TABLES.items()}
    declared = Declared.of(corpus.project({**corpus.BASE, **files}, tmp_path_factory.mktemp("queries")))

    def found(query: str) -> queries.Side:
        text = re.sub(
            r"\b(from|join) ([pqr])\b( as)?", lambda at: f"{at[1]} gold.{at[2]} as{'' if at[3] else f' {at[2]}'}", query
        )
        text = re.sub(
            r"\bfrom ([lm])\b", lambda at: f"from (select {LANDED_AS} from bronze.{LANDED[at[1]]}) as {at[1]}", text
        )
        asked = replace(declared.by_table["gold.p"], text=text, inputs=sqltext.read(text, "value.sql").inputs)
        lowered = partial(lower, declared, asked, _type, lambda *_: False, joins_queries=True)
        is_free = partial(unions.are_free, column=_type, origins=declared.kafka_topics)
        return queries.Side(lowered(), lowered, is_free, _type)

    return found


def _table(name: str, columns: str) -> str:
    fields = ", ".join(f"cast(null as {each.split()[1]}) as {each.split()[0]}" for each in columns.split(", "))
    header = f"/*\nValues of {name}: one row per value.\n\nmaterialized: append\n*/\n"
    return f"{header}select {fields}, _arrival\nfrom stream bronze.{TOPICS[name]}\n"


def _type(atom: Atom) -> str | None:
    return LANDED_TYPES.get(atom.column) or COLUMNS.get(atom.column) or QUERIED.get(atom.column)


@pytest.mark.parametrize(("one", "other"), [*ALIKE, *AGGREGATED_ALIKE])
def test_what_spark_takes_for_the_same_is_the_same(one: str, other: str, made: Made) -> None:
    assert made(one).key == made(other).key


@pytest.mark.parametrize(("one", "other"), [*QUERIES_ALIKE, *UNIONS_ALIKE])
def test_queries_with_the_same_rows_are_the_same(one: str, other: str, sided: Sided) -> None:
    assert queries.same(sided(one), sided(other))


@pytest.mark.parametrize(("one", "other"), [*QUERIES_OTHER, *QUERIES_UNCERTAIN, *UNIONS_OTHER, *UNIONS_UNCERTAIN])
def test_queries_with_other_rows_are_others(one: str, other: str, sided: Sided) -> None:
    assert not queries.same(sided(one), sided(other))


SWAPPED_LOOKUPS = (
    "select p.k, a.y, b.z, p._arrival from {p} as p left join {q} as a on p.k = a.k left join {r} as b on p.x = b.k",
    "select p.k, a.y, b.z, p._arrival from {p} as p left join {r} as b on p.x = b.k left join {q} as a on p.k = a.k",
)
ONE_ROW_PER_KEY = {
    "p": "p",
    "q": "(select k, max(y) as y from q group by k)",
    "r": "(select k, max(z) as z from r group by k)",
}


ONE_ROW_PER_TEXT = "(select s as k, max(x) as z from p group by s)"
"""A key that is compared as a number, as which several texts are the same."""
SEVERAL_OF_ONE = "(select k, x, explode(array(1, x)) as v, _arrival from p)"


@pytest.mark.parametrize(
    ("tables", "is_same"),
    [
        (ONE_ROW_PER_KEY, True),
        ({"p": "p", "q": "q", "r": "r"}, False),
        ({**ONE_ROW_PER_KEY, "r": ONE_ROW_PER_TEXT}, False),
        ({**ONE_ROW_PER_KEY, "p": SEVERAL_OF_ONE}, False),
    ],
)
def test_order_of_joins_counts_where_one_of_several_rows_is_kept(
    tables: dict[str, str], is_same: bool, sided: Sided
) -> None:
    one, other = (replace(sided(query.format(**tables)), keeps_one=True) for query in SWAPPED_LOOKUPS)
    assert queries.same(one, other) == is_same


@pytest.mark.parametrize("query", QUERIES_REFUSED)
def test_what_spark_may_read_otherwise_is_not_judged(query: str, sided: Sided) -> None:
    with pytest.raises(NotUnderstood):
        sided(query)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_only_looks_alike_is_another(one: str, other: str, made: Made) -> None:
    assert made(one).key != made(other).key


@pytest.mark.parametrize(("expression", "type_"), [*TYPED, *AGGREGATED_TYPED, *((each, None) for each in UNTYPED)])
def test_type_is_known_where_it_is_certain(expression: str, type_: str | None, made: Made) -> None:
    assert type_of(made(expression).tree, of_atoms(_type)) == type_


@pytest.mark.parametrize("expression", NULL_OF_NULLS)
def test_expression_is_null_where_all_columns_are(expression: str, made: Made) -> None:
    assert is_null_of_nulls(made(expression).tree)


@pytest.mark.parametrize("expression", NOT_NULL_OF_NULLS)
def test_expression_may_have_a_value_of_nulls(expression: str, made: Made) -> None:
    assert not is_null_of_nulls(made(expression).tree)


def test_every_function_of_nulls_is_tried(made: Made) -> None:
    called = {node.name.lower() for each in NULL_OF_NULLS for node in made(each).tree.find_all(exp.Anonymous)}
    assert STRICT - called == set()
