"""The vocabulary: what a project consists of, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headrace.errors import Place

Layer = Literal["bronze", "silver", "gold"]
Kind = Literal["view", "append", "upsert", "snapshot"]
Engine = Literal["streaming", "micro_batch"]

LANDING_COLUMNS: tuple[tuple[str, str], ...] = (
    ("landing_batch", "bigint"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("key", "string"),
    ("value", "string"),
    ("headers", "array<struct<key: string, value: binary>>"),
    ("timestamp", "timestamp"),
    ("event_time", "timestamp"),
    ("landed_at", "timestamp"),
    ("reject_reason", "string"),
    ("_key_bytes", "binary"),
    ("_value_bytes", "binary"),
)
"""Columns of every landing table; `_*_bytes` hold what is not valid UTF-8, else null."""

TICK_TOPIC = "_tick"
"""The `topic` of a landed row that only makes time pass."""


@dataclass(frozen=True)
class Field:
    """One field of a topic's JSON value; `type` is Spark DDL."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True)
class Topic:
    """A source: one Kafka topic and the bronze relation of the same name that it lands in.

    `fields` is empty where the value is a bare JSON scalar; `scalar` then holds its Spark type.
    `event_time` names a body field: a timestamp, or a bigint of epoch milliseconds.
    `start` is `earliest`, `latest`, a timestamp text, or `{partition: offset}`.
    """

    name: str
    topic: str
    place: Place
    description: str = ""
    fields: tuple[Field, ...] = ()
    scalar: str | None = None
    event_time: str | None = None
    reject: tuple[tuple[str, str], ...] = ()
    null_key: bool = False
    null_value: bool = False
    start: str | Mapping[str, int] = "earliest"
    partitions: int = 1

    @property
    def ddl(self) -> str:
        """Spark type of the parsed value, as DDL."""
        if self.scalar is not None:
            return self.scalar
        members = ", ".join(f"`{f.name}`: {f.type}" for f in self.fields)
        return f"struct<{members}>"


@dataclass(frozen=True)
class Landing:
    """The topics of one domain: they land together, in one table and one commit."""

    name: str
    topics: tuple[Topic, ...]
    place: Place

    @property
    def query(self) -> str:
        return f"ingest_{self.name}"


@dataclass(frozen=True)
class Publish:
    """Where a model's rows go in Kafka: topic (or the column that names it), key and JSON value.

    `start` says what becomes of rows that were there before the model was published: `earliest` sends them too.
    """

    key: str
    value: tuple[tuple[str, str], ...]
    topic: str | None = None
    topic_column: str | None = None
    tombstone_when: str | None = None
    start: Literal["earliest", "latest"] | None = None


@dataclass(frozen=True)
class Input:
    """One table reference in a model's text; `start`..`end` are offsets in `Model.text`.

    The span covers the word `stream` (if any) and the dotted name, without the alias.
    """

    table: str
    stream: bool
    start: int
    end: int
    place: Place
    has_alias: bool


@dataclass(frozen=True)
class Model:
    """One SQL file: one query, one table.

    `delete_when` removes a key's row; `close_when` removes it for ever: later rows of that key are ignored.
    `columns` are declared types by name; `output_columns` are the names the text gives, if that is certain.
    `log` names the column whose text is logged, up to 20 rows a batch.
    """

    layer: Layer
    name: str
    domain: str
    path: str
    text: str
    description: str
    materialized: Kind
    run: Engine
    query: str | None
    inputs: tuple[Input, ...]
    parameters: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    once_per: tuple[str, ...] = ()
    delete_when: str | None = None
    close_when: str | None = None
    publish: Publish | None = None
    output_mode: Literal["append", "update"] = "append"
    log: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, compare=False)
    output_columns: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    owner: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)
    header_places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def table(self) -> str:
        return f"{self.layer}.{self.name}"


@dataclass(frozen=True)
class Query:
    """What runs as one streaming query: a group of micro-batch models in order, or one native model."""

    name: str
    engine: Engine
    models: tuple[Model, ...]


@dataclass(frozen=True)
class Macro:
    """One SQL function: a CREATE TEMPORARY FUNCTION statement, named as its file."""

    name: str
    path: str
    text: str


@dataclass(frozen=True)
class Kafka:
    """How to reach Kafka; `options` are client properties passed through unchanged."""

    bootstrap: str = "embedded"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    create_topics: bool = False


@dataclass(frozen=True)
class Target:
    """One file of conf/: where the project runs. Times are seconds."""

    name: str
    data_dir: Path
    kafka: Kafka = Kafka()
    spark_master: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    ingest_interval: float = 1.0
    max_rows: int = 100_000
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Project:
    """A whole project, resolved for one target; `queries` are those to run, in dependency order.

    `landings_to_run` are the names of the landings to run; None means all.
    """

    root: Path
    name: str
    target: Target
    vars: Mapping[str, Any]
    landings: tuple[Landing, ...]
    models: tuple[Model, ...]
    macros: tuple[Macro, ...]
    queries: tuple[Query, ...]
    test_paths: tuple[str, ...] = ("tests/models",)
    landings_to_run: tuple[str, ...] | None = None

    def model(self, table: str) -> Model:
        """Return the model that writes `table`; KeyError if there is none."""
        for model in self.models:
            if model.table == table:
                return model
        raise KeyError(table)

    def topic(self, name: str) -> tuple[Landing, Topic]:
        """Return the bronze relation `name` (without layer) and its landing; KeyError if unknown."""
        for landing in self.landings:
            for topic in landing.topics:
                if topic.name == name:
                    return landing, topic
        raise KeyError(name)
