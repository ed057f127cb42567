"""The parts of docs/faults.md about runs to which anything happened, as the last run of `make faults` found it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

VARIABLE = "HEADRACE_FAULTS_REPORT"
"""The environment variable that names the document to be written."""

RUNS_VARIABLE, RUNS = "HEADRACE_FAULTS_RUNS", 2_000
"""The environment variable that says how many runs there are, and how many there are without it."""


@dataclass(frozen=True)
class Part:
    """A part of the document: its title, and what was run."""

    title: str
    what: str


BATCHES = Part("## Anything, in any order", "a small project")
STREAMED = Part("## The same in Spark's streaming engine", "windows with a watermark")
KILLS = "## Kills by seed"

_TEXT = """{title}

`make faults` takes {what} through {runs} runs of {steps} random steps, on a real broker.
After each step all tables and the topic are compared with plain Python; at the end everything must be there, once. The
last time, on {date}, that took {seconds:.1f} seconds a run, nothing was lost, doubled or wrong, and this had come up so
many times:

{situations}
"""
_KILLS = """{title}

`make faults` kills runners of the demo, their JVM alone, or their broker, while records keep coming, after a line of
the log and a moment of chance. Then all tables and topics hold what plain Python makes of the records, once. On the
last day:

{lines}
"""


def write(part: Part, seen: Mapping[str, int], due: Iterable[str], runs: int, steps: int, seconds: float) -> None:
    """Put what has come up into the document that the environment names, if it names one; `seconds` are of a run.

    Of fewer runs than there should be, what is due and has not come up is reported; of as many, that is an error.
    """
    missing = {situation: 0 for situation in due if not seen.get(situation)}
    assert not missing or runs < RUNS // 4, f"{[*missing]} never came up: {seen}"
    situations = "\n".join(f"- {situation}: {times:,}" for situation, times in sorted({**missing, **seen}.items()))
    fields = {"title": part.title, "what": part.what, "runs": f"{runs:,}", "steps": steps, "seconds": seconds}
    _put(part.title, lambda _: _TEXT.format(date=_today(), situations=situations, **fields))


def note_kills(what: str, kills: int, seed: int, of: str = "all of a runner") -> None:
    """Add runs that were killed, and that have lost and doubled nothing, to the others of the day."""
    new = f"- {_today()}, {what}: {kills} kills, {of} (`HEADRACE_TEST_SEED={seed}`)"

    def text(old: str) -> str:
        others = {line for line in old.splitlines() if line.startswith(f"- {_today()}")}
        return _KILLS.format(title=KILLS, lines="\n".join(sorted({*others, new})))

    _put(KILLS, text)


def _today() -> str:
    return f"{datetime.now(timezone.utc):%Y-%m-%d}"


def _put(title: str, text: Callable[[str], str]) -> None:
    """Replace the part of this title, or add it at the end, if the environment names a document."""
    if (name := os.environ.get(VARIABLE)) is None:
        return
    file = Path(name)
    before, found, rest = file.read_text("utf-8").partition(f"{title}\n")
    part, next_title, after = rest.partition("\n## ") if found else ("", "", "")
    file.write_text(f"{before.rstrip()}\n\n{text(part)}{next_title}{after}", "utf-8")
