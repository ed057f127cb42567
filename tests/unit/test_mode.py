"""Which implementation of small batches a target gets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pyspark
import pytest
from pyspark.sql import SparkSession

from headrace.spark import mode


@pytest.mark.parametrize(
    ("wanted", "tested", "is_jobs"),
    [
        ("auto", True, False),
        ("auto", False, True),
        ("driver", False, False),
        ("jobs", True, True),
    ],
)
def test_auto_takes_the_driver_on_versions_that_are_tested(
    monkeypatch: pytest.MonkeyPatch, wanted: str, tested: bool, is_jobs: bool
) -> None:
    monkeypatch.setattr(mode, "TESTED", (pyspark.__version__,) if tested else ("3.0.0",))
    session = cast(SparkSession, SimpleNamespace(conf={mode.KEY: wanted}))
    assert mode.is_jobs(session) is is_jobs
    assert tested is (mode.untested() is None)
