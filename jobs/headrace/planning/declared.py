"""What a project declared when it last started, stored next to its data: the texts, not what was derived from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from functools import cache, cached_property
from typing import Any

from pydantic import TypeAdapter

from headrace.errors import Place
from headrace.planning import sql_settings
from headrace.planning.sql_settings import Setting
from headrace.project import graph
from headrace.project.model import SNAPSHOT_AT, Landing, Macro, Model, Project, Topic
from headrace.project.rules.duration_rules import IDLE_TICK
from headrace.store import durable, json_files
from headrace.store.layout import Layout

Schemas = Mapping[str, Mapping[str, str]]
"""Spark's type of every column, by table."""


@dataclass(frozen=True)
class Declared:
    """Everything that rows depend on: models, sources, macros, variables, types, settings; no address, no secret.

    `settings` are None in a declaration of before they were recorded. `places` are those of the keys in manifest.yml
    and conf/; they are not recorded.
    """

    models: tuple[Model, ...]
    landings: tuple[Landing, ...]
    macros: tuple[Macro, ...]
    vars: Mapping[str, Any] = field(default_factory=dict)
    schemas: Schemas = field(default_factory=dict)
    settings: tuple[Setting, ...] | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(project: Project, schemas: Schemas | None = None) -> Declared:
        """A project's declaration, with Spark's types as far as they are known."""
        values = {name: _recordable(value) for name, value in project.vars.items()}
        values[SNAPSHOT_AT] = SNAPSHOT_AT  # each snapshot has its own
        settings = sql_settings.of(project.target)
        places = project.places
        return Declared(project.models, project.landings, project.macros, values, schemas or {}, settings, places)

    @cached_property
    def by_table(self) -> Mapping[str, Model]:
        """Models by table, with the values of the parameters that their headers name."""
        return graph.by_table(
            replace(model, remember=self._number(model.remember), every=self._number(model.every))
            for model in self.models
        )

    def _number(self, value: float | str | None) -> float | str | None:
        found = self.vars.get(value) if isinstance(value, str) else value
        return float(found) if isinstance(found, (int, float)) else value

    def value(self, name: str) -> str:
        """The value of a variable as text that differs where the type does: `2`, `2.0` and `true` are three values."""
        return json.dumps(self.vars.get(name))

    def idle(self, table: str) -> Mapping[str, tuple[float | str | None, float | str | None]]:
        """When time passes by itself for a source, or for each of a clock: after how long, and how often then."""
        found = self.landing(table)
        topics = [self.topics[table][1]] if table in self.topics else found.topics if found else ()
        often = self._number(self.vars.get(IDLE_TICK, 5))
        return {
            topic.name: (often if topic.idle_after is None else self._number(topic.idle_after), often)
            for topic in topics
        }

    @cached_property
    def topics(self) -> Mapping[str, tuple[Landing, Topic]]:
        """Sources by table."""
        return {f"bronze.{topic.name}": (landing, topic) for landing in self.landings for topic in landing.topics}

    @cached_property
    def clocks(self) -> Mapping[str, Landing]:
        """Landings by the table of their clock."""
        return {f"bronze.{landing.name}_clock": landing for landing in self.landings}

    def landing(self, table: str) -> Landing | None:
        """The landing behind a bronze table."""
        found = self.topics.get(table)
        return found[0] if found else self.clocks.get(table)

    def kafka_topics(self, table: str) -> frozenset[str] | None:
        """The topics whose records a table is made of, also by looking them up; None if ticks or unknown tables are."""
        found, waiting = dict[str, None](), dict.fromkeys([table])
        for name in (names := [*waiting]):
            model = self.by_table.get(name)
            if name in self.topics:
                found[self.topics[name][1].topic] = None
            elif model is None:
                return None
            names += (fresh := [each.table for each in model.inputs if each.table not in waiting] if model else [])
            waiting |= dict.fromkeys(fresh)
        return frozenset(found)

    @cached_property
    def macro_texts(self) -> Mapping[str, Macro]:
        return {macro.name: macro for macro in self.macros}

    def to_json(self) -> bytes:
        return _adapter().dump_json(self, exclude={"places"})


@dataclass(frozen=True)
class Record:
    """What a query was last started with: the hash of the declaration, and the mixes that were accepted."""

    declared: str
    accepted: tuple[Mapping[str, str], ...] = ()


def write(
    layout: Layout,
    declared: Declared,
    queries: Iterable[str],
    accepted: Mapping[str, Sequence[Mapping[str, str]]],
) -> None:
    """Record for some queries that they start with this declaration, and what was accepted for that."""
    content = declared.to_json()
    name = hashlib.sha256(content).hexdigest()[:_DIGITS]
    file = layout.declared / f"{name}.json"
    if not file.is_file():
        durable.write(file, content.decode())
    for query in queries:
        before = record_of(layout, query)
        mixes = (*(before.accepted if before else ()), *accepted.get(query, ()))
        _write_record(layout, query, Record(name, mixes))
    _forget_unused(layout)


def adopt(layout: Layout, other: Layout) -> None:
    """Copy the declarations of another layout, for queries that are about to be moved from there."""
    for file in other.declared.glob("*.json"):
        durable.write(layout.declared / file.name, file.read_text("utf-8"))


def record_of(layout: Layout, query: str) -> Record | None:
    """What a query was last started with; None if it never was, or was reset."""
    try:
        return json_files.read(layout.checkpoint(query) / _NAME, _record, _UNCOMPARED)
    except FileNotFoundError:
        return None


def recorded(layout: Layout) -> Mapping[str, Record]:
    """Every query that has been started here."""
    found = {file.parent.name: record_of(layout, file.parent.name) for file in layout.checkpoints.glob(f"*/{_NAME}")}
    return {query: record for query, record in sorted(found.items()) if record is not None}


def read(layout: Layout, name: str) -> Declared:
    """A declaration by its hash."""
    file = layout.declared / f"{name}.json"
    data = file.read_bytes()
    with json_files.whole(file, data, _UNDECLARED):
        return _adapter().validate_json(data)


def _record(stored: Mapping[str, Any]) -> Record:
    return Record(stored["declared"], tuple(stored["accepted"]))


def _write_record(layout: Layout, query: str, record: Record) -> None:
    durable.write(layout.checkpoint(query) / _NAME, json.dumps(asdict(record)))


def _forget_unused(layout: Layout) -> None:
    used = {record.declared for record in recorded(layout).values()}
    for file in layout.declared.glob("[0-9a-f]" * _DIGITS + ".json"):
        if file.stem not in used:
            file.unlink()


def _recordable(value: Any) -> Any:
    """The value of a variable as it is after it was written and read: JSON has no dates, so one is `{date: ...}`."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat(sep=" ")}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return [*map(_recordable, value)] if isinstance(value, (list, tuple)) else value


_NAME = "declared.json"
_DIGITS = 24
_UNCOMPARED = (
    "restore a backup with `headrace restore`, or remove it: edits since the query's last start are then not compared"
)
_UNDECLARED = (
    "restore a backup with `headrace restore`, or remove it with each declared.json in checkpoints/ that names it: "
    "edits since the last start of those queries are then not compared"
)


@cache
def _adapter() -> TypeAdapter[Declared]:
    return TypeAdapter(Declared)
