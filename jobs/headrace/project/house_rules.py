"""House rules: what Spark would run, and nobody should rely on; a header may allow some of it, with a reason."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import Finding
from headrace.project import graph
from headrace.project.draft import Draft
from headrace.project.flow import Flow
from headrace.project.model import Model
from headrace.project.stream_rules import group_keys, streaming_flows
from headrace.project.tracing import Made, Source, Stored

CLOCKS = frozenset({"current_timestamp", "current_date", "current_time", "curdate", "localtimestamp", "now"})
CHANCE = frozenset({"monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"})
_WINDOWS = ("window", "session_window")
_GLUE = (exp.Concat, exp.ConcatWs, exp.DPipe)


def concatenated_keys(draft: Draft) -> Iterator[Finding]:
    """A key is a list of columns; glued texts of two different keys may be the same."""
    for file in draft.files:
        flow, model = draft.flows[file.model.table], file.model
        if flow.file is not file or not any(map(_may_glue, (model, *graph.views(model, draft.models)))):
            continue
        for key, column in _key_columns(model):
            if any(_is_glued(source) for _, source in flow.all_ends_of(column)):
                advice = "to_json(array(a, b))" if key == "publish.key" else f"{key.split('.')[0]}: [a, b]"
                message = f"`{column}` glues columns together, so two keys may give one text; write `{advice}`"
                yield Finding(draft.place(model, key), "concatenated-key", message)
        for part in _keys_in_text(flow):
            if any(_is_glued(source) for _, source in flow.all_ends(part)):
                message = "a key of glued columns: two keys may give one text; name the columns one by one"
                yield Finding(flow.place(part), "concatenated-key", message)


def clocks_in_streams(draft: Draft) -> Iterator[Finding]:
    """A model in the streaming engine tells the same when it is built again from the same rows."""
    for file in _streaming_files(draft):
        for call in file.file.text.calls:
            if call.name in CLOCKS or (call.name == "unix_timestamp" and not call.has_arguments):
                message = f"`{call.name}` is the time of the batch, and another one when the model is built again"
                yield Finding(call.place, "current-time", f"{message}; use the event time or `landed_at`")
            elif call.name in CHANCE:
                message = f"`{call.name}` differs when a batch runs again; make the value from columns, such as a hash"
                yield Finding(call.place, "non-deterministic", message)


def processing_time_windows(draft: Draft) -> Iterator[Finding]:
    """A window counts what happened in it, not what landed in it."""
    for file in draft.files:
        flow = draft.flows[file.model.table]
        if not any(call.name in _WINDOWS for call in file.text.calls):
            continue
        for call in file.text.statement.tree.find_all(exp.Anonymous):
            if call.name.lower() not in _WINDOWS or not call.expressions:
                continue
            if any(_is_processing_time(source) for _, source in flow.all_ends(call.expressions[0])):
                message = "this window counts rows when they land, not when they happened; use the event time"
                yield Finding(flow.place(call.expressions[0]), "processing-time", message)


def _streaming_files(draft: Draft) -> Iterator[Flow]:
    flows = {flow.file.model.path: flow for _, flow in streaming_flows(draft)}
    yield from flows.values()


def _key_columns(model: Model) -> Iterator[tuple[str, str]]:
    for key, columns in (("unique_key", model.unique_key), ("once_per", model.once_per)):
        for index, column in enumerate(columns):
            yield (f"{key}.{index}" if f"{key}.{index}" in model.header_places else key), column
    if model.publish:
        yield "publish.key", model.publish.key


def _keys_in_text(flow: Flow) -> Iterator[exp.Expr]:
    for scope in flow.selects:
        select = scope.expression
        yield from group_keys(scope) if select.args.get("group") else ()
        for window in scope.find_all(exp.Window):
            yield from window.args.get("partition_by") or ()
        for join in select.args.get("joins") or ():
            for equal in join.args["on"].find_all(exp.EQ) if join.args.get("on") else ():
                yield from (equal.left, equal.right)


def _may_glue(model: Model) -> bool:
    text = model.text.lower()
    return "concat" in text or "||" in text


def _is_glued(source: Source) -> bool:
    if not isinstance(source, Made):
        return False
    glue = source.expression
    return isinstance(glue, _GLUE) and len({column.sql() for column in glue.find_all(exp.Column)}) > 1


def _is_processing_time(source: Source) -> bool:
    if isinstance(source, Stored):
        return source.table.startswith("bronze.") and source.column.lower() == "landed_at"
    name = source.expression.name if isinstance(source.expression, exp.Anonymous) else source.expression.key
    return name.lower().replace("currenttimestamp", "current_timestamp") in CLOCKS
