"""Cached plans handed from one run of a query to the next, so that a case need not plan what the one before it has."""

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
class _Loan:
    """Batches, and the models they have plans of; a case may run only some models of a query."""

    about: str
    models: Mapping[str, Model]
    batches: SmallBatches

    def suits(self, about: str, models: Mapping[str, Model]) -> bool:
        """Whether no model has another text."""
        return self.about == about and all(models.get(name, known) == known for name, known in self.models.items())


class Lender:
    """Batches that nobody uses at the moment, the newest last; cases run on threads, and each has its own."""

    def __init__(self) -> None:
        self._idle: list[_Loan] = []
        self._lent: dict[SmallBatches, _Loan] = {}
        self._lock = Lock()

    def lend(self, spark: SparkSession, project: Project, query: Query) -> SmallBatches:
        """Batches of the same texts with the same values, or new ones."""
        about = repr((project.root, query.name, project.macros, project.landings, project.vars))
        models = {model.table: model for model in project.models}
        with self._lock:
            found = next((loan for loan in reversed(self._idle) if loan.suits(about, models)), None)
            if found is not None:
                self._idle.remove(found)
        known = found.models if found else {}
        batches = found.batches if found else small_batches(child(spark, query.name, project.macros))
        self._lent[batches] = _Loan(about, {**known, **models}, batches)
        return batches

    def take_back(self, batches: SmallBatches) -> None:
        """Keep batches for the next one; those that nobody has asked for are dropped."""
        with self._lock:
            self._idle.append(self._lent.pop(batches))
            given_up = [self._idle.pop(0) for _ in range(len(self._idle) - _AT_MOST)]
        for loan in given_up:
            loan.batches.drop()
