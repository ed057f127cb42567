"""A model test as data: what lands, batch by batch, and the expected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timezone
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from headrace.errors import Finding, InvalidProject, did_you_mean
from headrace.project import graph
from headrace.project.declarations import documents
from headrace.project.declarations.documents import Document, Keys, Shape, refuse
from headrace.project.declarations.shapes import Vars
from headrace.project.files import read_text
from headrace.project.model import Landing, Model, Project, Topic

T = TypeVar("T")

Cut = Literal["one-by-one", "all-at-once", "restarts"]
CUTS: tuple[Cut, ...] = get_args(Cut)
"""How landing batches become micro-batches: each alone, all in one, some together with restarts between."""


def _moment(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value
    except ValueError:
        found = None
    if isinstance(found, date) and not isinstance(found, datetime):
        found = datetime.combine(found, time())
    if not isinstance(found, datetime):
        raise refuse("bad-value", "a time is written `2026-01-01T10:00:00Z`")
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)


def _key(value: Any) -> Any:
    """Refuse what is no key here, else each type of the union reports its own error."""
    if isinstance(value, bool) or not (value is None or isinstance(value, (str, int, bytes))):
        raise refuse("bad-value", "a key is a text, a whole number or null; put anything else in quotes")
    return value


def _non_empty(values: tuple[T, ...]) -> tuple[T, ...]:
    """Refuse an empty list; a length bound of the field would count invalid items as missing."""
    if not values:
        raise refuse("bad-value", "this list is empty; give at least one")
    return values


def _not_null(value: Any) -> Any:
    if value is None:
        raise refuse("bad-value", "say what must be there, `[]` if nothing, or leave the key out")
    return value


def _mapping(value: Any) -> Any:
    """Take an expectation without keys as one that checks nothing, which is refused as such."""
    return {} if value is None else value


def _same_columns(rows: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    if any(row.keys() != rows[0].keys() for row in rows):
        raise refuse("uneven-rows", "name the same columns in each row; `null` is a value too")
    return rows


Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=str)]
RecordKey = Annotated[str | int | bytes | None, BeforeValidator(_key, json_schema_input_type=str | int | bytes | None)]
RowKey = Annotated[str | int, BeforeValidator(_key, json_schema_input_type=str | int)]
TextKey = Annotated[str | int | None, BeforeValidator(_key, json_schema_input_type=str | int | None)]
Rows = Annotated[tuple[dict[str, Any], ...], AfterValidator(_same_columns)]


class Record(Shape):
    """A Kafka record: a text value is sent as it is, null is Kafka's null, anything else is sent as JSON."""

    key: RecordKey = None
    value: Any
    timestamp: Moment | None = None
    partition: Annotated[int, Field(ge=0)] = 0
    offset: Annotated[int, Field(ge=0)] | None = None
    headers: dict[str, str] = Field(default_factory=dict)


class Message(Shape):
    """A record that a model publishes; a null value is a tombstone."""

    topic: str | None = None
    key: TextKey
    value: Any


class DeadLetter(Shape):
    """A rejected record."""

    topic: str | None = None
    key: TextKey = None
    reject_reason: str


class FailedRow(Shape):
    """A row that a data test kept out of its table."""

    model: str | None = None
    test: str
    row: dict[str, Any] | None = None


class Expect(Shape):
    """What must be there when all has landed; what is not named is not looked at."""

    rows: Rows | None = None
    ordered: bool = False
    state: dict[str, Rows] = Field(default_factory=dict)
    history: dict[str, dict[RowKey, Rows]] = Field(default_factory=dict)
    dead_letters: tuple[DeadLetter, ...] | None = None
    published: tuple[Message, ...] | None = None
    late: Rows | None = None
    log: tuple[str, ...] | None = None
    failed_rows: tuple[FailedRow, ...] | None = None
    watermark: Moment | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _expected(cls, value: Any) -> Any:
        """Refuse null: an empty `rows:` would mean that rows are not checked."""
        return _not_null(value)

    @property
    def is_empty(self) -> bool:
        """Whether it checks nothing."""
        lists = (self.rows, self.dead_letters, self.published, self.late, self.log, self.failed_rows, self.watermark)
        return not (self.state or any(self.history.values())) and all(each is None for each in lists)


class Batch(Shape):
    """One landing batch: records by topic; only a time is a tick. `expect` is what must be there once it is done."""

    at: Moment | None = None
    expect: Annotated[Expect | None, BeforeValidator(_mapping)] = None
    records: dict[str, tuple[Record, ...]]

    @model_validator(mode="before")
    @classmethod
    def _split_records(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        own = {name: value for name, value in data.items() if name in ("at", "expect")}
        return {**own, "records": {name: records for name, records in data.items() if name not in own}}


class FileShape(Shape):
    """A file of the test paths."""

    model: str
    description: str = ""
    vars: Vars = Field(default_factory=dict)
    cuts: Annotated[tuple[Cut, ...], AfterValidator(_non_empty)] = CUTS
    seeds: bool = False
    given: Annotated[tuple[Batch, ...], AfterValidator(_non_empty), Field(json_schema_extra={"minItems": 1})]
    expect: Annotated[Expect, BeforeValidator(_mapping)]

    def expectations(self) -> Iterator[tuple[Keys, Expect]]:
        """The expectations at its end and after its batches, each with its keys in the file."""
        yield ("expect",), self.expect
        for number, batch in enumerate(self.given):
            if batch.expect is not None:
                yield ("given", number, "expect"), batch.expect


@dataclass(frozen=True)
class Case:
    """One checked file of a project's test paths; `project` has the case's variables."""

    document: Document
    project: Project
    model: Model
    given: tuple[Batch, ...]
    expect: Expect
    cuts: tuple[Cut, ...]
    seeds: bool = False
    """Whether the project's seeds land before all other records."""
    expect_at: Keys = ("expect",)
    """The keys of the expectation in the file."""

    def after(self, number: int) -> Case:
        """The case up to one of its batches, with that batch's expectation."""
        expect = self.given[number].expect
        assert expect is not None
        at = ("given", number, "expect")
        return replace(self, given=self.given[: number + 1], expect=expect, cuts=("one-by-one",), expect_at=at)

    @property
    def path(self) -> str:
        """Its path in the project."""
        return self.document.path

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it checks."""
        return frozenset({self.model.table, *self.expect.state, *self.expect.history})


def read(project: Project, path: str) -> Case:
    """Read one case; InvalidProject with all findings if there are any."""
    document, file = parsed(project.root, path)
    if found := findings(project, document, file):
        raise InvalidProject(found)
    project = replace(project, vars={**project.vars, **file.vars})
    return Case(document, project, project.model(file.model), file.given, file.expect, file.cuts, file.seeds)


def parsed(root: Path, path: str) -> tuple[Document, FileShape]:
    """Read one case without its project; InvalidProject if no project could make it valid."""
    document = documents.parse(read_text(root, path), path)
    return document, documents.validate(document, FileShape)


def findings(project: Project, document: Document, file: FileShape) -> list[Finding]:
    """Validate a case against its project, and return the findings."""
    found = [*_model_findings(project, document, file), *_given_findings(project, document, file)]
    models = [model for model in project.models if model.table == file.model]
    for at, expect in file.expectations():
        found += _emptiness(document, at, expect)
        found += (each for model in models for each in _expect_findings(project, document, at, expect, model))
    return found


def topic_named(project: Project, name: str) -> tuple[Landing, Topic] | None:
    """The source that has this name in bronze or, if there is none, in Kafka, as declared or as the target names it."""
    names = (name, project.target.kafka.named(name))
    sources = [(landing, topic) for landing in project.landings for topic in landing.topics]
    in_bronze = [source for source in sources if source[1].name == name]
    return next(iter([*in_bronze, *(source for source in sources if source[1].topic in names)]), None)


def _model_findings(project: Project, document: Document, file: FileShape) -> Iterator[Finding]:
    tables = [model.table for model in project.models]
    if file.model not in tables:
        advice = did_you_mean(file.model, tables)
        yield Finding(document.value_place("model"), "unknown-model", f"no model {file.model}.{advice}")
    elif PurePosixPath(document.path).parent.name != file.model.split(".")[1]:
        message = f"a case of {file.model} belongs in a folder named {file.model.split('.')[1]}"
        yield Finding(document.value_place("model"), "wrong-folder", message)
    for name in file.vars.keys() - project.vars.keys():
        advice = did_you_mean(name, project.vars)
        yield Finding(document.key_place("vars", name), "unknown-variable", f"no variable {name}.{advice}")


def _given_findings(project: Project, document: Document, file: FileShape) -> Iterator[Finding]:
    names = [name for landing in project.landings for topic in landing.topics for name in (topic.name, topic.topic)]
    for number, batch in enumerate(file.given):
        if not any(batch.records.values()) and (batch.at is None or number == 0):
            message = "nothing lands in this batch; give records or, after the first batch, only `at:` for a tick"
            yield Finding(document.value_place("given", number), "empty-batch", message)
        for name in batch.records:
            if topic_named(project, name) is None:
                place = document.key_place("given", number, name)
                yield Finding(place, "unknown-topic", f"no source or topic {name}.{did_you_mean(name, names)}")
    yield from _offset_findings(project, document, file)


def _offset_findings(project: Project, document: Document, file: FileShape) -> Iterator[Finding]:
    ends: dict[tuple[str, int], int] = {}
    for number, batch in enumerate(file.given):
        for name, records in batch.records.items():
            source = topic_named(project, name)
            for index, record in enumerate(records):
                at = (source[1].topic if source else name, record.partition)
                offset = ends.get(at, 0) if record.offset is None else record.offset
                if offset < ends.get(at, 0):
                    place = document.value_place("given", number, name, index, "offset")
                    yield Finding(place, "bad-offset", f"offsets of a partition count up; the next one is {ends[at]}")
                ends[at] = offset + 1


def _emptiness(document: Document, at: Keys, expect: Expect) -> Iterator[Finding]:
    if expect.is_empty:
        yield Finding(document.value_place(*at), "missing-key", "say what must come of it, such as `rows: []`")


def _expect_findings(project: Project, document: Document, at: Keys, expect: Expect, model: Model) -> Iterator[Finding]:
    known = {other.table: other.materialized for other in project.models}
    for part, kinds in (("state", ("append", "upsert")), ("history", ("upsert",))):
        for table in getattr(expect, part):
            if known.get(table) not in kinds:
                wanted = [name for name, kind in known.items() if kind in kinds]
                message = f"{table} is no {' or '.join(kinds)} model.{did_you_mean(table, wanted)}"
                yield Finding(document.key_place(*at, part, table), "unknown-table", message)
    if model.materialized == "view":
        reads = graph.reads(model, graph.by_table(project.models))
        if expect.state or expect.history or not all(read.table.startswith("bronze.") for read in reads):
            message = "a case of a view has rows and dead letters only, and the view reads only bronze tables"
            yield Finding(document.value_place("model"), "bad-value", message)
    if expect.late is not None and model.run != "streaming":
        message = f"nothing comes too late for {model.table}: it has no watermark"
        yield Finding(document.key_place(*at, "late"), "bad-value", message)
    if expect.published is not None and model.publish is None:
        message = f"{model.table} publishes nothing"
        yield Finding(document.key_place(*at, "published"), "not-published", message)
    if expect.watermark is not None and model.run != "streaming":
        message = f"{model.table} has no watermark; only models in the streaming engine do"
        yield Finding(document.key_place(*at, "watermark"), "bad-value", message)
