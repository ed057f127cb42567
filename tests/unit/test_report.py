"""Findings as text."""

from __future__ import annotations

from headrace.errors import Finding, Place
from headrace.project import report


def test_caret_stands_below_the_place(tmp_path):
    (tmp_path / "a.sql").write_text("select a\n\tfrom silver.ordr\n", encoding="utf-8")
    finding = Finding(Place("a.sql", 2, 7), "unknown-table", "no table silver.ordr.")
    assert report.render([finding], tmp_path) == (
        "a.sql:2:7: unknown-table: no table silver.ordr.\n    \tfrom silver.ordr\n    \t     ^"
    )


def test_findings_come_in_file_order(tmp_path):
    findings = [Finding(Place("b", 1), "x", "m"), Finding(Place("a", 10), "x", "m"), Finding(Place("a", 9), "x", "m")]
    assert report.render(findings, tmp_path) == "a:9:1: x: m\na:10:1: x: m\nb:1:1: x: m"


def test_finding_without_a_line_stands_alone(tmp_path):
    (tmp_path / "a.sql").write_text("\n", encoding="utf-8")
    findings = [
        Finding(Place("a.sql", 1), "x", "m"),
        Finding(Place("a.sql", 9), "x", "m"),
        Finding(Place("gone"), "x", "m"),
    ]
    assert report.render(findings, tmp_path) == "a.sql:1:1: x: m\na.sql:9:1: x: m\ngone:1:1: x: m"
