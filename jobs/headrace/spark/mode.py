"""Which implementation of `SmallBatches` a session uses: `driver`, or `jobs`."""

from __future__ import annotations

import pyspark
from pyspark.sql import SparkSession

from headrace.project.model import SmallBatchMode

KEY = "spark.headrace.smallBatches"
"""The Spark conf that holds the mode; sessions derived from another one inherit it."""

TESTED = ("4.2.0",)
"""The versions of PySpark on which `driver` is tested."""


def of(wanted: SmallBatchMode) -> str:
    """The mode that a target asks for, as sessions know it; `auto` is `driver` where that works."""
    return "jobs" if wanted == "jobs" or (wanted == "auto" and untested()) else "driver"


def untested() -> str | None:
    """Why `driver` should not be tried; None if this version is one of those that it is tested on."""
    found = pyspark.__version__
    return None if found in TESTED else f"`driver` is tested on Spark {', '.join(TESTED)}, and this is {found}"


def is_jobs(session: SparkSession) -> bool:
    """Whether a session's small batches are ordinary jobs."""
    return session.conf.get(KEY, "driver") == "jobs"
