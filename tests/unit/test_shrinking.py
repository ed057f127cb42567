"""Delta debugging: the smallest part that shows it, in few questions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from headrace.testing.cut_trials.shrinking import smallest


@pytest.mark.parametrize("seed", range(20))
def test_only_what_is_needed_is_kept(seed: int) -> None:
    random = Random(seed)
    needed = sorted(random.sample(range(60), random.randint(1, 4)))
    assert [*smallest(range(60), lambda part: set(needed) <= set(part), 1000)] == needed


def test_no_item_of_the_result_can_be_missed() -> None:
    def shows(part: Sequence[int]) -> bool:
        return sum(part) >= 100

    found = smallest([*range(40)], shows, 1000)
    assert shows(found)
    assert not any(shows([*found[:at], *found[at + 1 :]]) for at in range(len(found)))


def test_search_ends_with_the_best_yet() -> None:
    asked: list[int] = []

    def shows(part: Sequence[int]) -> bool:
        asked.append(len(part))
        return {3, 57} <= set(part)

    found = smallest(range(60), shows, 9)
    assert (len(asked), {3, 57} <= set(found), len(found) < 60) == (9, True, True)
