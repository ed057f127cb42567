"""The words of a plan: verdicts, and the reasons for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from headrace.errors import Place


class Verdict(IntEnum):
    """What an edit does to a model that has been running; the worst reason counts."""

    SAME = 0
    """The text means what it meant."""
    KEEP = 1
    """What was written stays; every row from now on is as if the new text had always run."""
    FORWARD = 2
    """What was counted by the old text stays so; from now on the new text counts."""
    MIX = 3
    """What is stored would silently come to mean something else."""
    RESET = 4
    """What is stored cannot be used, or that is unknown."""


@dataclass(frozen=True)
class Reason:
    """One difference: where it stands, what it does, and what was there before.

    `is_unsure` means that only the type of a column is not certain without Spark, which refuses it at the start if it
    is another one.
    """

    verdict: Verdict
    place: Place
    message: str
    old: str = field(default="", compare=False)
    new: str = field(default="", compare=False)
    is_unsure: bool = False
    columns: tuple[str, ...] = ()


def worst(reasons: tuple[Reason, ...]) -> Verdict:
    """The verdict of several reasons."""
    return max((reason.verdict for reason in reasons), default=Verdict.SAME)
