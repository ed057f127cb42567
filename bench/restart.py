"""How long a start takes until the first new row: with nothing stored, and after many orders."""

from __future__ import annotations

import time
from pathlib import Path

from bench import load
from bench.process import job, wait_for
from bench.scenarios import HEADRACE, ROOT, STEP, DeltaRows, Figures, contest, environment, shipped, stage

_OPEN = 10
"""For so many finished orders, one is open."""


def restart(folder: Path, orders: int) -> Figures:
    """From the start of a process to the shipment of an order that waits in Kafka, in a young place and an old one."""
    young, old = _start_after(folder / "young", 1), _start_after(folder / "old", orders)
    return {
        "orders": orders,
        "open": orders // _OPEN,
        **{f"{name}_young": value for name, value in young.items()},
        **{f"{name}_old": value for name, value in old.items()},
    }


def _start_after(folder: Path, orders: int) -> Figures:
    """What a second start costs until its first row, after so many orders were shipped."""
    with stage(folder) as bootstrap:
        with contest(HEADRACE, bootstrap, folder) as running:
            _send(bootstrap, orders)
            wait_for(lambda: bool(running.cpu()) and shipped(HEADRACE, folder) >= orders, f"{orders} orders", 3000)
            time.sleep(60)  # for its maintenance
        load.send_all(bootstrap, list(load.messages("new")))
        return _first_row(bootstrap, folder)


def _send(bootstrap: str, orders: int) -> None:
    for at in range(0, orders, STEP):
        step = range(at, min(at + STEP, orders))
        load.send_all(bootstrap, [message for n in step for message in load.messages(f"f{n:08d}")])
        load.send_all(bootstrap, [load.messages(f"open{n:08d}")[0] for n in step if n % _OPEN == 0])


def _first_row(bootstrap: str, folder: Path) -> Figures:
    data = folder / HEADRACE.name
    rows, started = DeltaRows(data / HEADRACE.table), time.monotonic()
    command = HEADRACE.command(bootstrap, data, ("--select", "shipping"), ROOT)
    with job(command, data, environment(bootstrap, data)) as running:
        wait_for(lambda: running.cpu() >= 0 and "new" in rows.new(), "the first new shipment")
        wall, own = time.monotonic() - started, running.process.cpu_times()
        return {
            "start_s": round(wall, 1),
            "start_jvm_cpu_s": round(running.cpu(), 1),
            "start_python_cpu_s": round(own.user + own.system, 1),
            "start_peak_mib": running.peak_bytes >> 20,
        }
