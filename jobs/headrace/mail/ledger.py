"""The ledger of a topic: which orders have had their letter, and how far the topic has been read.

On a disk it is one small database, always synced (`disk_ledger`). On an object store it is an object for each order and
one for the topic (`object_ledger`), so it grows by what it says and no write takes longer for its age.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from headrace.mail.disk_ledger import DiskLedger
from headrace.mail.object_ledger import ObjectLedger, Rehearsal
from headrace.mail.outcome import Outcome, Place
from headrace.store.paths import ObjectPath, StorePath


class Ledger(Protocol):
    """The outcome of each order's letter; one left as `sending` by an ended process may or may not have been sent."""

    def places(self) -> Mapping[int, int]:
        """The offset to go on from, per partition."""

    def is_done(self, order_id: str) -> bool:
        """Whether an order has had its letter, or can have none."""

    def write(self, order_id: str, place: Place, outcome: Outcome, reason: str = "") -> None:
        """Record the outcome of an order's letter, which a notice at that place asks for."""

    def mark_read(self, place: Place) -> None:
        """Record that everything in a partition up to a place has been read."""

    def counts(self) -> Mapping[str, int]:
        """How many orders there are of each outcome."""

    def close(self) -> None:
        """Use it no more."""


def of(folder: StorePath, topic: str) -> Ledger:
    """The ledger of a topic in a folder of a store."""
    if isinstance(folder, Path):
        return DiskLedger.at(folder / f"{topic}.sqlite")
    return ObjectLedger(_prefix(folder, topic))


def rehearsal(folder: StorePath, topic: str) -> Ledger:
    """What is in the ledger of a topic; whatever is written to it is forgotten at the end."""
    if isinstance(folder, Path):
        return DiskLedger.copy_of(folder / f"{topic}.sqlite")
    return Rehearsal(_prefix(folder, topic))


def _prefix(folder: StorePath, topic: str) -> ObjectPath:
    assert isinstance(folder, ObjectPath), f"{folder} is on no store that is known"
    return folder / topic
