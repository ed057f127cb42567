"""Recorded inputs: what a micro-batch reads, written down before it runs so that a replay reads the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.queries.poison import Poison
from headrace.queries.redelivery import NONE_YET, Redelivery, Requested
from headrace.store import durable
from headrace.store.paths import StorePath

KEEP = 20


@dataclass(frozen=True)
class Inputs:
    """One micro-batch's inputs: `ranges` are versions (after, up to] per source, `snapshots` one version per table.

    `ids` are the sources' own ids: versions of a table that was dropped and made again mean something else.
    """

    batch: int
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    snapshots: Mapping[str, int] = field(default_factory=dict)
    at: str = ""
    ids: Mapping[str, str] = field(default_factory=dict)
    poison: tuple[Poison, ...] = ()
    """The rows that models were run without."""
    redelivery: Redelivery | None = None
    """What is delivered again; then there are no other rows."""
    requested: Requested = NONE_YET
    """Up to where what was asked for is done, with this batch."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Inputs:
        ranges = {name: (int(a), int(b)) for name, (a, b) in data["ranges"].items()}
        poison = tuple(map(Poison.from_json, data.get("poison", ())))
        again = Redelivery.from_json(data["redelivery"]) if data.get("redelivery") else None
        version, number = data.get("requested", NONE_YET)
        known = (int(data["batch"]), ranges, dict(data["snapshots"]), data["at"], dict(data["ids"]))
        return cls(*known, poison, again, (int(version), int(number)))


class InputLog:
    """The recorded inputs of one query: a file per batch, the newest kept."""

    def __init__(self, folder: StorePath) -> None:
        self._folder = folder / "inputs"

    def record(self, inputs: Inputs) -> None:
        """Write inputs down durably; a reader sees the whole file or none."""
        durable.write(self._folder / f"{inputs.batch}.json", json.dumps(inputs.to_json()))
        (self._folder / f"{inputs.batch - KEEP}.json").unlink(missing_ok=True)

    def finish(self, batch: int) -> None:
        """Note that all of a batch is committed; a note that is lost only makes it run again."""
        durable.note(self._finished, str(batch))

    def is_finished(self, batch: int) -> bool:
        """Whether all of a batch is committed."""
        return self._last_number() >= batch

    def last_finished(self) -> Inputs | None:
        """The inputs of the last batch of which everything is committed, as far as they are still known."""
        return self._recorded(self._last_number())

    @property
    def _finished(self) -> StorePath:
        return self._folder / "finished"

    def newest(self) -> Inputs | None:
        """The inputs recorded last, or None before the first batch."""
        numbers = [int(file.stem) for file in self._folder.glob("*.json")]
        if not numbers:
            return None
        return self._recorded(max(numbers))

    def _last_number(self) -> int:
        try:
            return int(self._finished.read_text())
        except FileNotFoundError:
            return -1

    def _recorded(self, batch: int) -> Inputs | None:
        try:
            return Inputs.from_json(json.loads((self._folder / f"{batch}.json").read_text()))
        except FileNotFoundError:
            return None
