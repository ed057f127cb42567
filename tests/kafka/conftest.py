"""Brokers for the tests: what many share, and stages that a module has to itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headrace.environment.broker import Broker
from tests.kafka.cluster import Cluster
from tests.kafka.stage import Stage


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker for tests that keep to topics of their own."""
    with Broker(tmp_path_factory.mktemp("broker")).running() as state:
        assert state.bootstrap is not None
        yield state.bootstrap


@pytest.fixture
def cluster(bootstrap: str) -> Cluster:
    """The shared broker's cluster, and what one test has sent to it."""
    return Cluster(bootstrap)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Stage]:
    """A broker, a data directory and the fixed topics of the project, for one module."""
    folder = tmp_path_factory.mktemp("stage")
    broker = Broker(folder / "broker")
    with broker.running() as state:
        assert state.bootstrap is not None
        yield Stage(state.bootstrap, folder, broker, spark)
