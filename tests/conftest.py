"""What all tests share: model tests, the one Spark session, and that modules leave nothing in it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

pytest_plugins = ["headrace.testing.plugin"]


@pytest.fixture(scope="module", autouse=True)
def let_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """Free what a module has left in rings: as long as Python holds a query or a frame, the JVM keeps all of its plan.

    Python itself looks for rings the less often the more objects there are; meanwhile the JVM's heap fills up.
    """
    yield
    if "unit" not in request.path.parts:
        gc.collect()
