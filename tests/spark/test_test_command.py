"""`headrace test`: cases, data tests over what is stored, and cases recorded from what has landed."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from headrace.commands import testing
from headrace.commands.workspace import Workspace
from headrace.errors import UsageError
from headrace.project import loader
from headrace.project.model import Model, Project
from headrace.testing.cases import case as cases
from headrace.testing.cases.comparison import differences
from headrace.testing.cases.landing import land
from headrace.testing.recording import write_case
from headrace.testing.runs.disk import Process
from headrace.testing.runs.disk import land_batch as land_on_disk
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import narrowed
from headrace.testing.runs.trial import outcome_of
from headrace.testing.stored import StoredTests
from tests.spark.test_datatests import FILES

pytestmark = pytest.mark.spark

CASE = "tests/models/things/judged.yml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return _written(tmp_path)


@pytest.fixture(scope="module")
def processed(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Project:
    """The project with its case landed and processed for its only target."""
    project = loader.load(_written(tmp_path_factory.mktemp("processed")), "local")
    layout = sandbox.layout(project)
    for batch in land(sandbox.judge, project, cases.read(project, CASE).given).batches:
        land_on_disk(sandbox, layout, batch)
    process = Process(sandbox, narrowed(project, ["gold.sizes"]), layout)
    process.advance()
    process.stop()
    return replace(project, target=replace(project.target, data_dir=layout.data_dir))


def test_cases_of_a_model_are_run_and_reported(root: Path, sandbox: Sandbox) -> None:
    assert sandbox.spark
    code = testing.run_cases(Workspace(root, "local"), ("gold.things",), (), root / "report.xml")
    names = [case.get("name") for case in ElementTree.parse(root / "report.xml").iter("testcase")]
    assert (code, names) == (0, ["[one-by-one]", "[all-at-once]", "[restarts]", "[after batch 1]"])


def test_failing_case_shows_the_rows_that_differ(root: Path, sandbox: Sandbox, capfd: pytest.CaptureFixture) -> None:
    assert sandbox.spark
    text = FILES[CASE].replace(
        "  rows: [{id: a, size: 1}, {id: b, size: 3}", "  rows: [{id: a, size: 1}, {id: b, size: 99}"
    )
    text = text.replace("{key: c, value: {}}]", "{key: c, value: {}}, {key: d, value: [1]}]")
    (root / CASE).write_text(text.replace("\ngiven:", "\ncuts: [one-by-one]\ngiven:"), "utf-8")
    code = testing.run_cases(Workspace(root, "local"), ("gold.things",), (), None)
    out = capfd.readouterr().out
    sizes = [line for line in out.splitlines() if "size=" in line]
    assert (code, len(sizes), "3" in sizes[0] and "9" in sizes[0]) == (1, 1, True)
    assert "  batch 2 of things at 2026-01-01T00:00:09Z: 4 records, 1 of them dead letters\n" in out
    assert "    not_json: things key d: [1]\n" in out


def test_case_that_cannot_be_read_is_a_finding(root: Path, capfd: pytest.CaptureFixture) -> None:
    (root / CASE).write_text(FILES[CASE].replace("given:", "givn:"), "utf-8")
    assert testing.run_cases(Workspace(root, "local"), ("gold.things",), (), None) == 3
    assert "judged.yml:3:1: unknown-key" in capfd.readouterr().out


def test_stored_rows_pass_or_warn(processed: Project, sandbox: Sandbox) -> None:
    model = processed.model("gold.things")
    assert _stored(sandbox, processed, model) == (0, {"kind_accepted_values", "kind_relationships"})


@pytest.mark.long
def test_stored_rows_that_fail_are_shown(processed: Project, sandbox: Sandbox, capfd: pytest.CaptureFixture) -> None:
    model = processed.model("gold.things")
    model = replace(model, tests=tuple(replace(test, on_failure="stop") for test in model.tests))
    strict = replace(processed, models=tuple(model if m.table == model.table else m for m in processed.models))
    assert _stored(sandbox, strict, model)[0] == 1
    assert '1 row of gold.things, such as\n{"id":"b","kind":"odd","size":3' in capfd.readouterr().out


@pytest.mark.long
def test_recorded_case_is_one_that_passes(processed: Project, sandbox: Sandbox) -> None:
    path = write_case(sandbox, processed, processed.model("gold.sizes"), 2)
    case = cases.read(processed, path.relative_to(processed.root).as_posix())
    landed = land(sandbox.judge, case.project, case.given)
    assert [{name: len(found) for name, found in batch.records.items()} for batch in case.given] == [
        {"things": 2},
        {"things": 3},
    ]
    assert {row["id"] for row in case.expect.rows or ()} == {"a", "b", "c"}
    assert list(differences(case, landed, outcome_of(sandbox, case, landed, "all-at-once", Random(1)))) == []
    with pytest.raises(UsageError):  # it is not written over
        write_case(sandbox, processed, processed.model("gold.sizes"), 1)


def _stored(sandbox: Sandbox, project: Project, model: Model) -> tuple[int, set[str]]:
    """The exit code of the data tests of a model, and which of them were only reported."""
    report = project.root / "report.xml"
    words = [str(project.root / model.path)]
    code = testing._pytest(project.root, words, report, StoredTests(sandbox.spark, project))
    skipped = (case for case in ElementTree.parse(report).iter("testcase") if case.find("skipped") is not None)
    return code, {str(case.get("name")) for case in skipped}


def _written(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder
