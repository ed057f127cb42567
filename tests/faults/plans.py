"""Sessions and their plans, which outlive the runners that use them: to plan again takes most of a start.

A runner gets those that no living runner uses, with everything in them that a start would compute again. What a runner
knows of its tables is in its own objects, and is not shared.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.landing import landing
from headrace.publishing import publisher
from headrace.queries import group
from headrace.spark.implementations import small_batches
from headrace.spark.session import child
from headrace.spark.small_batches import SmallBatches

_USERS = (landing, group, publisher)


EDITED = "counts"
"""The query whose text is edited."""

_For = tuple[str, str]


@dataclass
class Plans:
    """Sessions by what they are for, the text of the project and the query: those in use and those that are idle."""

    text: str = ""
    _idle: dict[_For, list[SparkSession]] = field(default_factory=lambda: defaultdict(list))
    _used: list[tuple[_For, SparkSession]] = field(default_factory=list)
    _batches: dict[SparkSession, SmallBatches] = field(default_factory=dict)

    def install(self, patch: pytest.MonkeyPatch) -> Plans:
        """Stand between runners and the making of sessions."""
        for module in _USERS:
            patch.setattr(module, "child", self._session)
            patch.setattr(module, "small_batches", self._of)
        return self

    def taken(self) -> list[tuple[_For, SparkSession]]:
        """The sessions that were taken since this was asked last."""
        found, self._used = self._used, []
        return found

    def give_back(self, sessions: list[tuple[_For, SparkSession]]) -> None:
        """The runner that has used them is dead."""
        for wanted, session in sessions:
            self._idle[wanted].append(session)

    def _session(self, spark: SparkSession, name: str, macros: Any = ()) -> SparkSession:
        idle = self._idle[wanted := (self.text if name == EDITED else "", name)]
        session = idle.pop() if idle else child(spark, name, macros)
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        self._used.append((wanted, session))
        return session

    def _of(self, session: SparkSession) -> SmallBatches:
        if session not in self._batches:
            self._batches[session] = small_batches(session)
            self._batches[session].drop = lambda: None  # type: ignore[method-assign]
        return self._batches[session]
