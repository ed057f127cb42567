"""A SQL expression inside YAML: does it parse, and which columns does it name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from sqlglot import exp

from headrace.errors import Finding, InvalidProject
from headrace.project.sql import calls, dialect
from headrace.project.sql.calls import Call
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard import costs, refusals, routines

_SELECT = "select "


def columns_of(text: str) -> tuple[str, ...]:
    """Return the columns that an expression names, as first parts; ValueError where it is no plain expression."""
    expression = _expression(text)
    if isinstance(expression, (exp.Alias, exp.Aliases)) or expression.is_star or expression.find(exp.Query):
        raise ValueError("an expression here has no alias, no `*` and no subquery")
    if expression.find(exp.AggFunc, exp.Window, exp.UDTF):
        raise ValueError("an expression here is about one row: no aggregate, no window and nothing that makes rows")
    if expression.find(exp.Placeholder, exp.Parameter):
        raise ValueError("an expression here takes no parameters; compute it as a column of the query")
    return tuple(dict.fromkeys(part.name for part in _first_parts(expression)))


def paths_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the columns that an expression names, with the members that follow: `data.at` is (data, at)."""
    found = sorted(_expression(text).find_all(exp.Column), key=lambda column: _offset(column.parts[0]))
    return tuple(dict.fromkeys(tuple(part.name for part in column.parts) for column in found))


def with_values(text: str, values: Mapping[str, str]) -> str | None:
    """Replace the columns of these names, in any case of letters, by SQL; None if that could change the meaning.

    Where a struct is made, the name of a column may become that of a field; some columns have no place in the text.
    """
    expression = _expression(text)
    parts = _first_parts(expression)
    if expression.find(exp.Struct) or not all("start" in part.meta for part in parts):
        return None
    known = {column.lower(): value for column, value in values.items()}
    for part in reversed(parts):
        start, end = (int(part.meta[at]) - len(_SELECT) for at in ("start", "end"))
        text = f"{text[:start]}{known.get(part.name.lower(), text[start : end + 1])}{text[end + 1 :]}"
    return text


def calls_of(text: str) -> tuple[Call, ...]:
    """Return the function calls in an expression; their places are offsets in it, not in its file."""
    return calls.calls(_statement(text))


def unexplained(text: str) -> tuple[Call, ...]:
    """Return the calls in an expression of functions that only its project knows; places are as in `calls_of`."""
    statement = _statement(text)
    return routines.unexplained(statement, calls.calls(statement))


def costs_of(text: str) -> tuple[Finding, ...]:
    """Return what in an expression has no bound; places are as in `calls_of`."""
    return costs.of(_statement(text)).findings


def refusal(text: str) -> str | None:
    """Return why an expression is not allowed in any project, if so."""
    return next((found.message for found in refusals.text_refusals(_statement(text))), None)


@lru_cache(maxsize=512)
def _statement(text: str) -> Statement:
    try:
        return dialect.parse(f"{_SELECT}{text}", "")
    except InvalidProject as error:
        raise ValueError(error.findings[0].message) from None


def _expression(text: str) -> exp.Expr:
    tree = _statement(text).tree
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.args.get("from_"):
        raise ValueError("this is not one expression")
    found: exp.Expr = tree.expressions[0]
    return found


def _first_parts(expression: exp.Expr) -> list[exp.Expr]:
    """The first parts of its columns as they stand in the text; the variables of lambdas are no columns."""
    return sorted((column.parts[0] for column in expression.find_all(exp.Column)), key=_offset)


def _offset(identifier: exp.Expr) -> int:
    return int(identifier.meta.get("start", 0))
