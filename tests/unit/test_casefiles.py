"""What `check` reports about the case files of a project."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace import usercache
from headrace.project import loader
from headrace.testing.cases import case, casefiles, faultless
from tests.unit.test_cli import ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ProjectFiles

READY_CASE = """model: gold.shipment_ready
given: [{orders: [{key: a, value: {id: a, items: []}}]}]
expect: {rows: []}
"""
READY = "tests/models/shipment_ready/one.yml"
ORDERS = "sql/silver/shipping/orders.sql"

Check = Callable[[], list[str]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where valid cases are cached."""
    monkeypatch.setattr(usercache, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache"


@pytest.fixture
def check(project_files: ProjectFiles) -> Check:
    """Finds what is wrong with the cases now, each as `path:line:column code`."""
    project_files.write(READY, READY_CASE)

    def run() -> list[str]:
        found = casefiles.findings(loader.survey(project_files.root, "local"))
        return sorted(f"{finding.place} {finding.code}" for finding in found)

    return run


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The cases that are read, as they are."""
    found: list[str] = []
    really = case.parsed
    monkeypatch.setattr(case, "parsed", lambda root, path: (found.append(path), really(root, path))[1])
    return found


def test_check_reports_cases_with_all_else(
    project_files: ProjectFiles, check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    project_files.edit(READY, "expect:", "expct: 1\nexpect:")
    project_files.edit("sql/gold/shipping/shipment_ready.sql", ":limit", ":limits")
    assert ended("-C", str(project_files.root), "check", "--offline", "--json") == 3
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["code"], each["path"]) for each in found] == [
        ("missing-parameter", "sql/gold/shipping/shipment_ready.sql"),
        ("unknown-key", READY),
    ]


def test_check_of_right_cases_is_quiet(
    project_files: ProjectFiles, check: Check, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("-C", str(project_files.root), "check", "--offline") == 0
    assert capsys.readouterr().err == "3 models, no findings\n"


def test_folder_of_a_renamed_model_is_one_finding(project_files: ProjectFiles, check: Check) -> None:
    sql = project_files.root / "sql/gold/shipping/shipment_ready.sql"
    sql.rename(sql.with_name("shipments_ready.sql"))
    assert check() == ["tests/models/shipment_ready:1:1 unknown-model"]


def test_all_else_in_such_a_folder_is_reported(project_files: ProjectFiles, check: Check) -> None:
    project_files.write("tests/models/ready/one.yml", READY_CASE.replace("orders:", "order:"))
    assert check() == ["tests/models/ready/one.yml:2:10 unknown-topic", "tests/models/ready:1:1 unknown-model"]


def test_case_beside_the_folders_is_reported(project_files: ProjectFiles, check: Check) -> None:
    project_files.write("tests/models/shipment_ready.yml", READY_CASE)
    assert check() == ["tests/models/shipment_ready.yml:1:1 wrong-folder"]


def test_other_ending_of_yaml_is_read(project_files: ProjectFiles, check: Check) -> None:
    project_files.write("tests/models/shipment_ready/two.yaml", READY_CASE.replace("orders:", "order:"))
    assert check() == ["tests/models/shipment_ready/two.yaml:2:10 unknown-topic"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (ORDERS, "bronze.orders", "bronze.order"),  # it and what reads it is not sound
        ("sql/gold/shipping/shipment_ready.sql", "once_per:", "once_pr:"),
        ("sql/bronze/shipping.yml", "event_time:", "event_tme:"),
        ("conf/local.yml", "data_dir:", "datadir:"),
        ("manifest.yml", "vars:", "var:"),
    ],
)
def test_case_is_not_blamed_for_a_broken_file(
    path: str, old: str, new: str, project_files: ProjectFiles, check: Check
) -> None:
    project_files.edit(path, old, new)
    assert check() == []


def test_mistakes_of_its_own_are_reported_beside_a_broken_model(project_files: ProjectFiles, check: Check) -> None:
    project_files.edit(ORDERS, "bronze.orders", "bronze.order")
    project_files.edit(READY, "key:", "kye:")
    assert check() == [f"{READY}:2:20 unknown-key"]


def test_right_case_is_not_read_again(check: Check, read: list[str], project_files: ProjectFiles) -> None:
    assert (check(), check(), read) == ([], [], [READY])
    project_files.edit(READY, "key: a", "key: b")
    assert (check(), read) == ([], [READY, READY])


def test_wrong_case_is_read_again(check: Check, read: list[str], project_files: ProjectFiles) -> None:
    project_files.edit(READY, "orders:", "order:")
    assert (check(), check() != [], read) == ([f"{READY}:2:10 unknown-topic"], True, [READY, READY])


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("sql/bronze/shipping.yml", "  manufactured:", "  made:", "unknown-topic"),
        ("sql/gold/shipping/shipment_ready.sql", "publish: {", "# {", "not-published"),
        ("sql/silver/shipping/open_orders.sql", "materialized: upsert\nunique_key: order_id",
         "materialized: append\nallow: {cut-dependent: to see what a case says}", "unknown-table"),
        ("manifest.yml", "limit: 2", "limit: 2, more: 1", ""),
    ],
)  # fmt: skip
def test_right_case_is_read_again_when_its_project_changes(
    path: str, old: str, new: str, expected: str, project_files: ProjectFiles, check: Check, read: list[str]
) -> None:
    project_files.write(
        READY,
        "model: gold.shipment_ready\n"
        "given: [{orders: [{key: a, value: 1}], manufactured: []}]\n"
        "expect: {published: [], history: {silver.open_orders: {a: []}}}\n",
    )
    assert check() == []
    project_files.edit(path, old, new)
    assert ([line.split()[1] for line in check()], len(read)) == ([expected] if expected else [], 2)


def test_edit_of_a_query_reads_no_case_again(check: Check, read: list[str], project_files: ProjectFiles) -> None:
    check()
    project_files.edit("sql/gold/shipping/shipment_ready.sql", "item_count >", "item_count >=")
    assert (check(), read) == ([], [READY])


def test_old_scenes_are_forgotten(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usercache, "MAX_FILES", 2)
    for scene in "abc":
        faultless.store(scene, {scene})
    assert len([*(cache / "headrace/cases").iterdir()]) == 2


@pytest.mark.parametrize("text", [b"", b"3 4", b"\xff"])
def test_broken_cache_is_no_fault(text: bytes, cache: Path, check: Check) -> None:
    check()
    (entry,) = (cache / "headrace/cases").iterdir()
    entry.write_bytes(text)
    assert check() == []


def test_cache_that_cannot_be_written_is_no_fault(cache: Path, check: Check) -> None:
    cache.write_text("no folder")
    assert check() == []
