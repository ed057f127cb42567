"""Rules about what models read."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import Finding, did_you_mean
from headrace.project import scopes
from headrace.project.draft import Draft
from headrace.project.landings import RESERVED
from headrace.project.model import SNAPSHOT_AT, Model

_FOR_READERS = frozenset(f"bronze.{name}" for name in RESERVED)


def unknown_tables(draft: Draft) -> Iterator[Finding]:
    """Each table that is read exists."""
    for file in draft.files:
        for input_ in file.model.inputs:
            if input_.table in _FOR_READERS:
                message = f"{input_.table} is there to be looked at; a model reads the sources themselves"
                yield Finding(input_.place, "not-allowed", message)
            elif not draft.may_exist(input_.table):
                same_name = [table for table in draft.tables if table.partition(".")[2] == input_.table]
                advice = f" Write {' or '.join(same_name)}." if same_name else did_you_mean(input_.table, draft.tables)
                yield Finding(input_.place, "unknown-table", f"no table {input_.table}.{advice}")


def unknown_columns(draft: Draft) -> Iterator[Finding]:
    """Each column that is named exists, where that can be known without Spark."""
    for file in draft.files:
        for unknown in scopes.unknown_columns(file.text.statement.tree, draft.relation):
            message = f"no column {unknown.name} here.{did_you_mean(unknown.name, unknown.known)}"
            yield Finding(file.text.statement.place(unknown.offset), "unknown-column", message)


def missing_parameters(draft: Draft) -> Iterator[Finding]:
    """Each `:name` has a value in `vars`."""
    if draft.vars is None:
        return
    for file in draft.files:
        is_snapshot = file.model.materialized == "snapshot"
        for parameter in file.text.parameters:
            if parameter.name not in draft.vars and not (is_snapshot and parameter.name == SNAPSHOT_AT):
                advice = did_you_mean(parameter.name, draft.vars) or " Add it to vars in manifest.yml or conf/."
                yield Finding(parameter.place, "missing-parameter", f"no value for :{parameter.name}.{advice}")


def missing_streams(draft: Draft) -> Iterator[Finding]:
    """Something moves each stored model, and what is marked as moving does move."""
    for file in draft.files:
        model = file.model
        if model.materialized in ("append", "upsert") and not _streams(model):
            message = "the model reads no stream, so nothing would ever start it; write `stream` before what moves"
            yield Finding(file.text.statement.place(file.text.statement.tokens[0].start), "missing-stream", message)
        for input_ in model.inputs:
            view = draft.models.get(input_.table)
            if input_.stream and view is not None and view.materialized == "view" and not _streams(view):
                message = f"the view {view.table} reads no stream itself; drop `stream` here or write it there"
                yield Finding(input_.place, "missing-stream", message)


def _streams(model: Model) -> bool:
    return any(input_.stream for input_ in model.inputs)
