"""Trials of upgrades: the rows of the new text over the state of the old one are proven equal or shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from headrace import cli
from headrace.planning import declared
from headrace.planning.declared import Declared
from headrace.store.layout import Layout
from headrace.testing.cases.case import Batch
from headrace.testing.cases.landing import land
from headrace.testing.runs.disk import land_batch
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.upgrade import Truth, Upgrade, contradicts, recorded_batches, upgrade
from tests.long import one_of
from tests.plan import corpus

pytestmark = pytest.mark.spark

GIVEN = TypeAdapter(tuple[Batch, ...]).validate_python(YAML(typ="safe").load(corpus.HERE / "given.yml"))
EDITS = {(edit.shape.name, edit.name): edit for edit in corpus.edits()}
TRUTHS = {
    ("fold", "conditions turned round"): "SAME",
    ("fold", "a column that is not read back"): "KEEP",
    ("fold", "another amount"): "MIX",
    ("fold", "a column gone"): "RESET",
}


def tried(sandbox: Sandbox, folder: Path, shape: str, name: str) -> Upgrade:
    """The upgrade from a shape's own text to an edited one."""
    of = next(each for each in corpus.shapes() if each.name == shape)
    own = f"sql/{of.model.replace('.', '/s/')}.sql"
    without = {**of.files, own: of.files[own].replace("a.y as last_y,", "")}
    files = EDITS[shape, name].files if (shape, name) in EDITS else without
    old, new = corpus.project(of.files, folder / "old"), corpus.project(files, folder / "new")
    return upgrade(sandbox, new, Declared.of(old), of.model)


@pytest.mark.parametrize(("shape", "name"), one_of(3, TRUTHS))
def test_truth_is_found(sandbox: Sandbox, tmp_path: Path, shape: str, name: str) -> None:
    made = tried(sandbox, tmp_path, shape, name)
    steps = [[batch] for batch in land(sandbox.judge, made.new, GIVEN).batches]
    found = made.judge(steps, 2)
    assert found.truth == TRUTHS[shape, name], found.why
    assert bool(found.difference and found.difference.examples) == (found.truth == "MIX")


def test_nothing_is_proven_by_batches_without_rows(sandbox: Sandbox, tmp_path: Path) -> None:
    made = tried(sandbox, tmp_path, "fold", "another filter")
    steps = [[batch] for batch in land(sandbox.judge, made.new, GIVEN[:1]).batches]
    assert made.judge([*steps, []], 1).truth == "UNPROVEN"


@pytest.mark.parametrize(("name", "truth"), [("a column that is not read back", "KEEP"), ("another amount", "MIX")])
def test_plan_is_proven_on_what_has_landed(
    sandbox: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, truth: str
) -> None:
    made = tried(sandbox, tmp_path, "fold", name)
    layout = made.new.target.layout
    queries = [query.name for query in made.old.queries] + [landing.query for landing in made.old.landings]
    edit = EDITS["fold", name]
    declared.write(layout, Declared.of(made.old, edit.shape.schemas), queries, {})
    sandbox.landing_table(layout, "s").create()
    for batch in land(sandbox.judge, made.new, GIVEN).batches:
        land_batch(sandbox, layout, batch)
    with pytest.raises(SystemExit) as ended:
        cli.main(["-C", str(made.new.root), "-t", "test", "plan", "--prove", made.table, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (ended.value.code, found["plan"], found["truth"], found["contradicts"]) == (0, edit.verdict, truth, False)


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
    made = tried(sandbox, tmp_path, "fold", "another filter")
    layout = Layout(made.new.target.data_dir)
    sandbox.landing_table(layout, "s").create()
    for batch in land(sandbox.judge, made.new, GIVEN).batches:
        land_batch(sandbox, layout, batch)
    assert [batch.number for (batch,) in recorded_batches(sandbox, made, 3)] == [1, 2, 3]
