"""Values of Python as literals of Spark SQL."""

from __future__ import annotations

from typing import Any


def quoted(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literal(value: Any, in_brackets: bool = False) -> str:
    """The value of a parameter as SQL; of a list in the brackets of an IN, the values alone.

    Nothing can be empty there, and nothing is in a list of null.
    """
    if not is_list(value):
        return quoted(value) if isinstance(value, str) else "null" if value is None else str(value).lower()
    values = ", ".join(map(literal, value))
    return values or "null" if in_brackets else f"array({values})"


def is_list(value: Any) -> bool:
    """Whether the value of a parameter is a list."""
    return isinstance(value, (list, tuple))
