"""A note in the store that a model has been published, which shows when Kafka has lost the publisher's record.

How far a table was sent is known by Kafka alone. Without a record a publisher would take its table for one that was
never sent, and do what the model declares for that case: send all rows again, or none of those that wait.
"""

from __future__ import annotations

import json

from headrace.store import durable
from headrace.store.paths import StorePath


class PublishedNote:
    """The note of one publisher; it is written once Kafka holds the publisher's first record."""

    def __init__(self, store: StorePath, model: str) -> None:
        self.file = store / "published" / f"{model}.json"
        self._is_known = False

    @property
    def exists(self) -> bool:
        """Whether the model has ever been published."""
        return self._is_known or self.file.is_file()

    def note(self, progress_topic: str) -> None:
        """From now on a record is expected on this topic."""
        if not self.exists:
            durable.write(self.file, json.dumps({"progress_topic": progress_topic}))
        self._is_known = True
