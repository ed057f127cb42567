"""Rules about what models read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from sqlglot import Token, TokenType, exp

from headrace.errors import Finding, did_you_mean
from headrace.project.declarations.landings import RESERVED
from headrace.project.flows import versions
from headrace.project.flows.draft import Draft
from headrace.project.model import SNAPSHOT_AT, Model
from headrace.project.sql import expressions, scopes, tables, watermarks
from headrace.project.sql.dialect import Statement
from headrace.project.sql.scopes import Relation, Scopes

_FOR_READERS = frozenset(f"bronze.{name}" for name in RESERVED)


def unknown_tables(draft: Draft) -> Iterator[Finding]:
    """Each table that is read exists."""
    for file in draft.files:
        for input_ in file.model.inputs:
            if input_.table in _FOR_READERS:
                message = f"{input_.table} is there to be looked at; a model reads the sources themselves"
                yield Finding(input_.place, "not-allowed", message)
            elif not draft.may_exist(input_.table):
                yield Finding(input_.place, "unknown-table", f"no table {input_.table}.{_advice(input_.table, draft)}")


def _advice(table: str, draft: Draft) -> str:
    of = draft.models.get(table.removesuffix(versions.SUFFIX))
    if of is not None:
        return f" {of.table} is no upsert with `_arrival`, so it has no versions."
    same_name = [each for each in draft.tables if each.partition(".")[2] == table]
    return f" Write {' or '.join(same_name)}." if same_name else did_you_mean(table, draft.tables)


def unknown_columns(draft: Draft) -> Iterator[Finding]:
    """Each column that is named exists, where that can be known without Spark."""
    for file in draft.files:
        made = watermarks.columns(file.text.statement)
        for unknown in scopes.unknown_columns(file.text.statement, draft.relation):
            if unknown.name.lower() in made:
                continue
            message = f"no column {unknown.name} here.{did_you_mean(unknown.name, unknown.known)}"
            yield Finding(file.text.statement.place(unknown.offset), "unknown-column", message)


def unknown_event_times(draft: Draft) -> Iterator[Finding]:
    """Each WATERMARK names columns of the table before it."""
    for file in draft.files:
        statement, names = file.text.statement, Scopes(draft.relation)
        for scope in statement.scopes if file.text.has_watermark else ():
            for alias, table in scope.references:
                relation = names.relations(scope)[alias.lower()]
                for word in _misnamed(table, relation, statement) if isinstance(table, exp.Table) else ():
                    message = f"no column {word.text} here.{did_you_mean(word.text, relation.columns or ())}"
                    yield Finding(statement.place(word.start), "unknown-column", message)


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
    """Each stored model reads a stream, and what is marked as a stream is one."""
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


def misused_versions(draft: Draft) -> Iterator[Finding]:
    """What is read as the versions of an upsert is no model, and is looked up."""
    yield from versions.misused(draft.models)


def _streams(model: Model) -> bool:
    return any(input_.stream for input_ in model.inputs)


def _misnamed(table: exp.Table, relation: Relation, statement: Statement) -> Iterator[Token]:
    """The words in the WATERMARK of a table that would have to be columns of it."""
    words = _event_time(table, statement)
    if not words or relation.columns is None:
        return
    try:
        named = expressions.columns_of(statement.text[words[0].start : words[-1].end + 1])
    except ValueError:  # with a parameter, for example; Spark checks it
        return
    known = {*map(str.lower, relation.columns), *scopes.FREE_NAMES, *(part.name.lower() for part in table.parts)}
    for word in words:
        is_bookkeeping = relation.bookkeeping and word.text.startswith("_")
        if word.text in named and word.text.lower() not in known and not is_bookkeeping:
            yield word


def _event_time(table: exp.Table, statement: Statement) -> tuple[Token, ...]:
    """What stands between WATERMARK and DELAY after a table, without the alias."""
    if "start" not in table.parts[0].meta or table.alias_column_names:
        return ()
    end = tables.input_of(table, statement).end
    for clause in statement.left_out:
        is_next = end <= clause[0].start and not statement.text[end : clause[0].start].strip()
        if is_next and clause[0].text.upper() == "WATERMARK":
            words = tuple(takewhile(lambda token: token.text.upper() != "DELAY", clause[1:]))
            return words[:-2] if len(words) > 2 and words[-2].token_type == TokenType.ALIAS else words
    return ()
