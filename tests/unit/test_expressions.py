"""SQL expressions inside YAML."""

from __future__ import annotations

import pytest

from headrace.project.sql import expressions


def test_columns_are_named_once_by_their_first_part():
    assert expressions.columns_of("size(items) = 0 or data.id <> key or size(items) > 9") == ("items", "data", "key")


def test_lambda_arguments_are_no_columns():
    assert expressions.columns_of("exists(items, i -> i.id = 1)") == ("items",)


@pytest.mark.parametrize(
    "text", ["", "a =", "a, b", "a as b", "*", "1 from t", "(select 1)", "a; b", "exists (select 1)"]
)
def test_only_one_plain_expression_is_allowed(text):
    with pytest.raises(ValueError):
        expressions.columns_of(text)


@pytest.mark.parametrize(
    "text",
    ["sum(a) > 1", "a > max(b)", "count(*) > 1", "row_number() over (order by a) = 1", "explode(a) is null",
     "coalesce(any_value(a), b)", "a > sum(b) over ()", "collect_list(a)[0] = 1", "listagg(a) = ''"],
)  # fmt: skip
def test_expression_is_about_one_row(text: str) -> None:
    with pytest.raises(ValueError, match="about one row"):
        expressions.columns_of(text)


@pytest.mark.parametrize(
    "text",
    ["array_max(a) > 1", "aggregate(a, 0, (x, y) -> x + y) > 1", "greatest(a, b)", "size(filter(a, x -> x > 1))",
     "a[0]", "exists(a, x -> x)", "if(a, b, c)", "array(a, b)",
     "map(a, b)", "date_add(a, 3)", "array_join(array_sort(a), ',')", "arrays_zip(a, b)", "split(a, ',')[0]",
     "from_json(a, 'b int').b", "a between b and c", "sequence(1, a)", "flatten(a)", "transform(a, x -> x + 1)"],
)  # fmt: skip
def test_what_takes_one_row_apart_is_about_it(text: str) -> None:
    assert expressions.columns_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id <> key", "data.`id` <> cast(key as string)"),
        ("ID <> `id` or x.id", "data.`id` <> data.`id` or x.id"),
        ("size(items) = 0 -- id", "size(items) = 0 -- id"),
        ("exists(id, id -> id > 1)", "exists(data.`id`, id -> id > 1)"),
        ("interval 1 key > id.key", "interval 1 key > data.`id`.key"),
        ("'id' = key and clé = id", "'id' = cast(key as string) and clé = data.`id`"),
        ("extract(day from id) = day", "extract(day from data.`id`) = day"),
    ],
)
def test_values_take_the_place_of_columns(text: str, expected: str) -> None:
    assert expressions.with_values(text, {"id": "data.`id`", "key": "cast(key as string)"}) == expected


@pytest.mark.parametrize("text", ["struct(id).id = 1", "named_struct('a', id).a = 1"])
def test_names_of_fields_that_a_struct_takes_from_columns_stay(text: str) -> None:
    assert expressions.with_values(text, {"id": "data.id"}) is None
