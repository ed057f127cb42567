"""The service as a process."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.errors import EnvironmentFault
from headrace.serving.server import Settings, serve

if TYPE_CHECKING:
    from tests.unit.conftest import Store


def test_port_in_use_is_reported(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(EnvironmentFault, match=f"{port}.*--port"):
            serve(store.project, Settings(port=port), print)


def test_service_loads_no_spark() -> None:
    script = "import sys, headrace.cli.entry, headrace.serving.server; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
