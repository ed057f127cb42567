"""The JVM's own hold on a data directory: a killed parent cannot leave a JVM behind that still commits."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import Locked

WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.2


def hold(spark: SparkSession, folder: Path) -> Any:
    """Take the lock for as long as this JVM lives; wait a while for the JVM of a killed runner to end."""
    jvm: Any = spark._jvm
    file = jvm.java.io.RandomAccessFile(str(folder / "jvm.lock"), "rw")
    deadline = time.monotonic() + WAIT_SECONDS
    while (lock := file.getChannel().tryLock()) is None:
        if time.monotonic() > deadline:
            raise Locked(f"the JVM of a former runner still holds {folder.parent}; end it first")
        time.sleep(_POLL_SECONDS)
    return lock
