"""What only `make long` tests: the rest of the cases of which every run tests a part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def long(*values: Any) -> Any:
    """One case for `parametrize` that is run by `make long` only."""
    return pytest.param(*values, marks=pytest.mark.long)


def one_of(number: int, values: Iterable[Any]) -> list[Any]:
    """Cases for `parametrize`: every run tests the first of each `number` values; a tuple is several arguments."""
    return [value if at % number == 0 else long(*_arguments(value)) for at, value in enumerate(values)]


def _arguments(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
