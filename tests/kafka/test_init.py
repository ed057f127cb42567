"""A new project, created by `headrace init`: its test passes, and it runs from Kafka to its gold table."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from headrace.commands import starting
from headrace.project import loader
from headrace.project.model import Project
from headrace.reading.show import show
from headrace.running.runner import Options, Run
from headrace.store import lease
from headrace.store.layout import Layout
from headrace.testing.cases import case as cases
from headrace.testing.cases.comparison import differences
from headrace.testing.cases.landing import land
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.trial import outcome_of
from tests.kafka.cluster import Cluster
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A newly created project."""
    folder = tmp_path_factory.mktemp("new") / "web-shop"
    starting.init(folder)
    return loader.load(folder, "test")


@pytest.mark.parametrize("cut", cases.CUTS)
def test_case_of_a_new_project_passes(project: Project, sandbox: Sandbox, cut: cases.Cut) -> None:
    case = cases.read(project, "tests/models/page_visits/every_visit_counts.yml")
    landed = land(sandbox.judge, project, case.given)
    assert [*differences(case, landed, outcome_of(sandbox, case, landed, cut, Random(1)))] == []


def test_new_project_runs_from_kafka_to_gold(
    project: Project, cluster: Cluster, sandbox: Sandbox, tmp_path: Path
) -> None:
    cluster.create({"visits": 1})
    cluster.send(("visits", page, json.dumps({"visitor": "ann", "seconds": 61})) for page in ("/", "/", "/shop"))
    kafka = replace(project.target.kafka, bootstrap=cluster.bootstrap)
    running = replace(project, target=replace(project.target, kafka=kafka, data_dir=tmp_path))
    with lease.held(Layout(tmp_path)):
        run = Run(sandbox.spark, running, Options(available_now=True), log=lambda *_, **__: None)
        run.prepare()
        run.start()
        over = threading.Event()
        alarm = threading.Timer(PATIENCE, over.set)
        alarm.start()
        failures = run.wait(over)
        alarm.cancel()
    rows = show(running, Layout(tmp_path), "gold.page_visits").rows
    assert (failures, {(row["page"], row["visit_count"]) for row in rows}) == ((), {("/", 2), ("/shop", 1)})
