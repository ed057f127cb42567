"""A broker and a data directory for the tests of faults."""

from tests.kafka.conftest import stage

__all__ = ["stage"]
