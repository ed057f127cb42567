"""Where the reading of a topic begins, stored when it is decided: `latest` means the end as it was then."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headrace.store import durable, json_files
from headrace.store.paths import StorePath

_ANEW = "remove it: topics of which nothing has landed begin where `start:` says, `latest` being the end as of then"


@dataclass(frozen=True)
class Start:
    """The first offsets of a topic by partition, valid as long as the topic and its configured start stay the same."""

    topic_id: str
    configured: str
    offsets: dict[int, int]


class Starts:
    """The starts of a landing's topics, in a file; they apply until the first commit says how far was read."""

    def __init__(self, checkpoint: StorePath) -> None:
        self._file = checkpoint / "starts.json"

    def find(self, topic: str, topic_id: str, configured: str) -> dict[int, int] | None:
        """What was decided for a topic; None if nothing was, or for another topic or another configured start."""
        start, wanted = self._all().get(topic), (topic_id, configured)
        return start.offsets if start is not None and (start.topic_id, start.configured) == wanted else None

    def keep(self, topic: str, start: Start) -> None:
        """Store a start durably; a reader sees the whole file or none."""
        starts = {**self._all(), topic: start}
        durable.write(self._file, json.dumps({name: _to_json(each) for name, each in starts.items()}))

    def _all(self) -> dict[str, Start]:
        if not self._file.is_file():
            return {}
        return json_files.read(self._file, _starts, _ANEW)


def _starts(stored: dict[str, Any]) -> dict[str, Start]:
    return {name: _start(each["topic_id"], each["told"], each["offsets"]) for name, each in stored.items()}


def _to_json(start: Start) -> dict[str, Any]:
    return {"topic_id": start.topic_id, "told": start.configured, "offsets": start.offsets}


def _start(topic_id: str, configured: str, offsets: dict[str, int]) -> Start:
    return Start(topic_id, configured, {int(partition): offset for partition, offset in offsets.items()})
