"""A batch: what it reads, and what it has computed so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from headrace.project.model import Model
from headrace.queries.failing.poison import Poison, without
from headrace.queries.failing.redelivery import Redelivery
from headrace.queries.inputs import Inputs
from headrace.spark.materialized import Materialized
from headrace.store.commits import Commit


@dataclass(frozen=True)
class Batch:
    """What a batch reads, and what it has computed so far: rows of models and of views that several models read."""

    inputs: Inputs
    read: Mapping[str, DataFrame]
    done: Mapping[str, Commit]
    silent: frozenset[str]
    """Sources without any row."""
    added: dict[str, Materialized] = field(default_factory=dict)
    views: dict[str, Materialized] = field(default_factory=dict)
    poison: list[Poison] = field(default_factory=list)
    """Rows that steps are run without: those recorded before, and those found on the way."""
    only: str = "true"
    """The condition of the rows of its streams that a step is run or tried over."""
    again: Redelivery | None = None
    """What a step reads in place of its streams."""

    def left(self, step: Model) -> str | None:
        """The condition of the rows of its streams that a step is run over; None for all."""
        arrivals = [arrival for each in self.poison if each.table == step.table for arrival in each.arrivals]
        conditions = [*([without(arrivals)] if arrivals else []), *([self.only] if self.only != "true" else [])]
        return " and ".join(conditions) or None
