"""`python -m bench [scenario ...] [--quick]`: measure, print a table, and write the figures as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import analyst, disk, five, history, restart, scenarios, streams
from bench.scenarios import HANDWRITTEN, HEADRACE, Figures, repeated

RESULTS = Path(__file__).parent / "results"


def measurements(folder: Path, quick: bool) -> dict[str, Callable[[], Figures]]:
    """Every scenario by name; quick ones are a tenth of the size and prove only that they run."""
    share = 10 if quick else 1
    return {
        "check": analyst.check,
        "plan": lambda: analyst.plan(folder),
        "latency": lambda: scenarios.latency(folder, 180 / share),
        "latency_busy": lambda: scenarios.latency(folder, 60 / share, 1000 / 3),
        "backlog": lambda: repeated(lambda: scenarios.backlog(folder, 100_000 // share, HEADRACE)),
        "backlog_handwritten": lambda: scenarios.backlog(folder, 100_000 // share, HANDWRITTEN),
        "idle": lambda: scenarios.idle(folder, 60 / share),
        "start_five": lambda: five.start_five(folder),
        "five": lambda: five.five(folder, 180 / share),
        "idle_five": lambda: five.idle_five(folder, 60 / share, snapshots=False),
        "idle_five_snapshots": lambda: five.idle_five(folder, 60 / share, snapshots=True),
        "shop_backlog": lambda: repeated(lambda: five.shop_backlog(folder, 200_000 // share, five.CHECKS_AND_OUTCOME)),
        "shop_backlog_whole": lambda: five.shop_backlog(folder, 200_000 // share, five.WHOLE_SHOP),
        "rest": lambda: five.rest(folder, 50 // share),
        "window": lambda: streams.window(folder, 500_000 // share),
        "join": lambda: streams.join(folder, 500_000 // share),
        "history": lambda: history.history(folder, 100_000 // share),
        "disk": lambda: disk.disk(folder, 10_800 // share),
        "restart": lambda: restart.restart(folder, 1_000_000 // share, 100_000 // share),
        "state": lambda: scenarios.state(folder, 1_000_000 // share),
    }


def main() -> None:
    """Run the scenarios named, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Example: python -m bench latency --quick")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        known = measurements(Path(folder) / "data", arguments.quick)
        if unknown := [name for name in arguments.scenario if name not in known]:
            parser.error(f"no scenario {', '.join(unknown)}: choose from {', '.join(known)}")
        for name in arguments.scenario or known:
            print(f"measuring {name}", file=sys.stderr, flush=True)
            found[name] = known[name]()
            print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
    _write(found)


def _write(found: dict[str, Figures]) -> None:
    RESULTS.mkdir(exist_ok=True)
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    (RESULTS / f"{stamp}.json").write_text(json.dumps(found, indent=2))
    table = Table(box=None, pad_edge=False)
    for column in ("scenario", "figure", "value"):
        table.add_column(column)
    for name, figures in found.items():
        for figure, value in figures.items():
            table.add_row(name, figure, str(value))
    Console().print(table)


if __name__ == "__main__":
    main()
