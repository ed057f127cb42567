"""A key of concatenated columns: two keys may give one text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.errors import Finding
from headrace.project import graph
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import Model
from headrace.project.sql.selects import find_all, group_keys
from headrace.project.sql.tracing import Made, Source

_CONCATENATIONS = (exp.Concat, exp.ConcatWs, exp.DPipe)


def concatenated_keys(draft: Draft) -> Iterator[Finding]:
    """A key is a list of columns; the concatenated texts of two different keys may be the same."""
    for file in draft.files:
        flow, model = draft.flows[file.model.table], file.model
        if flow.file is not file or not any(map(_may_concatenate, (model, *graph.views(model, draft.models)))):
            continue
        for key, column in _key_columns(model):
            if any(_is_concatenated(source) for _, source in flow.all_ends_of(column)):
                advice = "to_json(array(a, b))" if key == "publish.key" else f"{key.split('.')[0]}: [a, b]"
                message = f"`{column}` glues columns together, so two keys may give one text; write `{advice}`"
                yield Finding(draft.place(model, key), "concatenated-key", message)
        for part in _keys_in_text(flow):
            if any(_is_concatenated(source) for _, source in flow.all_ends(part)):
                message = "a key of glued columns: two keys may give one text; name the columns one by one"
                yield Finding(flow.place(part), "concatenated-key", message)


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
        for window in find_all(scope, exp.Window):
            yield from window.args.get("partition_by") or ()
        for join in select.args.get("joins") or ():
            for equal in join.args["on"].find_all(exp.EQ) if join.args.get("on") else ():
                yield from (equal.left, equal.right)


def _may_concatenate(model: Model) -> bool:
    text = model.text.lower()
    return "concat" in text or "||" in text


def _is_concatenated(source: Source) -> bool:
    if not isinstance(source, Made):
        return False
    call = source.expression
    return isinstance(call, _CONCATENATIONS) and len({column.sql() for column in call.find_all(exp.Column)}) > 1
