"""The case files of a project: their paths and their findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from headrace.errors import Finding, InvalidProject, Place, did_you_mean
from headrace.project import files
from headrace.project.declarations import manifest
from headrace.project.loader import Survey
from headrace.testing.cases import case, faultless
from headrace.testing.cases.case import FileShape

SUFFIXES = (".yml", ".yaml")


def paths(root: Path, test_paths: Iterable[str]) -> list[str]:
    """List the case files: `<test path>/<model>/<case>.yml`."""
    return _find(root, test_paths, "*/*")


def strays(root: Path, test_paths: Sequence[str], models: Collection[str]) -> Iterator[Finding]:
    """Find cases in no model's folder: nothing else would report that they are not run."""
    for path in _find(root, test_paths, "*"):
        yield Finding(Place(path), "wrong-folder", "a case belongs in a folder named after its model; move it there")
    for folder in sorted({PurePosixPath(path).parent for path in paths(root, test_paths)}):
        if folder.name not in models:
            message = f"no model {folder.name}, after which this folder of cases is named; rename or remove it"
            yield Finding(Place(str(folder)), "unknown-model", f"{message}.{did_you_mean(folder.name, models)}")


def findings(surveyed: Survey) -> list[Finding]:
    """Return the findings of the cases, except those that another finding may have caused."""
    try:
        described = manifest.read(surveyed.root)
    except InvalidProject:  # reported already
        return []
    tables = _declared(surveyed.root, described.sql_paths)
    found, context = paths(surveyed.root, described.test_paths), _context(surveyed, tables)
    fingerprints, known = {path: faultless.fingerprint(surveyed.root, path) for path in found}, faultless.known(context)
    findings_of = {path: _findings(surveyed, path, tables) for path in found if fingerprints[path] not in known}
    valid = {fingerprints[path] for path in found if not findings_of.get(path)}
    if valid != known:
        faultless.store(context, valid)
    stray = strays(surveyed.root, described.test_paths, _names(tables))
    return [*stray, *(finding for each in findings_of.values() for finding in each)]


def _findings(surveyed: Survey, path: str, tables: Collection[str]) -> Sequence[Finding]:
    try:
        document, file = case.parsed(surveyed.root, path)
    except InvalidProject as error:
        return error.findings
    if surveyed.sound is None or _is_unsure(surveyed, file, tables):
        return ()
    found = case.findings(surveyed.sound, document, file)
    is_stray = PurePosixPath(path).parent.name not in _names(tables)
    return [each for each in found if not (is_stray and each.code in ("unknown-model", "wrong-folder"))]


def _is_unsure(surveyed: Survey, file: FileShape, tables: Collection[str]) -> bool:
    """Whether a case names what a broken file may declare."""
    sound = {model.table for model in surveyed.sound.models} if surveyed.sound else set()
    named = {file.model, *(table for _, each in file.expectations() for table in (*each.state, *each.history))}
    return bool(named & (set(tables) - sound)) or _is_bronze_broken(surveyed)


def _is_bronze_broken(surveyed: Survey) -> bool:
    return any(finding.place.path.endswith(SUFFIXES) for finding in surveyed.findings)


def _context(surveyed: Survey, tables: Collection[str]) -> str:
    """Everything in a project that cases are validated against, as a text."""
    project = surveyed.sound
    if project is None:
        return ""
    facts = [(m.table, m.materialized, m.run, m.publish is None, [i.table for i in m.inputs]) for m in project.models]
    topics = [(topic.name, topic.topic) for landing in project.landings for topic in landing.topics]
    return repr((sorted(tables), facts, topics, sorted(project.vars), _is_bronze_broken(surveyed)))


def _declared(root: Path, sql_paths: Iterable[str]) -> frozenset[str]:
    """The tables of all models, also of those that are broken."""
    found = ((folder, path) for folder in sql_paths for path in files.find(root, [folder], "**/*.sql"))
    inner = (PurePosixPath(path).relative_to(PurePosixPath(folder)) for folder, path in found)
    return frozenset(f"{path.parts[0]}.{path.stem}" for path in inner)


def _names(tables: Iterable[str]) -> frozenset[str]:
    return frozenset(table.rpartition(".")[2] for table in tables)


def _find(root: Path, folders: Iterable[str], pattern: str) -> list[str]:
    return [path for path in files.find(root, folders, pattern) if path.endswith(SUFFIXES)]
