"""A ledger on an object store: `letters/<hash of the order id>.json` for each order, and `topic.json` for the topic.

Rules:
- Each object is written in place of the version that was read. A sender that was stopped for a while, so that another
  one has gone on meanwhile, therefore finds that out before it sends a letter twice, and ends.
- Counts are in `topic.json`, so nobody lists the letters. A letter says of which notice it is: if the process died
  between the letter's end and the mark in the topic, that notice is read again, and then counted.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

from headrace.errors import Locked
from headrace.mail.outcome import Outcome, Place
from headrace.store import durable, json_files
from headrace.store.buckets.bucket import Replaced
from headrace.store.paths import ObjectPath

_SENT_AGAIN = "put a copy of it back, or remove it, and letters that were sent may go out again"


@dataclass(frozen=True)
class _Letter:
    order_id: str
    partition: int
    offset: int
    outcome: Outcome
    reason: str
    at: str
    by: str

    @property
    def place(self) -> Place:
        return Place(self.partition, self.offset)


@dataclass(frozen=True)
class _Topic:
    next: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    by: str = ""

    def read_to(self, place: Place, outcome: Outcome | None, by: str) -> _Topic:
        counts = Counter(self.counts) + Counter([outcome] if outcome else [])
        return _Topic({**self.next, str(place.partition): place.offset + 1}, dict(counts), by)


class ObjectLedger:
    """A ledger that one process at a time writes; each write may take some requests to the store."""

    def __init__(self, folder: ObjectPath) -> None:
        self._folder = folder
        self._me = uuid.uuid4().hex
        self._letter: _Letter | None = None
        self._letter_version: Replaced = "create"
        self._looked_up = ""
        found, self._topic_version = self._read(self._topic_file)
        self._topic = _Topic(**found) if found else _Topic()

    def places(self) -> Mapping[int, int]:
        return {int(partition): offset for partition, offset in self._topic.next.items()}

    def is_done(self, order_id: str) -> bool:
        found, self._letter_version = self._read(self._letter_file(order_id))
        self._letter = _Letter(**found) if found else None
        self._looked_up = order_id
        return self._letter is not None and self._letter.outcome != "sending"

    def write(self, order_id: str, place: Place, outcome: Outcome, reason: str = "") -> None:
        if self._looked_up != order_id:
            self.is_done(order_id)
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        letter = _Letter(order_id, place.partition, place.offset, outcome, reason, now, self._me)
        self._letter_version = self._write(self._letter_file(order_id), asdict(letter), self._letter_version)
        self._letter = letter

    def mark_read(self, place: Place) -> None:
        own = self._letter if self._letter is not None and self._letter.place == place else None
        topic = self._topic.read_to(place, own.outcome if own else None, self._me)
        self._topic_version = self._write(self._topic_file, asdict(topic), self._topic_version)
        self._topic = topic

    def counts(self) -> Mapping[str, int]:
        return dict(sorted(self._topic.counts.items()))

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _topic_file(self) -> ObjectPath:
        return self._folder / "topic.json"

    def _letter_file(self, order_id: str) -> ObjectPath:
        name = sha256(order_id.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / "letters" / f"{name}.json"

    def _read(self, file: ObjectPath) -> tuple[dict[str, Any], Replaced]:
        """The fields of an object and its version; none if it is not there yet."""
        found = durable.read_version(file)
        if found is None:
            return {}, "create"
        return json_files.parsed(file, found[0], lambda fields: {**fields}, _SENT_AGAIN), found[1]

    def _write(self, file: ObjectPath, fields: Mapping[str, Any], replaced: Replaced) -> Replaced:
        """Replace a version of an object, and return the new one; Locked if another process has been faster."""
        written = durable.replace_version(file, json.dumps(fields).encode(), replaced)
        if written is not None:
            return written
        found, version = self._read(file)
        if found == fields:  # it was written, although the answer was lost and the write repeated
            return version
        raise Locked(
            f"another process sends the letters of {self._folder.name}: it has written {file}; stop one of them"
        )


class Rehearsal(ObjectLedger):
    """What is in a ledger, and writes that are kept in memory."""

    def __init__(self, folder: ObjectPath) -> None:
        self._own: dict[ObjectPath, Mapping[str, Any]] = {}
        super().__init__(folder)

    def _read(self, file: ObjectPath) -> tuple[dict[str, Any], Replaced]:
        return (dict(self._own[file]), "create") if file in self._own else super()._read(file)

    def _write(self, file: ObjectPath, fields: Mapping[str, Any], replaced: Replaced) -> Replaced:
        self._own[file] = fields
        return replaced
