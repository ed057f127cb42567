"""The edit corpus: shapes of models, and what each edit of one means for what is live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from headrace.planning.comparison import Comparison, Outcome
from headrace.planning.declared import Declared, Schemas
from headrace.project import loader
from headrace.project.model import Project

HERE = Path(__file__).parent
SHARED: Mapping[str, str] = YAML(typ="safe").load(HERE / "project.yml")
GIVEN: Sequence[Any] = YAML(typ="safe").load(HERE / "given.yml")


@dataclass(frozen=True)
class Edit:
    """One edit of a shape; `truth` is what the running query makes of it, as measured."""

    shape: Shape
    name: str
    files: Mapping[str, str]
    verdict: str
    truth: str

    @property
    def title(self) -> str:
        return f"{self.shape.name}: {self.name}"


@dataclass(frozen=True)
class Shape:
    """A small project, the model that is looked at, and the batches that land."""

    name: str
    model: str
    files: Mapping[str, str]
    schemas: Schemas
    given: Sequence[Any]
    declared: Mapping[str, Mapping[str, Any]]

    @property
    def edits(self) -> Iterator[Edit]:
        for name, edit in self.declared.items():
            yield Edit(self, name, self._edited(edit), edit["verdict"], edit["truth"])

    def _edited(self, edit: Mapping[str, Any]) -> Mapping[str, str]:
        own = next(path for path in self.files if path.endswith(f"/{self.model.split('.')[1]}.sql"))
        path = edit.get("file", own)
        text = self.files[path]
        for each in (edit, *([edit["also"]] if "also" in edit else [])):
            assert each["from"] in text, (self.name, each["from"])
            text = text.replace(each["from"], each["to"], -1 if edit.get("all") else 1)
        return {**self.files, path: text}


@cache
def shapes() -> list[Shape]:
    return [_shape(path) for path in sorted((HERE / "edits").glob("*.yml"))]


def edits() -> list[Edit]:
    return [edit for shape in shapes() for edit in shape.edits]


def edits_of(file: str) -> list[Edit]:
    """The edits of the shapes that one file holds."""
    found = (_read(content["name"], content) for content in YAML(typ="safe").load(HERE / file))
    return [edit for shape in found for edit in shape.edits]


def project(files: Mapping[str, str], folder: Path) -> Project:
    """Write a project and load it."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return loader.load(folder, "test")


def judged(old: Project, new: Project, schemas: Schemas, table: str) -> Outcome:
    """The verdict on one model."""
    stored = [model.table for query in new.queries for model in query.models]
    return Comparison(Declared.of(old, schemas), Declared.of(new)).outcomes(stored)[table]


def _shape(path: Path) -> Shape:
    return _read(path.stem, YAML(typ="safe").load(path))


def _read(name: str, content: Mapping[str, Any]) -> Shape:
    schemas = {content["model"]: content["types"], **content.get("types_of", {})}
    files = {**SHARED, **content["files"]}
    return Shape(name, content["model"], files, schemas, content.get("given", GIVEN), content["edits"])
