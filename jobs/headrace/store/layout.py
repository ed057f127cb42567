"""Where everything lives under a target's data directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """Paths of tables, checkpoints, locks and logs; one Delta table per folder of `tables/`."""

    data_dir: Path

    def landing(self, landing: str) -> Path:
        """Everything that landed for one domain."""
        return self.data_dir / "tables" / "_landing" / landing

    def table(self, table: str) -> Path:
        """The Delta table of a model: its rows, or the current rows of an upsert model."""
        layer, name = table.split(".")
        return self.data_dir / "tables" / layer / name

    def changes(self, table: str) -> Path:
        """The change log of an upsert model: every change of every key, never rewritten."""
        return self.data_dir / "tables" / "_changes" / table

    def appended(self, table: str, is_upsert: bool) -> Path:
        """What a model's batches are appended to: its change log if it is an upsert, else its table."""
        return self.changes(table) if is_upsert else self.table(table)

    def late(self, table: str) -> Path:
        """The rows that came too late for a model in the streaming engine."""
        return self.data_dir / "tables" / "_late" / table

    def failed(self, query: str) -> Path:
        """Rows that data tests keep out of the tables of a query."""
        return self.data_dir / "tables" / "_failed" / query

    def checkpoint(self, query: str) -> Path:
        """Progress of one query: recorded inputs, or Spark's own checkpoint."""
        return self.data_dir / "checkpoints" / query

    def mail(self, topic: str) -> Path:
        """Which letters have been sent for the notices of a topic."""
        return self.data_dir / "mail" / f"{topic}.sqlite"

    @property
    def rebuilds(self) -> Path:
        """Queries being rebuilt beside the running ones; each folder is laid out like the data directory."""
        return self.data_dir / "rebuild"

    @property
    def retired(self) -> Path:
        """What rebuilt queries have replaced; each folder is laid out like the data directory."""
        return self.data_dir / "retired"

    @property
    def swap(self) -> Path:
        """The journal of a swap in progress."""
        return self.data_dir / "swap.json"

    @property
    def reset(self) -> Path:
        """The journal of a reset in progress."""
        return self.data_dir / "reset.json"

    @property
    def checkpoints(self) -> Path:
        """The progress of every query."""
        return self.data_dir / "checkpoints"

    @property
    def declared(self) -> Path:
        """Declarations that running queries were started with."""
        return self.data_dir / "declared"

    @property
    def locks(self) -> Path:
        return self.data_dir / "locks"

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs"

    def spark_log(self) -> Path:
        """Where Spark's own log goes; its folder is created."""
        self.logs.mkdir(parents=True, exist_ok=True)
        return self.logs / "spark.log"

    @property
    def broker(self) -> Path:
        return self.data_dir / "broker"

    @property
    def artifacts(self) -> Path:
        """Documentation, manifest.json and run_results.json."""
        return self.data_dir / "target"

    @property
    def status(self) -> Path:
        """The runner's latest status, replaced every second."""
        return self.data_dir / "status.json"


@dataclass(frozen=True)
class Beside(Layout):
    """A data directory in which some queries and their tables have a folder of their own."""

    folder: Path
    queries: frozenset[str]
    tables: frozenset[str]

    def table(self, table: str) -> Path:
        return self._home(table in self.tables).table(table)

    def changes(self, table: str) -> Path:
        return self._home(table in self.tables).changes(table)

    def late(self, table: str) -> Path:
        return self._home(table in self.tables).late(table)

    def failed(self, query: str) -> Path:
        return self._home(query in self.queries).failed(query)

    def checkpoint(self, query: str) -> Path:
        return self._home(query in self.queries).checkpoint(query)

    @property
    def checkpoints(self) -> Path:
        return Layout(self.folder).checkpoints

    @property
    def declared(self) -> Path:
        return Layout(self.folder).declared

    @property
    def logs(self) -> Path:
        return Layout(self.folder).logs

    def _home(self, is_beside: bool) -> Layout:
        return Layout(self.folder if is_beside else self.data_dir)
