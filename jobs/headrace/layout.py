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

    def checkpoint(self, query: str) -> Path:
        """Progress of one query: recorded inputs, or Spark's own checkpoint."""
        return self.data_dir / "checkpoints" / query

    @property
    def locks(self) -> Path:
        return self.data_dir / "locks"

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs"

    def spark_log(self) -> Path:
        """Where Spark's own log goes; its folder is made."""
        self.logs.mkdir(parents=True, exist_ok=True)
        return self.logs / "spark.log"

    @property
    def broker(self) -> Path:
        return self.data_dir / "broker"

    @property
    def verdict(self) -> Path:
        """Schemas of a project that Spark has found good."""
        return self.data_dir / "verdict.json"

    @property
    def status(self) -> Path:
        """What the runner last said of itself, replaced every second."""
        return self.data_dir / "status.json"
