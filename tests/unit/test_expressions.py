"""SQL expressions inside YAML."""

from __future__ import annotations

import pytest

from headrace.project import expressions


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
