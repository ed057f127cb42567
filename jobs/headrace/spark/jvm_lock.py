"""The JVM's own lock on a data directory: the next runner waits for a JVM that outlives its killed parent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import Locked
from headrace.spark.jvm import java_class
from headrace.store.paths import StorePath

WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.2


def beside_lease(spark: SparkSession, folder: StorePath) -> AbstractContextManager[None]:
    """Hold the lock next to the lease in a folder of a disk; on an object store a lease expires."""
    return held(spark, folder) if isinstance(folder, Path) else nullcontext()


@contextmanager
def held(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Hold the lock while the block runs, or this JVM, should its parent be killed.

    Waits a while for the JVM of a killed runner to end.
    """
    jvm: Any = spark._jvm
    file = java_class(jvm, "java.io.RandomAccessFile")(str(folder / "jvm.lock"), "rw")
    deadline = time.monotonic() + WAIT_SECONDS
    while (lock := file.getChannel().tryLock()) is None:
        if time.monotonic() > deadline:
            raise Locked(f"the JVM of a former runner still holds {folder.parent}; end it first")
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()  # also keeps the JVM from collecting the lock before, which would release it
