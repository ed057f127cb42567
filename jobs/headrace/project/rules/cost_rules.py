"""Rules about what a few rows and lines may make: sizes, patterns, and macros and views that multiply each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from headrace.errors import Finding
from headrace.project import dag
from headrace.project.declarations.macros import MacroFile
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.flows.draft import Draft
from headrace.project.sql import expressions
from headrace.project.sql.guard import costs, sizes
from headrace.project.sql.guard.forms import written
from headrace.project.sql.scopes import table_name

MOST_CALLS, MOST_READS = 1_000, 500
"""How many calls of macros and reads of relations a text may come to: Spark takes a minute to plan so many reads."""

_CALLS = f"calls of macros; {MOST_CALLS:,} are the most here: let one pass its result on"
_READS = f"reads of tables; {MOST_READS:,} are the most here: store a part of it"


def copies(draft: Draft) -> Iterator[Finding]:
    """Spark puts the text of a macro, a view and a CTE wherever it is named, so that two in each other double."""
    counts = dict[str, int]()
    for macro in _macros_in_order(draft):
        calls = [(counts.get(call.name, 0), call.place) for call in macro.calls]
        counts[macro.macro.name] = 1 + sum(count for count, _ in calls)
        if counts[macro.macro.name] > MOST_CALLS:
            yield Finding(max(calls)[1], "not-allowed", _message(counts.pop(macro.macro.name), _CALLS))
    for file in _files_in_order(draft):
        calls = [(counts.get(call.name, 0), call.place) for call in file.text.calls]
        if (count := sum(count for count, _ in calls)) > MOST_CALLS:
            yield Finding(max(calls)[1], "not-allowed", _message(count, _CALLS))
    yield from _copied_relations(draft)


def unbounded_costs(draft: Draft) -> Iterator[Finding]:
    """A record may hold any number and any text, and one of them must not end the run."""
    for file in draft.files:
        yield from file.text.costs.findings
    for macro in draft.macros:
        yield from macro.costs.findings
    for place, text in draft.expressions():
        yield from (replace(found, place=place) for found in _costs(text))
    yield from _together(draft)


def _copied_relations(draft: Draft) -> Iterator[Finding]:
    views = dict[str, int]()
    for file in _files_in_order(draft):
        found = dict[int, int]()
        count = _relations(file.text.statement.tree, views, found)
        if count > MOST_READS:
            place = file.text.statement.place(max(found, key=lambda at: found[at]))
            yield Finding(place, "not-allowed", _message(count, _READS))
        elif file.model.materialized == "view":
            views[file.model.table] = max(count, 1)


def _message(count: int, what: str) -> str:
    return f"once all macros, views and CTEs are expanded, this is {count:,} {what}"


def _relations(node: exp.Expr, known: Mapping[str, int], found: dict[int, int]) -> int:
    """How many relations a query reads once CTEs and views stand in their place; the larger ones go into `found`."""
    with_ = node.args.get("with_")
    for cte in with_.expressions if with_ is not None else ():
        known = {**known, cte.alias.lower(): max(_relations(cte, known, found), 1)}
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        count = known.get(table_name(node).lower(), 1)
        found[int(node.parts[0].meta.get("start", 0))] = count
        return count
    return sum(_relations(child, known, found) for child in node.iter_expressions() if child is not with_)


def _together(draft: Draft) -> Iterator[Finding]:
    """What macros and views make counts where they are named; few make more than they are given."""
    known = dict[str, Decimal]()
    for macro in _macros_in_order(draft):
        if macro.costs.weight > 1 or known.keys() & {call.name for call in macro.calls}:
            yield from costs.together(macro.macro.text, macro.macro.path, known)
            known[macro.macro.name] = sizes.weight(written(macro.macro.text, macro.macro.path), known)
    for file in _files_in_order(draft):
        named = {call.name for call in file.text.calls} | {each.table for each in file.model.inputs}
        if known.keys() & named:
            yield from costs.together(file.text.statement.text, file.model.path, known)
        if file.model.materialized == "view" and (file.text.costs.weight > 1 or known.keys() & named):
            known[file.model.table] = sizes.weight(written(file.text.statement.text, file.model.path), known)


def _macros_in_order(draft: Draft) -> Sequence[MacroFile]:
    known = {macro.macro.name: macro for macro in draft.macros}
    needs = {name: sorted({call.name for call in macro.calls} & known.keys()) for name, macro in known.items()}
    return () if dag.cycles(needs) else [known[name] for name in dag.order(needs)]


def _files_in_order(draft: Draft) -> Sequence[ModelFile]:
    """The models, each after the views that it reads."""
    known = {file.model.table: file for file in draft.files}
    views = {table for table, file in known.items() if file.model.materialized == "view"}
    needs = {table: sorted({each.table for each in file.model.inputs} & views) for table, file in known.items()}
    return () if dag.cycles(needs) else [known[table] for table in dag.order(needs)]


def _costs(text: str) -> tuple[Finding, ...]:
    """What an expression has; one that cannot be read has a finding of its own."""
    try:
        return expressions.costs_of(text)
    except ValueError:
        return ()
