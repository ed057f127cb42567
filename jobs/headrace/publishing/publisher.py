"""Publishing: a model's rows go to Kafka in transactions that also hold how far they got, so each is seen once."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

from confluent_kafka import KafkaException
from pyspark.sql import Row, SparkSession

from headrace.errors import Finding, HeadraceError, InvalidProject, Place
from headrace.project.model import Macro, Model, Publish
from headrace.publishing.messages import as_json, message_rows, one_by_one
from headrace.publishing.outlet import Outlet, client_errors, is_fenced, read_progress
from headrace.publishing.positions import Standing, rows_of
from headrace.publishing.progress import Progress, Recorded
from headrace.publishing.published_note import PublishedNote
from headrace.publishing.routes import Routes
from headrace.publishing.sent import Find, Unsent
from headrace.publishing.set_aside import Notes
from headrace.publishing.transactions import Message, Transactions
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.session import SMALL_BATCH_ROWS, child
from headrace.store.commits import Commit
from headrace.store.paths import StorePath
from headrace.tables.commit_cache import CommitCache
from headrace.tables.delta import CommitTable
from headrace.tables.positions import Extent

CHUNK_ROWS = 5_000
CHUNK_BYTES = 16 << 20
FEW_ROWS = 1_000
_MESSAGE = Row("topic", "key", "value")
_NEVER_PUBLISHED = (
    "Add to publish `start: earliest` to send them all, or `start: latest` to send only what comes from now on"
)
_RECORD_LOST = (
    "Choose: `headrace restore --publish again` sends them all, `headrace restore --publish skip` only what comes from "
    "now on or, with the folder of a backup, what was not sent when it was taken"
)


class Publisher:
    """Sends the rows of one append model, in arrival order, exactly once for read_committed consumers.

    The transactional id is the publisher's name, so `init_transactions` fences off any other instance; only then is the
    progress read.
    """

    def __init__(
        self,
        spark: SparkSession,
        model: Model,
        table: CommitTable,
        outlet: Outlet,
        store: StorePath,
        barrier: Mapping[str, int] | None = None,
        find_retired: Find = lambda _: None,
        commit_cache: CommitCache | None = None,
        macros: Iterable[Macro] = (),
        replaced: Container[str] | None = None,
    ) -> None:
        """`find_retired` finds a table that a swap has put aside; `macros` are those that the message may use.

        `store` has the publisher's notes. `replaced` are the ids of the tables that resets have removed; None if they
        are not known.
        """
        assert model.publish is not None
        self.model = model
        self.session = child(spark, f"publish_{model.name}", macros)
        self.sent = 0
        self._publish: Publish = model.publish
        self._table = table
        self.outlet = outlet
        notes = Notes(store / "set_aside" / f"{model.name}.ndjson")
        self._transactions = Transactions(outlet, self._topics, model.table, notes)
        self._published_note = PublishedNote(store, model.name)
        self._barrier = dict(barrier or {})
        self._find_retired = find_retired
        self._replaced = replaced
        self._commit_cache = commit_cache or CommitCache()
        self._batches = small_batches(self.session)
        self._routes: Routes | None = None
        self._progress = Progress("")

    def step(self) -> int | None:
        """Send what has been committed since the last step; the number of rows, or None if there was nothing new."""
        if not self._transactions.is_open:
            self.open()
        with self._explaining_fence():
            return self._send_unsent() if self._progress.replaced is not None else self._send_new()

    def _send_new(self) -> int | None:
        before, is_new = self.sent, False
        for commit in self._table.commits(self._progress.version - 1):  # those before one that is refused are sent
            is_new = True
            is_due = commit.batch >= 0 and not was_sent_before(commit.marker, self._barrier)
            if is_due:
                self._progress = self._progress.skipped(rows_of([commit]))
            if self._progress.version == commit.version:
                self.sent += self._send_commit(commit) if is_due else 0
                self._progress = self._progress.passed(rows_of([commit]))
        return self.sent - before if is_new else None

    @property
    def set_aside(self) -> int:
        """How many rows this run could not send."""
        return self._transactions.count_set_aside

    @property
    def version(self) -> int:
        """Every version before this one has been sent; 0 while nobody knows which of a table that was swapped in."""
        return 0 if self._progress.replaced else self._progress.version

    def close(self) -> None:
        """Drop the producer; the next step opens another and reads the progress again."""
        self._transactions.close()

    def open(self) -> None:
        """Find where to resume, and record who does; InvalidProject if it cannot be known which rows are to be sent."""
        with self._explaining_fence():
            self.outlet.require(self._topics, self.model.table)
            self._transactions.open()
            self._routes = Routes(self.outlet.config, self.outlet.rules) if self._publish.topic_column else None
            found = read_progress(self.outlet)
            begin = self._without_record() if found is None else self._resumed(found)
            self._transactions.record(begin)  # whoever is fenced off by this learns by whom
            self._published_note.note(self.outlet.progress_topic)
            self._progress = begin

    def finding(self, found: Recorded) -> Finding | None:
        """Why nothing can be sent from a recorded progress on; nobody is fenced off to find out."""
        if self._find_retired(found.progress.table_id) is not None:
            return None
        return self.standing(found).finding(self._replaced)

    def standing(self, found: Recorded) -> Standing:
        """A recorded progress together with the table that it is compared with."""
        table = Extent(self._table.newest_version(), self._table.id())
        return Standing(self.model, found, table, self._table.commits, self.outlet.writer)

    def _without_record(self) -> Progress:
        """Where to go on without a record: the topic may have been deleted since this publisher wrote to it."""
        return self._transactions.recorded or self._first_progress()

    def _first_progress(self) -> Progress:
        """Where a table begins that was never published; one with rows as the model declares."""
        history = [commit for commit in self._table.commits(-1) if commit.batch >= 0]
        if history and (self._publish.start is None or self._published_note.exists):
            raise InvalidProject([self._history_finding(len(history))])
        if not history or self._publish.start == "earliest":
            return Progress(self._table.id())
        return Progress(self._table.id(), history[-1].version + 1, rows=rows_of(history))

    def _history_finding(self, commits: int) -> Finding:
        cause, advice = "it was never published here", _NEVER_PUBLISHED
        if self._published_note.exists:
            cause, advice = "that topic was deleted, or is another one", _RECORD_LOST
        message = (
            f"{self.model.table} has rows in {commits} commits, and topic {self.outlet.progress_topic} does not say "
            f"how far they were sent: {cause}. {advice}"
        )
        return Finding(self.model.header_places.get("publish", Place(self.model.path)), "publish-history", message)

    @property
    def _topics(self) -> frozenset[str]:
        """The topic that the model names, if its rows do not."""
        return frozenset({self._publish.topic} if self._publish.topic else ())

    def _resumed(self, found: Recorded) -> Progress:
        """Where to go on: after a reset with all the table has, after a swap with what was not sent before it.

        After a swap the progress fixes what is compared before anything is sent.
        """
        if finding := self.finding(found):
            raise InvalidProject([finding])
        progress, table_id = found.progress, self._table.id()
        if progress.table_id == table_id:
            return (
                progress if progress.rows is not None else replace(progress, rows=self._rows_before(progress.version))
            )
        if self._find_retired(progress.table_id) is None:
            return Progress(table_id)
        version = self._table.newest_version() + 1
        return Progress(table_id, version, 0, progress, self._rows_before(version))

    def _rows_before(self, version: int) -> int:
        return rows_of(commit for commit in self._table.commits(-1) if commit.version < version)

    @contextmanager
    def _explaining_fence(self) -> Iterator[None]:
        """End a publisher that another one has fenced off: if both went on, each would send what the other has sent."""
        try:
            with client_errors():
                yield
        except KafkaException as error:
            other = read_progress(self.outlet) if is_fenced(error) else None
            if other and other.by and other.by.run != self.outlet.writer.run:
                raise HeadraceError(
                    f"{self.model.table} is published by another runner now, {other.by}: stop one of both, or run one "
                    "with a target of another name, as publishers are named after it"
                ) from None
            raise

    def _send_unsent(self) -> int:
        """Send what the table has beyond those that it has replaced; then its progress no longer refers to them."""
        progress = self._progress
        self._batches.begin(0, SMALL_BATCH_ROWS + 1)
        rows = Unsent(self.session, self.model, self._find, progress).messages()
        sent = self._send_rows(one_by_one(rows), progress)
        self._progress = replace(progress, position=0, replaced=None)
        self._transactions.record(self._progress)
        self.sent += sent
        return sent

    def _find(self, table_id: str) -> CommitTable | None:
        return self._table if table_id == self._table.id() else self._find_retired(table_id)

    @property
    def relies_on(self) -> frozenset[str]:
        """The ids of the tables needed to know what has been sent."""
        return self._progress.table_ids

    def _send_commit(self, commit: Commit) -> int:
        position = self._progress.position if self._progress.version == commit.version else 0
        begun = replace(self._progress, version=commit.version, position=position, commit=commit.id)
        return self._send_rows(self._messages(commit), begun)

    def _send_rows(self, found: Iterator[Row], begun: Progress) -> int:
        """Send rows chunk by chunk, without those already sent."""
        rows = enumerate(islice(found, begun.position, None), begun.position)
        messages = (Message(row, replace(begun, position=position)) for position, row in rows)
        sent = 0
        while chunk := list(_chunk(messages)):
            last = chunk[-1].place
            sent += self._transactions.send(self._routed(chunk), replace(last, position=last.position + 1))
        return sent

    def _routed(self, chunk: Sequence[Message]) -> Sequence[Message]:
        """Those rows whose topic can be written; the others are set aside."""
        refused = self._routes.refusals(message.row.topic for message in chunk) if self._routes else {}
        rejected = [(each, refused[each.row.topic]) for each in chunk if each.row.topic in refused]
        self._transactions.set_aside(rejected)
        return [each for each in chunk if each.row.topic not in refused]

    def _messages(self, commit: Commit) -> Iterator[Row]:
        self._batches.begin(0, commit.weight)
        if commit.weight <= FEW_ROWS and (cached := self._cached(commit)) is not None:
            return self._from_cache(cached)
        stored = self._table.rows(self.session, commit)
        rows = message_rows(stored, self._publish, are_many=not self._batches.are_few)
        return iter(rows.collect()) if commit.weight <= CHUNK_ROWS else one_by_one(rows)

    def _cached(self, commit: Commit) -> Materialized | None:
        return self._commit_cache.take(self._batches, "rows", self._table, [commit])

    def _from_cache(self, cached: Materialized) -> Iterator[Row]:
        """The messages of few rows that are in memory, by a plan that is made once."""
        rows = cached.frame
        messages = self._batches.text("messages", lambda: as_json(message_rows(rows, self._publish)), rows)
        return (_MESSAGE(*each) for each in json.loads(messages))


def _chunk(messages: Iterator[Message]) -> Iterator[Message]:
    """The next messages, as many as go into one transaction: they are in memory until it ends."""
    size = 0
    for message in islice(messages, CHUNK_ROWS):
        yield message
        size += len(message.row.value or "")
        if size > CHUNK_BYTES:
            return


def was_sent_before(marker: Mapping[str, Any], barrier: Mapping[str, int]) -> bool:
    """Whether all inputs of a commit had been processed before a reset, which waits until they are sent."""
    ranges = marker.get("inputs", {}).get("ranges", {})
    return bool(barrier and ranges) and all(upto <= barrier.get(name, -1) for name, (_, upto) in ranges.items())
