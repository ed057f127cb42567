"""conf/<target>.yml: where the project runs, with references to secrets resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from headrace.errors import EnvironmentFault, Finding, InvalidProject, UsageError, did_you_mean
from headrace.project import secret_values
from headrace.project.declarations import documents, shapes
from headrace.project.declarations.documents import Document, Keys, Shape, refuse
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
from headrace.project.files import read_text
from headrace.project.kafka_options import client_properties
from headrace.project.model import Compiler, Http, InputBounds, Kafka, Mail, SmallBatchMode, Target
from headrace.secrets import SHORTEST, remember
from headrace.store import hadoop
from headrace.store.paths import ObjectPath, path_of

BOOTSTRAP_VARIABLE = "HEADRACE_KAFKA_BOOTSTRAP"
DATA_DIR_VARIABLE = "HEADRACE_DATA_DIR"
STORE_VARIABLE = "HEADRACE_STORE"
SMALL_BATCHES_VARIABLE = "HEADRACE_SMALL_BATCHES"


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


def read(root: Path, name: str, environ: Mapping[str, str]) -> Target:
    """Read one target; `environ` resolves `env:` references, and its HEADRACE_ variables override the file.

    Its secrets are shown nowhere from then on. A finding shows a reference as it is written, not what it refers to.
    """
    references: dict[str, str] = {}
    try:
        found = _read(root, name, environ, references)
    except InvalidProject as error:
        raise InvalidProject(_unresolved(finding, references) for finding in error.findings) from None
    remember(secret_values.of(found))
    return found


def _unresolved(finding: Finding, references: Mapping[str, str]) -> Finding:
    """A finding in the user's words: what was referred to may be a secret, at the wrong place."""
    message = finding.message
    for value in sorted(references, key=len, reverse=True):
        message = message.replace(value, references[value])
    return replace(finding, message=message)


def _read(root: Path, name: str, environ: Mapping[str, str], references: dict[str, str]) -> Target:
    names = target_names(root)
    if name not in names:
        known = f" Targets here: {', '.join(names)}." if names else " There is no file in conf/ yet."
        raise UsageError(f"no target {name}: conf/{name}.yml does not exist.{did_you_mean(name, names)}{known}")
    _check_environment(environ)
    path = f"conf/{name}.yml"
    own = documents.parse(read_text(root, path), path)
    other = _other(root, own, names, environ, references)
    document = _overridden(_completed(own, other), environ)
    file = documents.validate(_resolved(document, root, environ, references), FileShape)
    folders = _folders(root, name, own, file, other, environ)
    found = [
        *_path_findings(document, folders),
        *_like_findings(own, file, folders),
        *_option_findings(document, file),
        *_store_findings(document, file),
        *_token_findings(document, file),
        *_shared_store_findings(own, file, folders),
    ]
    if found:
        raise InvalidProject(found)
    return _target(name, document, file, folders)


def _target(name: str, document: Document, file: FileShape, folders: _Folders) -> Target:
    return Target(
        name=name,
        data_dir=folders.data_dir,
        store=folders.store,
        kafka=Kafka(file.kafka.bootstrap, file.kafka.options, file.kafka.create_topics, file.kafka.topics),
        spark_master=file.spark.master,
        spark_conf=file.spark.conf,
        compiler=file.spark.compiler,
        small_batches=file.spark.small_batches,
        ingest_interval=file.trigger.ingest,
        max_rows=file.trigger.max_rows,
        keep_history=file.keep_history,
        vars=file.vars,
        mail=Mail(**file.mail.model_dump()) if file.mail else None,
        http=Http(**file.http.model_dump()),
        like=file.like,
        suffix=file.suffix or (f"_{name}" if file.like else ""),
        input=InputBounds(file.input.start, file.input.max_records),
        broker_of=folders.other_data_dir,
        places={".".join(map(str, keys)): place for keys, place in document.key_places.items()},
    )


def target_names(root: Path) -> list[str]:
    """List the targets of a project."""
    return sorted(file.stem for file in (root / "conf").glob("*.yml"))


@dataclass(frozen=True)
class _Other:
    """The target that another one is like."""

    name: str
    document: Document
    file: FileShape


def _other(
    root: Path, document: Document, names: list[str], environ: Mapping[str, str], references: dict[str, str]
) -> _Other | None:
    name = document.value.get("like") if isinstance(document.value, Mapping) else None
    if not isinstance(name, str):
        return None
    if name not in names:
        message = f"`like`: no target {name}.{did_you_mean(name, names)}"
        raise InvalidProject([Finding(document.value_place("like"), "bad-value", message)])
    path = f"conf/{name}.yml"
    other = _overridden(documents.parse(read_text(root, path), path), environ)
    file = documents.validate(_resolved(other, root, environ, references), FileShape)
    if file.like is not None:
        message = f"`like`: {name} is itself like {file.like}; name that one"
        raise InvalidProject([Finding(document.value_place("like"), "bad-value", message)])
    if found := [*_option_findings(other, file)]:
        raise InvalidProject(found)
    return _Other(name, other, file)


def _completed(document: Document, other: _Other | None) -> Document:
    """A target's values over those of the one that it is like; the data directory is never the other's."""
    if other is None:
        return document
    wider = other.document
    return replace(
        document,
        value=documents.merged({key: item for key, item in wider.value.items() if key != "data_dir"}, document.value),
        key_places={**wider.key_places, **document.key_places},
        value_places={**wider.value_places, **document.value_places},
    )


@dataclass(frozen=True)
class _Folders:
    """Where a target keeps its data, and where the target does that it is like, if there is one."""

    data_dir: Path
    store: Path | ObjectPath | None
    other_data_dir: Path | None = None
    other_store: Path | ObjectPath | None = None


def _folders(
    root: Path, name: str, own: Document, file: FileShape, other: _Other | None, environ: Mapping[str, str]
) -> _Folders:
    """A folder that a variable names, and a store of the other target, belong to the other: ours is next to it."""
    data_dir, store = _data_dir(root, name, file), _store_of(root, file)
    if other is None:
        return _Folders(data_dir, store)
    if environ.get(DATA_DIR_VARIABLE):
        data_dir = Path(f"{data_dir}-{name}")
    if store is not None and (environ.get(STORE_VARIABLE) or "store" not in (own.value or {})):
        store = _beside(store, name)
    return _Folders(data_dir, store, _data_dir(root, other.name, other.file), _store_of(root, other.file))


def _data_dir(root: Path, name: str, file: FileShape) -> Path:
    return root / Path(file.data_dir or f".headrace/{name}").expanduser()


def _store_of(root: Path, file: FileShape) -> Path | ObjectPath | None:
    if file.store is None:
        return None
    found = path_of(file.store.url, file.store.options)
    return root / found.expanduser() if isinstance(found, Path) else found


def _beside(store: Path | ObjectPath, name: str) -> Path | ObjectPath:
    """The store of a target that is like the one whose store this is: a bucket without a prefix gets one."""
    if isinstance(store, Path):
        return Path(f"{store}-{name}")
    url = store.bucket.url.rstrip("/")
    return path_of(f"{url}-{name}" if "/" in url.partition("://")[2] else f"{url}/{name}", store.bucket.options)


def _store_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """What neither Spark nor the driver's own client could use."""
    if file.store is None:
        return
    url, options = file.store.url, file.store.options
    known = hadoop.known_options(url)
    unknown = [name for name in options if name not in known]
    for name in unknown:
        advice = did_you_mean(name, known) or (f" Known here: {', '.join(known)}." if known else "")
        message = f"the store {url} has no option `{name}`.{advice}"
        yield Finding(document.key_place("store", "options", name), "unknown-key", message)
    if "://" in url and not unknown:
        try:
            hadoop.place_of(url, options)
        except EnvironmentFault as fault:
            yield Finding(document.value_place("store", "url"), "bad-value", f"`store`: {fault}")


def _path_findings(document: Document, folders: _Folders) -> Iterator[Finding]:
    """Folders in which no table could be read; one may lie in a project whose own path is not fit."""
    for key, folder in (("data_dir", folders.data_dir), ("store", folders.store)):
        if isinstance(folder, Path) and (message := shapes.path_fault(str(folder))):
            yield Finding(document.value_place(key), "bad-value", f"`{key}`: {message}")


def _shared_store_findings(document: Document, file: FileShape, folders: _Folders) -> Iterator[Finding]:
    if folders.store is not None and folders.store == folders.other_store:
        message = f"`store`: {file.like} keeps its tables there; give another one, or leave it out"
        yield Finding(document.value_place("store", "url"), "bad-value", message)


def _like_findings(document: Document, file: FileShape, folders: _Folders) -> Iterator[Finding]:
    other = folders.other_data_dir
    if other is not None and folders.data_dir.resolve() == other.resolve():
        message = f"`data_dir`: {file.like} keeps its tables there; give another folder, or leave it out"
        yield Finding(document.value_place("data_dir"), "bad-value", message)
    for key in ("suffix", "input") if file.like is None else ():
        if key in file.model_fields_set:
            message = f"`{key}` is for a target that shares topics with another; add `like: <target>`"
            yield Finding(document.key_place(key), "bad-value", message)


def _option_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """What no Kafka client could use."""
    options = file.kafka.options
    for name in options.keys() - client_properties.KNOWN:
        message = f"no Kafka client knows `{name}`.{did_you_mean(name, client_properties.KNOWN)}"
        yield Finding(document.key_place("kafka", "options", name), "unknown-key", message)
    for name, reason in client_properties.refused(options):
        message = f"`kafka.options.{name}`: {reason}"
        yield Finding(document.value_place("kafka", "options", name), "bad-value", message)


def _token_findings(document: Document, file: FileShape) -> Iterator[Finding]:
    """A token in a file of the project is a token in its history."""
    if file.http.token is not None and not re.match("env:|file:(?!//)", document.value["http"]["token"]):
        message = "`http.token`: give a reference, such as `env:HTTP_TOKEN` or `file:/run/secrets/http_token`"
        yield Finding(document.value_place("http", "token"), "bad-value", message)


def _check_environment(environ: Mapping[str, str]) -> None:
    checks = (
        (BOOTSTRAP_VARIABLE, shapes.bootstrap_fault),
        (DATA_DIR_VARIABLE, shapes.folder_fault),
        (STORE_VARIABLE, shapes.store_fault),
    )
    for variable, fault in checks:
        if (value := environ.get(variable)) and (message := fault(value)):
            raise EnvironmentFault(f"{variable}: {message}")
    mode, modes = environ.get(SMALL_BATCHES_VARIABLE), get_args(SmallBatchMode)
    if mode and mode not in modes:
        raise EnvironmentFault(f"{SMALL_BATCHES_VARIABLE}: `{mode}` is none of {', '.join(modes)}")


def _overridden(document: Document, environ: Mapping[str, str]) -> Document:
    value = {} if document.value is None else document.value
    if not isinstance(value, Mapping):
        return document
    kafka, spark = value.get("kafka") or {}, value.get("spark") or {}
    if (bootstrap := environ.get(BOOTSTRAP_VARIABLE)) and isinstance(kafka, Mapping):
        value = {**value, "kafka": {**kafka, "bootstrap": bootstrap}}
    if data_dir := environ.get(DATA_DIR_VARIABLE):
        value = {**value, "data_dir": data_dir}
    if url := environ.get(STORE_VARIABLE):
        store = value.get("store")
        value = {**value, "store": {**(store if isinstance(store, Mapping) else {}), "url": url}}
    if (mode := environ.get(SMALL_BATCHES_VARIABLE)) and isinstance(spark, Mapping):
        value = {**value, "spark": {**spark, "small_batches": mode}}
    return replace(document, value=value)


def _resolved(document: Document, root: Path, environ: Mapping[str, str], references: dict[str, str]) -> Document:
    """Replace each `env:NAME` and `file:/path` by what it refers to, and note that; `file:///...` stays a URI."""
    found: list[Finding] = []

    def resolve(value: Any, keys: Keys) -> Any:
        if isinstance(value, Mapping):
            return {key: resolve(item, (*keys, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [resolve(item, (*keys, index)) for index, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        try:
            referred = _referred(value, root, environ)
        except LookupError as error:
            found.append(Finding(document.value_place(*keys), "missing-reference", str(error.args[0])))
            return value
        if referred != value and len(referred) >= SHORTEST:
            references[referred] = value
        return referred

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
