"""The key `tests` of a header."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject
from headrace.project.declarations import header
from headrace.project.model import DataTest
from headrace.project.sql import expressions


def read(yaml: str) -> tuple[DataTest, ...]:
    return header.read(f"/*\nOne row.\n\n{yaml}\n*/", "m.sql").tests


def summary(yaml: str) -> list[tuple[str, str, str]]:
    return [(test.name, test.fails, test.on_failure) for test in read(yaml)]


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("tests: {columns: {a: not_null}}", ("a_not_null", "`a` is null", "warn")),
        ("tests: {columns: {a: [unique]}}", ("a_unique", "`a` is not null", "warn")),
        ("tests:\n  columns:\n    a:\n      - not_null:", ("a_not_null", "`a` is null", "warn")),
        ("tests: {columns: {'a`b': not_null}}", ("a`b_not_null", "`a``b` is null", "warn")),
        (
            "tests: {columns: {a: [{not_null: {on_failure: stop}}]}}",
            ("a_not_null", "`a` is null", "stop"),
        ),
        (
            "tests: {columns: {a: [{accepted_values: [x, it's, 1, true]}]}}",
            ("a_accepted_values", "`a` not in ('x', 'it\\'s', 1, true)", "warn"),
        ),
        (
            "tests: {on_failure: stop, columns: {a: {accepted_values: {values: [1], on_failure: dead_letter}}}}",
            ("a_accepted_values", "`a` not in (1)", "dead_letter"),
        ),
        ("tests: {on_failure: dead_letter, rows: {small: a < 9}}", ("small", "not (a < 9\n)", "dead_letter")),
        ("tests: {rows: {small: {expression: a < 9, on_failure: stop}}}", ("small", "not (a < 9\n)", "stop")),
    ],
)
def test_test_is_read(yaml, expected):
    assert summary(yaml) == [expected]


def test_relationship_names_table_and_field():
    (test,) = read("tests: {columns: {a: [{relationships: {to: silver.x, field: y}}]}}")
    assert (test.name, test.column, test.to, test.field) == ("a_relationships", "a", "silver.x", "y")


def test_tests_come_in_their_order():
    tests = read("tests: {columns: {b: [unique, not_null], a: unique}, rows: {z: a > b}}")
    assert [test.name for test in tests] == ["b_unique", "b_not_null", "a_unique", "z"]


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("tests: {columns: {a: [uniqe]}}", (4, 23, "unknown-key")),
        ("tests: {columns: {a: [unique, not_nul]}}", (4, 31, "unknown-key")),
        ("tests: {columns: {a: notnull}}", (4, 22, "unknown-key")),
        ("tests: {columns: {a: [{accepted_value: [1]}]}}", (4, 23, "unknown-key")),
        ("tests:\n  columns:\n    a:\n      - accepted_values:", (7, 9, "missing-key")),
        ("tests: {columns: {a: [{unique: {}, not_null: {}}]}}", (4, 23, "bad-value")),
        ("tests: {columns: {a: []}}", (4, 22, "bad-value")),
        ("tests: {columns: {a: [{accepted_values: []}]}}", (4, 41, "bad-value")),
        ("tests: {columns: {a: [{relationships: {to: silver.x}}]}}", (4, 24, "missing-key")),
        ("tests: {columns: {a: [unique, unique]}}", (4, 8, "bad-value")),
        ("tests: {columns: {a: [unique]}, rows: {a_unique: a > 1}}", (4, 8, "bad-value")),
        ("tests: {rows: {Big: a > 1}}", (4, 21, "bad-name")),
        ("tests: {rows: {big: a >}}", (4, 21, "syntax")),
        ("tests: {on_failure: ignore}", (4, 21, "bad-value")),
    ],
)
def test_broken_test_has_a_finding(yaml, expected):
    with pytest.raises(InvalidProject) as caught:
        read(yaml)
    assert [(found.place.line, found.place.column, found.code) for found in caught.value.findings] == [expected]


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("notnull", "Did you mean not_null?"),
        ("accepted_value", "Did you mean accepted_values?"),
        ("check", "Known here: unique, not_null, accepted_values, relationships."),
    ],
)
def test_unknown_test_is_reported_with_the_nearest(word, advice):
    with pytest.raises(InvalidProject) as caught:
        read(f"tests: {{columns: {{a: [{word}]}}}}")
    assert caught.value.findings[0].message.endswith(advice)


def test_expression_may_end_with_a_comment():
    (test,) = read("tests:\n  rows:\n    positive: value > 0 -- never negative")
    assert expressions.columns_of(test.fails) == ("value",)
