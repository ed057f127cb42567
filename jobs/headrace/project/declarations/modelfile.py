"""One model file: its place in the folders, its header and its query, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import cast

from headrace.errors import Finding, InvalidProject, Place
from headrace.project import graph
from headrace.project.declarations import header
from headrace.project.declarations.header import Header
from headrace.project.declarations.manifest import LAYERS, Manifest
from headrace.project.declarations.settings import Settings
from headrace.project.declarations.shapes import is_name
from headrace.project.files import read_text
from headrace.project.model import Engine, Layer, Model
from headrace.project.sql import dialect, sqltext
from headrace.project.sql.sqltext import SqlText


@dataclass(frozen=True)
class Location:
    """What the path of a model file declares: `<sql path>/<layer>/<domain>/.../<name>.sql`."""

    path: str
    layer: Layer
    domain: str
    name: str

    @property
    def table(self) -> str:
        return f"{self.layer}.{self.name}"


@dataclass(frozen=True)
class ModelFile:
    """A model, the facts of its text, and the settings it was made with."""

    model: Model
    text: SqlText
    settings: Settings


def locate(sql_path: str, path: str) -> Location:
    """Read the path of a model file; one outside layer and domain raises InvalidProject."""
    inner = PurePosixPath(path).relative_to(PurePosixPath(sql_path))
    layer, domain, name = inner.parts[0], inner.parts[1:-1], inner.stem
    if layer not in LAYERS or not domain:
        message = f"a model lives in {sql_path}/<{'|'.join(LAYERS)}>/<domain>/; move the file"
        raise InvalidProject([Finding(Place(path), "bad-path", message)])
    bad = [word for word in (domain[0], name) if not is_name(word)]
    if bad:
        message = f"`{bad[0]}` is no name: use a lower-case letter, then letters, digits and _, at most 63"
        raise InvalidProject([Finding(Place(path), "bad-name", message)])
    return Location(path, cast(Layer, layer), domain[0], name)


def read(root: Path, location: Location, manifest: Manifest) -> ModelFile:
    """Read a model; what is wrong with its header and what with its query are found together."""
    content = read_text(root, location.path)
    dialect.refuse_long(content, location.path)
    found: list[Finding] = []
    try:
        head = header.read(content, location.path)
    except InvalidProject as error:
        found += error.findings
    try:
        text = sqltext.read(content, location.path)
    except InvalidProject as error:
        found += error.findings
    if found:
        raise InvalidProject(found)
    settings = head.keys.over(manifest.settings(location.layer, location.domain))
    if settings.materialized is None:
        message = "say how the model is kept: `materialized: view`, `append`, `upsert` or `snapshot`, here or by folder"
        raise InvalidProject([Finding(Place(location.path), "missing-key", f"{message} in manifest.yml")])
    return ModelFile(_model(location, content, head, text, settings), text, settings)


def settle_engines(files: Sequence[ModelFile]) -> tuple[ModelFile, ...]:
    """Let models that read a view with a WATERMARK run in the streaming engine, unless their settings have `run`."""
    known = graph.by_table(file.model for file in files)
    watermarked = {file.model.path for file in files if file.text.has_watermark}

    def settled(file: ModelFile) -> ModelFile:
        model = file.model
        streams = any(view.path in watermarked for view in graph.views(model, known))
        if model.materialized in ("view", "snapshot") or file.settings.run is not None or not streams:
            return file
        return replace(file, model=replace(model, run="streaming", query=model.name))

    return tuple(settled(file) for file in files)


def _engine(settings: Settings, text: SqlText) -> Engine:
    if settings.materialized == "snapshot":
        return "snapshot"
    return settings.run or ("streaming" if text.has_watermark else "micro_batch")


def _model(location: Location, content: str, head: Header, text: SqlText, settings: Settings) -> Model:
    is_view = settings.materialized == "view"
    run = _engine(settings, text)
    query = settings.query if run == "micro_batch" and settings.query else location.name
    return Model(
        layer=location.layer,
        name=location.name,
        domain=location.domain,
        path=location.path,
        text=content,
        description=head.description,
        materialized=settings.materialized or "view",
        run=run,
        query=None if is_view else query,
        inputs=text.inputs,
        parameters=tuple(dict.fromkeys(parameter.name for parameter in text.parameters)),
        intervals=text.intervals,
        lists=text.lists,
        unique_key=head.keys.unique_key,
        once_per=head.keys.once_per,
        delete_when=head.keys.delete_when,
        close_when=head.keys.close_when,
        publish=head.publish,
        output_mode=settings.output_mode,
        log=settings.log,
        on_error=settings.on_error,
        remember=head.keys.remember,
        every=head.keys.every,
        tags=tuple(dict.fromkeys((location.domain, *settings.tags))),
        columns=head.keys.columns,
        extra_columns=settings.extra_columns,
        allow={str(code): reason for code, reason in head.keys.allow.items()},
        tests=head.tests,
        output_columns=text.columns,
        keep=None if is_view else settings.keep,
        keep_history=settings.keep_history,
        max_state_bytes=settings.max_state_bytes,
        owner=settings.owner,
        meta=settings.meta,
        header_places=head.places,
    )
