"""Rules about the functions that SQL calls: Spark's, the project's macros, and those its manifest allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace.errors import Finding, Place
from headrace.project.flows.draft import Draft
from headrace.project.sql import expressions
from headrace.project.sql.calls import Call
from headrace.project.sql.guard import routines


def unknown_functions(draft: Draft) -> Iterator[Finding]:
    """Every function is known to compute from its arguments, wherever SQL stands: what is not known is refused."""
    for call in (*_in_sql(draft), *_in_expressions(draft)):
        if call.name not in draft.functions:
            yield Finding(call.place, "not-allowed", routines.complaint(call.name, draft.functions))


def _in_sql(draft: Draft) -> Iterator[Call]:
    for file in draft.files:
        yield from file.text.unexplained
    for macro in draft.macros:
        yield from macro.unexplained


def _in_expressions(draft: Draft) -> Iterator[Call]:
    for place, text in draft.expressions():
        yield from _placed(text, place)


def _placed(text: str, place: Place) -> Iterator[Call]:
    """The calls in an expression, at the place of the whole; one that cannot be read has a finding of its own."""
    try:
        found = expressions.unexplained(text)
    except ValueError:
        return
    yield from (replace(call, place=place) for call in found)
