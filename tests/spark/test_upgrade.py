"""Trials of upgrades: the rows of the new text over the state of the old one are proven equal or shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import Row

from headrace import cli
from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.project.model import TICK_TOPIC
from headrace.store.layout import Layout
from headrace.testing.cases.landing import Landed, LandedBatch, land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.upgrade import Truth, Upgrade, contradicts, recorded_batches, upgrade
from tests.long import long, one_of
from tests.plan import corpus
from tests.plan.trial import given

pytestmark = pytest.mark.spark

TRUTHS = {
    "fold/conditions-turned-round": "SAME",
    "fold/a-column-that-is-not-read-back": "KEEP",
    "fold/another-amount": "MIX",
    "fold/a-column-gone": "RESET",
}


def tried(sandbox: Sandbox, folder: Path, name: str) -> Upgrade:
    """The upgrade of a scenario of the edit corpus."""
    of = corpus.scenario(name)
    old, new = corpus.project(of.old, folder / "old"), corpus.project(of.new, folder / "new")
    return upgrade(sandbox, new, Declared.of(old), of.model)


def landed(sandbox: Sandbox, made: Upgrade) -> Landed:
    """What lands in all of these scenarios."""
    return land(sandbox.judge, made.new, given(corpus.scenario("fold/another-amount"), made.new))


@pytest.mark.parametrize("name", one_of(12, TRUTHS))
def test_truth_is_found(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    made = tried(sandbox, tmp_path, name)
    found = made.judge([[batch] for batch in landed(sandbox, made).batches], 2)
    assert found.truth == TRUTHS[name], found.why
    assert bool(found.difference and found.difference.examples) == (found.truth == "MIX")


def test_nothing_is_proven_by_batches_without_rows(sandbox: Sandbox, tmp_path: Path) -> None:
    made = tried(sandbox, tmp_path, "fold/another-filter")
    first, *_ = landed(sandbox, made).batches
    assert made.judge([[first], []], 1).truth == "UNPROVEN"


@pytest.mark.parametrize("name", [long("fold/a-column-that-is-not-read-back"), "fold/another-amount"])
def test_plan_is_proven_on_what_has_landed(
    sandbox: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    of, made = corpus.scenario(name), tried(sandbox, tmp_path, name)
    layout = made.new.target.layout
    queries = [query.name for query in made.old.queries] + [landing.query for landing in made.old.landings]
    declared.write(layout, Declared.of(made.old, of.types), queries, {})
    sandbox.landing_table(layout, "s").create()
    for batch in landed(sandbox, made).batches:
        land_batch(sandbox, layout, batch)
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(made.new.root), "-t", "test", "plan", "--prove", made.table, "--json"])
    found = json.loads(capsys.readouterr().out)
    expected = (0, of.verdict, TRUTHS[name], False)
    assert (ended.value.code, found["plan"], found["truth"], found["contradicts"]) == expected


@pytest.mark.parametrize(
    ("truth", "planned"), [("KEEP", "SAME"), ("MIX", "SAME"), ("MIX", "KEEP"), ("RESET", "KEEP"), ("RESET", "MIX")]
)
def test_worse_than_promised_contradicts(truth: Truth, planned: str) -> None:
    assert contradicts(truth, planned)


@pytest.mark.parametrize(
    ("truth", "planned"),
    [("SAME", "KEEP"), ("KEEP", "KEEP"), ("MIX", "FORWARD"), ("SAME", "RESET"), ("UNPROVEN", "SAME")],
)
def test_better_than_promised_does_not(truth: Truth, planned: str) -> None:
    assert not contradicts(truth, planned)


def test_batches_that_have_landed_come_in_their_order(sandbox: Sandbox, tmp_path: Path) -> None:
    made = tried(sandbox, tmp_path, "fold/another-filter")
    layout = Layout(made.new.target.data_dir)
    sandbox.landing_table(layout, "s").create()
    for batch in landed(sandbox, made).batches:
        land_batch(sandbox, layout, batch)
    assert [batch.number for (batch,) in recorded_batches(sandbox, made, 3)] == [1, 2, 3]
    last, *_ = landed(sandbox, made).batches[-1:]
    tick = last.rows[0].asDict() | {"topic": TICK_TOPIC, "partition": 0}
    for number in range(4, 9):
        row = Row(**(tick | {"landing_batch": number, "offset": number}))
        land_batch(sandbox, layout, LandedBatch("s", number, (row,), is_tick=True))
    found = [(batch.number, batch.is_tick) for (batch,) in recorded_batches(sandbox, made, 2)]
    assert found == [(2, False), (3, False), (8, True)]
