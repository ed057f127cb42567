"""Counts of the sample mail sender's letters, from its ledgers."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from headrace.store.layout import Layout

COUNTS = ("sent", "dry_run", "failed")

_OUTCOMES = {"sent": "sent", "refused": "failed", "undeliverable": "failed"}
"""What the outcome of a letter in a ledger counts as."""


def counts(layout: Layout) -> dict[str, int]:
    """Letters sent, only shown, and failed; zeros where no sender has run. A dry run leaves nothing to be counted."""
    found = sum(map(_letters, sorted((layout.data_dir / "mail").glob("*.sqlite"))), Counter[str]())
    return {name: found[name] for name in COUNTS}


def _letters(ledger: Path) -> Counter[str]:
    found = Counter[str]()
    try:
        with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro", uri=True)) as stored:
            for outcome, number in stored.execute("select outcome, count(*) from letters group by 1"):
                found[_OUTCOMES.get(outcome, "")] += number
    except sqlite3.Error:  # the sender is just creating it
        pass
    return found
