"""Where the reading of a topic begins, stored when it is decided: `latest` means the end as it was then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from headrace.landing.broker_admin import BrokerAdmin
from headrace.project.model import Topic
from headrace.project.resets import read_note
from headrace.store import durable, json_files
from headrace.store.paths import StorePath

_ANEW = "remove it: topics of which nothing has landed begin where `start:` says, `latest` being the end as of then"


class StartOffsets:
    """Decides at which offsets the reading of a topic begins of which nothing has landed yet."""

    def __init__(
        self,
        checkpoint: StorePath,
        admin: BrokerAdmin,
        default: Literal["earliest", "latest"] | float | None = None,
        committed: bool = True,
    ) -> None:
        """`default` is the target's start; a float is how many seconds back. `checkpoint` may hold a reset's note.

        With `committed`, a topic ends at its last committed record.
        """
        self._from_reset = read_note(checkpoint).start
        self._starts = Starts(checkpoint)
        self._admin = admin
        self._default = default
        self._committed = committed

    def of(self, topic: Topic, topic_id: str, numbers: tuple[int, ...]) -> dict[int, int]:
        """The first offset of each of a topic's partitions, which have these numbers."""
        start = self._declared(topic)
        if isinstance(start, Mapping):
            return {int(partition): offset for partition, offset in start.items()}
        if isinstance(start, int):
            return dict.fromkeys(numbers, start)
        if start == "earliest":  # retention may move it before the first commit, so it is asked for again
            return self._admin.starts({topic.topic: numbers}).get(topic.topic, {})
        configured = str(start)
        found = self._starts.find(topic.topic, topic_id, configured)
        if found is None:
            found = self._sought(topic.topic, numbers, start)
            self._starts.keep(topic.topic, Start(topic_id, configured, found))
        return found

    def _declared(self, topic: Topic) -> str | int | float | Mapping[str, int]:
        """Where the last reset says, else the target (a float: seconds back), else the source (an int: an offset)."""
        if isinstance(self._from_reset, Mapping):
            return self._from_reset.get(topic.topic) or self._from_reset.get(topic.name) or topic.start
        if self._from_reset or self._default is None:
            return self._from_reset or topic.start
        return self._default

    def _sought(self, topic: str, numbers: tuple[int, ...], start: str | float) -> dict[int, int]:
        """Where a topic ends, or the first offsets at or after a moment, or since so many seconds ago."""
        if start == "latest":
            return self._admin.ends({topic: numbers}, self._committed).get(topic, {})
        since = datetime.now(timezone.utc) - timedelta(seconds=start) if isinstance(start, float) else _moment(start)
        millis = max(0, int(since.timestamp() * 1000))  # below 0 are words of Kafka's own
        return self._admin.at({topic: numbers}, millis).get(topic, {})


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


def _moment(text: str) -> datetime:
    """A moment in ISO 8601; one without a zone is UTC."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _starts(stored: dict[str, Any]) -> dict[str, Start]:
    return {name: _start(each["topic_id"], each["told"], each["offsets"]) for name, each in stored.items()}


def _to_json(start: Start) -> dict[str, Any]:
    return {"topic_id": start.topic_id, "told": start.configured, "offsets": start.offsets}


def _start(topic_id: str, configured: str, offsets: dict[str, int]) -> Start:
    return Start(topic_id, configured, {int(partition): offset for partition, offset in offsets.items()})
