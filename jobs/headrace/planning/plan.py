"""The plan of a start: one verdict per model and source against what is live, and what prevents it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from headrace.errors import Finding, Place
from headrace.planning import declared, settings, sql_settings
from headrace.planning.comparison import Comparison, Outcome, Unread
from headrace.planning.declared import Declared, Record, Schemas
from headrace.planning.edits import Edits
from headrace.planning.places import Places
from headrace.planning.verdict import Reason, Verdict, worst
from headrace.project import graph
from headrace.project.model import Model, Project, Query
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

NEW, ORPHAN = "NEW", "ORPHAN"
_WORDS = {"UNDECIDED": {"spark"}, "MIX": {"mix", "rebuild"}, "RESET": {"rebuild"}}
"""What allows a run to start in spite of a verdict."""


@dataclass(frozen=True)
class Entry:
    """One line of a plan: a model, a source, or what is left of one that is gone.

    `downstream` are the models derived from it, `topics` the Kafka topics that its rows reach.
    """

    name: str
    path: str
    query: str
    verdict: str
    reasons: tuple[Reason, ...] = ()
    note: str = ""
    downstream: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    outcome: Outcome | None = None

    @property
    def first(self) -> Reason | None:
        """The reason for the verdict: the worst, in the order of the text."""
        found = [reason for reason in self.reasons if reason.verdict.name == self.verdict]
        return min(found, key=lambda reason: reason.place, default=None)


@dataclass(frozen=True)
class Plan:
    """All entries, sources first, in the order in which they run."""

    entries: tuple[Entry, ...]

    def refusals(self, *allowed: str) -> list[Finding]:
        """What a run refuses unless it is `allowed`: `mix` if accepted, `rebuild`, `spark` if that is to decide."""
        return [found for entry in self.entries for found in _refusals(entry, allowed)]

    def queries(self, verdict: Verdict) -> tuple[str, ...]:
        """The queries with an entry of a verdict."""
        return tuple(dict.fromkeys(entry.query for entry in self.entries if entry.verdict == verdict.name))


def make(project: Project, layout: Layout, schemas: Schemas | None = None, unread: Unread = lambda *_: False) -> Plan:
    """Compare a project with what its data directory was last started with; `schemas` are Spark's types, if known.

    `unread` tells which models are behind: rows that edited tables have stored by the old text still come to them.
    """
    planner = _Planner(project, layout, schemas, unread)
    return Plan((*planner.sources(), *planner.models(), *planner.orphans()))


class _Planner:
    def __init__(self, project: Project, layout: Layout, schemas: Schemas | None, unread: Unread) -> None:
        self._project = project
        self._layout = layout
        self._unread = unread
        self._new = Declared.of(project, schemas)
        self._records = declared.recorded(layout)
        self._comparison = cache(self._compared)
        self._outcomes = cache(self._outcomes_of)
        self._read = {table: frozenset(read.table for read in self._reads(table)) for table in self._stored}

    def sources(self) -> Iterator[Entry]:
        for landing in self._project.landings:
            record = self._records.get(landing.query)
            for topic in landing.topics:
                name = f"bronze.{topic.name}"
                found = self._source(record, name)
                verdict = NEW if found is None else worst(found).name
                yield Entry(name, topic.place.path, landing.query, verdict, found or (), "", *self._reached(name))

    def _source(self, record: Record | None, name: str) -> tuple[Reason, ...] | None:
        """What edits mean for a source; None if it has never landed."""
        old = self._old(record) if record else None
        if old is None or name not in old.topics:
            return tuple(self._moved_source(name)) or None
        before, after = old.topics[name][0], self._new.topics[name][0]
        moved = () if before.name == after.name else self._moved_source(name)
        reasons = (*self._topic_reasons(old, name), *settings.landing_reasons(before, after), *moved)
        return (*reasons, *sql_settings.reasons(old.settings, self._new.settings, Verdict.FORWARD))

    def _moved_source(self, name: str) -> Iterator[Reason]:
        """A source whose rows are in the table of another landing."""
        landing, _ = self._new.topics[name]
        for query, record in self._records.items():
            old = self._old(record)
            before = old.topics[name][0] if name in old.topics else None
            if before is not None and before.query == query and before.name != landing.name:
                message = f"it landed with {before.name}: what landed there is read no more"
                place = Edits(old, self._new).of(name)[-1].place
                yield Reason(Verdict.MIX, place, message)

    def _topic_reasons(self, old: Declared, name: str) -> Iterator[Reason]:
        places = Places(Edits(old, self._new), lambda *_: ())
        found = settings.topic_reasons(old.topics[name][1], self._new.topics[name][1])
        for reason in (*found, *settings.idle_reasons(old, self._new, name)):
            yield places.moved(reason, name)

    def models(self) -> Iterator[Entry]:
        for query in self._project.queries:
            record = self._records.get(query.name)
            if record is None:
                yield from (self._unrecorded(query, model) for model in query.models)
                continue
            old = self._old(record)
            known = [m.table for m in query.models if m.table in old.by_table and old.by_table[m.table].query]
            outcomes = self._outcomes(record.declared)
            for model in query.models:
                if model.table not in known:
                    yield self._added(query, model)
                else:
                    found = outcomes[model.table]
                    yield self._entry(model, query.name, found.verdict.name, found.reasons, "", found)

    def orphans(self) -> Iterator[Entry]:
        """Tables and progress on disk that nothing in the project writes any more."""
        for path in sorted(self._layout.root.glob("tables/*/*"), key=str):
            folder, written = path.parent.name, self._written.get(path.parent.name, self._stored)
            table = path.name if folder in self._written else f"{folder}.{path.name}"
            if table not in written:
                yield _orphan(self._layout, path, f"landing {path.name}" if folder == "_landing" else table)
        queries = {query.name for query in self._project.queries} | {each.query for each in self._project.landings}
        for path in sorted(self._layout.checkpoints.glob("*"), key=str):
            if path.name not in queries:
                yield _orphan(self._layout, path, f"query {path.name}")

    @cached_property
    def _written(self) -> Mapping[str, Container[str]]:
        """What is expected in the folders that are no layer: change logs, landings, late rows, failed rows."""
        landings = {landing.name for landing in self._project.landings}
        queries = {query.name for query in self._project.queries}
        return {"_changes": self._stored, "_late": self._stored, "_landing": landings, "_failed": queries}

    def _compared(self, name: str) -> Comparison:
        return Comparison(_declared(self._layout, name), self._new, self._unread)

    def _outcomes_of(self, name: str) -> Mapping[str, Outcome]:
        """The outcomes for the queries that were last started with a declaration."""
        apart: dict[str, Outcome] = {}
        for other in {record.declared for record in self._records.values()} - {name}:
            apart |= self._comparison(other).edited([each for each in self._tables if self._origin(each) == other])
        return self._comparison(name).outcomes(self._stored, apart)

    @cached_property
    def _tables(self) -> Mapping[str, str]:
        """The query that writes each stored table, by table."""
        sources = {f"bronze.{topic.name}": each.query for each in self._project.landings for topic in each.topics}
        return {**sources, **{table: str(model.query) for table, model in self._stored.items()}}

    def _origin(self, table: str) -> str | None:
        """The declaration with which the query that writes a table was last started."""
        record = self._records.get(self._tables[table])
        return record.declared if record else None

    def _old(self, record: Record) -> Declared:
        return _declared(self._layout, record.declared)

    @cached_property
    def _stored(self) -> Mapping[str, Model]:
        return {model.table: model for query in self._project.queries for model in query.models}

    def _unrecorded(self, query: Query, model: Model) -> Entry:
        """Never started, or from before there were records, or a model that came from another query."""
        for other, record in self._records.items():
            before = self._old(record).by_table.get(model.table)
            if before is not None and before.query == other and self._is_stored(model):
                place = model.header_places.get("query", _start(model))
                message = f"it ran in the query {other}, and its rows are still there"
                reason = Reason(Verdict.RESET, place, message, other, query.name)
                return self._entry(model, query.name, Verdict.RESET.name, (reason,))
        if any((self._layout.checkpoint(query.name) / part).exists() for part in ("inputs", "offsets")):
            message = "nobody has noted the text that made what is stored; accept it if it is this one"
            return self._entry(model, query.name, Verdict.MIX.name, (Reason(Verdict.MIX, _start(model), message),))
        return self._entry(model, query.name, NEW)

    def _added(self, query: Query, model: Model) -> Entry:
        if self._is_stored(model) and any(self._layout.table(model.table).glob("batch-*")):
            message = "rows of a former model of this name are still there"
            reason = Reason(Verdict.RESET, _start(model), message)
            return self._entry(model, query.name, Verdict.RESET.name, (reason,))
        has_past = query.engine == "micro_batch"
        note = f"starts with the next batch of {query.name}" if has_past else ""
        return self._entry(model, query.name, NEW, (), note)

    def _is_stored(self, model: Model) -> bool:
        return (self._layout.table(model.table) / "_delta_log").exists()

    def _entry(
        self,
        model: Model,
        query: str,
        verdict: str,
        reasons: tuple[Reason, ...] = (),
        note: str = "",
        outcome: Outcome | None = None,
    ) -> Entry:
        return Entry(model.table, model.path, query, verdict, reasons, note, *self._reached(model.table), outcome)

    def _reached(self, table: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The models derived from a table, near ones first, and the topics that its rows reach."""
        found = [table]
        for name in found:
            found += [reader for reader, read in self._read.items() if name in read and reader not in found]
        published = [self._stored[name].publish for name in found if name in self._stored]
        topics = [publish.topic or f"{{{publish.topic_column}}}" for publish in published if publish]
        return tuple(found[1:]), tuple(dict.fromkeys(topics))

    def _reads(self, table: str) -> tuple[graph.Read, ...]:
        return graph.reads(self._stored[table], self._new.by_table)


@cache
def _declared(layout: Layout, name: str) -> Declared:
    return declared.read(layout, name)


def _start(model: Model) -> Place:
    """Where a model says how it is kept, or where its header starts."""
    return model.header_places.get("materialized", Place(model.path, 2))


def _orphan(layout: Layout, path: StorePath, name: str) -> Entry:
    inner = path.relative_to(layout.root).as_posix()
    return Entry(name, inner, "", ORPHAN, note=f"nothing in the project writes {inner}; remove it by hand when sure")


def _refusals(entry: Entry, allowed: tuple[str, ...]) -> Iterator[Finding]:
    reason = entry.first
    if entry.verdict not in _WORDS or reason is None or not _WORDS[entry.verdict].isdisjoint(allowed):
        return
    reset = f"`--rebuild`, which resets {entry.query}"
    ways = {"MIX": f'; run with `--accept-mix "<why>"`, or {reset}', "RESET": f"; run with {reset}"}
    message = f"{entry.name}: {reason.message}{ways.get(entry.verdict, '')}"
    yield Finding(reason.place, f"plan-{entry.verdict.lower()}", message)
