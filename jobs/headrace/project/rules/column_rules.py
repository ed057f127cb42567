"""Names that columns of a stored model cannot have: doubles, headrace's own, and what a Delta table does not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from headrace.errors import Finding, Place
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import Model
from headrace.project.sql import result_columns

ORDER = "_arrival"
READ = frozenset({"_deleted", "_valid_from", "_valid_to"})
"""headrace's own columns that a model may read, and may store unless its table has them already."""

_NOT_IN_NAMES = frozenset(" ,;{}()\n\t=`")
"""What a name cannot hold.

A Delta table without column mapping takes none of these (Delta protocol, "Column Mapping"), except for the back quote:
that would end the name where headrace writes it into SQL.
"""

Named = tuple[str, Finding]
"""A column, and what is wrong with its name; the place is that of the file."""


def faults(model: Model, columns: Sequence[str]) -> Iterator[Named]:
    """What is wrong with the names of a stored model's columns."""
    yield from unfit(model, columns)
    allowed = {ORDER} if model.materialized == "upsert" else {ORDER, *READ}
    for column in columns:
        if column.startswith("_") and column.lower() not in allowed:
            other = column.lstrip("_") or "name"
            message = f"{column}: names that start with `_` are headrace's own; write `as {other}`"
            yield column, Finding(Place(model.path), "reserved-column", message)


def unfit(model: Model, columns: Sequence[str]) -> Iterator[Named]:
    """What is wrong with names beside each other, as columns or in a struct."""
    often = Counter(map(str.lower, columns))
    for column in columns:
        if often.pop(column.lower(), 0) > 1:
            spelt = ", ".join(dict.fromkeys(each for each in columns if each.lower() == column.lower()))
            message = f"several are named {spelt}, and case does not tell columns apart; rename all but one"
            yield column, Finding(Place(model.path), "duplicate-column", message)
        if not _NOT_IN_NAMES.isdisjoint(column):
            message = f"`{column}`: a Delta table takes no space and none of , ; {{ }} ( ) = ` in a name; rename it"
            yield column, Finding(Place(model.path), "bad-name", message)


def column_names(draft: Draft) -> Iterator[Finding]:
    """Columns of stored models have names that a table can have, as far as the text shows them."""
    for model in draft.models.values():
        flow = draft.flows[model.table]
        names = result_columns.names(result_columns.of(flow.tracing.scopes)) or ()
        for column, finding in faults(model, names) if model.materialized != "view" else ():
            yield replace(finding, place=_place(flow, column))


def _place(flow: Flow, column: str) -> Place:
    """Where the last select names a column, else where it starts."""
    scopes = flow.tracing.scopes
    while scopes[-1].set_operation_scopes:
        scopes = [*scopes[-1].set_operation_scopes[:1]]
    select = scopes[-1].expression
    made = select.selects if isinstance(select, exp.Select) else []
    return flow.place(next((each for each in made if each.output_name == column), select))
