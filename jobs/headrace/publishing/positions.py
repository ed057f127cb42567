"""The progress of a publisher, compared with the table that it is about, and what may be done where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from headrace.errors import Finding, Place
from headrace.project.model import Model
from headrace.publishing.progress import Progress, Recorded
from headrace.store.commits import Commit
from headrace.tables.positions import Extent

Choice = Literal["again", "skip"]
"""What becomes of rows that were sent and that the table does not hold any more: they are sent again, or are not."""

CHOICES = (
    "`headrace restore --publish again` sends what is computed from now on, so that {rows} may be seen twice; "
    "`headrace restore --publish skip` does not send as many of the next rows again, which is right where they are "
    "computed again in the same order"
)


@dataclass(frozen=True)
class Standing:
    """The recorded progress of a model's publisher, and its table: what exists of it, and its commits.

    `data` says where the data of the table are, as records name them.
    """

    model: Model
    recorded: Recorded
    table: Extent
    commits: Callable[[], Iterable[Commit]]
    data: str = ""

    @cached_property
    def rows(self) -> int:
        """How many rows the table holds."""
        return rows_of(self.commits())

    @property
    def is_elsewhere(self) -> bool:
        """Whether the progress is over another table."""
        return self.recorded.progress.table_id != self.table.id

    @property
    def is_ahead(self) -> bool:
        """Whether more versions were sent than there are."""
        return not self.is_elsewhere and self.recorded.progress.upto > self.table.newest

    @property
    def is_computed_again(self) -> bool:
        """Whether the table comes to hold what was sent, so that rows can be counted.

        So does an older copy, one that took the place of another in the same data, and one that has no rows yet.
        """
        return not self.is_elsewhere or self._is_own or not self.rows

    @property
    def lost(self) -> int | None:
        """How many rows were sent that the table does not hold; None if that cannot be known."""
        progress = self.recorded.progress
        if not self.is_computed_again or progress.rows is None:
            return None
        position = 0 if progress.replaced else progress.position
        return max(progress.rows + position + progress.skip - self.rows, 0)

    def finding(self, replaced: Container[str] | None = ()) -> Finding | None:
        """Why rows cannot be sent from here.

        `replaced` are the tables that this one is known to have replaced; None if that is not known.
        """
        if self.is_elsewhere and replaced is not None and self.recorded.progress.table_id not in replaced:
            return Finding(self._place, "publish-elsewhere", self._elsewhere)
        return Finding(self._place, "publish-ahead", self._ahead) if self.is_ahead else None

    def settled(self, choice: Choice) -> Progress:
        """The progress from which on a publisher may go on, as chosen; only where there is a finding."""
        begin = Progress(self.table.id or "", self.table.newest + 1, rows=self.rows)
        if choice == "skip":
            return replace(begin, skip=self.lost or 0)
        return Progress(self.table.id or "") if self.is_elsewhere else begin

    @property
    def _is_own(self) -> bool:
        """Whether a run over the same data has recorded the progress."""
        return self.recorded.by is not None and self.recorded.by.data == self.data

    @property
    def _place(self) -> Place:
        return self.model.header_places.get("publish", Place(self.model.path))

    @property
    def _ahead(self) -> str:
        lost = "what came after that" if self.lost is None else f"{counted(self.lost)} after that"
        return (
            f"{self.model.table} ends at version {self.table.newest}, and was sent up to version "
            f"{self.recorded.progress.upto} by {self.recorded.source}: these data are an older copy. Restore a newer "
            f"one, or choose: {CHOICES.format(rows=lost)}"
        )

    @property
    def _elsewhere(self) -> str:
        cause = (
            "If that one is in use, run this project with a target of another name, as publishers are named after it. "
        )
        cause += "If it is lost, choose"
        if self._is_own:
            cause = "That was in these data, which are an older copy or begin again. Restore a newer copy, or choose"
        lost = "rows" if self.lost is None else counted(self.lost)
        skip = "only those that are computed from now on"
        if self.is_computed_again:
            skip = f"only those after the next {lost}, which is right where these are computed again in the same order"
        return (
            f"what was sent of {self.model.table} came from another table, by {self.recorded.source}. {cause}: "
            f"`headrace restore --publish again` sends all rows of this table, `headrace restore --publish skip` {skip}"
        )


def counted(rows: int) -> str:
    """A number of rows, in words."""
    return f"{rows} row{'' if rows == 1 else 's'}"


def rows_of(commits: Iterable[Commit]) -> int:
    """How many rows commits have to be sent."""
    return sum(int(commit.marker.get("rows", 0)) for commit in commits if commit.batch >= 0)
