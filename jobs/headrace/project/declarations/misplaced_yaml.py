"""YAML files under the SQL folders that nothing reads, such as the property files of dbt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from headrace.errors import Finding, InvalidProject, Place
from headrace.project import files
from headrace.project.files import place_at

_KEY = re.compile(r"^(\w+):", re.MULTILINE)

_DBT_KEYS = {
    "models": "what a model's columns are and which tests hold is declared in the first comment of its SQL file, under "
    "`columns:` and `tests:`",
    "sources": "sources are declared in sql/bronze/<domain>.yml, under `landing:` and `topics:`",
    "seeds": "rows that come with the project are the `seed:` of a source in sql/bronze/<domain>.yml",
    "snapshots": "a snapshot is a model with `materialized: snapshot`; `upsert` keeps the versions of each key",
    "macros": "a macro is a SQL function in macros/<name>.sql",
    "unit_tests": "a case of a model is tests/models/<model>/<case>.yml",
    "exposures": "who reads a model can be said under `meta:` in its first comment",
}


def findings(root: Path, sql_paths: Iterable[str]) -> Iterator[Finding]:
    """Find these files, each with the place where headrace reads such settings."""
    for folder in sql_paths:
        for path in files.find(root, [folder], "**/*.y*ml"):
            inner = PurePosixPath(path).relative_to(PurePosixPath(folder))
            yield from _findings_of(root, path, is_bronze=inner.parts[:-1] == ("bronze",))


def _findings_of(root: Path, path: str, is_bronze: bool) -> Iterator[Finding]:
    try:
        text = files.read_text(root, path)
    except InvalidProject as error:
        yield from () if is_bronze else error.findings  # the reader of bronze reports it
        return
    keys = {match[1]: match.start() for match in _KEY.finditer(text)}
    if dbt_keys := [(at, _DBT_KEYS[key]) for key, at in keys.items() if key in _DBT_KEYS and "landing" not in keys]:
        for at, instead in dbt_keys:
            yield Finding(place_at(path, text, at), "dbt-word", f"this is a property file of dbt; here {instead}")
    elif not is_bronze:
        message = "no YAML is read here; sources go into sql/bronze/<domain>.yml, settings into a model's first comment"
        yield Finding(Place(path), "bad-path", message)
