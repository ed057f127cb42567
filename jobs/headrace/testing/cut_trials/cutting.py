"""How landed batches are cut into micro-batches when only the cut may differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from headrace.testing.runs.cuts import Parts


@dataclass(frozen=True)
class Cutting:
    """A cut with its name; with `restarts` each part is processed by a separate run."""

    name: str
    parts: Parts
    restarts: bool = False

    def within(self, numbers: Collection[int]) -> Cutting:
        """The same cut of only some of the landing batches."""
        remaining = [[number for number in part if number in numbers] for part in self.parts]
        return Cutting(self.name, [part for part in remaining if part], self.restarts)


def cuttings(numbers: Sequence[int], random: Random, most: int | None = None) -> tuple[Cutting, ...]:
    """All in one batch, one by one (in at most so many parts), and two at random, one of them with restarts."""
    size = 1 if most is None else -(-len(numbers) // most)
    alone = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    return (
        Cutting("all in one batch", [numbers]),
        Cutting("one record a batch" if size == 1 else f"{size} records a batch", alone),
        Cutting("cut at random", _parts(numbers, random)),
        Cutting("cut at random, with restarts", _parts(numbers, random), restarts=True),
    )


def _parts(numbers: Sequence[int], random: Random) -> Parts:
    """Two to four parts, as far as there is enough to cut."""
    inner = random.sample(range(1, len(numbers)), min(random.randint(1, 3), len(numbers) - 1))
    edges = [0, *sorted(inner), len(numbers)]
    return [numbers[start:end] for start, end in pairwise(edges)]
