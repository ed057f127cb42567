"""Data tests in a header: what fails is counted, set aside or stops the query, once, wherever the process dies."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.project import loader
from headrace.project.model import Project
from headrace.queries.datatests import counts, marked
from headrace.queries.group import Group
from headrace.spark.failures import ModelFailed
from headrace.store.layout import Layout
from headrace.testing.cases import case as cases
from headrace.testing.cases.case import CUTS, Batch
from headrace.testing.cases.comparison import differences
from headrace.testing.cases.landing import Landed, land
from headrace.testing.runs.disk import Crash, Fuse, Process
from headrace.testing.runs.disk import land_batch as land_on_disk
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import outcome_of
from tests.long import one_of

pytestmark = pytest.mark.spark

FILES = {
    "manifest.yml": "name: judged\nmodels: {+materialized: append}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/things.yml": """
landing: things
topics:
  things: {schema: {kind: string, size: bigint}, null_key: allow}
  kinds: {schema: {name: string}}
""",
    "sql/silver/things/kinds.sql": """/*
Kinds that exist, one row per kind.

once_per: name
query: things
*/
select data.name, _arrival from stream bronze.kinds
""",
    "sql/gold/things/things.sql": """/*
Things, one row per thing.

query: things
tests:
  on_failure: dead_letter
  columns:
    id: [not_null, unique]
    kind:
      - {accepted_values: {values: [big, small], on_failure: warn}}
      - {relationships: {to: silver.kinds, field: name, on_failure: warn}}
  rows:
    size_is_positive: size > 0
*/
select key as id, data.kind, data.size, _arrival from stream bronze.things
""",
    "sql/gold/things/sizes.sql": """/*
Newest size, one row per thing.

materialized: upsert
unique_key: id
query: things
tests: {rows: {never_huge: {expression: size < 1000, on_failure: stop}}}
*/
select id, size, _arrival from stream gold.things
""",
    "sql/gold/things/minutes.sql": """/*
Things of a minute, one row per minute.

tests:
  on_failure: dead_letter
  columns: {window_start: unique}
  rows: {few: things < 3}
*/
with things as (
    select timestamp from stream bronze.things watermark timestamp delay of interval 1 minute
),
counted as (
    select window(timestamp, '1 minute') as minute, count(*) as things
    from things
    group by window(timestamp, '1 minute')
)
select minute.start as window_start, things from counted
""",
    "tests/models/minutes/judged.yml": """
model: gold.minutes
given:
  - things:
      - {key: a, value: {}, timestamp: "2026-01-01T10:00:10Z"}
      - {key: a, value: {}, timestamp: "2026-01-01T10:00:20Z"}
      - {key: a, value: {}, timestamp: "2026-01-01T10:00:30Z"}
      - {key: a, value: {}, timestamp: "2026-01-01T10:01:10Z"}
  - things: [{key: a, value: {}, timestamp: "2026-01-01T10:05:00Z"}]
expect:
  rows: [{window_start: "2026-01-01T10:01:00Z", things: 1}]
  failed_rows: [{test: few, row: {things: 3}}]
  watermark: "2026-01-01T10:04:00Z"
""",
    "tests/models/things/judged.yml": """
model: gold.things
given:
  - kinds: [{key: a, value: {name: big}}]
    things: [{key: a, value: {kind: big, size: 1}}, {key: b, value: {kind: odd, size: 0}}]
    expect:
      rows: [{id: a}]
      failed_rows: [{test: size_is_positive}]
  - things: [{key: a, value: {kind: small, size: 2}}, {key: b, value: {kind: odd, size: 3}}]
  - things: [{key: b, value: {size: 4}}, {value: {kind: big, size: -1}}, {key: c, value: {}}]
expect:
  rows: [{id: a, size: 1}, {id: b, size: 3}, {id: c, size: null}]
  state:
    gold.sizes: [{id: a, size: 1}, {id: b, size: 3}, {id: c, size: null}]
  failed_rows:
    - {model: gold.things, test: size_is_positive, row: {id: b, size: 0}}
    - {model: gold.things, test: id_unique, row: {id: a, size: 2}}
    - {model: gold.things, test: id_unique, row: {id: b, size: 4}}
    - {model: gold.things, test: size_is_positive, row: {id: null, size: -1}}
    - {model: gold.things, test: id_not_null, row: {id: null, size: -1}}
""",
}
BATCHES = TypeAdapter(tuple[Batch, ...])
HUGE: list[dict[str, Any]] = [{"things": [{"key": "x", "value": {"kind": "big", "size": 1000}}]}]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("judged")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return loader.load(root, "local")


@pytest.fixture(scope="module")
def case(project: Project) -> cases.Case:
    return cases.read(project, "tests/models/things/judged.yml")


@pytest.fixture(scope="module")
def landed(sandbox: Sandbox, case: cases.Case) -> Landed:
    return land(sandbox.judge, case.project, case.given)


@pytest.mark.parametrize("cut", one_of(3, CUTS))
def test_failed_rows_are_the_same_in_every_cut(sandbox: Sandbox, case: cases.Case, landed: Landed, cut: Any) -> None:
    assert list(differences(case, landed, outcome_of(sandbox, case, landed, cut, Random(1)))) == []


def test_batch_reports_what_was_set_aside_until_then(sandbox: Sandbox, case: cases.Case, landed: Landed) -> None:
    first = case.after(0)
    outcome = outcome_of(sandbox, first, landed.up_to(0), "one-by-one", Random(1))
    assert list(differences(first, landed.up_to(0), outcome)) == []


@pytest.mark.parametrize("cut", one_of(2, ["restarts", "one-by-one"]))
def test_streaming_engine_sets_rows_aside_too(sandbox: Sandbox, project: Project, cut: Any) -> None:
    case = cases.read(project, "tests/models/minutes/judged.yml")
    landed = land(sandbox.judge, project, case.given)
    outcome = outcome_of(sandbox, case, landed, cut, Random(2))
    assert list(differences(case, landed, outcome)) == []


@pytest.mark.parametrize("point", one_of(3, [1, 0, 3]))  # before, after the failed rows; after an output
def test_failed_rows_are_stored_once_wherever_it_dies(
    sandbox: Sandbox, case: cases.Case, landed: Landed, point: int
) -> None:
    layout, group = sandbox.layout(case.project), narrowed(case.project, case.tables)
    for batch in landed.batches:
        land_on_disk(sandbox, layout, batch)
    process = Process(sandbox, group, layout, Fuse(point))
    with pytest.raises(Crash):
        process.advance()
    process.stop()
    process = Process(sandbox, group, layout)
    process.advance()
    process.stop()
    failed, things = (
        sandbox.spark.read.format("delta").load(str(path)).count()
        for path in (layout.failed("things"), layout.table("gold.things"))
    )
    assert (failed, things) == (5, 3)


def test_counts_are_reported_with_the_batch(sandbox: Sandbox, case: cases.Case, landed: Landed) -> None:
    layout = sandbox.layout(case.project)
    for batch in landed.batches:
        land_on_disk(sandbox, layout, batch)
    report = _group(sandbox, case.project, layout).step(1000)
    assert report is not None
    assert {name.removeprefix("gold.things."): count for name, count in report.failed.items()} == {
        "id_not_null": 1,
        "id_unique": 2,
        "size_is_positive": 2,
        "kind_accepted_values": 2,
        "kind_relationships": 3,
    }


def test_stop_fails_before_anything_is_written(sandbox: Sandbox, project: Project) -> None:
    layout = sandbox.layout(project)
    for batch in land(sandbox.judge, project, BATCHES.validate_python(HUGE)).batches:
        land_on_disk(sandbox, layout, batch)
    group = _group(sandbox, project, layout)
    with pytest.raises(ModelFailed, match="never_huge failed for 1 rows"):
        group.step(1000)
    assert [output.table.newest_marker("things") for output in group.outputs.values()] == [None, None, None]


def test_stored_rows_are_judged_by_the_same_tests(sandbox: Sandbox, project: Project) -> None:
    rows = sandbox.spark.createDataFrame(
        [("a", "big", 1), ("a", "odd", 0), (None, None, None)], "id string, kind string, size bigint"
    )
    kinds = sandbox.spark.createDataFrame([("big",)], "name string")
    found = marked(rows, project.model("gold.things").tests, lambda _: kinds)
    assert counts(found) == {
        **{"id_not_null": 1, "id_unique": 1, "size_is_positive": 1},
        **{"kind_accepted_values": 1, "kind_relationships": 1},
    }


def _group(sandbox: Sandbox, project: Project, layout: Layout) -> Group:
    (query,) = (query for query in project.queries if query.name == "things")
    group = sandbox.query(project, layout, query)
    assert isinstance(group, Group)
    return group
