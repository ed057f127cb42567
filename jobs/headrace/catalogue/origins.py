"""Which columns each column of a project is derived from, from gold to the fields of Kafka records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from headrace.errors import Place, UsageError, did_you_mean
from headrace.project.declarations import event_times
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.declarations.settings import Settings
from headrace.project.flows import versions
from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.model import Model, Project, Topic
from headrace.project.sql import sqltext
from headrace.project.sql.tracing import Made, Stored

LONGEST = 80
"""Longer expressions are cut where they are shown."""


@dataclass(frozen=True)
class Column:
    """One column: `parents` are the columns whose values go into it; `made` is the expression, unless it is passed on.

    The name is that of its table and its own, such as `gold.calls.ts`, or `kafka:<topic>.value.<field>`.
    """

    name: str
    table: str
    parents: tuple[str, ...] = ()
    place: Place | None = None
    made: str | None = None


@dataclass(frozen=True)
class Origins:
    """All columns of a project, by name, with parents before and after."""

    columns: Mapping[str, Column] = field(repr=False)

    def named(self, text: str) -> list[Column]:
        """Return the column of a name, or all columns of a table of that name; UsageError where there is none."""
        found = [column for column in self.columns.values() if text in (column.name, column.table)]
        if not found:
            known = [*self.columns, *(column.table for column in self.columns.values())]
            raise UsageError(f"no column or table {text}.{did_you_mean(text, known)}")
        return found

    def children(self) -> dict[str, tuple[str, ...]]:
        """Return which columns are derived from each column."""
        found: dict[str, list[str]] = {name: [] for name in self.columns}
        for column in self.columns.values():
            for parent in column.parents:
                found[parent].append(column.name)
        return {name: tuple(names) for name, names in found.items()}

    def parents(self) -> dict[str, tuple[str, ...]]:
        """Return which columns each column is derived from."""
        return {name: column.parents for name, column in self.columns.items()}


def read(project: Project) -> Origins:
    """Follow every column of every model."""
    files = [ModelFile(model, sqltext.read(model.text, model.path), Settings()) for model in project.models]
    draft = Draft(project.landings, tuple(files), (), project.vars, frozenset())
    found: dict[str, Column] = {}
    for model in project.models:
        for name in model.output_columns or ():
            column, stored = _column(model, name, draft)
            found[column.name] = column
            for parent in stored:
                for above in _landed(draft, parent):
                    found.setdefault(above.name, above)
    for column in [*found.values()]:  # bookkeeping such as _deleted stands in no text
        for name in column.parents:
            found.setdefault(name, Column(name, name.rpartition(".")[0]))
    return Origins(found)


def _column(model: Model, name: str, draft: Draft) -> tuple[Column, list[Stored]]:
    flow = draft.flows[model.table]
    sources = flow.tracing.output(name)
    stored: list[Stored] = []
    for source in sources:
        stored += flow.tracing.stored(source.expression, source.fields) if isinstance(source, Made) else [source]
    stored = [_behind(each, draft) for each in stored]
    parents = tuple(dict.fromkeys(_name(each) for each in stored))
    ends = [end for source in sources for end in _ends(flow, source)]
    made = next((end.expression for end in ends if isinstance(end, Made)), None)
    written = next((source.expression for source in sources if isinstance(source, Made)), None)
    shown = made if made is not None else written
    place = flow.place(shown) if shown is not None else Place(model.path)
    text = None if made is None else _short(made)
    return Column(f"{model.table}.{name}", model.table, parents, place, text), stored


def _behind(stored: Stored, draft: Draft) -> Stored:
    """A column of versions as that of the upsert."""
    table, column = versions.stored_column(stored.table, stored.column, draft.models)
    return replace(stored, table=table, column=column)


def _ends(flow: Flow, source: Made | Stored) -> Iterator[Made | Stored]:
    yield from flow.tracing.ends(source.expression) if isinstance(source, Made) else (source,)


def _short(expression: exp.Expr) -> str:
    text = expression.sql("databricks", comments=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _name(stored: Stored) -> str:
    # A field of a model's column is named as the column; bronze's `data` has a column for each field.
    is_field = stored.table.startswith("bronze.") and stored.column.lower() == "data"
    return ".".join((stored.table, stored.column, *(stored.fields[:1] if is_field else ())))


def _landed(draft: Draft, stored: Stored) -> Iterator[Column]:
    """Yield the column of a source and what it is in Kafka; nothing for the columns of models."""
    if stored.table not in draft.topics:
        return
    topic = draft.topics[stored.table][1]
    above = tuple(f"kafka:{topic.topic}.{part}" for part in _parts(topic, stored))
    yield Column(_name(stored), stored.table, above, topic.place)
    for part in above:
        yield Column(part, f"kafka:{topic.topic}", (), topic.place)


def _parts(topic: Topic, stored: Stored) -> tuple[str, ...]:
    """Return the parts of a record that a bronze column is derived from; none for what headrace adds."""
    column = stored.column.lower()
    if column == "data":
        return (".".join(("value", *stored.fields[:1])),)
    if column == "event_time":
        return event_times.origins(topic)
    return (column,) if column in ("key", "value", "headers", "timestamp", "partition", "offset", "topic") else ()
