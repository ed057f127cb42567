"""manifest.yml."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject, UsageError
from headrace.project.declarations import manifest


def test_settings_of_nearer_folders_win(project_files):
    project_files.write(
        "manifest.yml",
        "name: x\nmodels:\n  +owner: all\n  silver: {+materialized: view, shipping: {+materialized: upsert}}\n"
        "  shipping: {+query: shipping, +materialized: append}\n",
    )
    read = manifest.read(project_files.root)
    assert read.settings("silver", "shipping").materialized == "upsert"
    assert read.settings("gold", "shipping").materialized == "append"
    assert read.settings("silver", "sales").materialized == "view"
    assert read.settings("silver", "shipping").query == "shipping"
    assert read.settings("gold", "sales").owner == "all"


def test_tags_and_meta_of_folders_add_up(project_files):
    project_files.write(
        "manifest.yml",
        "name: x\nmodels:\n  silver: {+tags: [a, b], +meta: {x: 1}}\n  shipping: {+tags: b, +meta: {y: 2}}\n",
    )
    settings = manifest.read(project_files.root).settings("silver", "shipping")
    assert settings.tags == ("a", "b")
    assert settings.meta == {"x": 1, "y": 2}


def test_folders_have_usual_names(project_files):
    project_files.write("manifest.yml", "name: x\n")
    read = manifest.read(project_files.root)
    assert (read.sql_paths, read.macro_paths, read.test_paths) == (("sql",), ("macros",), ("tests/models",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 1\n", "manifest.yml:1:1 missing-key"),
        ("name: Demo Project\n", "manifest.yml:1:7 bad-name"),
        ("name: x\nversion: 2\n", "manifest.yml:2:10 bad-value"),
        ("name: x\nsql_paths: [sql]\n", "manifest.yml:2:1 unknown-key"),
        ("name: x\nsql-paths: [sgl]\n", "manifest.yml:2:13 bad-value"),
        ("name: x\nsql-paths: [macros]\n", "manifest.yml:2:13 bad-value"),
        ("name: x\nsql-paths: []\n", "manifest.yml:2:12 bad-value"),
        ("name: x\nsql-paths:\n", "manifest.yml:2:1 bad-value"),
        ("name: x\nsql-paths: [sql, ../x]\n", "manifest.yml:2:18 bad-value"),
        ("name: x\nsql-paths: [sql, manifest.yml]\n", "manifest.yml:2:18 bad-value"),
        ("name: x\nsql-paths: ['']\n", "manifest.yml:2:13 bad-value"),
        ("name: x\nmacro-paths: [sql, /tmp]\n", "manifest.yml:2:20 bad-value"),
        ("name: x\nmacro-paths: ../shared_macros\n", "manifest.yml:2:14 bad-value"),
        ("name: x\nmacro-paths: [makros]\n", "manifest.yml:2:15 bad-value"),
        ("name: x\nmacro-paths: [sql/.hidden]\n", "manifest.yml:2:15 bad-value"),
        ("name: x\ntest-paths: [test/models]\n", "manifest.yml:2:14 bad-value"),
        ("name: x\ntest-paths: []\n", "manifest.yml:2:13 bad-value"),
        ("name: x\nvars: {a: {b: 1}}\n", "manifest.yml:2:11 bad-value"),
        ("name: x\nmodels: {silver: {+materialised: view}}\n", "manifest.yml:2:19 unknown-key"),
        ("name: x\nmodels: {silver: {+materialized: vew}}\n", "manifest.yml:2:34 bad-value"),
        ("name: x\nmodels: {silver: {materialized: view}}\n", "manifest.yml:2:19 unknown-key"),
        ("name: x\nmodels: {silver: {shipping: {deep: {+run: streaming}}}}\n", "manifest.yml:2:30 unknown-key"),
        ("name: x\nmodels: {silver: {+query: My Query}}\n", "manifest.yml:2:27 bad-name"),
    ],
)
def test_broken_manifest_has_findings(project_files, text, expected):
    project_files.write("manifest.yml", text)
    assert project_files.findings() == [expected]


def test_absolute_path_of_the_sql_itself_is_refused(project_files):
    project_files.write("manifest.yml", f"name: x\nsql-paths: ['{project_files.root}/sql']\n")
    assert project_files.findings() == ["manifest.yml:2:13 bad-value"]


def test_folder_that_is_missing_has_the_nearest(project_files):
    project_files.write("manifest.yml", "name: x\nsql-paths: [sqll]\n")
    with pytest.raises(InvalidProject, match=r"there is no folder sqll. Did you mean sql\?"):
        manifest.read(project_files.root)


def test_usual_folders_of_macros_and_tests_may_be_missing(project_files):
    project_files.edit("manifest.yml", "name: small", "name: small\nmacro-paths: macros\ntest-paths: [tests/models]")
    assert project_files.findings() == []


@pytest.mark.parametrize("folders", ["slver: {}", "shippping: {}", "gold: {sliver: {}}", "shipping: {silver: {}}"])
def test_folder_that_is_none_is_a_finding(project_files, folders):
    project_files.write("manifest.yml", f"name: x\nmodels:\n  {folders}\n  +materialized: view\n")
    assert "manifest.yml:3" in [f.rpartition(":")[0] for f in project_files.findings() if f.endswith("unknown-key")]


def test_root_is_found_from_a_folder_inside(project_files):
    assert manifest.find_root(project_files.root / "sql" / "silver") == project_files.root.resolve()


def test_no_manifest_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError):
        manifest.find_root(tmp_path)
