"""How long a start takes until the first new row: with nothing stored, and after many orders."""

from __future__ import annotations

import time
from pathlib import Path

from bench import load
from bench.process import Job, job, wait_for
from bench.scenarios import HEADRACE, STEP, DeltaRows, Figures, contest, environment, shipped, stage

_OPEN = 10
"""For so many finished orders, one is open."""


def restart(folder: Path, orders: int) -> Figures:
    """From the start of a process to the shipment of an order that waits in Kafka, in a young place and an old one."""
    fresh, _ = _old_place(folder / "fresh", 1)
    old, peak = _old_place(folder / "old", orders)
    figures = {"orders": orders, "open": orders // _OPEN, "start_s_new": fresh, "start_s_old": old}
    return {**figures, "growth": round(old / fresh, 2), "peak_mib": peak}


def _old_place(folder: Path, orders: int) -> tuple[float, int]:
    """Seconds until the first row of a second start, after so many orders were shipped, and its memory."""
    with stage(folder) as bootstrap:
        with contest(HEADRACE, bootstrap, folder) as running:
            _send(bootstrap, orders)
            wait_for(lambda: bool(running.cpu()) and shipped(HEADRACE, folder) >= orders, f"{orders} orders", 3000)
            time.sleep(60)  # for its maintenance
        load.send_all(bootstrap, list(load.messages("new")))
        return _seconds_to_first_row(bootstrap, folder)


def _send(bootstrap: str, orders: int) -> None:
    for at in range(0, orders, STEP):
        step = range(at, min(at + STEP, orders))
        load.send_all(bootstrap, [message for n in step for message in load.messages(f"f{n:08d}")])
        load.send_all(bootstrap, [load.messages(f"open{n:08d}")[0] for n in step if n % _OPEN == 0])


def _seconds_to_first_row(bootstrap: str, folder: Path) -> tuple[float, int]:
    data = folder / HEADRACE.name
    rows, started = DeltaRows(folder / HEADRACE.name / HEADRACE.table), time.monotonic()
    command = HEADRACE.command(bootstrap, data, ("--select", "shipping"), Path(__file__).parent.parent)
    with job(command, data, environment(bootstrap, data)) as running:
        wait_for(lambda: running.cpu() >= 0 and "new" in rows.new(), "the first new shipment")
        return round(time.monotonic() - started, 1), _peak(running)


def _peak(running: Job) -> int:
    running.cpu()
    return running.peak_bytes >> 20
