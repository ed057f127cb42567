"""The task that sends a model's rows to Kafka."""

from __future__ import annotations

from headrace.publishing.publisher import Publisher
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.tasks.task import CommitSignals, Counters, Log

POLL_SECONDS, REMOTE_POLL_SECONDS = 1.0, 10.0
"""How often a publisher looks for commits of which it was not notified; on an object store each look is a request.

Every commit of this run notifies it. Only another process's, or one whose answer was lost, has to be looked for.
"""


class PublisherTask:
    """Sends a model's new rows to Kafka."""

    kind: QueryKind = "publisher"

    def __init__(self, publisher: Publisher, signals: CommitSignals, log: Log, is_remote: bool = False) -> None:
        """With `is_remote` the model's table is on an object store."""
        self.publisher = publisher
        self.poll = REMOTE_POLL_SECONDS if is_remote else POLL_SECONDS
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
