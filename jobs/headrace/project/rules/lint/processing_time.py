"""A window over the time of landing."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import Finding
from headrace.project.flows.draft import Draft
from headrace.project.rules.lint.current_time import CLOCKS
from headrace.project.sql.tracing import Source, Stored

_WINDOWS = ("window", "session_window")


def processing_time_windows(draft: Draft) -> Iterator[Finding]:
    """A window counts what happened in it, not what landed in it."""
    for file in draft.files:
        flow = draft.flows[file.model.table]
        if not any(call.name in _WINDOWS for call in file.text.calls):
            continue
        for call in file.text.statement.find_all(exp.Anonymous):
            if call.name.lower() not in _WINDOWS or not call.expressions:
                continue
            if any(_is_processing_time(source) for _, source in flow.all_ends(call.expressions[0])):
                message = "this window counts rows when they land, not when they happened; use the event time"
                yield Finding(flow.place(call.expressions[0]), "processing-time", message)


def _is_processing_time(source: Source) -> bool:
    if isinstance(source, Stored):
        return source.table.startswith("bronze.") and source.column.lower() == "landed_at"
    name = source.expression.name if isinstance(source.expression, exp.Anonymous) else source.expression.key
    return name.lower().replace("currenttimestamp", "current_timestamp") in CLOCKS
