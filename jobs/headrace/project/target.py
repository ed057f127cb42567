"""conf/<target>.yml: where the project runs, with references to secrets resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from headrace.errors import Finding, InvalidProject, UsageError, did_you_mean
from headrace.project import documents
from headrace.project.documents import Document, Keys, Shape
from headrace.project.files import read_text
from headrace.project.model import Kafka, Target
from headrace.project.shapes import Duration, Options, Vars

BOOTSTRAP_VARIABLE = "HEADRACE_KAFKA_BOOTSTRAP"
DATA_DIR_VARIABLE = "HEADRACE_DATA_DIR"


class _Kafka(Shape):
    bootstrap: str = "embedded"
    options: Options = Field(default_factory=dict)
    create_topics: bool = False


class _Spark(Shape):
    master: str | None = None
    conf: Options = Field(default_factory=dict)


class _Trigger(Shape):
    ingest: Duration = 1.0
    max_rows: Annotated[int, Field(ge=1)] = 100_000


class _File(Shape):
    kafka: _Kafka = _Kafka()
    data_dir: str | None = None
    spark: _Spark = _Spark()
    trigger: _Trigger = _Trigger()
    vars: Vars = Field(default_factory=dict)


def read(root: Path, name: str, environ: Mapping[str, str]) -> Target:
    """Read one target; `environ` resolves `env:` references, and its HEADRACE_ variables override the file."""
    names = target_names(root)
    if name not in names:
        known = f" Targets here: {', '.join(names)}." if names else " There is no file in conf/ yet."
        raise UsageError(f"no target {name}: conf/{name}.yml does not exist.{did_you_mean(name, names)}{known}")
    path = f"conf/{name}.yml"
    document = documents.parse(read_text(root, path), path)
    document = replace(document, value=_overridden(document.value, environ))
    file = documents.validate(_resolved(document, root, environ), _File)
    return Target(
        name=name,
        data_dir=root / Path(file.data_dir or f".headrace/{name}").expanduser(),
        kafka=Kafka(file.kafka.bootstrap, file.kafka.options, file.kafka.create_topics),
        spark_master=file.spark.master,
        spark_conf=file.spark.conf,
        ingest_interval=file.trigger.ingest,
        max_rows=file.trigger.max_rows,
        vars=file.vars,
    )


def target_names(root: Path) -> list[str]:
    """List the targets of a project."""
    return sorted(file.stem for file in (root / "conf").glob("*.yml"))


def _overridden(value: Any, environ: Mapping[str, str]) -> Any:
    value = {} if value is None else value
    if not isinstance(value, Mapping):
        return value
    kafka = value.get("kafka") or {}
    if (bootstrap := environ.get(BOOTSTRAP_VARIABLE)) and isinstance(kafka, Mapping):
        value = {**value, "kafka": {**kafka, "bootstrap": bootstrap}}
    if data_dir := environ.get(DATA_DIR_VARIABLE):
        value = {**value, "data_dir": data_dir}
    return value


def _resolved(document: Document, root: Path, environ: Mapping[str, str]) -> Document:
    """Replace each `env:NAME` and `file:/path` by what it refers to; `file:///...` stays a URI."""
    found: list[Finding] = []

    def resolve(value: Any, keys: Keys) -> Any:
        if isinstance(value, Mapping):
            return {key: resolve(item, (*keys, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [resolve(item, (*keys, index)) for index, item in enumerate(value)]
        try:
            return _referred(value, root, environ) if isinstance(value, str) else value
        except LookupError as error:
            found.append(Finding(document.value_place(*keys), "missing-reference", str(error.args[0])))
            return value

    value = resolve(document.value, ())
    if found:
        raise InvalidProject(found)
    return replace(document, value=value)


def _referred(text: str, root: Path, environ: Mapping[str, str]) -> str:
    if text.startswith("env:"):
        name = text.removeprefix("env:")
        if name not in environ:
            raise LookupError(f"the environment variable {name} is not set; set it, or use another target")
        return environ[name]
    if text.startswith("file:") and not text.startswith("file://"):
        file = root / text.removeprefix("file:")
        try:
            return file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise LookupError(f"the file {file} cannot be read; create it, or use another target") from None
    return text
