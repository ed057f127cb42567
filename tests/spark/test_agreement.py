"""The full check and the run agree: what passes starts and keeps running, over rows with nulls and while time passes.

Left out is what only the data decide: a division by zero, a bad cast, a key that its model calls unique and is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from headrace import usercache
from headrace.checking import verdict
from headrace.project import loader
from headrace.project.model import Project
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.cut_trials.cutting import Cutting
from headrace.testing.cut_trials.runs import Rows, Run
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from tests.long import one_of

pytestmark = pytest.mark.spark

SHAPES: Mapping[str, Mapping[str, Any]] = YAML(typ="safe").load(Path(__file__).with_name("agreement_shapes.yml"))
PASSES, REFUSED = SHAPES["passes"], SHAPES["refused"]
MARK = "watermark at delay of interval 1 minute"
EVENT = """key as who, data.kind, data.n, data.price, data.tags, data.items, data.place, data.secs, data.attrs,
event_time as at, landed_at, _arrival from stream bronze.events"""
FILES = {
    "manifest.yml": """
name: agreement
vars: {threshold: 1, label: many, kinds: [start, end], gap: 60, nothing: null, every: 5}
models: {silver: {+materialized: view}, gold: {+materialized: append}}
""",
    "conf/local.yml": "data_dir: data\n",
    "macros/doubled.sql": "create temporary function doubled(n bigint)\nreturns bigint\nreturn n * 2",
    "sql/bronze/a.yml": """
landing: a
topics:
  events:
    schema:
      kind: string
      at: timestamp
      n: bigint
      price: decimal(10,2)
      tags: array<string>
      items: 'array<struct<id: bigint, name: string>>'
      place: 'struct<city: string, at: timestamp>'
      secs: bigint
      attrs: 'map<string, string>'
    event_time: at
  replies: {schema: {ok: boolean, at: timestamp}, event_time: at}
  users: {schema: {name: string, level: int}}
""",
}
SILVER = {
    "events": ("", f"select {EVENT}"),
    "starts": ("", f"select {EVENT} where data.kind = 'start'"),
    "ends": ("", f"select {EVENT} where data.kind = 'end'"),
    "replies": ("", "select key as who, data.ok, event_time as at, landed_at, _arrival from stream bronze.replies"),
    "marked": ("", f"select kind, at from stream silver.events {MARK}"),
    "moments": (
        "",
        "select who, at, _arrival from stream silver.events union all "
        "select who, at, _arrival from stream silver.replies",
    ),
    "starts_and_ends": (
        "",
        "select who, at from stream silver.starts union all select who, at from stream silver.ends",
    ),
    "names": (
        "materialized: upsert\nunique_key: who",
        "select key as who, data.name, data.level, _arrival from stream bronze.users",
    ),
    "names_here": (
        "materialized: upsert\nunique_key: who\nquery: shop",
        "select key as who, data.name, data.level, _arrival from stream bronze.users",
    ),
    "kept_events": ("materialized: append", "select who, kind, n, at, _arrival from stream silver.events"),
    "per_minute": (
        "materialized: append",
        f"with e as (select at from stream silver.events {MARK}) "
        "select window.start as minute, count(*) as events from e group by window(at, '1 minute')",
    ),
}
FULL = {"n": 2, "price": 1.5, "tags": ["x", "y", None], "items": [{"id": 1, "name": "a"}, None], "attrs": {"a": "b"}}


def event(who: str | None, kind: str | None, minute: int, **rest: Any) -> dict[str, Any]:
    at = f"2026-01-01T00:{minute:02}:05Z"
    place = {"city": "Rome", "at": at}
    return {"key": who, "value": {"kind": kind, "at": at, "secs": 1767225605 + 60 * minute, "place": place, **rest}}


GIVEN = [
    {
        "users": [{"key": "ada", "value": {"name": "Ada", "level": 1}}, {"key": "bob", "value": {}}],
        "events": [
            event("ada", "start", 0, **FULL),
            event("ada", "start", 1, **FULL),
            event("bob", "start", 0, tags=[], items=[], attrs={}),
            {"key": "bob", "value": {}},
            {"key": None, "value": {"kind": None, "place": {"city": None}}},
            {"key": "cy", "value": "no json"},
        ],
        "replies": [{"key": "ada", "value": {"ok": True, "at": "2026-01-01T00:00:05Z"}}],
    },
    {
        "users": [{"key": "ada", "value": {"name": "Ada L.", "level": None}}],
        "events": [
            event("ada", "end", 3, **FULL),
            event("ada", None, 4),
            event(None, "end", 3),
            event("eve", "end", 3),
        ],
        "replies": [{"key": None, "value": {"ok": None}}],
    },
    {"at": "2026-01-01T02:00:00Z"},
]


@dataclass(frozen=True)
class Judged:
    """A project of shapes, and the codes of what the full check finds in each."""

    project: Project
    codes: Mapping[str, Sequence[str]]


def named(shape: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in shape)[:60]


RESTARTED = {f"gold.{named(shape)}" for shape in PASSES if PASSES[shape].get("restarts")}


def judged(sandbox: Sandbox, root: Path, shapes: Mapping[str, Mapping[str, Any]]) -> Judged:
    """Write a model for each shape, and check them as `headrace check` does."""
    texts = {f"sql/silver/a/{name}.sql": f"/*\nOne row.\n\n{keys}\n*/\n{sql}\n" for name, (keys, sql) in SILVER.items()}
    for shape, each in shapes.items():
        kind = "" if "materialized" in each.get("keys", "") else "materialized: append\n"
        text = f"/*\nOne row.\n\n{kind}{each.get('keys', '')}*/\n{each['query']}"
        texts[f"sql/gold/a/{named(shape)}.sql"] = text.replace("{mark}", MARK).replace("{name}", named(shape))
    for name, text in {**FILES, **texts}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    surveyed = loader.survey(root, "local")
    assert surveyed.sound is not None
    codes: dict[str, list[str]] = {}
    for finding in {*surveyed.findings, *verdict.judge(sandbox.spark, surveyed.sound).findings}:
        codes.setdefault(Path(finding.place.path).stem, []).append(finding.code)
    return Judged(surveyed.sound, codes)


def chosen(request: pytest.FixtureRequest, shapes: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The shapes that this run tests."""
    asked = {item.name for item in request.session.items if item.path == request.path}
    return {shape: each for shape, each in shapes.items() if any(name.endswith(f"[{shape}]") for name in asked)}


@pytest.fixture(scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Verdicts of this run alone count."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usercache, "user_cache_path", lambda name: folder / name)
        yield


@pytest.fixture(scope="module")
def passed(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory, _own_cache: None
) -> Judged:
    return judged(sandbox, tmp_path_factory.mktemp("passes"), chosen(request, PASSES))


@pytest.fixture(scope="module")
def refused(
    request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory, _own_cache: None
) -> Judged:
    return judged(sandbox, tmp_path_factory.mktemp("refused"), chosen(request, REFUSED))


@pytest.fixture(scope="module")
def results(sandbox: Sandbox, passed: Judged) -> Mapping[str, Rows]:
    """What each shape has once all has landed: a few run together, some of them with a restart after each batch."""
    landed = land(sandbox.judge, passed.project, TypeAdapter(tuple[Batch, ...]).validate_python(GIVEN))

    def rows(names: Sequence[str]) -> Mapping[str, Rows]:
        cutting = Cutting("two batches, and time", [[0], [1, 2]], restarts=bool(RESTARTED & {*names}))
        return Run(sandbox, narrowed(passed.project, names), landed).rows(cutting)

    with ThreadPoolExecutor(2) as pool:
        return {table: each for found in pool.map(rows, _parts(passed.project)) for table, each in found.items()}


def _parts(project: Project) -> list[list[str]]:
    """The tables of the shapes, those together that run together: streams wait for each other if there are many."""
    parts: dict[tuple[bool, bool], list[list[str]]] = {}
    for model in (each for each in project.models if each.layer == "gold"):
        streams = model.run == "streaming"
        found = parts.setdefault((streams, model.table in RESTARTED), [[]])
        if len(found[-1]) == (8 if streams else 25):
            found.append([])
        found[-1].append(model.table)
    return [names for found in parts.values() for names in found]


@pytest.mark.parametrize("shape", one_of(24, PASSES))
def test_what_passes_the_check_starts(passed: Judged, results: Mapping[str, Rows], shape: str) -> None:
    name = named(shape)
    assert passed.codes.get(name, []) == []
    rows = results[f"gold.{name}"]
    assert (rows.failure, rows.rows != Counter()) == (None, not PASSES[shape].get("empty", False))


@pytest.mark.parametrize("shape", one_of(12, REFUSED))
def test_what_cannot_run_is_refused(refused: Judged, shape: str) -> None:
    assert {*refused.codes.get(named(shape), [])} == {REFUSED[shape]["code"]}
