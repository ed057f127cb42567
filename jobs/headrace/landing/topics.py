"""The topics of a landing as Kafka has them: their partitions, and whether they are still those that were read."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from headrace.errors import HeadraceError
from headrace.landing.broker_admin import BrokerAdmin
from headrace.tables.positions import topic_made_again

DESCRIBED_SECONDS = 5.0
"""For how many seconds the partitions of topics count as known."""

Partitions = Mapping[str, tuple[int, ...]]
"""The numbers of the partitions of each topic that exists."""


class Topics:
    """What is known of topics; one that was deleted and made again is refused, as its offsets mean other records.

    `ids` are those of the topics that were read. `missing` are topics that did not exist when Kafka was last asked.
    """

    def __init__(self, admin: BrokerAdmin, query: str, names: Sequence[str]) -> None:
        self._admin = admin
        self._query = query
        self._names = names
        self._described: tuple[float, Partitions] = (-math.inf, {})
        self.ids: dict[str, str] = {}
        self.missing: frozenset[str] = frozenset()

    def partitions(self) -> Partitions:
        """The partitions of each topic now."""
        found = self._admin.describe(self._names)
        for name, topic in found.items():
            if self.ids.setdefault(name, topic.id) != topic.id:
                raise HeadraceError(topic_made_again(self._query, name))
        self.missing = frozenset(self._names) - found.keys()
        partitions = {name: topic.partitions for name, topic in found.items()}
        self._described = (time.monotonic(), partitions)
        return partitions

    def recent_partitions(self) -> Partitions:
        """The partitions of each topic, as of some seconds ago at most.

        confluent-kafka 2.16 leaks 120 bytes for each topic that it describes: ten times a second are 100 MB a day.
        """
        at, found = self._described
        return found if time.monotonic() - at < DESCRIBED_SECONDS else self.partitions()
