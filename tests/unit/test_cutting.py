"""Cuts: every landing batch once and in order, in whatever parts."""

from __future__ import annotations

from random import Random

import pytest

from headrace.testing.cut_trials.cutting import Cutting, cuttings


@pytest.mark.parametrize("most", [None, 3])
@pytest.mark.parametrize("count", [1, 2, 17])
def test_each_cut_has_every_batch_in_order(count: int, most: int | None) -> None:
    numbers = [*range(5, 5 + count)]
    for cutting in cuttings(numbers, Random(count), most):
        assert [number for part in cutting.parts for number in part] == numbers
        assert all(cutting.parts)


def test_cuts_are_those_that_are_requested() -> None:
    whole, alone, random, restarted = cuttings(range(9), Random(1))
    assert (len(whole.parts), len(alone.parts), random.restarts, restarted.restarts) == (1, 9, False, True)
    assert 1 < len(restarted.parts) < 9


def test_long_cut_has_at_most_so_many_parts() -> None:
    assert len(cuttings(range(50), Random(1), most=8)[1].parts) <= 8


def test_part_of_a_cut_is_cut_as_before() -> None:
    assert Cutting("", [[0, 1], [2], [3, 4]]).within([1, 3, 4]).parts == [[1], [3, 4]]
