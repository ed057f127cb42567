"""Which rows make a model fail, found by running it over fewer of them.

Where each row of the result comes from one row alone, halves that pass are done with. Else rows count in their order of
arrival: the culprit is the row with which those before it, which pass, fail. So the same rows are found wherever
batches are cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from headrace.errors import InvalidProject
from headrace.project.model import Model
from headrace.project.sql import dialect

_MIXES_ROWS = (exp.Window, exp.AggFunc, exp.Group, exp.Distinct, exp.Join, exp.SetOperation, exp.Subquery, exp.Limit)


def is_by_row(models: Iterable[Model]) -> bool:
    """Whether each row of a model's result comes from one row of its stream alone, as far as its text shows."""
    for model in models:
        try:
            tree = dialect.parse(model.text, model.path).tree
        except InvalidProject:
            return False
        if sum(ref.stream for ref in model.inputs) > 1 or tree.find(*_MIXES_ROWS):
            return False
    return True


def culprits(count: int, fails: Callable[[int, int, Sequence[int]], bool], by_row: bool, most: int) -> list[int]:
    """The numbers of the rows that make a run over `count` rows fail, at most `most` of them.

    `fails` says whether the rows from one number to before another fail, without some of them.
    """
    if by_row:
        return _by_halves(0, count, lambda start, end: fails(start, end, ()), most)
    found, passes = list[int](), 0
    while len(found) < most and fails(0, count, found):
        passes = _first_failing(passes, count, lambda end: fails(0, end, found))
        found.append(passes)
    return found


def _by_halves(start: int, end: int, fails: Callable[[int, int], bool], most: int) -> list[int]:
    """The failing rows of a part that fails."""
    if end - start <= 1:
        return [start] if end > start else []
    middle, found = (start + end) // 2, list[int]()
    left_fails = fails(start, middle)
    if left_fails:
        found = _by_halves(start, middle, fails, most)
    if len(found) < most and (not left_fails or fails(middle, end)):
        found += _by_halves(middle, end, fails, most - len(found))
    return found


def _first_failing(passes: int, count: int, fails: Callable[[int], bool]) -> int:
    """The number of the row with which the rows before it fail, that pass; the first `passes` rows do.

    It is sought in steps that grow: where many rows fail, the next one is near, and few rows are cheap to run over.
    """
    step = 1
    while passes + step < count and not fails(passes + step):
        passes, step = passes + step, 2 * step
    count = min(passes + step, count)
    while count - passes > 1:
        middle = (passes + count) // 2
        passes, count = (passes, middle) if fails(middle) else (middle, count)
    return passes
