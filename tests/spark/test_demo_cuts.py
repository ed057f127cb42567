"""Every stored model of the demo project over made-up events: the same rows whichever micro-batches these come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.project import loader
from headrace.testing.cut_trials.report import describe
from headrace.testing.cut_trials.trial import PartTrial, parts
from headrace.testing.runs.sandbox import Sandbox
from tests.long import long

pytestmark = pytest.mark.spark

PROJECT = loader.load(Path(__file__).parents[2], "local")
PARTS = parts(PROJECT, [model.table for model in PROJECT.models if model.materialized != "view"])
SEED, EVENTS = 33, 8
FEW = 1
"""The parts after these, of the shop, are the largest; its model tests run in all cuts anyway."""


@pytest.mark.parametrize("number", [at if at < FEW else long(at) for at in range(len(PARTS))])
def test_no_model_depends_on_how_its_events_are_cut(number: int, sandbox: Sandbox) -> None:
    trial = PartTrial(sandbox, PARTS[number], SEED, EVENTS)
    names = {topic.topic: topic.name for topic in trial.part.topics}
    for table in trial.part.tables:
        (_, first), *others = trial.rows(table)
        assert not first.failure, f"{table}: {first.failure}"
        if any(rows.differs(first) for _, rows in others):
            difference = trial.difference(table)
            assert difference is not None
            pytest.fail(describe(PROJECT.model(table), difference, names, SEED))


def test_all_stored_models_are_tried() -> None:
    stored = {model.table for model in PROJECT.models if model.materialized != "view"}
    assert {table for part in PARTS for table in part.tables} == stored
