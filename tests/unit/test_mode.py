"""Which implementation of small batches a target gets."""

from __future__ import annotations

import pyspark
import pytest

from headrace.spark import mode


@pytest.mark.parametrize(
    ("wanted", "tested", "found"),
    [
        ("auto", True, "driver"),
        ("auto", False, "jobs"),
        ("driver", False, "driver"),
        ("jobs", True, "jobs"),
    ],
)
def test_auto_takes_the_driver_on_versions_that_are_tested(
    monkeypatch: pytest.MonkeyPatch, wanted: mode.SmallBatchMode, tested: bool, found: str
) -> None:
    monkeypatch.setattr(mode, "TESTED", (pyspark.__version__,) if tested else ("3.0.0",))
    assert mode.of(wanted) == found
    assert tested is (mode.untested() is None)
