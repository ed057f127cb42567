"""The search for the rows that make a step of a batch fail: trials over some of them, which write nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import Place
from headrace.project.model import Model
from headrace.queries.failing.culprits import culprits, is_by_row
from headrace.queries.failing.faults import Fault, fault_of, place_of
from headrace.queries.failing.poison import Arrival, Poison, from_to, without


@dataclass(frozen=True)
class Search:
    """A model or view that fails, with the views in its text, and all that its streams hold, in order of arrival.

    `run` runs it over the rows of a condition, and fails as it does.
    """

    parts: Sequence[Model]
    arrivals: Sequence[Arrival]
    run: Callable[[str], None]
    faults: list[Fault] = field(default_factory=list)

    def poison(self, fault: Fault, most: int, values: Mapping[str, Any]) -> Poison | None:
        """The rows that make it fail with a fault, at most so many; None if they cannot be found.

        `values` are the project's variables.
        """
        count, step = len(self.arrivals), self.parts[0]
        if not self._fails(0, count, ()):
            return None
        numbers = culprits(count, self._fails, is_by_row(self.parts), most)
        fault = self.faults[-1] if len(numbers) == 1 else fault
        place = place_of(fault, self.parts, values) or Place(step.path)
        rows = tuple(self.arrivals[number] for number in numbers)
        return Poison(step.table, fault.reason, fault.text, fault.clause, str(place), rows)

    def _fails(self, start: int, end: int, excluded: Sequence[int]) -> bool:
        """Whether it fails over the rows from one number to before another, without some; notes how."""
        some = self.arrivals[start:end]
        if not some:
            return False
        try:
            self.run(f"{from_to(some[0], some[-1])} and {without(self.arrivals[at] for at in excluded)}")
        except Exception as error:
            if (fault := fault_of(error)) is None:
                raise
            self.faults.append(fault)
            return True
        return False
