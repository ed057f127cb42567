"""Recorded inputs: what a micro-batch reads, stored before it runs so that a replay reads the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.errors import Overtaken, TornFile
from headrace.queries.failing.poison import Poison
from headrace.queries.failing.redelivery import NONE_YET, Redelivery, Requested
from headrace.store import durable, json_files
from headrace.store.paths import StorePath
from headrace.tables.positions import Position

KEEP = 20

_FILE = re.compile(r"(?P<batch>[0-9]+)(\.(?P<revision>[0-9]+))?\.json")

_AGAIN = "remove it: its batch is planned again, or goes on with the inputs that it has committed"

Recorded = tuple[int, int]
"""A batch, and the revision of its inputs."""


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
    """The recorded inputs of one query: files per batch, the newest batches kept.

    The first file of a batch is `<batch>.json`. What is recorded of the same batch later, on purpose, is a revision:
    `<batch>.1.json` and so on; the newest counts. No file is ever replaced: two runners of one query run a batch with
    the same inputs, or one of them is refused. The names of the files are remembered, so that a batch lists nothing.
    """

    def __init__(self, folder: StorePath) -> None:
        self._folder = folder / "inputs"
        self._files: set[Recorded] = set()

    def record(self, inputs: Inputs) -> None:
        """Store the inputs of a new batch durably; Overtaken if another runner has recorded others for it."""
        self._write((inputs.batch, 0), inputs)
        for old in [each for each in self._files if each[0] <= inputs.batch - KEEP]:
            self._file(old).unlink(missing_ok=True)
            self._files.discard(old)

    def revise(self, inputs: Inputs) -> None:
        """Store other inputs for a batch that was recorded before."""
        revisions = [revision for batch, revision in self._files if batch == inputs.batch]
        self._write((inputs.batch, max(revisions, default=-1) + 1), inputs)

    def finish(self, batch: int, written: Iterable[Position] = ()) -> None:
        """Note that all of a batch is committed; a note that is lost only makes it run again.

        `written` are the newest versions of the query's tables.
        """
        tables = {each.table: [each.id, each.upto] for each in written}
        durable.note(self._finished, json.dumps({"batch": batch, "tables": tables}))

    def written(self) -> tuple[Position, ...]:
        """The newest versions of the query's tables after the last finished batch; none in the note of an old run."""
        tables = self._note().get("tables", {})
        return tuple(Position(table, version, table_id) for table, (table_id, version) in tables.items())

    def is_finished(self, batch: int) -> bool:
        """Whether all of a batch is committed."""
        return self._last_number() >= batch

    def last_finished(self) -> Inputs | None:
        """The inputs of the last batch of which everything is committed, as far as they are still known."""
        number = self._last_number()
        return self._newest_of({each for each in self._listed() if each[0] == number})

    def newest(self) -> Inputs | None:
        """The inputs recorded last, or None before the first batch."""
        return self._newest_of(self._listed())

    def _write(self, at: Recorded, inputs: Inputs) -> None:
        file, text = self._file(at), json.dumps(inputs.to_json())
        try:
            durable.write_new(file, text)
        except FileExistsError:
            # The same ones may be this runner's own: a client repeats a write whose answer is late.
            if json_files.read(file, _as_is, _AGAIN) != json.loads(text):
                raise Overtaken(f"{file}: another runner has recorded other inputs of batch {at[0]}") from None
        self._files.add(at)

    def _listed(self) -> set[Recorded]:
        found = (_FILE.fullmatch(file.name) for file in self._folder.glob("*.json"))
        self._files = {(int(each["batch"]), int(each["revision"] or 0)) for each in found if each}
        return self._files

    def _newest_of(self, files: set[Recorded]) -> Inputs | None:
        try:
            return json_files.read(self._file(max(files)), Inputs.from_json, _AGAIN) if files else None
        except FileNotFoundError:  # the runner has gone on since, and has removed old ones
            return None

    @property
    def _finished(self) -> StorePath:
        return self._folder / "finished"

    def _last_number(self) -> int:
        return int(self._note().get("batch", -1))

    def _note(self) -> Mapping[str, Any]:
        """What is noted of the last finished batch; a note that is torn is one that was lost."""
        try:
            return json_files.read(self._finished, _noted)
        except (FileNotFoundError, TornFile):
            return {}

    def _file(self, at: Recorded) -> StorePath:
        batch, revision = at
        return self._folder / (f"{batch}.{revision}.json" if revision else f"{batch}.json")


def _as_is(found: Any) -> Any:
    return found


def _noted(found: Any) -> Mapping[str, Any]:
    if isinstance(found, int):
        return {"batch": found}  # once it was the number alone
    return {"batch": int(found["batch"]), "tables": {name: _position(*at) for name, at in found["tables"].items()}}


def _position(table_id: str | None, version: int) -> tuple[str | None, int]:
    return table_id, int(version)
