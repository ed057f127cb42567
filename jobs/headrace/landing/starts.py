"""Where the reading of a topic begins, kept from when it is decided: `latest` means the end as it was then."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace import durable


@dataclass(frozen=True)
class Start:
    """The first offsets of a topic by partition, for as long as it is the same topic and is told to begin there."""

    topic_id: str
    told: str
    offsets: dict[int, int]


class Starts:
    """The starts of a landing's topics, in a file; they count until the first commit says how far was read."""

    def __init__(self, checkpoint: Path) -> None:
        self._file = checkpoint / "starts.json"

    def find(self, topic: str, topic_id: str, told: str) -> dict[int, int] | None:
        """What was decided for a topic; None if nothing was, or for another topic or another wish."""
        start = self._all().get(topic)
        return start.offsets if start is not None and (start.topic_id, start.told) == (topic_id, told) else None

    def keep(self, topic: str, start: Start) -> None:
        """Write a start down durably; a reader sees the whole file or none."""
        starts = {**self._all(), topic: start}
        durable.write(self._file, json.dumps({name: asdict(each) for name, each in starts.items()}))

    def _all(self) -> dict[str, Start]:
        if not self._file.exists():
            return {}
        told = json.loads(self._file.read_text(encoding="utf-8"))
        return {name: _start(each["topic_id"], each["told"], each["offsets"]) for name, each in told.items()}


def _start(topic_id: str, told: str, offsets: dict[str, int]) -> Start:
    return Start(topic_id, told, {int(partition): offset for partition, offset in offsets.items()})
