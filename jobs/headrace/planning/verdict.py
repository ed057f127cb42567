"""The words of a plan: verdicts, and the reasons for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from headrace.errors import Place

if TYPE_CHECKING:
    from headrace.planning.forms.terms import Term


class Verdict(IntEnum):
    """What an edit does to a model that has been running; the worst reason counts."""

    SAME = 0
    """The text means what it meant."""
    KEEP = 1
    """What was written stays; every row from now on is as if the new text had always run."""
    FORWARD = 2
    """What was counted by the old text stays so; from now on the new text counts."""
    UNDECIDED = 3
    """Only Spark knows the type of a column: what is stored fits, or cannot be used."""
    MIX = 4
    """What is stored would silently come to mean something else."""
    RESET = 5
    """What is stored cannot be used, or that is unknown."""


@dataclass(frozen=True)
class Evidence:
    """What shows a difference: expressions of both texts, places in the new one, a key of a header, a table."""

    old: tuple[Term, ...] = ()
    new: tuple[Term, ...] = ()
    at: tuple[Place, ...] = ()
    key: str = ""
    table: str = ""


@dataclass(frozen=True)
class Reason:
    """One difference: where it stands, what it does, and what was there before; `columns` are those it is about.

    `was` and `now` are texts of what differs, where there are no expressions that show it.
    """

    verdict: Verdict
    place: Place
    message: str
    was: str = field(default="", compare=False)
    now: str = field(default="", compare=False)
    columns: tuple[str, ...] = ()
    evidence: Evidence = field(default=Evidence(), compare=False, repr=False)

    @staticmethod
    def between(
        verdict: Verdict, place: Place, message: str, old: Sequence[Term], new: Sequence[Term], *at: Place
    ) -> Reason:
        """A difference of expressions, of which the old or the new ones may be missing."""
        evidence = Evidence(tuple(old), tuple(new), at)
        return Reason(verdict, place, message, evidence=evidence)

    @property
    def old(self) -> str:
        """What was there before, as SQL; it takes its time where macros make it long."""
        return self.was or _sql(self.evidence.old)

    @property
    def new(self) -> str:
        """What is there now; as `old`."""
        return self.now or _sql(self.evidence.new)


def worst(reasons: tuple[Reason, ...]) -> Verdict:
    """The verdict of several reasons."""
    return max((reason.verdict for reason in reasons), default=Verdict.SAME)


def _sql(terms: Sequence[Term]) -> str:
    return ", ".join(each.sql for each in terms)
