"""Routes: the topics that can be written by a publisher whose rows name their topic in a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from headrace.landing.broker_admin import BrokerAdmin
from headrace.project.kafka_options.topic_names import is_topic_name

_REFUSALS = frozenset(
    {
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.POLICY_VIOLATION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
"""The broker's permanent errors for a topic."""


@dataclass(frozen=True)
class Rules:
    """What a target allows: whether topics may be created, and which names no row may choose."""

    create: bool = False
    reserved: frozenset[str] = frozenset()


class Routes:
    """Checks which topics can be written, and creates those that are missing where that is allowed."""

    def __init__(self, config: Mapping[str, Any], rules: Rules) -> None:
        self._admin = BrokerAdmin(config)
        self._rules = rules
        self._open: set[str] = set()

    def refusals(self, names: Iterable[str | None]) -> dict[str | None, str]:
        """Why no row can go to a topic, for each topic that cannot be written."""
        refused: dict[str | None, str] = {}
        asked = []
        for name in set(names) - self._open:
            if reason := self._fault(name):
                refused[name] = reason
            else:
                asked.append(str(name))
        for name, reason in self._asked(sorted(asked)):
            if reason is None:
                self._open.add(name)
            else:
                refused[name] = reason
        return refused

    def _fault(self, name: str | None) -> str | None:
        if name is None or not is_topic_name(name):
            return "bad_topic_name"
        return "reserved_topic" if name in self._rules.reserved or name.startswith("__") else None

    def _asked(self, names: list[str]) -> Iterator[tuple[str, str | None]]:
        """The broker's answer for each topic: None, or why it cannot be written."""
        for name in names:
            try:
                if self._admin.describe([name]):
                    yield name, None
                elif self._rules.create:
                    self._admin.create(name)
                    yield name, None
                else:
                    yield name, "unknown_topic"
            except KafkaException as error:
                if error.args[0].code() not in _REFUSALS:
                    raise
                yield name, "refused_topic"
