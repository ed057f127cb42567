"""The project and target a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from headrace.environment.broker import Broker
from headrace.errors import EnvironmentFault
from headrace.layout import Layout
from headrace.project import loader
from headrace.project.model import Project

EMBEDDED = "embedded"


@dataclass(frozen=True)
class Workspace:
    """Where a command was called and for which target; everything else is read when first asked for."""

    folder: Path
    target: str

    @cached_property
    def declared(self) -> Project:
        """The project as its files declare it."""
        return loader.load(self.folder, self.target)

    @property
    def layout(self) -> Layout:
        return Layout(self.declared.target.data_dir)

    @property
    def broker(self) -> Broker:
        """The embedded broker of this target."""
        return Broker(self.layout.broker)

    @property
    def embedded(self) -> bool:
        """Whether the target asks for a broker of its own."""
        return self.declared.target.kafka.bootstrap == EMBEDDED

    def connected(self) -> Project:
        """The project with the address of its broker; the embedded one must be running."""
        if not self.embedded:
            return self.declared
        state = self.broker.status()
        if state.state != "running" or state.bootstrap is None:
            raise EnvironmentFault("the embedded broker is not running; start it with `headrace broker start`")
        return self._at(state.bootstrap)

    @contextmanager
    def with_broker(self) -> Iterator[Project]:
        """The project with its broker's address; an embedded broker that is not up runs for the block only."""
        if not self.embedded:
            yield self.declared
            return
        with self.broker.running() as state:
            yield self._at(str(state.bootstrap))

    def _at(self, bootstrap: str) -> Project:
        target = self.declared.target
        return replace(self.declared, target=replace(target, kafka=replace(target.kafka, bootstrap=bootstrap)))
