"""sql/bronze/*.yml: the topics of each domain and what their records hold."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag
from pydantic import Field as Option

from headrace.errors import Finding, InvalidProject, Place, did_you_mean
from headrace.project.declarations import documents, event_times, fieldtypes, seeds
from headrace.project.declarations.documents import Document, Shape, refuse
from headrace.project.declarations.shapes import (
    Every,
    Expression,
    History,
    Keep,
    Name,
    TopicName,
    Type,
    canonical_type,
    is_name,
)
from headrace.project.files import read_text
from headrace.project.model import LANDING_COLUMNS, Field, Landing, Seed, Topic
from headrace.project.sql import expressions

RESERVED = ("dead_letters", "late_rows", "failed_rows")
"""Relations that bronze always has."""

_STARTS = (
    "start at `earliest`, `latest`, an offset, `{partition: offset}` or a time such as `2024-01-31T12:00:00Z`; "
    "offsets are whole numbers from 0 on"
)


@dataclass(frozen=True)
class LandingFile:
    """What could be read of one file, what is wrong with it, and the tables that are therefore unknown.

    `unreadable` holds `bronze.<name>` of each broken topic, or `bronze` where not even the names are certain.
    """

    landing: Landing | None
    findings: tuple[Finding, ...]
    unreadable: frozenset[str]


def read(root: Path, path: str) -> LandingFile:
    """Read one file of sql/bronze/; a broken topic does not affect the others."""
    try:
        document = documents.parse(read_text(root, path), path)
        file = documents.validate(document, FileShape)
    except InvalidProject as error:
        return LandingFile(None, error.findings, frozenset({"bronze"}))
    topics: list[Topic] = []
    found: list[Finding] = []
    for name in file.topics:
        try:
            topics.append(_topic(root, document, name))
        except InvalidProject as error:
            found.extend(error.findings)
    unreadable = {f"bronze.{name}" for name in file.topics} - {f"bronze.{topic.name}" for topic in topics}
    places = {key: document.value_place(key) for key in file.model_fields_set}
    landing = Landing(file.landing, tuple(topics), places["landing"], file.keep, file.keep_history, places)
    return LandingFile(landing, tuple(found), frozenset(unreadable))


def clashes(landings: Iterable[Landing]) -> Iterator[Finding]:
    """Find landings of one name, sources of one name, and topics that land twice."""
    landings = tuple(landings)
    first: dict[tuple[str, str], Place] = {}
    for landing in landings:
        claims = [("landing", landing.name, landing.place)]
        for topic in landing.topics:
            claims += [("source", topic.name, topic.place), ("topic", topic.topic, topic.place)]
        for kind, name, place in claims:
            if (kind, name) in first:
                message = f"{kind} {name} is also declared at {first[kind, name]}; keep one of the two"
                yield Finding(place, f"duplicate-{kind}", message)
            first.setdefault((kind, name), place)
    clocks = {landing.clock.name: landing.name for landing in landings}
    for topic in (topic for landing in landings for topic in landing.topics if topic.name in clocks):
        message = f"`{topic.name}` is the clock of landing {clocks[topic.name]}; `topic:` gives Kafka's name"
        yield Finding(topic.place, "bad-name", message)


def _field_type(text: str) -> str:
    bare, required = fieldtypes.split_required(text)
    return canonical_type(bare) + (" not null" if required else "")


def _field_name(name: str) -> str:
    if "`" in name:
        raise refuse("bad-name", f"{name}: a field with a back quote cannot be named in SQL; take the value as a text")
    return name


def _body(value: Any) -> Any:
    if not value:
        raise refuse("bad-value", "a schema is `{field: type}`, or one type where the value is a bare JSON scalar")
    return {"fields": value} if isinstance(value, Mapping) else {"scalar": value}


class _Body(Shape):
    fields_: dict[Annotated[str, AfterValidator(_field_name)], Annotated[str, AfterValidator(_field_type)]] = Option(
        default_factory=dict, alias="fields"
    )
    scalar: Type | None = None


class EventTimeShape(Shape):
    """A field that is a number: seconds (`s`), milliseconds (`ms`) or microseconds (`us`) since 1970."""

    field: str
    unit: event_times.Unit


def _form(value: Any) -> str:
    """The form of an event time; no word that is a key, as places are found by keys."""
    return "a number" if isinstance(value, (Mapping, EventTimeShape)) else "a text"


_EventTime = Annotated[Annotated[str, Tag("a text")] | Annotated[EventTimeShape, Tag("a number")], Discriminator(_form)]


class TopicShape(Shape):
    """One topic of such a file."""

    topic: TopicName | None = None
    description: str = ""
    body: Annotated[_Body, BeforeValidator(_body, json_schema_input_type=dict[str, str] | str)] = Option(alias="schema")
    event_time: _EventTime | None = None
    reject: dict[Name, Expression] = Option(default_factory=dict)
    null_key: Literal["allow"] | None = None
    null_value: Literal["allow"] | None = None
    start: Any = "earliest"
    partitions: Annotated[int, Option(ge=1)] = 1
    idle_after: Every | None = None
    seed: str | None = None


class FileShape(Shape):
    """A file of sql/bronze/; its topics are read one by one."""

    landing: Name
    keep: Keep | None = None
    keep_history: History | None = None
    topics: Annotated[dict[str, Any], Option(min_length=1)]


def _topic(root: Path, document: Document, name: str) -> Topic:
    at = ("topics", name)
    found = [*_name_findings(document, name)]
    try:
        shape = documents.validate(document, TopicShape, at)
    except InvalidProject as error:
        raise InvalidProject([*found, *error.findings]) from None
    found += _reject_findings(document, name, shape)
    start = _start(shape.start, shape.topic or name)
    if start is None:
        near = did_you_mean(str(shape.start), ("earliest", "latest"))
        found.append(Finding(document.value_place(*at, "start"), "bad-value", f"{_STARTS}.{near}"))
    if start is None:
        raise InvalidProject(found)
    topic = _as_topic(document, name, shape, start)
    found += event_times.findings(topic, document.value_place(*at, "event_time"))
    if found:
        raise InvalidProject(found)
    seeded = {"seed.file": Place(_seed_path(document, shape.seed))} if shape.seed is not None else {}
    return replace(topic, seeds=_seeds(root, document, topic, shape.seed), places={**topic.places, **seeded})


def _as_topic(document: Document, name: str, shape: TopicShape, start: str | int | dict[str, int]) -> Topic:
    at, time = ("topics", name), shape.event_time
    return Topic(
        name=name,
        topic=shape.topic or name,
        place=document.key_place(*at),
        description=shape.description,
        fields=tuple(Field(field, *fieldtypes.split_required(text)) for field, text in shape.body.fields_.items()),
        scalar=shape.body.scalar,
        event_time=time.field if isinstance(time, EventTimeShape) else time,
        event_time_unit=time.unit if isinstance(time, EventTimeShape) else None,
        reject=tuple(shape.reject.items()),
        null_key=shape.null_key is not None,
        null_value=shape.null_value is not None,
        start=start,
        partitions=shape.partitions,
        idle_after=shape.idle_after,
        places={
            **{key: document.value_place(*at, key) for key in document.value["topics"][name]},
            **{f"schema.{field}": document.key_place(*at, "schema", field) for field in shape.body.fields_},
            **{f"reject.{reason}": document.value_place(*at, "reject", reason) for reason in shape.reject},
        },
    )


def _seeds(root: Path, document: Document, topic: Topic, name: str | None) -> tuple[Seed, ...]:
    if name is None:
        return ()
    path = _seed_path(document, name)
    if not (root / path).is_file():
        message = f"there is no file {path}; a seed is a CSV file next to this one"
        raise InvalidProject([Finding(document.value_place("topics", topic.name, "seed"), "unreadable", message)])
    return seeds.read(root, path, topic)


def _seed_path(document: Document, name: str) -> str:
    return (PurePosixPath(document.path).parent / name).as_posix()


def _name_findings(document: Document, name: str) -> Iterator[Finding]:
    if not is_name(name) or name in RESERVED:
        what = "is taken by headrace" if name in RESERVED else "is no name: write lower-case letters, digits and _"
        yield Finding(document.key_place("topics", name), "bad-name", f"`{name}` {what}; `topic:` gives Kafka's name")


def _reject_findings(document: Document, name: str, shape: TopicShape) -> Iterator[Finding]:
    known = [*shape.body.fields_, "data", *(column for column, _ in LANDING_COLUMNS)]
    lowered = {column.lower() for column in known}
    for reason, text in shape.reject.items():
        for column in expressions.columns_of(text):
            if column.lower() not in lowered:
                place = document.value_place("topics", name, "reject", reason)
                message = f"`{column}` is neither a field nor a landing column.{did_you_mean(column, known)}"
                yield Finding(place, "unknown-column", message)


def _start(value: Any, topic: str) -> str | int | dict[str, int] | None:
    """Return where a source starts, or None if that is invalid; `{topic: {partition: offset}}` is accepted too."""
    if isinstance(value, Mapping):
        return offsets_of(value[topic] if [*value] == [topic] and isinstance(value[topic], Mapping) else value)
    if isinstance(value, int):
        return value if _is_offset(value) else None
    if value in ("earliest", "latest"):
        return str(value)
    return _moment(str(value))  # YAML makes times of some texts; their text is a time again


def offsets_of(value: Any) -> dict[str, int] | None:
    """Return the first offset of each partition, or None for what is no such mapping."""
    if not isinstance(value, Mapping) or not value:
        return None
    offsets = {str(partition): offset for partition, offset in value.items()}
    fit = all(re.fullmatch("0|[1-9][0-9]*", partition) and _is_offset(offset) for partition, offset in offsets.items())
    return offsets if fit else None


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _moment(text: str) -> str | None:
    """Return an ISO time with its zone, or None for what is no time; without a zone it is UTC, whatever the machine's.

    Python also parses `20240115` as a date, which is more likely an offset in quotes.
    """
    if not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)).isoformat()
