"""Rules about what Spark's streaming engine cannot do, in terms of SQL, each with an alternative."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project.flows.draft import Draft, streaming_flows
from headrace.project.flows.flow import Flow
from headrace.project.sql.selects import group_keys

PER_BATCH = "per micro-batch (without WATERMARK) it runs over the rows of each batch"

SET_OPERATIONS: dict[type[exp.Expr], str] = {exp.Intersect: "intersect", exp.Except: "except"}


def ranked_streams(draft: Draft) -> Iterator[Finding]:
    """A window function needs rows that have an order, and a stream has none but that of time."""
    for _, flow in streaming_flows(draft):
        for scope in _moving(flow):
            for window in scope.find_all(exp.Window):
                message = f"`over (...)` ranks rows, and a stream never has them all; {PER_BATCH}"
                yield Finding(flow.place(window), "cannot-stream", f"{message}, ordered by `_arrival`")


def sorted_streams(draft: Draft) -> Iterator[Finding]:
    """A stream has no end, so it cannot be sorted or skipped into."""
    for model, flow in streaming_flows(draft):
        for scope in _moving(flow):
            for key, words in (("order", "order by"), ("offset", "offset")):
                if clause := scope.expression.args.get(key):
                    message = f"`{words}` needs the end of the stream; take it out, and sort where the table is read"
                    yield Finding(flow.place(clause), "cannot-stream", message)
            if (limit := scope.expression.args.get("limit")) and model.output_mode == "update":
                message = "`limit` cannot run in update mode; take it out, or `output_mode: append`"
                yield Finding(flow.place(limit), "cannot-stream", message)


def distinct_counts(draft: Draft) -> Iterator[Finding]:
    """Counting distinct values would keep every value."""
    for _, flow in streaming_flows(draft):
        for scope in _moving(flow):
            for call in scope.find_all(exp.AggFunc):
                if isinstance(call.this, exp.Distinct):
                    message = (
                        "`distinct` in an aggregate cannot stream; use approx_count_distinct, or group by the value"
                    )
                    yield Finding(flow.place(call), "cannot-stream", f"{message} in one model and count in the next")


def stream_subqueries(draft: Draft) -> Iterator[Finding]:
    """A stream is joined, never looked into."""
    for _, flow in streaming_flows(draft):
        for scope in _moving(flow):
            if scope.is_subquery and scope.expression.find_ancestor(exp.In, exp.Exists, exp.Subquery) is not None:
                message = (
                    "a stream inside `in`, `exists` or a value cannot run; write `left semi join` with a time bound"
                )
                yield Finding(flow.place(scope.expression), "cannot-stream", message)


def stream_set_operations(draft: Draft) -> Iterator[Finding]:
    """Streams are united, not compared as sets."""
    for _, flow in streaming_flows(draft):
        for scope in flow.tracing.scopes:
            words = SET_OPERATIONS.get(type(scope.expression))
            if words and flow.moves(scope):
                join = "left semi join" if words == "intersect" else "left join ... where right.key is null"
                message = f"`{words}` of streams cannot run; write `{join}` with a time bound"
                yield Finding(flow.place(scope.expression), "cannot-stream", message)


def session_windows(draft: Draft) -> Iterator[Finding]:
    """Sessions belong to a key, and are emitted once they are over."""
    for model, flow in streaming_flows(draft):
        for scope in _moving(flow):
            keys = group_keys(scope)
            sessions = [key for key in keys if _is_call(flow, key, "session_window")]
            if sessions and len(keys) == 1:
                message = (
                    "`session_window` alone fails at the first row; group by a key beside it, `1` if there is none"
                )
                yield Finding(flow.place(sessions[0]), "cannot-stream", message)
            elif sessions and model.output_mode == "update":
                message = "`session_window` cannot run in update mode; write `output_mode: append`"
                yield Finding(flow.place(sessions[0]), "cannot-stream", message)


def _is_call(flow: Flow, key: exp.Expr, name: str) -> bool:
    made = (getattr(source, "expression", None) for source in flow.tracing.ends(key))
    return any(isinstance(each, exp.Anonymous) and each.name.lower() == name for each in made)


def _moving(flow: Flow) -> Iterator[Scope]:
    yield from (scope for scope in flow.selects if flow.moves(scope))
