"""Rows of a topic that come with the project."""

from __future__ import annotations

import json

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
        ("name,most,most\nA,1,2\n", f"{CSV}:1:1 duplicate-column"),
        ("name,most\nA,1,\n", f"{CSV}:2:1 bad-value"),
        ("key,name\nA,\n", f"{CSV}:2:1 bad-value"),
    ],
)
def test_broken_file_is_found_with_its_line(project_files, text, expected):
    project_files.write(YML, f"{RULES}    seed: rules.csv\n")
    project_files.write(CSV, text)
    assert project_files.findings() == [expected]


def test_missing_file_is_found(project_files):
    project_files.write(YML, f"{RULES}    seed: rules.csv\n")
    assert project_files.findings() == [f"{YML}:5:11 unreadable"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_file_may_be_one_of_a_spreadsheet(project_files, end):
    found = seeds(project_files, end.join(["\ufeffname,most", '"a, ""b""",1.5', ""]))
    assert found == [(2, 'a, "b"', '{"name": "a, \\"b\\"", "most": 1.5}')]


@pytest.mark.parametrize("text", ["two\nlines", "a\u2028b", "a\x85b", "a\x0bb", " a ", "'", "\u00e4a\u0308\U0001f600"])
def test_text_of_a_cell_stays_as_it_is(project_files, text):
    ((_, key, value),) = seeds(project_files, f'name\n"{text}"\n')
    assert (key, json.loads(value)) == (text, {"name": text})


FITS = {
    "tinyint": (["-128", "0", "127"], ["128", "-129", "007", "1.0", "+1", "1e1", "\u0663"]),
    "bigint": (["-9223372036854775808"], ["9223372036854775808", "9" * 5000, "-"]),
    "decimal(4,2)": (["99.99", "-99", "1e1"], ["100", "1e9", "1e999999999", ",5", "1.", "NaN"]),
    "double": (["1e300", "-0"], ["1e999", "NaN", "Infinity", "1,5", "0x1"]),
    "boolean": (["true"], ["TRUE", "1", "yes"]),
    "date": (["2024-02-29"], ["2023-02-29", "29.02.2024", "2024-2-29", "2024-02-29T00:00", "0000-01-01"]),
    "timestamp": (["2024-01-01", "2024-01-01T23:59:59.5+02:00"], ["2024-01-01T24:00", "2024-01-01T1:00", "01/02/2024"]),
    "array<int>": (["[]", "[1]"], ["{}", "1", "[1", "[NaN]", "null"]),
    "struct<a: int>": (['{"a": 1}'], ["[]", "a: 1"]),
}


@pytest.mark.parametrize(("kind", "good", "bad"), [(kind, *cells) for kind, cells in FITS.items()])
def test_cell_that_would_be_rejected_is_found(project_files, kind, good, bad):
    lines = [f'{at},"{cell.replace(chr(34), chr(34) * 2)}"' for at, cell in enumerate([*good, *bad], 1)]
    project_files.write(YML, f"landing: shop\ntopics:\n  rules:\n    schema: {{v: '{kind}'}}\n    seed: rules.csv\n")
    project_files.write(CSV, "\n".join(["key,v", *lines, ""]))
    found = [f"{CSV}:{line}:1 bad-value" for line in range(2 + len(good), 2 + len(lines))]
    assert project_files.findings() == found
