"""Current rows of an upsert whose state is Spark's own, merged from its change log for plain Delta readers."""

from __future__ import annotations

from urllib.parse import unquote

from delta.tables import DeltaTable
from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from headrace.errors import TornFile
from headrace.project.model import Model
from headrace.store import json_files, parquet, trees
from headrace.store.commits import MARKER, actions_of, newest_version
from headrace.store.delta_tables import is_table, open_table
from headrace.store.layout import Layout
from headrace.store.paths import StorePath, spark_uri
from headrace.tables import foreign
from headrace.tables.delta import CommitTable, create_plain
from headrace.tables.state import newest_per_key


class _MergedTable(CommitTable):
    """A Delta table into which Spark merges changes."""

    way_out = foreign.REMAKE


class CurrentTable:
    """The table under `tables/<layer>/`; it may lag behind the change log, which is the truth.

    Spark writes its versions, and they are synced after that. So a power loss may leave the newest one torn; then the
    table is made again from the log.
    """

    def __init__(self, session: SparkSession, layout: Layout, model: Model, changes: StructType) -> None:
        """`changes` are the columns of the change log."""
        self._session = session
        self._model = model
        self._path = layout.table(model.table)
        self._schema = StructType([field for field in changes if field.name != "_deleted"])
        self._log = CommitTable(session, layout.changes(model.table), changes)
        self._rows = _MergedTable(session, self._path, self._schema)
        self._upto: int | None = None
        self.stored_bytes = 0
        """How large the files are that the last merge has written."""

    def create(self) -> None:
        """Create the table if it is missing, or torn; one in which others have changed rows is refused."""
        if is_table(self._path) and not is_whole(self._path):
            trees.remove(self._path)
        create_plain(self._path, self._schema)
        self._rows.sound_version()

    def store(self) -> None:
        """Merge the changes that have come since the last time."""
        if self._upto is None:
            self._upto = self._stored_version()
        commits = [commit for commit in self._log.commits(self._upto) if commit.batch >= 0]
        if not commits:
            return
        self._rows.sound_version()
        changes = newest_per_key(self._log.rows(self._session, *commits), self._model.unique_key)
        batch = f'{{"query":"{self._model.name}","batch":{commits[-1].batch}}}'
        self._session.conf.set("spark.databricks.delta.commitInfo.userMetadata", f'{{"{MARKER}":{batch}}}')
        same = " and ".join(f"kept.`{key}` <=> changed.`{key}`" for key in self._model.unique_key)
        table = DeltaTable.forPath(self._session, spark_uri(self._path)).alias("kept")
        merge = table.merge(changes.alias("changed"), same).whenMatchedDelete("changed._deleted")
        columns: dict[str, str | Column] = {f"`{name}`": f"changed.`{name}`" for name in self._schema.names}
        began = trees.Instant.now()
        merge.whenMatchedUpdate(set=columns).whenNotMatchedInsert("not changed._deleted", columns).execute()
        trees.sync_changed(self._path, began)
        self._upto = commits[-1].version
        newest = self._rows.newest_marker(self._model.name)
        self.stored_bytes = newest.bytes if newest else 0

    def _stored_version(self) -> int:
        """The version of the change log that a previous run has merged last."""
        newest = self._rows.newest_marker(self._model.name)
        if newest is None:
            return -1
        versions = range(self._log.newest_version(), -1, -1)
        return next((version for version in versions if 0 <= self._log.commit(version).batch <= newest.batch), -1)


def is_whole(table: StorePath) -> bool:
    """Whether the log of a table can be read, and each file that its newest version adds."""
    try:
        open_table(table)
        added = (each["add"] for each in actions_of(table, newest_version(table)) if "add" in each)
        for add in added:
            parquet.rows_in(table / unquote(add["path"]))
    except (TornFile, FileNotFoundError, *json_files.UNREADABLE):
        return False
    return True
