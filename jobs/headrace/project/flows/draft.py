"""A project as far as it could be read, before it is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, TypeVar

from headrace.errors import Finding, Place
from headrace.project import graph
from headrace.project.declarations.macros import MacroFile
from headrace.project.declarations.modelfile import ModelFile
from headrace.project.flows import versions
from headrace.project.flows.flow import Flow
from headrace.project.model import CLOCK_COLUMNS, LANDING_COLUMNS, Landing, Model, Topic
from headrace.project.sql.scopes import Relation

T = TypeVar("T")
_LANDED = tuple(column for column, _ in LANDING_COLUMNS)


@dataclass(frozen=True)
class Draft:
    """Everything that the rules check.

    `vars` is None where a file that may hold variables is broken. `unreadable` names the tables of broken files,
    or `bronze` where it is not even certain which sources there are. `functions` are the macros, broken ones too, and
    what the manifest allows. `var_places` are where variables are set.
    """

    landings: tuple[Landing, ...]
    files: tuple[ModelFile, ...]
    macros: tuple[MacroFile, ...]
    vars: Mapping[str, Any] | None
    unreadable: frozenset[str]
    functions: frozenset[str] = frozenset()
    var_places: Mapping[str, Place] = field(default_factory=dict)

    @cached_property
    def models(self) -> dict[str, Model]:
        """Return the models by table."""
        return graph.by_table(file.model for file in self.files)

    @cached_property
    def topics(self) -> dict[str, tuple[Landing, Topic]]:
        """Return the sources by table."""
        return {f"bronze.{topic.name}": (landing, topic) for landing in self.landings for topic in landing.relations}

    @cached_property
    def tables(self) -> list[str]:
        """Return every table that a model can read."""
        return sorted({*self.models, *self.topics})

    @cached_property
    def flows(self) -> dict[str, Flow]:
        """Return what moves in each model, by table."""
        found: dict[str, Flow] = {}
        for file in self.files:
            found.setdefault(file.model.table, Flow(file, self.relation, found))
        return found

    def may_exist(self, table: str) -> bool:
        """Return whether a table exists, or could exist in a file that is broken."""
        is_unsure = "bronze" in self.unreadable and table.startswith("bronze.")
        return is_unsure or table in self.tables or table.removesuffix(versions.SUFFIX) in self.unreadable

    def relation(self, table: str) -> Relation:
        """Return what is known of a table's columns."""
        if table in self.topics:
            if self.topics[table][1].is_clock:
                return Relation(CLOCK_COLUMNS)
            fields = tuple(field.name for field in self.topics[table][1].fields)
            return Relation((*_LANDED, "data", "_arrival"), fields)
        if (of := versions.base(table, self.models)) is not None:
            return Relation(None if of.output_columns is None else (*of.output_columns, *versions.COLUMNS))
        if table in self.models:
            model = self.models[table]
            return Relation(model.output_columns, bookkeeping=model.materialized != "view")
        return Relation(None)

    def sound(self, findings: Iterable[Finding]) -> Draft:
        """Return what has no findings and reads only such files; the macros must not call each other in a cycle."""
        broken = {finding.place.path for finding in findings}
        own = {file.macro.name for file in self.macros} | {PurePosixPath(path).stem for path in broken}
        macros = _with_needs(
            [file for file in self.macros if file.macro.path not in broken],
            lambda file: file.macro.name,
            lambda file: own & {call.name for call in file.calls},
        )
        lost = own - {file.macro.name for file in macros}
        files = _with_needs(
            [f for f in self.files if f.model.path not in broken and not lost & {call.name for call in f.text.calls}],
            lambda file: file.model.table,
            lambda file: {input_.table for input_ in file.model.inputs} - self.topics.keys(),
        )
        return replace(self, files=files, macros=macros)

    def expressions(self) -> Iterator[tuple[Place, str]]:
        """Yield every expression in a header or a source, with the place of the whole."""
        for file in self.files:
            for key, text in file.model.expressions:
                yield self.place(file.model, key), text
        yield from self.landed_expressions()

    def landed_expressions(self) -> Iterator[tuple[Place, str]]:
        """The same of the sources only."""
        for topic in (topic for landing in self.landings for topic in landing.topics):
            for reason, text in topic.reject:
                yield topic.places.get(f"reject.{reason}", topic.place), text
            if topic.event_time is not None:
                yield topic.places.get("event_time", topic.place), topic.event_time

    def place(self, model: Model, key: str) -> Place:
        """Return where a header gives a key, else where the file starts."""
        return model.header_places.get(key, Place(model.path))


def _with_needs(files: Sequence[T], name: Callable[[T], str], needs: Callable[[T], set[str]]) -> tuple[T, ...]:
    """Leave out files that need one that is missing, until there are none."""
    names = {name(file) for file in files}
    remaining = [file for file in files if needs(file) <= names]
    return _with_needs(remaining, name, needs) if len(remaining) < len(files) else tuple(files)


def streaming_flows(draft: Draft) -> Iterator[tuple[Model, Flow]]:
    """Yield each model of the streaming engine, with its own text and those of the views that it reads."""
    for model in draft.models.values():
        if model.materialized != "view" and model.run == "streaming":
            parts = (model, *graph.views(model, draft.models))
            yield from ((model, draft.flows[part.table]) for part in parts)


def streaming_files(draft: Draft) -> Iterator[Flow]:
    """Yield each text that a model of the streaming engine consists of, once."""
    flows = {flow.file.model.path: flow for _, flow in streaming_flows(draft)}
    yield from flows.values()
