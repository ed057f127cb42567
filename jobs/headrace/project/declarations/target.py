"""conf/<target>.yml: where the project runs, with references to secrets resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import Finding, InvalidProject, UsageError, did_you_mean
from headrace.project import secret_values
from headrace.project.declarations import documents
from headrace.project.declarations.documents import Document
from headrace.project.declarations.targets import findings, folders
from headrace.project.declarations.targets.folders import Folders
from headrace.project.declarations.targets.references import check_environment, overridden, resolved
from headrace.project.declarations.targets.shape import FileShape
from headrace.project.files import read_text
from headrace.project.model import Http, InputBounds, Kafka, Mail, Target
from headrace.secrets import remember


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
    check_environment(environ)
    path = f"conf/{name}.yml"
    own = documents.parse(read_text(root, path), path)
    other = _other(root, own, names, environ, references)
    document = overridden(_completed(own, other), environ)
    file = documents.validate(resolved(document, root, environ, references), FileShape)
    like = None if other is None else (other.name, other.file)
    where = folders.of(root, name, own, file, like, environ)
    found = [
        *findings.path_findings(document, where),
        *findings.like_findings(own, file, where),
        *findings.option_findings(document, file),
        *findings.store_findings(document, file),
        *findings.token_findings(document, file),
        *findings.shared_store_findings(own, file, where),
    ]
    if found:
        raise InvalidProject(found)
    return _target(name, document, file, where)


def _target(name: str, document: Document, file: FileShape, where: Folders) -> Target:
    return Target(
        name=name,
        data_dir=where.data_dir,
        store=where.store,
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
        broker_of=where.other_data_dir,
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
    other = overridden(documents.parse(read_text(root, path), path), environ)
    file = documents.validate(resolved(other, root, environ, references), FileShape)
    if file.like is not None:
        message = f"`like`: {name} is itself like {file.like}; name that one"
        raise InvalidProject([Finding(document.value_place("like"), "bad-value", message)])
    if found := [*findings.option_findings(other, file)]:
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
