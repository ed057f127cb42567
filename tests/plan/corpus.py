"""The edit corpus: projects in two versions, and what the second one means for what the first one has left.

Each folder with a `truth.yml` below `scenarios/` is one scenario; `scenarios/README.md` describes the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from headrace.planning.comparison import Comparison, Outcome
from headrace.planning.declared import Declared, Schemas
from headrace.project import loader
from headrace.project.model import Project

SCENARIOS = Path(__file__).parent / "scenarios"
HARMLESS = {"SAME": {"right"}, "KEEP": {"right", "kept"}}
"""What may come of an edit that needs no confirmation."""


def files_in(folder: Path) -> Mapping[str, str]:
    """The text of each file below a folder, by its path in it."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


BASE = files_in(SCENARIOS / "base")


@dataclass(frozen=True)
class Scenario:
    """A project before and after an edit, and the verdict on one model.

    `truth` is what running both versions has given, as `trial.Found` has it; without it, `unmeasured` says why.
    """

    name: str
    old: Mapping[str, str]
    new: Mapping[str, str]
    model: str
    verdict: str
    types: Schemas
    given: Sequence[Any]
    truth: str | None = None
    unmeasured: str | None = None

    @cached_property
    def start(self) -> str:
        """The same text for scenarios that begin in the same way."""
        return repr((self.model, sorted(self.old.items()), self.given))

    @property
    def streams(self) -> bool:
        """Whether it is about Spark's streaming engine, in which each run takes seconds."""
        return any(" watermark " in text for text in self.old.values())


@cache
def scenarios() -> tuple[Scenario, ...]:
    return tuple(_scenario(path.parent) for path in sorted(SCENARIOS.rglob("truth.yml")))


def scenario(name: str) -> Scenario:
    return next(each for each in scenarios() if each.name == name)


def project(files: Mapping[str, str], folder: Path) -> Project:
    """Write a project and load it."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return loader.load(folder, "test")


def outcomes(old: Declared, new: Project) -> Mapping[str, Outcome]:
    """The outcome for each model that is stored."""
    stored = [model.table for query in new.queries for model in query.models]
    return Comparison(old, Declared.of(new)).outcomes(stored)


def version(folder: Path) -> Mapping[str, str]:
    """The files of a version, over those of the base project unless it is a project of its own."""
    own = files_in(folder)
    return own if "manifest.yml" in own else {**BASE, **own}


def _scenario(folder: Path) -> Scenario:
    old, new = (version(folder / name) for name in ("v1", "v2"))
    given = next(file for above in (folder, *folder.parents) if (file := above / "given.yml").is_file())
    truth = {"types": {}, "given": _yaml(given), **_yaml(folder / "truth.yml")}
    return Scenario(folder.relative_to(SCENARIOS).as_posix(), old, new, **truth)


@cache
def _yaml(file: Path) -> Any:
    return YAML(typ="safe").load(file)
