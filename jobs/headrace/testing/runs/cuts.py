"""How landing batches become micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from headrace.testing.cases.case import Cut

Parts = Sequence[Sequence[int]]
"""The numbers of the landing batches that make up each micro-batch."""

_MOST_PARTS = 2
"""A restart costs seconds, and more of them find no further bugs."""


def parts(cut: Cut, batches: int, random: Random) -> Parts:
    """The numbers of the landing batches, part by part."""
    if cut == "one-by-one":
        return [[number] for number in range(batches)]
    if cut == "all-at-once":
        return [range(batches)]
    inner = random.sample(range(1, batches), min(random.randrange(_MOST_PARTS), batches - 1))
    edges = [0, *sorted(inner), batches]
    return [range(start, end) for start, end in pairwise(edges)]
