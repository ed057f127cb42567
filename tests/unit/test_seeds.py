"""Rows of a topic that come with the project."""

from __future__ import annotations

import pytest

YML = "sql/bronze/shop.yml"
CSV = "sql/bronze/rules.csv"
FIELDS = "{name: string not null, most: 'decimal(9, 2)', tags: array<string>}"
RULES = f"landing: shop\ntopics:\n  rules:\n    schema: {FIELDS}\n"


def seeds(project_files, text: str, yml: str = RULES) -> list[tuple[int, str, str]]:
    project_files.write(YML, f"{yml}    seed: rules.csv\n")
    project_files.write(CSV, text)
    topic = project_files.load().topic("rules")[1]
    return [(seed.line, seed.key, seed.value) for seed in topic.seeds]


def test_lines_become_records(project_files):
    text = 'name,most,tags\nA,1.50,"[""x""]"\n"B ""b""",,\n'
    found = seeds(project_files, text)
    assert found == [(2, "A", '{"name": "A", "most": 1.50, "tags": ["x"]}'), (3, 'B "b"', '{"name": "B \\"b\\""}')]


def test_key_may_be_a_column_of_its_own(project_files):
    assert seeds(project_files, "key,name\n1,A\n") == [(2, "1", '{"name": "A"}')]


def test_bare_value_is_in_the_column_value(project_files):
    yml = "landing: shop\ntopics:\n  rules:\n    schema: int\n"
    assert seeds(project_files, "key,value\nA,7\n", yml) == [(2, "A", "7")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,mosst\nA,1\n", f"{CSV}:1:1 unknown-column"),
        ("most\n1\n", f"{CSV}:1:1 missing-key"),
        ("name,most\nA,1\nB,one\n", f"{CSV}:3:1 bad-value"),
        ("name,most\nA\n", f"{CSV}:2:1 bad-value"),
        ("key,name\n,A\n", f"{CSV}:2:1 bad-value"),
        ('name,most\n"A,1\n', f"{CSV}:2:1 syntax"),
    ],
)
def test_broken_file_is_found_with_its_line(project_files, text, expected):
    project_files.write(YML, f"{RULES}    seed: rules.csv\n")
    project_files.write(CSV, text)
    assert project_files.findings() == [expected]


def test_missing_file_is_found(project_files):
    project_files.write(YML, f"{RULES}    seed: rules.csv\n")
    assert project_files.findings() == [f"{YML}:5:11 unreadable"]
