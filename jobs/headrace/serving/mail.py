"""Counts of the sample mail sender's letters, from its ledgers."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.store import json_files
from headrace.store.layout import Layout
from headrace.store.paths import StorePath

COUNTS = ("sent", "dry_run", "failed")

_OUTCOMES = {"sent": "sent", "refused": "failed", "undeliverable": "failed"}
"""What the outcome of a letter in a ledger counts as."""


def counts(layout: Layout) -> dict[str, int]:
    """Letters sent, only shown, and failed; zeros where no sender has run. A dry run leaves nothing to be counted."""
    folder, found = layout.mail, Counter[str]()
    ledgers = folder.glob("*.sqlite") if isinstance(folder, Path) else folder.glob("*/topic.json")
    for ledger in ledgers:
        for outcome, number in _letters(ledger):
            found[_OUTCOMES.get(outcome, "")] += number
    return {name: found[name] for name in COUNTS}


def _letters(ledger: StorePath) -> Iterable[tuple[str, int]]:
    """How many letters of each outcome there are in a ledger."""
    if not isinstance(ledger, Path):
        remedy = "put a copy of it back, or remove it, and letters that were sent may go out again"
        return json_files.read(ledger, _counts, remedy)
    try:
        with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as stored:
            return stored.execute("select outcome, count(*) from letters group by 1").fetchall()
    except sqlite3.Error:  # the sender is just creating it
        return ()


def _counts(topic: Any) -> Iterable[tuple[str, int]]:
    return [(outcome, int(number)) for outcome, number in topic["counts"].items()]
