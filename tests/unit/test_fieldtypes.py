"""Spark types as text."""

from __future__ import annotations

import pytest

from headrace.project.declarations import fieldtypes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BIGINT", "bigint"),
        ("long", "bigint"),
        ("decimal(10, 2)", "decimal(10,2)"),
        ("decimal", "decimal(10,0)"),
        ("array<string>", "array<string>"),
        ("map<string,array<int>>", "map<string, array<int>>"),
        ("struct<orderId long, `a b`: string>", "struct<orderId: bigint, `a b`: string>"),
    ],
)
def test_types_are_written_one_way(text, expected):
    assert fieldtypes.canonical(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "text", "int, int", "string string", "decimal(", "decimal(40)", "decimal(2,3)"),
        *("array", "array<", "array<int", "array<int>>", "array<" * 5000),
        *("map<string>", "struct<>", "struct<a: foo>", "struct<a: int not null>"),
    ],
)
def test_nonsense_is_no_type(text):
    with pytest.raises(ValueError):
        fieldtypes.canonical(text)


def test_misspelt_type_suggests_the_nearest():
    with pytest.raises(ValueError, match="Did you mean timestamp"):
        fieldtypes.canonical("timestmp")


def test_not_null_makes_a_field_required():
    assert fieldtypes.split_required("array<int>  NOT NULL ") == ("array<int>", True)
    assert fieldtypes.split_required("array<int>") == ("array<int>", False)
