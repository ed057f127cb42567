"""The keys of a file of conf/, and their types."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from headrace.project.declarations.documents import Shape, refuse
from headrace.project.declarations.shapes import (
    Bootstrap,
    Duration,
    FolderPath,
    History,
    Options,
    StoreUrl,
    TopicName,
    Vars,
    seconds,
)
from headrace.project.model import Compiler, SmallBatchMode


def _start(value: Any) -> Any:
    return value if value in ("earliest", "latest", None) else seconds(value)


def _suffix(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"[a-zA-Z0-9._-]{1,40}", text):
        raise refuse("bad-value", "a suffix is 1 to 40 letters, digits, dots, `_` and `-`, as in Kafka's names")
    return text


class _Kafka(Shape):
    bootstrap: Bootstrap = "embedded"
    options: Options = Field(default_factory=dict)
    create_topics: bool = False
    topics: dict[str, TopicName] = Field(default_factory=dict)


class _Spark(Shape):
    master: str | None = None
    compiler: Compiler = "full"
    small_batches: SmallBatchMode = "auto"
    conf: Options = Field(default_factory=dict)


class _Trigger(Shape):
    ingest: Duration = Field(default="1s", validate_default=True)
    max_rows: Annotated[int, Field(ge=1)] = 100_000


class _Mail(Shape):
    host: str
    sender: str
    port: Annotated[int, Field(ge=1, le=65535)] = 25
    security: Literal["none", "starttls", "tls"] = "none"
    username: str | None = None
    password: str | None = None
    timeout: Duration = Field(default="30s", validate_default=True)


class _Http(Shape):
    token: Annotated[str | None, Field(min_length=16)] = None
    open: bool = False
    hosts: tuple[str, ...] = ()
    rate: Annotated[float, Field(gt=0)] = 200.0


class _Input(Shape):
    start: Annotated[
        Literal["earliest", "latest"] | float | None, BeforeValidator(_start, json_schema_input_type=str | float | None)
    ] = None
    max_records: Annotated[int | None, Field(ge=1)] = None


class _Store(Shape):
    url: StoreUrl
    options: Options = Field(default_factory=dict)


def _store(value: Any) -> Any:
    return {"url": value} if isinstance(value, str) else value


class FileShape(Shape):
    """A file of conf/."""

    like: str | None = None
    suffix: Annotated[str | None, AfterValidator(_suffix)] = None
    input: _Input = Field(default_factory=_Input)
    kafka: _Kafka = Field(default_factory=_Kafka)
    data_dir: FolderPath | None = None
    store: Annotated[_Store | None, BeforeValidator(_store, json_schema_input_type=str | _Store | None)] = None
    spark: _Spark = Field(default_factory=_Spark)
    trigger: _Trigger = Field(default_factory=_Trigger)
    keep_history: History = Field(default="10m", validate_default=True)
    mail: _Mail | None = None
    http: _Http = Field(default_factory=_Http)
    vars: Vars = Field(default_factory=dict)
