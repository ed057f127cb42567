"""A key whose row grows beyond `max_state_bytes` is set aside for good, and other keys go on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.project import loader
from headrace.queries.refused_changes import TOO_LARGE, RefusedChanges
from headrace.spark.implementations import small_batches
from headrace.testing.cases.case import Cut
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import Models
from tests.long import one_of

pytestmark = pytest.mark.spark

LIMIT = 1_000
FILES = {
    "manifest.yml": f"name: large\nmodels: {{+materialized: upsert, +max_state_bytes: {LIMIT}}}\n",
    "conf/local.yml": "data_dir: data\n",
    "sql/bronze/n.yml": "landing: n\ntopics: {notes: {schema: {id: string, text: string}}}\n",
    "sql/gold/n/newest.sql": """/*
Newest note, one row per id.

unique_key: id
delete_when: text = 'gone'
query: n
*/
select data.id, data.text, _arrival from stream bronze.notes
""",
    "sql/gold/n/all_notes.sql": """/*
All notes of an id, one row per id.

unique_key: id
query: n
*/
with notes as (
    select data.id as id, array_agg(struct(_arrival, data.text as text)) as news, max(_arrival) as _arrival
    from stream bronze.notes group by data.id
)
select id, array_sort(concat(coalesce(a.notes, array()), news)) as notes, n._arrival
from notes as n left join gold.all_notes as a using (id)
""",
}


@pytest.fixture(scope="module")
def models(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Models:
    root = tmp_path_factory.mktemp("large")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return Models(sandbox, loader.load(root, "local"))


def note(key: str, text: str) -> dict[str, Any]:
    return {"key": key, "value": {"id": key, "text": text}}


def outcome(models: Models, table: str, given: list[dict[str, Any]], cut: Cut) -> tuple[dict[str, Any], list[Any]]:
    """The rows by id, and what was set aside of them: id and bytes."""
    found = models._outcome([table], TypeAdapter(Any).validate_python(given), cut, seeds=False)
    rows = {row["id"]: row for row in found.rows(models.project.model(table)).collect()}
    failed = [json.loads(row["row"]) for row in found.failed if (row["model"], row["test"]) == (table, TOO_LARGE)]
    return rows, [(row["id"], row["_bytes"]) for row in failed]


@pytest.mark.parametrize("cut", one_of(3, ["restarts", "one-by-one", "all-at-once"]))
def test_key_is_set_aside_for_good(models: Models, cut: Cut) -> None:
    large = "x" * LIMIT
    given = [
        {"notes": [note('it\'s "ü"', "a"), note("b", "a")]},
        {"notes": [note('it\'s "ü"', "b"), note('it\'s "ü"', large), note('it\'s "ü"', "c"), note("b", "c")]},
        {"notes": [note('it\'s "ü"', "gone"), note("b", "d"), note("c", large[4:])]},
    ]
    rows, failed = outcome(models, "gold.newest", given, cut)
    assert {key: row["text"][:1] for key, row in rows.items()} == {'it\'s "ü"': "b", "b": "d", "c": "x"}
    key = len('it\'s "ü"'.encode())
    assert sorted(failed) == sorted(('it\'s "ü"', key + size) for size in (LIMIT, 1, 4))


def test_list_that_grows_from_batch_to_batch_has_an_end(models: Models) -> None:
    given = [{"notes": [note("hot", "x" * 300), note("cold", "y")]} for _ in range(5)]
    rows, failed = outcome(models, "gold.all_notes", given, "one-by-one")
    assert {key: len(row["notes"]) for key, row in rows.items()} == {"hot": 2, "cold": 5}
    assert [key for key, size in failed] == ["hot"] * 3 and all(size > LIMIT for _, size in failed)


def test_large_keys_are_known_whatever_the_order_of_their_columns(models: Models, spark: SparkSession) -> None:
    model = replace(models.project.model("gold.newest"), unique_key=("id", "text"))
    batches = small_batches(spark.newSession())
    batches.begin(0, 3)
    refused = RefusedChanges(batches, model)
    refused.load(['{"text":"a","id":"large","_bytes":2000}', '{"id":"larger","text":"a","_bytes":3000}'])
    given = [("large", "a"), ("larger", "a"), ("fine", "a")]
    rows = batches.fill("rows", given, StructType().add("id", "string").add("text", "string"))
    assert [row.id for row in refused.without(rows).frame.collect()] == ["fine"]
    batches.drop()
