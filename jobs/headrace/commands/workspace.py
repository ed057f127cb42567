"""The project and target a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.environment import backup, owner
from headrace.errors import EnvironmentFault, Locked
from headrace.project import loader
from headrace.project.loader import Survey
from headrace.project.model import Project
from headrace.store.layout import Layout

if TYPE_CHECKING:
    from headrace.environment.broker import Broker

EMBEDDED = "embedded"


@dataclass(frozen=True)
class Workspace:
    """Where a command was called and for which target; everything else is read on first use."""

    folder: Path
    target: str

    @cached_property
    def declared(self) -> Project:
        """The project as its files declare it."""
        return loader.load(self.folder, self.target)

    def survey(self) -> Survey:
        """The project as its files are now, with all that is wrong."""
        return loader.survey(self.folder, self.target)

    @cached_property
    def layout(self) -> Layout:
        """The data directory, checked once for a command; an interrupted swap or reset is finished first.

        EnvironmentFault for that of another project, HeadraceError for one with an interrupted restore.
        """
        layout = self.declared.target.layout
        owner.refuse(layout, self.declared.name)
        backup.refuse_half(layout)
        if layout.swap.is_file() or layout.reset.is_file():
            from headrace.environment import swap
            from headrace.project import resets
            from headrace.store import lease

            with suppress(Locked), lease.held(layout):  # otherwise the holder finishes them
                swap.finish(layout)
                resets.finish(layout)
        return layout

    @property
    def broker(self) -> Broker:
        """The embedded broker of this target, or of the target that it names in `like`."""
        from headrace.environment.broker import Broker

        return Broker(Layout(self.declared.target.broker_of or self.declared.target.data_dir).broker)

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
            of = f"-t {self.declared.target.like} " if self.declared.target.like else ""
            raise EnvironmentFault(f"the embedded broker is not running; start it with `headrace {of}broker start`")
        return self._at(state.bootstrap)

    @contextmanager
    def with_broker(self) -> Iterator[Project]:
        """The project with its broker's address; an embedded broker that is not up runs for the block only.

        That of another target must be up: it is not ours to start and stop.
        """
        if not self.embedded or self.declared.target.like:
            yield self.connected()
            return
        with self.broker.running() as state:
            yield self._at(str(state.bootstrap))

    def _at(self, bootstrap: str) -> Project:
        target = self.declared.target
        return replace(self.declared, target=replace(target, kafka=replace(target.kafka, bootstrap=bootstrap)))
