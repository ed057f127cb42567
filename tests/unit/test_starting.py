"""A new project: it is complete, named after its folder, and nothing is wrong with it."""

from __future__ import annotations

import pytest

from headrace.commands import starting
from headrace.project import loader
from headrace.testing.cases import case
from tests.unit.test_cli import ended


def test_new_project_has_no_findings(tmp_path, monkeypatch):
    for name in ("HEADRACE_KAFKA_BOOTSTRAP", "HEADRACE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert ended("init", str(tmp_path / "Web Shop")) == 0
    project = loader.load(tmp_path / "Web Shop", "local")
    assert (project.name, [model.table for model in project.models]) == (
        "web_shop",
        ["gold.page_visits", "silver.visits"],
    )
    assert case.read(project, "tests/models/page_visits/every_visit_counts.yml").model.table == "gold.page_visits"


def test_new_project_ignores_its_data(tmp_path):
    starting.init(tmp_path / "new")
    assert ((tmp_path / "new/.gitignore").read_text(), (tmp_path / "new/gitignore").exists()) == (".headrace/\n", False)


def test_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    assert (ended("init", str(tmp_path)), [file.name for file in tmp_path.iterdir()]) == (2, ["mine.txt"])


@pytest.mark.parametrize(
    ("folder", "name"), [("shop", "shop"), ("Web-Shop 2", "web_shop"), ("2024", "my_project"), ("é", "my_project")]
)
def test_project_is_named_after_its_folder(tmp_path, folder, name):
    assert starting.name_of(tmp_path / folder) == name
