"""Reuses plans from one run of a query in the next, so that a case does not plan again what an earlier one has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from pyspark.sql import SparkSession

from headrace.project.model import Model, Project, Query
from headrace.spark.implementations import small_batches
from headrace.spark.session import child
from headrace.spark.small_batches import SmallBatches

_AT_MOST = 6


@dataclass(frozen=True)
class _PooledPlans:
    """Plans and what they were built for; a case may run only some models of a query."""

    about: str
    models: Mapping[str, Model]
    batches: SmallBatches

    def fits(self, about: str, models: Mapping[str, Model]) -> bool:
        """Whether no model has a different text."""
        return self.about == about and all(models.get(name, known) == known for name, known in self.models.items())


class PlanPool:
    """Plans that are not in use, the newest last; cases run on threads, and each has its own plans."""

    def __init__(self) -> None:
        self._idle: list[_PooledPlans] = []
        self._used: dict[SmallBatches, _PooledPlans] = {}
        self._lock = Lock()

    def acquire(self, spark: SparkSession, project: Project, query: Query) -> SmallBatches:
        """Idle plans for the same texts and values, or new ones."""
        about = repr((project.root, query.name, project.macros, project.landings, project.vars))
        models = {model.table: model for model in project.models}
        with self._lock:
            found = next((pooled for pooled in reversed(self._idle) if pooled.fits(about, models)), None)
            if found is not None:
                self._idle.remove(found)
        known = found.models if found else {}
        batches = found.batches if found else small_batches(child(spark, query.name, project.macros))
        self._used[batches] = _PooledPlans(about, {**known, **models}, batches)
        return batches

    def release(self, batches: SmallBatches) -> None:
        """Keep plans for the next run; the oldest idle ones beyond the limit are dropped."""
        with self._lock:
            self._idle.append(self._used.pop(batches))
            evicted = [self._idle.pop(0) for _ in range(len(self._idle) - _AT_MOST)]
        for pooled in evicted:
            pooled.batches.drop()
