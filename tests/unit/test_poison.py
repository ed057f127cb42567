"""Which rows make a run fail: found by halves, or in order of arrival where rows hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Place
from headrace.queries.failing.culprits import culprits
from headrace.queries.failing.faults import fault_of, place_of
from headrace.queries.failing.poison import Poison

BAD = st.sets(st.integers(0, 30))


@given(st.integers(1, 31), BAD)
def test_every_bad_row_is_found_and_no_other(count: int, bad: set[int]) -> None:
    def fails(start: int, end: int, without: Sequence[int]) -> bool:
        return any(start <= each < end and each not in without for each in bad)

    due = sorted(each for each in bad if each < count)
    if due:
        assert culprits(count, fails, by_row=True, most=100) == due
    assert culprits(count, fails, by_row=False, most=100) == due


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(1, 12))
def test_row_that_breaks_a_sum_is_the_one_with_which_it_breaks(values: list[int], limit: int) -> None:
    def fails(start: int, end: int, without: Sequence[int]) -> bool:
        return sum(values[at] for at in range(start, end) if at not in without) > limit

    total, due = 0, list[int]()
    for at, value in enumerate(values):
        if total + value > limit:
            due.append(at)
        else:
            total += value
    assert culprits(len(values), fails, by_row=False, most=100) == due


def test_no_more_than_asked_for_are_sought() -> None:
    assert culprits(100, lambda start, end, _: end > start, by_row=True, most=3) == [0, 1, 2]


def test_rows_that_all_fail_are_found_by_short_runs() -> None:
    lengths: list[int] = []

    def fails(start: int, end: int, without: Sequence[int]) -> bool:
        lengths.append(end - start)
        return end - start > len(without)

    assert culprits(200_000, fails, by_row=False, most=500) == [*range(500)]
    short = [length for length in lengths if length < 200_000]
    assert len(lengths) - len(short) == 500 and max(short) <= 1_000 and len(short) <= 3 * 500


MESSAGE = """[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` instead. SQLSTATE: 22012
== SQL (line 9, position 18) ==
select order_id, total / quantity as unit_price
                 ^^^^^^^^^^^^^^^^
"""


def test_clause_of_a_fault_is_what_spark_marks() -> None:
    fault = fault_of(RuntimeError(f"Job aborted: ... {MESSAGE}"))
    assert fault is not None
    assert (fault.reason, fault.clause, fault.line, fault.column) == ("divide_by_zero", "total / quantity", 9, 18)
    assert fault_of(RuntimeError("[UNRESOLVED_COLUMN] x SQLSTATE: 42703")) is None


LONG_LINE = """[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== SQL (line 5, position 44) ==
...und(if(a.ccy = 'EUR', a.amount, a.amount / r.rate), 2) as decimal(18, 2)) as amou...
                                   ^^^^^^^^^^^^^^^^^
"""


def test_clause_far_into_a_line_is_found(project_files) -> None:
    text = """/*
Amounts.
*/
select
    cast(round(if(a.ccy = 'EUR', a.amount, a.amount / r.rate), 2) as decimal(18, 2)) as amount_eur
"""
    model = replace(project_files.load().models[0], text=text, inputs=())
    fault = fault_of(RuntimeError(LONG_LINE))
    assert fault is not None
    assert (fault.clause, place_of(fault, [model], {})) == ("a.amount / r.rate", Place(model.path, 5, 44))


def test_poison_is_written_down_and_read_again() -> None:
    found = Poison("gold.x", "r", "e", None, "x.sql:1:1", ((1, "t", 0, 7), (2, "t", 0, 8)))
    assert Poison.from_json(found.to_json()) == found
