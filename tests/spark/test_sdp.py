"""`headrace export sdp`: which models Spark Declarative Pipelines can run, and why not the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.engine.sdp import Export, export
from headrace.project import loader
from headrace.testing.sandbox import Sandbox

pytestmark = pytest.mark.spark

PROJECT = loader.load(Path(__file__).parents[2], "test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pipeline")


@pytest.fixture(scope="module")
def exported(folder: Path, sandbox: Sandbox) -> Export:
    layout = sandbox.layout(PROJECT)
    made = export(replace(PROJECT, target=replace(PROJECT.target, data_dir=layout.data_dir)), folder)
    for name, text in made.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return made


def test_every_model_goes_along_or_has_a_reason(exported: Export) -> None:
    assert exported.kinds.keys() | exported.refused.keys() == {model.table for model in PROJECT.models}
    assert not exported.kinds.keys() & exported.refused.keys()


def test_reasons_are_those_of_the_model(exported: Export) -> None:
    assert exported.kinds["gold.sales_per_minute"] == "streaming table"
    assert exported.refused["silver.sales_totals"].startswith("upsert")
    assert exported.refused["gold.sales_notifications"] == "it reads silver.sales_totals, which does not go along"
