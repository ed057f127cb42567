"""What is wrong with a case: one finding for each fault, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import InvalidProject
from headrace.testing.cases import case

if TYPE_CHECKING:
    from tests.unit.conftest import ProjectFiles

PATH = "tests/models/shipment_ready/one.yml"
ORDER = "{key: a, value: {id: a, items: []}}"


def findings_of(
    project_files: ProjectFiles, given: str = f"[{{orders: [{ORDER}]}}]", expect: str = "{rows: []}"
) -> list[str]:
    """The findings of a case, each as `line:column code message`."""
    project_files.write(PATH, f"model: gold.shipment_ready\ngiven: {given}\nexpect: {expect}\n")
    try:
        case.read(project_files.load(), PATH)
    except InvalidProject as error:
        return [f"{found.place.line}:{found.place.column} {found.code}: {found.message}" for found in error.findings]
    return []


def test_right_case_has_no_finding(project_files: ProjectFiles) -> None:
    assert findings_of(project_files) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("[{orders: [{kye: a, value: 1}]}]", "2:20 unknown-key: no key `kye` is known here. Did you mean key?"),
        ("[{orders: [{key: 1.5, value: 1}]}]", "2:25 bad-value: `given.0.orders.0.key`: a key is a text, a whole"),
        ("[{orders: [{key: true, value: 1}]}]", "2:25 bad-value: `given.0.orders.0.key`: a key is a text, a whole"),
        ("[{orders: 3}]", "2:18 bad-value: `given.0.orders`"),
        ("[3]", "2:9 bad-value: `given.0`"),
        ("[]", "2:8 bad-value: `given`: this list is empty; give at least one"),
        ("[{ordrs: [{key: a, value: 1}]}]", "2:10 unknown-topic: no source or topic ordrs. Did you mean orders?"),
    ],
)
def test_fault_of_a_record_is_one_finding(given: str, expected: str, project_files: ProjectFiles) -> None:
    (found,) = findings_of(project_files, given)
    assert found.startswith(expected)


@pytest.mark.parametrize("key", ["a", "1", "~", "!!binary YQ=="])
def test_keys_of_records_are_of_these_kinds(key: str, project_files: ProjectFiles) -> None:
    assert findings_of(project_files, f"[{{orders: [{{key: {key}, value: 1}}]}}]") == []


@pytest.mark.parametrize(
    ("expect", "code"),
    [
        ("{rows: }", "bad-value"),
        ("{rows: [], published: }", "bad-value"),
        ("{rows: [], watermark: }", "bad-value"),
        ("{}", "missing-key"),
        ("", "missing-key"),
        ("{ordered: true}", "missing-key"),
        ("{state: {}}", "missing-key"),
        ("{history: {silver.open_orders: {}}}", "missing-key"),
        ("{published: [{key: 1.5, value: 1}]}", "bad-value"),
        ("{history: {silver.open_orders: {1.5: []}}}", "bad-value"),
    ],
)
def test_expectation_of_nothing_is_refused(expect: str, code: str, project_files: ProjectFiles) -> None:
    """At the end of the case, and after a batch."""
    (at_end,) = findings_of(project_files, expect=expect)
    (after_batch,) = findings_of(project_files, given=f"[{{orders: [{ORDER}], expect: {expect}}}]")
    assert [found.split()[1] for found in (at_end, after_batch)] == [f"{code}:", f"{code}:"]


@pytest.mark.parametrize(
    "expect", ["{rows: []}", "{dead_letters: []}", "{state: {silver.open_orders: []}}", "{log: []}"]
)
def test_none_at_all_can_be_expected(expect: str, project_files: ProjectFiles) -> None:
    assert findings_of(project_files, expect=expect) == []


def test_no_cut_is_refused(project_files: ProjectFiles) -> None:
    (found,) = findings_of(project_files, given=f"[{{orders: [{ORDER}]}}]\ncuts: []")
    assert found.startswith("3:7 bad-value: `cuts`")


def test_faults_of_batches_and_expectations_come_at_once(project_files: ProjectFiles) -> None:
    found = findings_of(project_files, "[{ordrs: [{key: a, value: 1}]}]", "{state: {silver.orders: []}}")
    assert [each.split()[1] for each in found] == ["unknown-topic:", "unknown-table:"]
