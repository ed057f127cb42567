"""The shipped JSON schemas are those of the code, and fit the files of this project."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from headrace.commands import schemas
from headrace.project.declarations import header
from headrace.project.declarations.documents import parse

ROOT = Path(__file__).parents[2]
SCHEMAS = {name: json.loads(text) for name, text in schemas.texts().items()}
FILES = {
    "manifest.json": ["manifest.yml", "jobs/headrace/template/manifest.yml"],
    "target.json": ["conf/*.yml", "jobs/headrace/template/conf/*.yml"],
    "bronze.json": ["sql/bronze/*.yml", "jobs/headrace/template/sql/bronze/*.yml"],
    "case.json": ["tests/models/*/*.yml", "jobs/headrace/template/tests/models/*/*.yml"],
}
PAIRS = [(name, path) for name, globs in FILES.items() for glob in globs for path in sorted(ROOT.glob(glob))]


def valid(name: str, value: Any) -> bool:
    return Draft202012Validator(SCHEMAS[name]).is_valid(json.loads(json.dumps(value, default=str)))


@pytest.mark.parametrize("name", SCHEMAS)
def test_shipped_schema_is_that_of_the_code(name: str) -> None:
    assert (ROOT / "schemas" / name).read_text("utf-8") == schemas.texts()[name], "run `make schemas`"


@pytest.mark.parametrize(("name", "path"), PAIRS, ids=lambda each: getattr(each, "stem", each))
def test_schema_fits_the_files_of_the_project(name: str, path: Path) -> None:
    value = parse(path.read_text("utf-8"), path.name).value
    errors = Draft202012Validator(SCHEMAS[name]).iter_errors(json.loads(json.dumps(value, default=str)))
    assert [error.message for error in errors] == []


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All schemas in a schema that have a default, with their places."""
    if isinstance(schema, dict):
        if "default" in schema and not isinstance(schema["default"], dict):
            yield path, schema
        for key, value in schema.items():
            yield from parts(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for number, value in enumerate(schema):
            yield from parts(value, f"{path}/{number}")


@pytest.mark.parametrize("name", SCHEMAS)
def test_default_fits_its_own_schema(name: str) -> None:
    """Editors write it where a key is completed."""
    shared = {"$defs": SCHEMAS[name].get("$defs", {})}
    defaults = [(path, part) for path, part in parts(SCHEMAS[name]) if part["default"] is not None]
    fits = {path: Draft202012Validator({**part, **shared}).is_valid(part["default"]) for path, part in defaults}
    assert [path for path, is_fit in fits.items() if not is_fit] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("sql/*/*/*.sql")), ids=lambda path: path.stem)
def test_schema_fits_the_headers_of_the_project(path: Path) -> None:
    text = path.read_text("utf-8")
    start, end = text.index("/*") + 2, text.index("*/")
    keys = text[header._description_end(text, start, end) : end]
    assert valid("header.json", YAML(typ="safe", pure=True).load(keys) or {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("manifest.json", {"name": "x", "sqlpaths": ["sql"]}),
        ("manifest.json", {"name": "x", "models": {"gold": {"+materialised": "view"}}}),
        ("target.json", {"kafka": {"bootstrp": "x"}}),
        ("target.json", {"trigger": {"ingest": "soon"}}),
        ("bronze.json", {"landing": "x", "topics": {"a": {"schema": "int", "null_keys": "allow"}}}),
        ("header.json", {"materialized": "table"}),
        ("header.json", {"allow": {"cannot-stream": "I want it all"}}),
        ("header.json", {"publish": {"topic": "t", "value": {"a": "b"}}}),
        ("case.json", {"model": "gold.x", "given": [], "expect": {"rows": []}}),
        ("case.json", {"model": "gold.x", "given": [{"a": [{"key": 1}]}], "expect": {"rows": []}}),
    ],
)
def test_schema_refuses_what_is_wrong(name: str, value: Any) -> None:
    assert not valid(name, value)
