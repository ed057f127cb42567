"""Delta tables as DuckDB reads them, by its own extension, which stands on Rust's Delta Kernel."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb


def rows(table: Path) -> list[Mapping[str, Any]]:
    """All rows of the newest version."""
    with duckdb.connect() as connection:
        connection.load_extension(str(_extension()))
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute("from delta_scan(?)", [str(table)]).to_arrow_table().to_pylist()


def _extension() -> Path:
    """Where the package has the extension; DuckDB loads only one of its own version, with its makers' signature."""
    (found,) = Path(str(resources.files("duckdb_extension_delta"))).glob("extensions/*/delta.duckdb_extension")
    return found
