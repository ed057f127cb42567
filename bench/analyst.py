"""What the analyst waits for: `headrace check --offline` over the project of this checkout."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check(rounds: int = 5) -> dict[str, float]:
    """The best of some rounds, as the first one finds no compiled Python."""
    times = [_once() for _ in range(rounds)]
    models = len([*ROOT.glob("sql/*/*/*.sql")])
    return {"models": models, "cpu_s": min(cpu for cpu, _ in times), "seconds": min(wall for _, wall in times)}


def _once() -> tuple[float, float]:
    before, began = _cpu(), time.monotonic()
    subprocess.run([sys.executable, "-m", "headrace", "-C", str(ROOT), "check", "--offline"], check=True)
    return round(_cpu() - before, 2), round(time.monotonic() - began, 2)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
