"""Which implementation of `SmallBatches` a session uses: `driver`, or `jobs`."""

from __future__ import annotations

from typing import cast

import pyspark
from pyspark.sql import SparkSession

from headrace.project.model import SmallBatchMode

KEY = "spark.headrace.smallBatches"
"""The Spark conf that holds the mode; sessions derived from another one inherit it."""

TESTED = ("4.2.0",)
"""The versions of PySpark on which `driver` is tested."""


def untested() -> str | None:
    """Why `driver` should not be tried; None if this version is one of those that it is tested on."""
    found = pyspark.__version__
    return None if found in TESTED else f"`driver` is tested on Spark {', '.join(TESTED)}, and this is {found}"


def wanted(session: SparkSession) -> SmallBatchMode:
    """The mode that the target of a session asks for."""
    return cast(SmallBatchMode, session.conf.get(KEY, "driver"))


def is_jobs(session: SparkSession) -> bool:
    """Whether a session's small batches are to be ordinary jobs, as far as is known without trying `driver`."""
    return wanted(session) == "jobs" or (wanted(session) == "auto" and untested() is not None)
