"""The rows that a streaming query emitted recently: all that it sees when it looks up its own table."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.materialized import write_files
from headrace.spark.streaming.file_list import FileList
from headrace.store import parquet, trees
from headrace.store.commits import Commit
from headrace.store.paths import ObjectPath, StorePath, spark_uri
from headrace.tables.delta import CommitTable


class RecentOutput:
    """Links to the data files of the newest commits, in a folder that Spark lists again after each.

    Spark plans a streaming query again for each batch, but reads a static table in it as of the query's start. A folder
    of Parquet files is listed again on request. It holds what was emitted while the watermark moved the last `span`
    milliseconds, so its size does not grow with the table.
    """

    def __init__(self, session: SparkSession, table: CommitTable, folder: StorePath, span: int) -> None:
        self.folder = folder
        self._session = session
        self._table = table
        self._span = span
        self._links: list[tuple[int, list[StorePath]]] = []
        self._files: FileList | None = None

    def load(self) -> DataFrame:
        """Start from what the table holds; return the rows, without bookkeeping columns."""
        trees.remove(self.folder)
        self.folder.mkdir(parents=True)
        if isinstance(self.folder, ObjectPath):  # a folder without objects is none; Spark does not read this one
            (self.folder / "_folder").write_text("")
        for commit in reversed([*self._recent()]):
            self._link(commit)
        frame = self._session.read.schema(self._table.schema).parquet(spark_uri(self.folder))
        self._files = FileList(frame)
        return frame.drop("_batch")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was emitted recently."""
        return not self._links

    def add(self, version: int) -> None:
        """Add a commit that was just made, and drop those that it makes too old."""
        self._link(self._table.commit(version))
        newest = self._links[-1][0] if self._links else 0
        old = [links for watermark, links in self._links if watermark < newest - self._span]
        for link in (link for links in old for link in links):
            link.unlink()
        self._links = self._links[len(old) :]
        if self._files is not None:
            self._files.refresh()

    def _recent(self) -> Iterator[Commit]:
        """The newest commits, newest first."""
        newest: int | None = None
        for version in range(self._table.newest_version(), 0, -1):
            commit = self._table.commit(version)
            watermark = int(commit.marker.get("watermark", 0))
            newest = watermark if newest is None else newest
            if watermark < newest - self._span:
                return
            yield commit

    def _link(self, commit: Commit) -> None:
        commit, links = self._table.as_stored(commit), []
        if commit.is_past and commit.added_rows:
            self._copy(commit)
        for number, name in enumerate(commit.files):
            link = self.folder / f"{commit.version}-{number}.parquet"
            trees.link(self._table.path / name, link)
            links.append(link)
        self._note(commit, links)

    def _copy(self, commit: Commit) -> None:
        """Copy the rows of a commit whose files were compacted with others."""
        aside, copy = self.folder.parent / "copied", self.folder / f"{commit.version}-0.parquet"
        trees.remove(aside)
        write_files(self._table.rows(self._session, commit).coalesce(1), aside)
        for file in parquet.files_in(aside):
            trees.link(aside.parent / file.name, copy)
        trees.remove(aside)
        self._note(commit, [copy])

    def _note(self, commit: Commit, links: list[StorePath]) -> None:
        if links:
            self._links.append((int(commit.marker.get("watermark", 0)), links))
