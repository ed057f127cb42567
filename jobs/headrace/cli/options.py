"""Options that several commands have, and the bounds of their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST = 1_000_000_000
"""More than anybody counts, and no more than Spark's whole numbers hold."""

MOST_DAYS = 36_500
"""A hundred years: dates end some time."""

LEAST_RATE = 0.001
"""Records a second: with none at all the next one would never come."""

Json = Annotated[bool, typer.Option("--json", help="Write JSON, one object a row, to stdout.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", "-s", metavar="<selector>", help="Select by name, tag:x, path:x, +x, x+, @x or x*."),
]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="<selector>", help="Leave these out of the selection.")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="Where the broker keeps its data, if not in the target's data directory.")
]
Timeout = Annotated[float | None, typer.Option(min=0, help="Stop after this many seconds without anything new.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same events.")]
Count = Annotated[int | None, typer.Option(min=1, max=MOST, help="Stop after this many. Default: run until Ctrl-C.")]
RunId = Annotated[str | None, typer.Option("--run-id", help="Part of every made-up key. Default: a new one each time.")]
