"""Plans handed from one run of a query to the next, so that a case need not plan what the one before it has."""

from __future__ import annotations

from threading import Lock

from pyspark.sql import SparkSession

from headrace.engine.kept import Plans
from headrace.engine.session import child
from headrace.project.model import Project, Query

_AT_MOST = 6


class Lender:
    """Plans that nobody uses at the moment, the newest last; cases run on threads, and each has plans of its own."""

    def __init__(self) -> None:
        self._idle: list[tuple[str, Plans]] = []
        self._lent: dict[Plans, str] = {}
        self._lock = Lock()

    def lend(self, spark: SparkSession, project: Project, query: Query) -> Plans:
        """Plans of the same text with the same values, or new ones."""
        key = repr((project.root, query, project.models, project.macros, project.landings, project.vars))
        with self._lock:
            at = next((n for n, (known, _) in enumerate(self._idle) if known == key), None)
            plans = self._idle.pop(at)[1] if at is not None else None
        plans = plans or Plans(child(spark, query.name, project.macros))
        self._lent[plans] = key
        return plans

    def take_back(self, plans: Plans) -> None:
        """Keep plans for the next one; what nobody has asked for is given up."""
        with self._lock:
            self._idle.append((self._lent.pop(plans), plans))
            given_up = [self._idle.pop(0) for _ in range(len(self._idle) - _AT_MOST)]
        for _, each in given_up:
            each.drop()
