"""The part of docs/faults.md about runs to which anything happened, as the last run of `make faults` found it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

VARIABLE = "HEADRACE_FAULTS_REPORT"
"""The environment variable that names the document to be written."""

_TITLE = "## Anything, in any order"
_TEXT = """{title}

`make faults` takes a small project through {examples} runs of {steps} random steps, on a real broker. After each step
all tables and the topic are compared with plain Python; at the end everything must be there, once. The last time, on
{date}, that took {seconds:.1f} seconds a run, nothing was lost, doubled or wrong, and this had come up so many times:

{situations}
"""


def write(seen: Mapping[str, int], examples: int, steps: int, seconds: float) -> None:
    """Put what has come up into the document that the environment names, if it names one; `seconds` are of a run."""
    if (name := os.environ.get(VARIABLE)) is None:
        return
    file, date = Path(name), f"{datetime.now(timezone.utc):%Y-%m-%d}"
    situations = "\n".join(f"- {situation}: {times:,}" for situation, times in sorted(seen.items()))
    fields = {"title": _TITLE, "examples": f"{examples:,}", "steps": steps, "date": date, "seconds": seconds}
    before = file.read_text("utf-8").partition(_TITLE)[0].rstrip()
    file.write_text(f"{before}\n\n{_TEXT.format(situations=situations, **fields)}", "utf-8")
