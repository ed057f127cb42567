"""manifest.yml: the project's name, its folders, its variables and the defaults of its models by folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field

from headrace.errors import Finding, InvalidProject, Place, UsageError, did_you_mean
from headrace.project.declarations import documents
from headrace.project.declarations.documents import Document, Shape
from headrace.project.declarations.settings import FolderSettings, Settings
from headrace.project.declarations.shapes import Functions, Name, Texts, Vars
from headrace.project.files import read_text

FILE_NAME = "manifest.yml"
LAYERS = ("silver", "gold")
Folder = tuple[str, ...]
_MAY_BE_MISSING = {"macro-paths": "macros", "test-paths": "tests/models"}
"""Folders that not every project has, with their default names."""
_LAYER_FOLDERS = tuple((layer,) for layer in LAYERS)


class FileShape(Shape):
    """The whole of manifest.yml; its folders are read one by one."""

    name: Name
    version: Literal[1] = 1
    description: str = ""
    sql_paths: Texts = Field(default=("sql",), alias="sql-paths")
    macro_paths: Texts = Field(default=("macros",), alias="macro-paths")
    test_paths: Texts = Field(default=("tests/models",), alias="test-paths")
    allow_functions: Functions = Field(default_factory=dict, alias="allow-functions")
    vars: Vars = Field(default_factory=dict)
    models: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """manifest.yml, checked; `folders` hold the settings under each key path of `models:`.

    `allow_functions` are functions beside Spark's harmless ones, each with the reason why SQL may call it. `places` are
    those of its keys, nested ones with dots.
    """

    name: str = "project"
    sql_paths: tuple[str, ...] = ("sql",)
    macro_paths: tuple[str, ...] = ("macros",)
    test_paths: tuple[str, ...] = ("tests/models",)
    allow_functions: Mapping[str, str] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    folders: Mapping[Folder, Settings] = field(default_factory=dict)
    folder_places: Mapping[Folder, Place] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)

    def settings(self, layer: str, domain: str) -> Settings:
        """Return the defaults of one folder: of all, the layer, the domain, the domain in the layer."""
        folders = ((), (layer,), (domain,), (layer, domain))
        found = [self.folders[folder] for folder in folders if folder in self.folders]
        return reduce(lambda wider, nearer: nearer.over(wider), found, Settings())

    def unknown_folders(self, domains: Iterable[str]) -> Iterator[Finding]:
        """Find keys under `models:` that name no layer and no domain."""
        domains = sorted(set(domains))
        for folder, place in self.folder_places.items():
            allowed = [*LAYERS, *domains] if len(folder) == 1 else domains if folder[:1] in _LAYER_FOLDERS else []
            if folder and folder[-1] not in allowed:
                advice = did_you_mean(folder[-1], allowed)
                yield Finding(place, "unknown-key", f"`{folder[-1]}` is no layer and no domain here.{advice}")


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` that holds a manifest.yml."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise UsageError(f"no {FILE_NAME} in {start} or above it; go to a project, or name it with -C <folder>")


def read(root: Path) -> Manifest:
    """Read manifest.yml of the project at `root`."""
    document = documents.parse(read_text(root, FILE_NAME), FILE_NAME)
    file = documents.validate(document, FileShape)
    found: list[Finding] = [*_path_findings(root, document, file)]
    folders: dict[Folder, Settings] = {}
    for folder in _folders(document, file.models, (), found):
        try:
            nested = _nested(_at(file.models, folder))
            folders[folder] = documents.validate(document, FolderSettings, ("models", *folder), without=nested)
        except InvalidProject as error:
            found.extend(error.findings)
    if found:
        raise InvalidProject(found)
    return Manifest(
        name=file.name,
        sql_paths=file.sql_paths,
        macro_paths=file.macro_paths,
        test_paths=file.test_paths,
        allow_functions=file.allow_functions,
        vars=file.vars,
        folders=folders,
        folder_places={folder: document.key_place("models", *folder) for folder in folders},
        places={".".join(map(str, keys)): place for keys, place in document.key_places.items()},
    )


def _folders(document: Document, value: Mapping[str, Any], folder: Folder, found: list[Finding]) -> Iterator[Folder]:
    yield folder
    for key in _nested(value):
        if isinstance(value[key], Mapping) and len(folder) < 2:
            yield from _folders(document, value[key], (*folder, key), found)
        elif value[key] is not None:
            advice = f"Did you mean +{key}?" if key in Settings.model_fields else "Give a layer, a domain, or both."
            place = document.key_place("models", *folder, key)
            found.append(Finding(place, "unknown-key", f"`{key}` is no folder of models. {advice}"))


def _nested(value: Mapping[str, Any]) -> list[str]:
    return [key for key in value if not str(key).startswith("+")]


def _at(value: Any, folder: Folder) -> Any:
    return reduce(lambda inner, key: inner[key], folder, value)


def _path_findings(root: Path, document: Document, file: FileShape) -> Iterator[Finding]:
    """Paths that the file names lead to folders of the project."""
    paths_by_key = {"sql-paths": file.sql_paths, "macro-paths": file.macro_paths, "test-paths": file.test_paths}
    for key in paths_by_key.keys() & document.value.keys():
        if not paths_by_key[key]:
            yield Finding(document.value_place(key), "bad-value", f"`{key}` is empty; name a folder of the project")
        for index, path in enumerate(paths_by_key[key]):
            if path != _MAY_BE_MISSING.get(key) and (message := _folder_fault(root, path)):
                yield Finding(document.value_place(key, index), "bad-value", f"`{key}`: {message}")


def _folder_fault(root: Path, path: str) -> str | None:
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts:
        return f"`{path}` is no folder inside the project; write its path from the project's root"
    if any(part.startswith(".") for part in pure.parts):
        return f"`{path}` is hidden, and hidden files are not read; rename the folder"
    if not (root / path).is_dir():
        return f"there is no folder {path}.{did_you_mean(path, _folders_in(root))}"
    return None


def _folders_in(root: Path) -> list[str]:
    found = [file.relative_to(root) for pattern in ("[!.]*", "[!.]*/*") for file in root.glob(pattern) if file.is_dir()]
    return [folder.as_posix() for folder in found]
