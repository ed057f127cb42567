"""An aggregate over a stream of which no group ever ends."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project import graph
from headrace.project.flows.draft import Draft, streaming_flows
from headrace.project.flows.flow import Flow
from headrace.project.rules.reading_rules import unknown_event_times
from headrace.project.sql.selects import group_keys

_WATERMARK = "watermark <time> delay of interval <how late>"


def unbounded_aggregates(draft: Draft) -> Iterator[Finding]:
    """A group ends at some time, otherwise its state stays permanently; models with a misspelt time are left out."""
    misspelt = {finding.place.path for finding in unknown_event_times(draft)}
    for model, flow in streaming_flows(draft):
        if misspelt & {part.path for part in (model, *graph.views(model, draft.models))}:
            continue
        for scope in flow.selects:
            if not _is_aggregate(scope) or not flow.moves(scope):
                continue
            if message := _endless(flow, scope):
                is_update = model.output_mode == "update"
                place = flow.place(scope.expression)
                yield Finding(place, "unbounded-state" if is_update else "cannot-stream", message)


def _endless(flow: Flow, scope: Scope) -> str | None:
    """Why no group of an aggregate ever ends."""
    if not flow.has_watermark(scope):
        message = f"without a watermark no group ever ends and its state grows without bound; write `{_WATERMARK}`"
        return f"{message} after the stream"
    if not any(flow.is_time(key) is not False for key in group_keys(scope)):
        message = "no group key is a window or the event time, so no group ever ends; group by `window(...)` too"
        return f"{message}, or let it run per micro-batch"
    return None


def _is_aggregate(scope: Scope) -> bool:
    select = scope.expression
    if select.args.get("group") or select.args.get("distinct"):
        return True
    return any(call.find_ancestor(exp.Window, exp.Select) is select for call in scope.find_all(exp.AggFunc))
