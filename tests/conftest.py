"""What all tests share: model tests, the one Spark session, failures told at once, and files that leave nothing."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest

pytest_plugins = ["headrace.testing.plugin"]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Free what a file has left in rings: as long as Python holds a query or a frame, the JVM keeps all of its plan.

    Python itself looks for rings the less often the more objects there are; meanwhile the JVM's heap fills up.
    """
    if "unit" not in item.path.parts and (nextitem is None or nextitem.path != item.path):
        gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell a failure when it happens, where a run may be ended from outside before its summary."""
    report = yield
    if report.failed and "CI" in os.environ:
        item.config.get_terminal_writer().write(f"\n{item.nodeid}\n{report.longreprtext}\n")
    return report
