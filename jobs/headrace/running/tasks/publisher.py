"""The task that sends a model's rows to Kafka."""

from __future__ import annotations

from headrace.publishing.publisher import Publisher
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.tasks.task import CommitSignals, Counters, Log


class PublisherTask:
    """Sends a model's new rows to Kafka."""

    kind: QueryKind = "publisher"
    poll = 1.0

    def __init__(self, publisher: Publisher, signals: CommitSignals, log: Log) -> None:
        self.publisher = publisher
        self.name = f"publish_{publisher.model.name}"
        self.wake = signals.subscribe([publisher.model.table])
        self._log = log
        self._counters = Counters()

    def step(self) -> bool:
        sent = self.publisher.step()
        if sent is None:
            self._counters.idle()
            return False
        self._counters.took(self.publisher.version - 1, sent)
        if sent:
            self._log("published", query=self.name, version=self.publisher.version - 1, rows=sent)
        return True

    @property
    def is_caught_up(self) -> bool:
        return True

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self.publisher.close()

    def status(self) -> QueryStatus:
        c = self._counters
        return QueryStatus(
            self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate, rejected=self.publisher.set_aside
        )
