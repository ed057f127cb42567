"""The rows that a streaming query told a short while ago: all that it finds when it looks up its own table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.spark.streaming.file_list import FileList
from headrace.tables.delta import Commit, CommitTable


class Told:
    """Links to the data files of the newest commits, in a folder that Spark lists again after each.

    Spark plans a streaming query anew for each batch, but a table that stands still in it is read as of the start.
    A folder of Parquet files is listed when it is told to. It holds what was told while the watermark moved the
    last `span` milliseconds, so its size does not grow with the table.
    """

    def __init__(self, session: SparkSession, table: CommitTable, folder: Path, span: int) -> None:
        self.folder = folder
        self._session = session
        self._table = table
        self._span = span
        self._kept: list[tuple[int, list[Path]]] = []
        self._files: FileList | None = None

    def load(self) -> DataFrame:
        """Begin with what the table holds; the rows, without bookkeeping columns."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for commit in reversed([*self._recent()]):
            self._link(commit)
        frame = self._session.read.schema(self._table.schema).parquet(str(self.folder))
        self._files = FileList(frame)
        return frame.drop("_batch")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was told lately."""
        return not self._kept

    def add(self, version: int) -> None:
        """Take in a commit that was just made, and forget those that it makes old."""
        self._link(self._table.commit(version))
        newest = self._kept[-1][0] if self._kept else 0
        old = [links for watermark, links in self._kept if watermark < newest - self._span]
        for link in (link for links in old for link in links):
            link.unlink()
        self._kept = self._kept[len(old) :]
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
        links = []
        for number, name in enumerate(commit.files):
            link = self.folder / f"{commit.version}-{number}.parquet"
            os.link(self._table.path / name, link)
            links.append(link)
        if links:
            self._kept.append((int(commit.marker.get("watermark", 0)), links))
