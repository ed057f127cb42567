"""The task that runs a group of micro-batch models."""

from __future__ import annotations

from dataclasses import replace

from headrace.queries.group import Group
from headrace.reading.status import QueryKind, QueryStatus
from headrace.running.tasks.task import CommitSignals, Counters, Log


class GroupTask:
    """Runs a group's micro-batches as soon as there is input."""

    kind: QueryKind = "micro_batch"
    poll = 1.0

    def __init__(self, group: Group, max_rows: int, signals: CommitSignals, log: Log) -> None:
        self.group = group
        self.name = group.query.name
        self.wake = signals.subscribe(group.sources)
        self.group.on_commit = signals.notify
        self._max_rows, self._log = max_rows, log
        self._counters = Counters()

    def step(self) -> bool:
        report = self.group.step(self._max_rows)
        if report is None:
            self._counters.idle()
            return False
        self._counters.took(report.batch, report.input_rows)
        for line in report.lines:
            self._log("progress", query=self.name, batch=report.batch, line=line)
        for test, rows in report.failed.items():
            self._log("test_failed", query=self.name, batch=report.batch, test=test, rows=rows)
        self._counters.failed.update(report.failed)
        rows_out = {table: rows for table, rows in report.output_rows.items() if rows}
        fields = {"batch": report.batch, "rows": report.input_rows, "out": rows_out}
        self._log("batch", query=self.name, **fields, s=round(report.seconds, 3))
        return True

    @property
    def is_caught_up(self) -> bool:
        return self.group.behind == 0

    def finish(self) -> None:
        self.group.rest()

    def close(self) -> None:
        self.group.drop()

    def status(self) -> QueryStatus:
        c = self._counters
        status = QueryStatus(self.name, self.kind, batch=c.batch, rows=c.rows, rows_per_second=c.rate)
        status = replace(status, state_rows=self.group.state_rows, behind_by=self.group.behind)
        return replace(status, failed=dict(c.failed))
