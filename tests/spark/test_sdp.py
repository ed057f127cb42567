"""`headrace export sdp`: which models Spark Declarative Pipelines can run, and why not the others."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from headrace.commands.exporting import export_sdp
from headrace.commands.workspace import Workspace
from headrace.elsewhere import sdp
from headrace.elsewhere.sdp import SETTINGS, Export, export
from headrace.project import loader
from headrace.spark import session
from headrace.store.paths import path_of
from headrace.testing.runs.sandbox import Sandbox

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


@pytest.mark.usefixtures("exported")
def test_settings_reach_the_store_and_name_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdp, "resolve", lambda name: (Path(f"/{name}.jar"),))
    keys = {"aws_access_key_id": "id", "aws_secret_access_key": "s3cret", "aws_region": "eu-central-1"}
    target = replace(PROJECT.target, store=path_of("s3://lake/shop", keys))
    settings = export(replace(PROJECT, target=target), tmp_path).files[SETTINGS].splitlines()
    own = "spark.hadoop.fs.s3a.bucket.lake"
    assert {"spark.driver.extraClassPath=/spark.jar:/s3.jar", f"{own}.endpoint.region=eu-central-1"} <= {*settings}
    assert f"# a secret, for you to give: {own}.secret.key" in settings
    assert not any("s3cret" in line for line in settings)


@pytest.mark.long
def test_dry_run_accepts_what_is_exported(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, spark = tmp_path / "pipeline", Path(pyspark.__file__).parent
    monkeypatch.setenv("HEADRACE_DATA_DIR", str(tmp_path / "data"))  # nothing has ever run there
    monkeypatch.setattr(session, "start", lambda *_: sandbox.spark)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    assert export_sdp(Workspace(PROJECT.root, "test"), folder) == 0
    assert "gold.sales_per_minute: streaming table" in capsys.readouterr().out

    theirs = {"SPARK_HOME": str(spark), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environ = {**os.environ, **theirs, "SPARK_TESTING": "1"}  # so it also takes a port that is free
    spec, settings = folder / "spark-pipeline.yml", folder / SETTINGS
    words = ("dry-run", "--spec", str(spec), "--properties-file", str(settings))
    pipelines = [str(spark / "bin" / "spark-pipelines"), *words]
    done = subprocess.run(pipelines, env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    assert "Run is COMPLETED" in done.stdout + done.stderr
