"""Rows that were computed once and are held until they are released."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from headrace.spark.columns import no_rows
from headrace.store.paths import StorePath, spark_uri

_LARGE_ROWS = 50_000
"""Up to here a commit is a single file."""


class Held(Sized, Protocol):
    """A few rows in memory that need no session; any session of the same implementation reads them."""

    @property
    def nbytes(self) -> int:
        """How much memory they take."""


@dataclass(frozen=True)
class Materialized(ABC):
    """Rows that were computed once, and how many they are."""

    frame: DataFrame
    count: int

    @property
    def held(self) -> Held | None:
        """The rows themselves, if they are few and outlive a release."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Give the memory back; the frame must not be used any more."""

    @abstractmethod
    def narrowed(self, fewer: DataFrame) -> Materialized:
        """Take `fewer`, which is derived from these rows, in their place."""

    def seen_by(self, session: SparkSession) -> DataFrame | None:
        """The rows as a frame of another session, where that is possible."""
        return None

    def write(self, folder: StorePath) -> None:
        """Write them as Parquet files into a new folder."""
        write_files(self.frame if self.count > _LARGE_ROWS else self.frame.coalesce(1), folder)

    def count_where(self, condition: str) -> int:
        """How many rows fulfil a condition."""
        return self.frame.where(condition).count()


class _Unheld(Materialized):
    """Rows that take no memory."""

    def release(self) -> None:
        """Nothing to do."""

    def narrowed(self, fewer: DataFrame) -> Materialized:
        raise NotImplementedError("rows that are stored already are not narrowed")


class Nothing(_Unheld):
    """No rows, and Spark knows it: it leaves out all that a plan would do with them."""

    @classmethod
    def of(cls, session: SparkSession, schema: StructType) -> Nothing:
        """No rows of a schema."""
        return cls(no_rows(session, schema), 0)

    def narrowed(self, fewer: DataFrame) -> Materialized:
        return self


@dataclass(frozen=True)
class Files(_Unheld):
    """Rows that were written before, into a folder of their own."""

    folder: Path

    def write(self, folder: StorePath) -> None:
        assert isinstance(folder, Path)
        shutil.copytree(self.folder, folder)


def write_files(rows: DataFrame, folder: StorePath) -> None:
    """Write rows as Parquet files into a new folder, one for each partition."""
    rows.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(spark_uri(folder))


def with_batch(rows: DataFrame, batch: int) -> DataFrame:
    """Add the bookkeeping column that names the batch a row came from."""
    return rows.withColumn("_batch", lit(batch).cast("bigint"))
