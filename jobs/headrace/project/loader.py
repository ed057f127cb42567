"""Loading a project: every file is read, and everything that is wrong is reported at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

from headrace.errors import Finding, InvalidProject, Place
from headrace.project import files, graph
from headrace.project.declarations import landings, macros, manifest, misplaced_yaml, modelfile, target
from headrace.project.declarations.macros import MacroFile
from headrace.project.declarations.manifest import Manifest
from headrace.project.declarations.modelfile import Location
from headrace.project.declarations.settings import Settings
from headrace.project.flows import as_of, versions
from headrace.project.flows.draft import Draft
from headrace.project.model import Landing, Model, Project, Target, Topic
from headrace.project.rules import checks, conf_rules
from headrace.project.rules.cost_rules import copies

P = ParamSpec("P")
T = TypeVar("T")


_UNDESCRIBED = Manifest(folders={(): Settings(materialized="view")})
"""Stands for a broken manifest, so that models get no findings for settings that it would have had."""


@dataclass(frozen=True)
class Survey:
    """What is wrong with a project, and those of its models that are valid and read only valid ones.

    `sound` is None where the manifest or the target cannot be read, or the models wait for each other.
    """

    root: Path
    sound: Project | None
    findings: tuple[Finding, ...]


def load(root: Path, target_name: str, ignored: Collection[str] = ()) -> Project:
    """Load the project at or above `root` for one target; all that is wrong with it raises InvalidProject.

    `ignored` are codes of findings that do not matter.
    """
    surveyed = survey(root, target_name, ignored)
    if surveyed.findings or surveyed.sound is None:
        raise InvalidProject(surveyed.findings)
    return surveyed.sound


def survey(root: Path, target_name: str, ignored: Collection[str] = ()) -> Survey:
    """Read every file of a project, and return what is wrong together with what is valid."""
    root, found = manifest.find_root(root), list[Finding]()
    chosen = _attempt(found, target.read, root, target_name, os.environ)
    described = _attempt(found, manifest.read, root)
    draft = _draft(root, described or _UNDESCRIBED, found)
    if chosen is not None and described is not None:
        found += conf_rules.check(draft, described, chosen)
        draft = _for_target(draft, described, chosen)
    if copied := [*copies(draft)]:  # what multiplies so would keep the other rules busy, too
        return Survey(root, None, tuple(sorted({*found, *copied})))
    found += landings.clashes(draft.landings)
    # The kind of a model may come from the manifest, so without it no rule would know what it checks.
    found += checks.check(draft) if described is not None else ()
    findings = tuple(sorted({finding for finding in found if finding.code not in ignored}))
    if chosen is None or described is None or any(finding.code == "cycle" for finding in findings):
        return Survey(root, None, findings)
    return Survey(root, _project(root, described, chosen, as_of.marked(draft.sound(findings))), findings)


def _for_target(draft: Draft, described: Manifest, chosen: Target) -> Draft:
    """The draft with a target's variables, and with the names that its cluster has for topics."""
    places = {**described.places, **chosen.places}
    return replace(
        draft,
        landings=tuple(_landed(landing, chosen) for landing in draft.landings),
        files=tuple(replace(file, model=_published(file.model, chosen)) for file in draft.files),
        vars={**described.vars, **chosen.vars},
        var_places={key.removeprefix("vars."): place for key, place in places.items() if key.startswith("vars.")},
    )


def _landed(landing: Landing, target: Target) -> Landing:
    return replace(landing, topics=tuple(_named(topic, target) for topic in landing.topics))


def _named(topic: Topic, target: Target) -> Topic:
    places = {**topic.places, **_named_at("topic", topic.topic, target)}
    return replace(topic, topic=target.kafka.named(topic.topic), places=places)


def _published(model: Model, target: Target) -> Model:
    publish = model.publish
    if publish is None or publish.topic is None:
        return model
    places = {**model.header_places, **_named_at("publish.topic", publish.topic, target)}
    return replace(model, publish=replace(publish, topic=target.kafka.named(publish.topic)), header_places=places)


def _named_at(key: str, topic: str, target: Target) -> dict[str, Place]:
    """Where a target gives a topic its name in the cluster, in the place of a key of the project's files."""
    place = target.places.get(f"kafka.topics.{topic}")
    return {key: place} if place else {}


def _project(root: Path, described: Manifest, chosen: Target, draft: Draft) -> Project:
    models = tuple(_apart(model, chosen) for model in sorted(draft.models.values(), key=lambda model: model.path))
    ordered = macros.in_order(draft.macros)
    return Project(
        root=root,
        name=described.name,
        target=chosen,
        vars=draft.vars or {},
        landings=tuple(macros.with_macros(landing, ordered) for landing in draft.landings),
        models=models,
        macros=ordered,
        queries=graph.queries(models),
        functions=draft.functions,
        test_paths=described.test_paths,
        places={**described.places, **chosen.places},
    )


def _apart(model: Model, target: Target) -> Model:
    """The model as a target runs it: what it publishes goes to topics of the target's own."""
    publish = model.publish
    if publish is None or not target.suffix:
        return model
    topic = publish.topic and f"{publish.topic}{target.suffix}"
    return replace(model, publish=replace(publish, topic=topic, suffix=target.suffix))


def _attempt(found: list[Finding], read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """Return what could be read, or None, with its findings added to the others."""
    try:
        return read(*args, **kwargs)
    except InvalidProject as error:
        found.extend(error.findings)
        return None


def _draft(root: Path, described: Manifest, found: list[Finding]) -> Draft:
    misplaced = [*misplaced_yaml.findings(root, described.sql_paths)]
    found += misplaced
    landed, unsure = _landings(root, described, found, {finding.place.path for finding in misplaced})
    locations = _locations(root, described, found)
    read = [file for at in locations if (file := _attempt(found, modelfile.read, root, at, described)) is not None]
    readable = {file.model.path for file in read}
    found += described.unknown_folders([*(at.domain for at in locations), *_domains(landed)])
    return Draft(
        landings=landed,
        files=versions.resolved(modelfile.settle_engines(read)),
        macros=_macros(root, described, found),
        vars=None,
        unreadable=unsure | {at.table for at in locations if at.path not in readable},
        functions=frozenset((*map(_stem, _macro_paths(root, described)), *described.allow_functions)),
    )


def _landings(
    root: Path, described: Manifest, found: list[Finding], misplaced: Collection[str]
) -> tuple[tuple[Landing, ...], frozenset[str]]:
    folders = [f"{folder}/bronze" for folder in described.sql_paths]
    read = [landings.read(root, path) for path in files.find(root, folders, "*.y*ml") if path not in misplaced]
    landed = tuple(file.landing for file in read if file.landing is not None)
    found += (finding for file in read for finding in file.findings)
    return landed, frozenset[str]().union(*(file.unreadable for file in read))


def _locations(root: Path, described: Manifest, found: list[Finding]) -> list[Location]:
    paths = [(folder, path) for folder in described.sql_paths for path in files.find(root, [folder], "**/*.sql")]
    return [at for folder, path in paths if (at := _attempt(found, modelfile.locate, folder, path)) is not None]


def _macros(root: Path, described: Manifest, found: list[Finding]) -> tuple[MacroFile, ...]:
    paths = _macro_paths(root, described)
    read = [file for path in paths if (file := _attempt(found, macros.read, root, path)) is not None]
    _attempt(found, macros.in_order, read)
    return tuple(read)


def _macro_paths(root: Path, described: Manifest) -> list[str]:
    return files.find(root, described.macro_paths, "**/*.sql")


def _stem(path: str) -> str:
    return PurePosixPath(path).stem.lower()


def _domains(landed: Iterable[Landing]) -> list[str]:
    return [name for landing in landed for name in (landing.name, PurePosixPath(landing.place.path).stem)]
