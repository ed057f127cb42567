"""Where everything lives under a target's data directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.store.paths import StorePath, make_private


@dataclass(frozen=True)
class Layout:
    """Paths of tables, checkpoints, locks and logs; one Delta table per folder of `tables/`.

    `data_dir` is on this machine. `store` is where the data of the project are, if they are elsewhere: then only what
    is about this machine is in `data_dir`, and nothing is lost with it.
    """

    data_dir: Path
    store: StorePath | None = None

    def within(self, folder: StorePath) -> Layout:
        """A folder of the store that is laid out like it."""
        return Layout(self.data_dir, folder)

    @property
    def root(self) -> StorePath:
        """Where tables, checkpoints and notes are."""
        return self.data_dir if self.store is None else self.store

    def landing(self, landing: str) -> StorePath:
        """Everything that landed for one domain."""
        return self.root / "tables" / "_landing" / landing

    def table(self, table: str) -> StorePath:
        """The Delta table of a model: its rows, or the current rows of an upsert model."""
        layer, name = table.split(".")
        return self.root / "tables" / layer / name

    def changes(self, table: str) -> StorePath:
        """The change log of an upsert model: every change of every key, never rewritten."""
        return self.root / "tables" / "_changes" / table

    def appended(self, table: str, is_upsert: bool) -> StorePath:
        """What a model's batches are appended to: its change log if it is an upsert, else its table."""
        return self.changes(table) if is_upsert else self.table(table)

    def late(self, table: str) -> StorePath:
        """The rows that came too late for a model in the streaming engine."""
        return self.root / "tables" / "_late" / table

    def failed(self, query: str) -> StorePath:
        """Rows that data tests keep out of the tables of a query."""
        return self.root / "tables" / "_failed" / query

    def checkpoint(self, query: str) -> StorePath:
        """Progress of one query: recorded inputs, or Spark's own checkpoint."""
        return self.root / "checkpoints" / query

    @property
    def mail(self) -> StorePath:
        """Which letters have been sent for the notices of each topic."""
        return self.root / "mail"

    @property
    def rebuilds(self) -> StorePath:
        """Queries being rebuilt next to the running ones; each folder is laid out like the data directory."""
        return self.root / "rebuild"

    @property
    def retired(self) -> StorePath:
        """What rebuilt queries have replaced; each folder is laid out like the data directory."""
        return self.root / "retired"

    @property
    def swap(self) -> StorePath:
        """The journal of a swap in progress."""
        return self.root / "swap.json"

    @property
    def reset(self) -> StorePath:
        """The journal of a reset in progress."""
        return self.root / "reset.json"

    @property
    def restore(self) -> StorePath:
        """The journal of a restore in progress."""
        return self.root / "restore.json"

    @property
    def owner(self) -> StorePath:
        """The note of the project that writes here."""
        return self.root / "project.json"

    @property
    def checkpoints(self) -> StorePath:
        """The progress of every query."""
        return self.root / "checkpoints"

    @property
    def declared(self) -> StorePath:
        """Declarations that running queries were started with."""
        return self.root / "declared"

    @property
    def maintenance(self) -> StorePath:
        """How large each table was after its last maintenance."""
        return self.root / "maintenance.json"

    @property
    def locks(self) -> StorePath:
        """Where leases are: that of the runner, and those of other work in folders of their own."""
        return self.root / "locks"

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs"

    def spark_log(self) -> Path:
        """Where Spark's own log goes; its folder is created."""
        make_private(self.logs)
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

    @property
    def shared_status(self) -> StorePath | None:
        """The same for other machines, some seconds old; None if the data are on this machine only."""
        return None if self.store is None else self.store / "status.json"


@dataclass(frozen=True)
class Beside(Layout):
    """A data directory in which some queries and their tables have a folder of their own."""

    folder: StorePath = Path()
    queries: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()

    def table(self, table: str) -> StorePath:
        return self._home(table in self.tables).table(table)

    def changes(self, table: str) -> StorePath:
        return self._home(table in self.tables).changes(table)

    def late(self, table: str) -> StorePath:
        return self._home(table in self.tables).late(table)

    def failed(self, query: str) -> StorePath:
        return self._home(query in self.queries).failed(query)

    def checkpoint(self, query: str) -> StorePath:
        return self._home(query in self.queries).checkpoint(query)

    @property
    def checkpoints(self) -> StorePath:
        return self.within(self.folder).checkpoints

    @property
    def declared(self) -> StorePath:
        return self.within(self.folder).declared

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs" / self.folder.name

    def _home(self, is_beside: bool) -> Layout:
        return self.within(self.folder if is_beside else self.root)
