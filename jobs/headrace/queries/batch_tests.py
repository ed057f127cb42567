"""The data tests of a query as it runs: rows are judged before they are committed, failed ones stored apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import StringType, StructField, StructType

from headrace.errors import HeadraceError
from headrace.project.model import FAILED_COLUMNS, Model, Query
from headrace.queries.datatests import FAILED, Lookup, as_json, counts, failing, marked, names, repeats
from headrace.queries.refused_changes import TOO_LARGE, RefusedChanges
from headrace.spark.arrow import frame_of_values
from headrace.spark.columns import columns_of
from headrace.spark.implementations import small_batches
from headrace.spark.materialized import Materialized
from headrace.spark.small_batches import SmallBatches
from headrace.store.layout import Layout
from headrace.tables.closed_keys.index import KeyIndex
from headrace.tables.delta import CommitTable

_ERRORS = StructType([StructField(name, StringType()) for name in ("model", "test", "row")])


class QueryTests:
    """The data tests of a query's models.

    The rows that a batch sets aside are one commit, made before that of any output: a replay that finds rows of the
    batch in an output finds those as well.
    """

    def __init__(self, batches: SmallBatches, layout: Layout, query: Query) -> None:
        session = batches.session
        self._batches = batches
        self.models = {model.table: ModelTests(session, model) for model in query.models if model.tests}
        self._changes = {model.table: RefusedChanges(batches, model) for model in query.models if model.unique_key}
        tests = [test for model in query.models for test in model.tests]
        self.looked_up = tuple(dict.fromkeys(test.to for test in tests if test.to is not None))
        self._name = query.name
        self._session = session
        self._errors: tuple[tuple[str, str, str], ...] = ()
        self.keeps_rows = (
            bool(self._changes)
            or any(test.on_failure == "dead_letter" for test in tests)
            or any(model.on_error == "dead_letter" for model in query.models)
        )
        self.table = CommitTable(session, layout.failed(query.name), columns_of(dict(FAILED_COLUMNS)))

    def note_errors(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Take in the rows that models were run without in this batch: model, reason and JSON of each."""
        self._errors = tuple(rows)

    def create(self) -> None:
        """Create the table of failed rows, if there can be any."""
        if self.keeps_rows:
            self.table.create()

    def load(self, tables: Mapping[str, CommitTable], before_batch: int) -> None:
        """Prepare to run a batch, with everything as it stood before it."""
        for name, tests in self.models.items():
            tests.load(tables[name], before_batch)
        large = self._large_before(before_batch)
        for name, changes in self._changes.items():
            changes.load(row for table, row in large if table == name)

    def _large_before(self, batch: int) -> list[tuple[str, str]]:
        """Model and row of what was set aside as too large before a batch; most queries have no failed rows to read."""
        if not self._changes or self.table.newest_version() < 1:
            return []
        rows = self.table.snapshot(self._session).where((F.col("test") == TOO_LARGE) & (F.col("batch") < batch))
        return [(row[0], row[1]) for row in rows.select("model", "row").collect()]

    def acceptable(self, table: str, rows: Materialized) -> Materialized:
        """The rows of a model that its table may see, in place of all."""
        return self._changes[table].without(rows) if table in self._changes else rows

    def set_aside(self, batch: int, at: str) -> DataFrame | None:
        """The rows that failed in this batch and are to be stored; None if there are none."""
        frames = [rows for _, each in self._all for rows in each.set_aside]
        if self._errors:
            frames.append(frame_of_values(self._session, self._errors, _ERRORS))
        if not frames:
            return None
        when = {"batch": lit(batch).cast("bigint"), "failed_at": lit(at).cast("timestamp")}
        rows = reduce(DataFrame.unionByName, frames).withColumns(when)
        return rows.select(*[name for name, _ in FAILED_COLUMNS])

    def commit(self, batch: int, at: str, marker: Mapping[str, Any], replay: bool) -> Mapping[str, int]:
        """Store the failed rows of a batch, once; return how many rows failed each test."""
        rows = self.set_aside(batch, at)
        if rows is not None and not (replay and self._has(batch)):
            failed = self._batches.materialize(rows)
            self.table.append(failed, {**marker, "rows": failed.count})
            failed.release()
        found = {f"{table}.{name}": number for table, each in self._all for name, number in each.failed.items()}
        return found | Counter(f"{table}.{reason}" for table, reason, _ in self._errors)

    def settle(self, added: Mapping[str, Materialized], batch: int) -> None:
        """Take committed rows of a batch into what later ones look up, and give memory back."""
        for table, tests in self.models.items():
            tests.settle(added[table], batch)
        for changes in self._changes.values():
            changes.settle()
        self._errors = ()

    def drop(self) -> None:
        """Forget all that is cached."""
        for tests in self.models.values():
            tests.drop()
        for changes in self._changes.values():
            changes.forget()
        self._errors = ()

    @property
    def _all(self) -> Iterator[tuple[str, ModelTests | RefusedChanges]]:
        yield from self._changes.items()
        yield from self.models.items()

    def _has(self, batch: int) -> bool:
        newest = self.table.newest_marker(self._name)
        return newest is not None and newest.batch >= batch


class ModelTests:
    """The data tests of one model in a batch: `failed` counts rows by test, `set_aside` are those to be stored.

    `unique` is asked of the rows that a batch would add: in an append table against all rows ever added. Where the
    model's own key says it already, and in an upsert, whose batches are changes, there is nothing to ask.
    """

    def __init__(self, session: SparkSession, model: Model) -> None:
        self.failed: dict[str, int] = {}
        self.set_aside: list[DataFrame] = []
        self._model = model
        self._tests = {test.name: test for test in model.tests}
        self._by_row = tuple(test for test in model.tests if test.kind != "unique")
        unique = [test for test in model.tests if test.kind == "unique" and model.once_per != (test.column,)]
        asked = unique if model.materialized == "append" and model.output_mode == "append" else []
        batches = self._batches = small_batches(session)
        self._seen = {test.name: KeyIndex(batches, f"{model.table} {test.name}", [str(test.column)]) for test in asked}
        self._held: list[Materialized] = []

    def load(self, table: CommitTable, before_batch: int) -> None:
        """Prepare to run a batch, with everything as it stood before it."""
        self._forget()
        for index in self._seen.values():
            index.load(table, before_batch)

    def accepted(self, rows: DataFrame, lookup: Lookup) -> DataFrame:
        """The model's rows that may go on; HeadraceError where a failure is to stop the query."""
        self._forget()
        return self._passed(self._hold(marked(rows, self._by_row, lookup))) if self._by_row else rows

    def unrepeated(self, added: Materialized) -> Materialized:
        """The rows that a batch may add, of those that its model would."""
        for name, index in self._seen.items():
            columns, rows = added.frame.columns, index.marked(added, "_seen")
            fails = F.expr(self._tests[name].fails) & (F.col("_seen") | repeats(self._tests[name], columns))
            remaining = self._passed(self._hold(rows.select(*columns, names({name: fails}))))
            if name in self.failed and self._tests[name].on_failure == "dead_letter":
                former, added = added, self._batches.materialize(remaining)
                former.release()
        return added

    def settle(self, added: Materialized, batch: int) -> None:
        """Take committed rows of a batch into what later ones look up."""
        for index in self._seen.values():
            index.add(added, batch)
        self._forget()

    def drop(self) -> None:
        """Forget all that is cached."""
        for index in self._seen.values():
            index.drop()
        self._forget()

    def _hold(self, rows: DataFrame) -> Materialized:
        self._held.append(self._batches.materialize(rows))
        return self._held[-1]

    def _forget(self) -> None:
        for rows in self._held:
            rows.release()
        self.failed, self.set_aside, self._held = {}, [], []

    def _passed(self, found: Materialized) -> DataFrame:
        """The rows of marked ones that may go on."""
        failed = counts(found.frame)
        self.failed |= failed
        self._stop_at(failed, found.frame)
        apart = [name for name in failed if self._tests[name].on_failure == "dead_letter"]
        if not apart:
            return found.frame.drop(FAILED)
        reasons = F.filter(FAILED, lambda name: name.isin(apart))
        columns = (lit(self._model.table).alias("model"), F.explode(reasons).alias("test"), as_json(found.frame))
        self.set_aside.append(found.frame.select(*columns))
        return found.frame.where(F.size(reasons) == 0).drop(FAILED)

    def _stop_at(self, failed: Mapping[str, int], rows: DataFrame) -> None:
        for name, count in failed.items():
            if self._tests[name].on_failure == "stop":
                example = failing(rows, name).first()
                message = f"test {name} failed for {count} rows, such as {example[0] if example else ''}"
                raise HeadraceError(f"{message}; nothing of this batch was written. Mend the model or the test")
