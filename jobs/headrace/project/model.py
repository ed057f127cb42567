"""The vocabulary: what a project consists of, as frozen data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headrace.errors import Place
from headrace.store.connectors.places import Place as SparkPlace
from headrace.store.layout import Layout
from headrace.store.paths import ObjectPath, StorePath

Layer = Literal["bronze", "silver", "gold"]
Kind = Literal["view", "append", "upsert", "snapshot"]
Engine = Literal["streaming", "micro_batch", "snapshot"]
TestKind = Literal["unique", "not_null", "accepted_values", "relationships", "row"]
OnFailure = Literal["warn", "dead_letter", "stop"]
Compiler = Literal["quick", "full"]
SmallBatchMode = Literal["auto", "driver", "jobs"]

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

SNAPSHOT_AT = "snapshot_at"
"""The parameter that a snapshot model has beside the variables: the moment at which it is taken."""

FAILED_COLUMNS: tuple[tuple[str, str], ...] = (
    ("model", "string"),
    ("test", "string"),
    ("row", "string"),
    ("batch", "bigint"),
    ("failed_at", "timestamp"),
)
"""Columns of `bronze.failed_rows`: rows that a data test, or a null in their key, keeps out of their table, as JSON."""

TICK_TOPIC = "_tick"
"""The `topic` of a landed row that only makes time pass."""

CLOCK_TOPIC = "~"
"""The `topic` in the arrival of a clock's rows: after every name that Kafka allows."""

CLOCK_COLUMNS = ("landed_at", "event_time", "is_tick", "_arrival")
"""Columns of a landing's clock."""

SEED_PARTITION = -1
"""The `partition` of rows that come from a file of the project."""


@dataclass(frozen=True)
class Field:
    """One field of a topic's JSON value; `type` is Spark DDL."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True)
class Seed:
    """One line of a topic's CSV file, as the record that it lands as; one without a value ends its key."""

    line: int
    key: str
    value: str | None


@dataclass(frozen=True)
class Macro:
    """One SQL function: a CREATE TEMPORARY FUNCTION statement, named as its file."""

    name: str
    path: str
    text: str


@dataclass(frozen=True)
class Topic:
    """A source: one Kafka topic and the bronze relation of the same name that it lands in.

    `fields` is empty where the value is a bare JSON scalar; `scalar` then holds its Spark type.
    `event_time` is a field of the body or SQL over it (see `event_times`), `event_time_unit` that of a number there.
    `start` is `earliest`, `latest`, an offset that holds for every partition, `{partition: offset}`, or the ISO text of
    a time with its zone. `seeds` land before any record.
    `idle_after` is after how many seconds without records it is idle: a number, or a parameter's name.
    `macros` are those that its expressions name. `places` are those of its keys' values.
    """

    name: str
    topic: str
    place: Place
    description: str = ""
    fields: tuple[Field, ...] = ()
    scalar: str | None = None
    event_time: str | None = None
    event_time_unit: Literal["s", "ms", "us"] | None = None
    reject: tuple[tuple[str, str], ...] = ()
    null_key: bool = False
    null_value: bool = False
    start: str | int | Mapping[str, int] = "earliest"
    partitions: int = 1
    idle_after: float | str | None = None
    seeds: tuple[Seed, ...] = ()
    macros: tuple[Macro, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_clock(self) -> bool:
        """Whether this is no topic but the clock of a landing."""
        return self.topic == CLOCK_TOPIC

    @property
    def expressions(self) -> tuple[str, ...]:
        """The SQL of its rules and of its event time; that may also be no more than a field."""
        return (*(text for _, text in self.reject), *([self.event_time] if self.event_time else []))

    @property
    def ddl(self) -> str:
        """Spark type of the parsed value, as DDL."""
        if self.scalar is not None:
            return self.scalar
        members = ", ".join(f"`{f.name}`: {f.type}" for f in self.fields)
        return f"struct<{members}>"


@dataclass(frozen=True)
class Landing:
    """The topics of one domain: they land together, in one table and one commit.

    `keep` is for how many seconds rows stay, None for all time; `keep_history`, for how long replaced files do.
    `places` are those of its keys' values.
    """

    name: str
    topics: tuple[Topic, ...]
    place: Place
    keep: float | None = None
    keep_history: float | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @property
    def query(self) -> str:
        return f"ingest_{self.name}"

    @property
    def macros(self) -> tuple[Macro, ...]:
        """The macros of all topics, each after those that it calls."""
        return tuple(dict.fromkeys(macro for topic in self.topics for macro in topic.macros))

    @property
    def clock(self) -> Topic:
        """The relation that has a row for each landing batch, ticks included."""
        text = "When each landing batch landed, those included that only make time pass; one row per landing batch."
        return Topic(f"{self.name}_clock", CLOCK_TOPIC, self.place, description=text)

    @property
    def relations(self) -> tuple[Topic, ...]:
        """What models can read of it: its topics and its clock."""
        return (*self.topics, self.clock)


@dataclass(frozen=True)
class Publish:
    """Where a model's rows go in Kafka: topic (or the column that names it), key and JSON value.

    `value` are fields and their columns; instead of them, `value_column` may hold the whole value as JSON text.
    `start` defines what happens to rows from before the model was published: `earliest` sends them too.
    """

    key: str
    value: tuple[tuple[str, str], ...]
    topic: str | None = None
    topic_column: str | None = None
    tombstone_when: str | None = None
    start: Literal["earliest", "latest"] | None = None
    value_column: str | None = None
    suffix: str = ""
    """What a target adds to the name of the topic, also to one that stands in a column."""


@dataclass(frozen=True)
class DataTest:
    """One requirement on a model's rows.

    `fails` is a SQL condition that is true of a failing row: all of it for a row by itself, and for `unique` and
    `relationships` the rows that are looked at. `to` and `field` are where a relationship must find the value.
    """

    name: str
    kind: TestKind
    fails: str
    on_failure: OnFailure = "warn"
    column: str | None = None
    to: str | None = None
    field: str | None = None
    place: Place | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True)
class Input:
    """One table reference in a model's text; `start`..`end` are offsets in `Model.text`.

    The span covers the word `stream` (if any) and the dotted name, without the alias. `versions` means that the text
    reads the versions of the table, `<table>_versions`; `past`, that it needs those of the past too.
    """

    table: str
    stream: bool
    start: int
    end: int
    place: Place
    has_alias: bool
    versions: bool = False
    past: bool = False

    @property
    def name(self) -> str:
        """The name in the text, such as `silver.customers_versions`."""
        return f"{self.table}_versions" if self.versions else self.table


@dataclass(frozen=True)
class LiteralParameter:
    """A `:name` at offsets `start`..`end` of the text, where Spark takes only literals."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Model:
    """One SQL file: one query, one table.

    `delete_when` removes a key's row; `close_when` removes it permanently: later rows of that key are ignored.
    `columns` are declared types by name; `output_columns` are the names the text gives, if that is certain.
    `extra_columns` is whether the result may have columns beside the declared ones; `allow` are the findings that
    the header allows, with the reason of each.
    `log` is the text that is logged of a row, a column or another expression, up to 20 rows a batch.
    `on_error` is what happens to a row that makes the SQL fail: it stops the query, or is set aside.
    `remember` is for how many seconds of event time a streaming model finds its own rows: a number or a parameter.
    `every` is the number of seconds between two snapshots, or the variable that holds it.
    `max_state_bytes` is how large a current row of an upsert may be.
    `keep` is for how many seconds rows stay, None for all time; `keep_history`, for how long replaced files do, where
    the target is not to say.
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
    intervals: tuple[LiteralParameter, ...] = ()
    lists: tuple[LiteralParameter, ...] = ()
    unique_key: tuple[str, ...] = ()
    once_per: tuple[str, ...] = ()
    delete_when: str | None = None
    close_when: str | None = None
    publish: Publish | None = None
    output_mode: Literal["append", "update"] = "append"
    log: str | None = None
    on_error: Literal["stop", "dead_letter"] = "stop"
    remember: float | str | None = None
    every: float | str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, compare=False)
    extra_columns: Literal["allow", "refuse"] = "allow"
    allow: Mapping[str, str] = field(default_factory=dict, compare=False)
    tests: tuple[DataTest, ...] = ()
    output_columns: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    max_state_bytes: int = 1 << 20
    keep: float | None = None
    keep_history: float | None = None
    owner: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)
    header_places: Mapping[str, Place] = field(default_factory=dict, compare=False)

    @property
    def table(self) -> str:
        return f"{self.layer}.{self.name}"

    @property
    def expressions(self) -> Iterator[tuple[str, str]]:
        """The SQL expressions of the header, each after the key it stands under; all see the rows of the query."""
        tombstone = self.publish.tombstone_when if self.publish else None
        keys = {"delete_when": self.delete_when, "close_when": self.close_when, "log": self.log}
        for key, text in {**keys, "publish.tombstone_when": tombstone}.items():
            if text is not None:
                yield key, text
        for test in self.tests:
            yield f"tests.columns.{test.column}" if test.column else f"tests.rows.{test.name}", test.fails


@dataclass(frozen=True)
class Query:
    """What runs as one query: a group of micro-batch models in order, one streamed model, or one snapshot."""

    name: str
    engine: Engine
    models: tuple[Model, ...]


@dataclass(frozen=True)
class Kafka:
    """How to reach Kafka; `options` are client properties passed through unchanged.

    `topics` are the names that the cluster has for topics which the project's files name otherwise.
    """

    bootstrap: str = "embedded"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    create_topics: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)

    def named(self, topic: str) -> str:
        """Return what the cluster calls a topic of the project's files."""
        return self.topics.get(topic, topic)


@dataclass(frozen=True)
class Mail:
    """How e-mails are sent: the SMTP server, and the sender."""

    host: str
    sender: str
    port: int = 25
    security: Literal["none", "starttls", "tls"] = "none"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout: float = 30.0


@dataclass(frozen=True)
class Http:
    """Who may ask the REST service: whoever has the token; `open` is to ask nobody for one.

    `hosts` are names of the service beside those of the machine itself, `rate` the requests per second that one
    address may send.
    """

    token: str | None = field(default=None, repr=False)
    open: bool = False
    hosts: tuple[str, ...] = ()
    rate: float = 200.0


@dataclass(frozen=True)
class InputBounds:
    """How much of the sources a target reads: from where on, if it has not read before, and about how many records.

    `start` is `earliest`, `latest`, or how many seconds back.
    """

    start: Literal["earliest", "latest"] | float | None = None
    max_records: int | None = None


@dataclass(frozen=True)
class Target:
    """One file of conf/: where the project runs. Times are seconds.

    A target that is like another reads the same topics and shares nothing that it writes: it has its own data
    directory, and `suffix` is part of every name in Kafka. `broker_of` is the data directory of the other. `store` is
    where the data are, if they are not in the data directory.
    `places` are those of its keys in conf/, nested ones with dots.
    """

    name: str
    data_dir: Path
    store: StorePath | None = None
    kafka: Kafka = Kafka()
    spark_master: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    compiler: Compiler = "full"
    small_batches: SmallBatchMode = "auto"
    ingest_interval: float = 1.0
    max_rows: int = 100_000
    keep_history: float = 600.0
    vars: Mapping[str, Any] = field(default_factory=dict)
    mail: Mail | None = None
    http: Http = Http()
    like: str | None = None
    suffix: str = ""
    input: InputBounds = InputBounds()
    broker_of: Path | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    @property
    def layout(self) -> Layout:
        """Where everything is."""
        return Layout(self.data_dir, self.store)

    @property
    def place(self) -> SparkPlace | None:
        """The object store as Spark knows it; None if the data are in a folder."""
        return self.store.bucket.place if isinstance(self.store, ObjectPath) else None

    @property
    def identity(self) -> str:
        """The name that distinguishes this target from others in Kafka."""
        return f"{self.name}{self.suffix}"


@dataclass(frozen=True)
class Project:
    """A whole project, resolved for one target; `queries` are those to run, in dependency order.

    `functions` are those that SQL may call beside Spark's: the macros, and what the manifest allows.
    `landings_to_run` are the names of the landings to run; None means all. `places` are those of the keys of the
    manifest and of the target, nested ones with dots.
    """

    root: Path
    name: str
    target: Target
    vars: Mapping[str, Any]
    landings: tuple[Landing, ...]
    models: tuple[Model, ...]
    macros: tuple[Macro, ...]
    queries: tuple[Query, ...]
    functions: frozenset[str] = frozenset()
    test_paths: tuple[str, ...] = ("tests/models",)
    landings_to_run: tuple[str, ...] | None = None
    places: Mapping[str, Place] = field(default_factory=dict, compare=False, repr=False)

    def model(self, table: str) -> Model:
        """Return the model that writes `table`; KeyError if there is none."""
        for model in self.models:
            if model.table == table:
                return model
        raise KeyError(table)

    def topic(self, name: str) -> tuple[Landing, Topic]:
        """Return the bronze relation `name` (without layer) and its landing; KeyError if unknown."""
        for landing in self.landings:
            for topic in landing.relations:
                if topic.name == name:
                    return landing, topic
        raise KeyError(name)
