"""What all tests share: model tests, the one Spark session, failures reported at once, and clean-up after each file."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from xdist.remote import Producer

from headrace.project.declarations.targets.references import SMALL_BATCHES_VARIABLE
from tests.lanes import Lanes

pytest_plugins = ["headrace.testing.plugin"]

CUTS = ("one-by-one", "restarts", "all-at-once")
"""The cuts of a case, all-at-once at the end: that is the one that `make test` tries with small batches by jobs."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free reference cycles after each file: as long as Python holds a query or a frame, the JVM keeps all of its plan.

    The more objects there are, the less often Python collects cycles; meanwhile the JVM's heap fills up.
    """
    if "unit" not in item.path.parts and (nextitem is None or nextitem.path != item.path):
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cuts of cases, try one of each case; if small batches are jobs, all-at-once of one case of each model."""
    of_case: dict[Path, dict[str, pytest.Item]] = {}
    for item in items:
        if item.path.suffix == ".yml" and _cut(item) in CUTS:
            of_case.setdefault(item.path, {})[_cut(item)] = item
    chosen = _in_jobs(of_case) if os.environ.get(SMALL_BATCHES_VARIABLE) == "jobs" else _in_turn(of_case)
    for item in {item for cuts in of_case.values() for item in cuts.values()} - chosen:
        item.add_marker(pytest.mark.long)


def _in_turn(of_case: Mapping[Path, Mapping[str, pytest.Item]]) -> set[pytest.Item]:
    turns = enumerate(of_case.values())
    return {cuts.get(CUTS[at % 2]) or next(iter(cuts.values())) for at, cuts in turns}


def _in_jobs(of_case: Mapping[Path, Mapping[str, pytest.Item]]) -> set[pytest.Item]:
    of_model = {path.parent: cuts[CUTS[-1]] for path, cuts in of_case.items() if CUTS[-1] in cuts}
    return {*of_model.values()}


def _cut(item: pytest.Item) -> str:
    return item.name.strip("[]")


def pytest_collection_finish() -> None:
    """Collected tests stay to the end, so garbage collection need not scan them."""
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Report failures at once where a run may be killed before its summary."""
    is_worker = hasattr(config, "workerinput")
    if "CI" in os.environ and not is_worker:
        config.pluginmanager.register(_FailureReporter(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Lanes:
    """Distribute the tests to the workers."""
    return Lanes(config, log)


class _FailureReporter:
    """Reports a failure when it happens."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._config.get_terminal_writer().write(f"\n{report.nodeid}\n{report.longreprtext}\n")


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Count what became of random edits; a false alarm fails no test, so it is printed here."""
    reports = [report for each in terminalreporter.stats.values() for report in each]
    reports = [report for report in reports if getattr(report, "when", "") == "call"]
    found = [value for each in reports for name, value in getattr(each, "user_properties", ()) if name == "edit"]
    for summary, number in Counter(found).most_common():
        terminalreporter.write_line(f"{number:4} random edits: {summary}")
