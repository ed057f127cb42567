"""A project as far as it could be read, before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.errors import Place
from headrace.project import graph
from headrace.project.macros import MacroFile
from headrace.project.model import LANDING_COLUMNS, Landing, Model, Topic
from headrace.project.modelfile import ModelFile
from headrace.project.scopes import Relation

_LANDED = tuple(column for column, _ in LANDING_COLUMNS)


@dataclass(frozen=True)
class Draft:
    """All that the rules look at.

    `vars` is None where a file that may hold variables is broken. `unreadable` names the tables of broken files,
    or `bronze` where it is not even sure which sources there are.
    """

    landings: tuple[Landing, ...]
    files: tuple[ModelFile, ...]
    macros: tuple[MacroFile, ...]
    vars: Mapping[str, Any] | None
    unreadable: frozenset[str]

    @cached_property
    def models(self) -> dict[str, Model]:
        """Return the models by table."""
        return graph.by_table(file.model for file in self.files)

    @cached_property
    def topics(self) -> dict[str, tuple[Landing, Topic]]:
        """Return the sources by table."""
        return {f"bronze.{topic.name}": (landing, topic) for landing in self.landings for topic in landing.topics}

    @cached_property
    def tables(self) -> list[str]:
        """Return every table that a model can read."""
        return sorted({*self.models, *self.topics})

    def may_exist(self, table: str) -> bool:
        """Say whether a table exists, or could exist in a file that is broken."""
        is_unsure = "bronze" in self.unreadable and table.startswith("bronze.")
        return is_unsure or table in self.unreadable or table in self.tables

    def relation(self, table: str) -> Relation:
        """Return what is known of a table's columns."""
        if table in self.topics:
            fields = tuple(field.name for field in self.topics[table][1].fields)
            return Relation((*_LANDED, "data", "_arrival"), fields)
        if table in self.models:
            model = self.models[table]
            return Relation(model.output_columns, bookkeeping=model.materialized != "view")
        return Relation(None)

    def place(self, model: Model, key: str) -> Place:
        """Return where a header gives a key, else where the file starts."""
        return model.header_places.get(key, Place(model.path))
