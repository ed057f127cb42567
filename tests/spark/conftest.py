"""One Spark for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headrace.engine import session
from headrace.project.model import Target


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process, as the runner starts it."""
    with session.start(Target("test", tmp_path_factory.mktemp("spark"), spark_master="local[2]")) as spark:
        yield spark
