"""The progress of a publisher, compared with the table that it is about, and what may be done where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from headrace.errors import Finding, Place
from headrace.project.model import Model
from headrace.publishing.progress import Progress, Recorded, Writer
from headrace.store.commits import Commit
from headrace.tables.positions import Extent

Choice = Literal["again", "skip"]
"""What becomes of rows that were sent and that the table does not hold any more: they are sent again, or are not."""

CHOICES = (
    "`headrace restore --publish again` sends what is computed from now on, so that {rows} may be seen twice; "
    "`headrace restore --publish skip` does not send as many of the next rows again, which is right where they are "
    "computed again in the same order"
)

_OF_ANOTHER = (
    "If that one is in use, run this project with a target of another name, as publishers are named after it. "
    "If it is lost, choose"
)
_OF_A_COPY = "Since it was made, each has computed rows by itself: use one of both only. For this one, choose"
_OF_BEFORE = "That was in these data, which are an older copy or begin again. Restore a newer copy, or choose"


@dataclass(frozen=True)
class Standing:
    """The recorded progress of a model's publisher, and its table: what exists of it, and its commits.

    `commits` are those after a version, oldest first. `here` is this run, as its own records name it; `is_restored`
    says that the table is that of a backup.
    """

    model: Model
    recorded: Recorded
    table: Extent
    commits: Callable[[int], Iterable[Commit]]
    here: Writer | None = None
    is_restored: bool = False

    @cached_property
    def rows(self) -> int:
        """How many rows the table holds."""
        return rows_of(self.commits(-1))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the progress is over another table."""
        return self.recorded.progress.table_id != self.table.id

    @property
    def is_ahead(self) -> bool:
        """Whether more versions were sent than there are."""
        return not self.is_elsewhere and self.recorded.progress.upto > self.table.newest

    @cached_property
    def is_of_copy(self) -> bool:
        """Whether the progress is over a copy of the table that has gone its own way: its versions hold other rows.

        A copy has the id of what it was copied from, and commits what it computes as it comes. Its commits have other
        ids, whether they hold as many rows or not; of one that has left the log only the rows are known.
        """
        progress = self.recorded.progress
        if self.is_elsewhere or self.is_ahead or progress.replaced:
            return False
        return self._is_of_another_commit or self._has_other_rows

    @cached_property
    def _is_of_another_commit(self) -> bool:
        """Whether the version of which some rows were sent is another commit than the one that held them."""
        progress = self.recorded.progress
        if progress.commit is None:
            return False
        at = next((commit for commit in self.commits(progress.version - 1) if commit.version == progress.version), None)
        return at is not None and at.id is not None and at.id != progress.commit

    @cached_property
    def _has_other_rows(self) -> bool:
        """Whether another one has recorded the progress, and the versions before it hold another number of rows."""
        progress = self.recorded.progress
        if progress.rows is None or self.recorded.by is None or self.here is None or self._is_own:
            return False
        return progress.rows != rows_of(commit for commit in self.commits(-1) if commit.version < progress.version)

    @property
    def is_computed_again(self) -> bool:
        """Whether the table comes to hold what was sent, so that rows can be counted.

        So does an older copy, one that took the place of another in the same data, and one that has no rows yet.
        """
        return not self.is_elsewhere or self.is_restored or self._is_own or not self.rows

    @property
    def sent(self) -> int | None:
        """How many rows were sent, as far as this table has them or computes them again; None if that is not known."""
        progress = self.recorded.progress
        if not self.is_computed_again or progress.rows is None:
            return None
        return progress.rows + (0 if progress.replaced else progress.position) + progress.skip

    @property
    def lost(self) -> int | None:
        """How many rows were sent that the table does not hold; None if that cannot be known."""
        return None if self.sent is None else max(self.sent - self.rows, 0)

    def finding(self, replaced: Container[str] | None = ()) -> Finding | None:
        """Why rows cannot be sent from here.

        `replaced` are the tables that this one is known to have replaced; None if that is not known.
        """
        if self.is_elsewhere and replaced is not None and self.recorded.progress.table_id not in replaced:
            return Finding(self._place, "publish-elsewhere", self._elsewhere)
        if self.is_of_copy:
            return Finding(self._place, "publish-elsewhere", self._elsewhere)
        return Finding(self._place, "publish-ahead", self._ahead) if self.is_ahead else None

    def settled(self, choice: Choice) -> Progress:
        """The progress from which on a publisher may go on, as chosen; only where there is a finding."""
        if choice == "skip" and self.sent is not None:
            return self._behind(self.sent)
        if choice == "again" and (self.is_elsewhere or self.is_of_copy):
            return Progress(self.table.id or "")
        return Progress(self.table.id or "", self.table.newest + 1, rows=self.rows)

    def _behind(self, rows: int) -> Progress:
        """The place behind so many rows of the table; those that it does not hold yet count as sent, too."""
        before = 0
        for commit in self.commits(-1):
            if before + rows_of([commit]) > rows:
                return Progress(self.table.id or "", commit.version, rows - before, rows=before)
            before += rows_of([commit])
        return Progress(self.table.id or "", self.table.newest + 1, rows=before, skip=rows - before)

    @property
    def _is_own(self) -> bool:
        """Whether a run over these data has recorded the progress."""
        by = self.recorded.by
        return by is not None and self.here is not None and by.is_over_data_of(self.here)

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
        what, cause = ("another table", _OF_ANOTHER)
        if self.is_of_copy:
            what, cause = ("a copy of these data", _OF_A_COPY)
        elif self._is_own:
            cause = _OF_BEFORE
        skip = "only those that are computed from now on"
        if self.sent is not None:
            first = counted(self.sent)
            skip = f"only those after the first {first}, which is right where these are computed in the same order"
        return (
            f"what was sent of {self.model.table} came from {what}, by {self.recorded.source}. {cause}: "
            f"`headrace restore --publish again` sends all rows of this table, `headrace restore --publish skip` {skip}"
        )


def counted(rows: int) -> str:
    """A number of rows, in words."""
    return f"{rows} row{'' if rows == 1 else 's'}"


def rows_of(commits: Iterable[Commit]) -> int:
    """How many rows commits have to be sent."""
    return sum(int(commit.marker.get("rows", 0)) for commit in commits if commit.batch >= 0)
