"""The statements that register tables in a catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.catalogue.kinds import Catalogue
from headrace.catalogue.registration import statements
from headrace.project import loader
from headrace.project.model import Project
from headrace.store.paths import path_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> Project:
    return loader.load(ROOT, "test")


@pytest.mark.parametrize(
    ("url", "catalogue", "place"),
    [
        ("s3a://lake/it", "unity", "s3://lake/it/"),
        ("s3a://lake/it", "hive", "s3a://lake/it/"),
        ("az://lake/it", "unity", "abfss://lake@acme.dfs.core.windows.net/it/"),
        ("gs://lake/it", "unity", "gs://lake/it/"),
    ],
)
def test_place_is_named_as_the_catalogue_names_it(project: Project, url: str, catalogue: Catalogue, place: str) -> None:
    options = {"azure_storage_account_name": "acme"} if url.startswith("az") else {}
    target = replace(project.target, store=path_of(url, options))
    lines = [line for line in statements(replace(project, target=target), catalogue) if "LOCATION" in line]
    assert lines and all(f"LOCATION '{place}tables/" in line for line in lines)


@pytest.mark.parametrize(
    ("catalogue", "expected"),
    [
        ("hive", "CREATE TABLE IF NOT EXISTS `gold`.`calls` USING DELTA LOCATION 's3a://lake/it/tables/gold/calls'"),
        ("unity", "CREATE TABLE IF NOT EXISTS `gold`.`calls` USING DELTA LOCATION 's3://lake/it/tables/gold/calls'"),
        ("glue", "CREATE EXTERNAL TABLE IF NOT EXISTS `gold`.`calls` LOCATION 's3://lake/it/tables/gold/calls' TBL"),
    ],
)
def test_table_is_registered_where_it_is(project: Project, catalogue: Catalogue, expected: str) -> None:
    target = replace(project.target, store=path_of("s3://lake/it"))
    lines = [*statements(replace(project, target=target), catalogue)]
    assert [line for line in lines if line.startswith(expected)]
    assert lines[0] == "CREATE SCHEMA IF NOT EXISTS `bronze`;"


def test_every_stored_table_is_there_once_and_no_view(project: Project) -> None:
    tables = [line.split(" ")[5] for line in statements(project, "hive") if "TABLE" in line]
    stored = [model.table for query in project.queries for model in query.models]
    landings = [f"bronze.landing_{landing.name}" for landing in project.landings]
    assert tables == [".".join(f"`{part}`" for part in name.split(".")) for name in (*landings, *stored)]


def test_quotes_in_a_description_stay_in_it(project: Project) -> None:
    query = project.queries[0]
    named = replace(query, models=(replace(query.models[0], description="it's"),))
    assert any(line.endswith("COMMENT 'it\\'s';") for line in statements(replace(project, queries=(named,)), "hive"))
