"""Files and forms of dbt: each finding names the place where headrace reads such things."""

from __future__ import annotations

import pytest

from headrace.project.sql.templates import jinja


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("sql/silver/schema.yml", "version: 2\nmodels:\n  - name: m\n", ["2:1 dbt-word"]),
        ("sql/schema.yaml", "models: []\nsources: []\n", ["1:1 dbt-word", "2:1 dbt-word"]),
        ("sql/bronze/schema.yml", "version: 2\nsources:\n  - name: shop\n", ["2:1 dbt-word"]),
        ("sql/gold/notes.yml", "owner: me\n", ["1:1 bad-path"]),
        ("sql/bronze/more/x.yml", "landing: x\n", ["1:1 bad-path"]),
        ("sql/gold/.hidden.yml", "models: []\n", []),
    ],
)
def test_yaml_that_nothing_reads_is_a_finding(project_files, path, text, expected):
    project_files.write(path, text)
    assert project_files.findings() == [f"{path}:{each}" for each in expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select a from {{ ref('t') }}", "stream silver."),
        ("select a from {{source('s', 't')}}", "stream bronze."),
        ("{{- config(materialized='table') }}", "`materialized: append`"),
        ("select a from t where b > '{{ var(\"x\") }}'", "`:name`"),
        ("select a from t where b > \"{{ env_var('x') }}\"", "macros/"),
        ("{% if x %} select 1", "macros/"),
        ("{# a note #} select 1", "macros/"),
    ],
)
def test_template_is_reported_with_what_to_write(text, words):
    (found,) = jinja(text, "m.sql")
    assert words in found.message


@pytest.mark.parametrize("text", ["select '{{ a }}'", "-- {{ ref('t') }}\nselect 1", "/* {% x %} */ select '{%'"])
def test_braces_in_texts_and_comments_are_no_templates(text):
    assert list(jinja(text, "m.sql")) == []


def test_template_in_a_macro_is_reported(project_files):
    project_files.write("macros/f.sql", "{% macro f(x) %} {{ x }} {% endmacro %}")
    assert project_files.findings() == [f"macros/f.sql:1:{column} jinja" for column in (1, 18, 26)]
