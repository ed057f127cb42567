"""How long a start takes until the first new row: with nothing stored, and after many orders."""

from __future__ import annotations

import os
import time
from pathlib import Path
from unittest.mock import patch

from bench import load, years
from bench.process import job, wait_for
from bench.scenarios import HEADRACE, ROOT, DeltaRows, Figures, contest, environment, shipped, stage

_OPEN = 10
"""For so many finished orders, one is open."""


def restart(folder: Path, orders: int, commits: int) -> Figures:
    """From the start of a process to the shipment of an order that waits in Kafka: in a young place, then an old one.

    Then so many orders were shipped, one for every ten waits, and each table has so many commits.
    """
    with stage(folder) as bootstrap:
        with contest(HEADRACE, bootstrap, folder) as running:
            load.send_all(bootstrap, [*load.messages("first"), load.messages("waits")[0]])
            wait_for(lambda: bool(running.cpu()) and shipped(HEADRACE, folder) >= 1, "the first shipment")
        young = _first_row(bootstrap, folder, "new")
        data = folder / HEADRACE.name
        with patch.dict(os.environ, environment(bootstrap, data)):
            years.age(ROOT, data, orders, orders // _OPEN, commits)
        old = _first_row(bootstrap, folder, "newer") | _sizes(data)
    ages = {f"{name}_young": value for name, value in young.items()} | {f"{name}_old": old[name] for name in old}
    return {"orders": orders, "open": orders // _OPEN, "commits": commits, **ages}


def _sizes(data: Path) -> Figures:
    """What the logs of the largest tables take."""
    tables = [
        data / HEADRACE.table,
        *(data / "tables" / "_landing").iterdir(),
        *(data / "tables" / "_changes").iterdir(),
    ]
    logs = [[file.stat().st_size for file in (table / "_delta_log").iterdir()] for table in tables]
    files = [sum(1 for file in table.rglob("*") if file.is_file()) for table in tables]
    return {"log_bytes_most": max(map(sum, logs)), "files_most": max(files)}


def _first_row(bootstrap: str, folder: Path, order: str) -> Figures:
    load.send_all(bootstrap, list(load.messages(order)))
    data = folder / HEADRACE.name
    rows, started = DeltaRows(data / HEADRACE.table), time.monotonic()
    command = HEADRACE.command(bootstrap, data, ("--select", "shipping"), ROOT)
    with job(command, data, environment(bootstrap, data)) as running:
        wait_for(lambda: running.cpu() >= 0 and order in rows.new(), "the first new shipment")
        wall, own = time.monotonic() - started, running.process.cpu_times()
        return {
            "start_s": round(wall, 1),
            "start_jvm_cpu_s": round(running.cpu(), 1),
            "start_python_cpu_s": round(own.user + own.system, 1),
            "start_jvm_mib": running.peak_bytes >> 20,
            "start_python_mib": running.process.memory_info().rss >> 20,
        }
