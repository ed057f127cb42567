"""Who may run when: some at a time, in the order of asking, and nobody waits forever."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.queries.turns import Turns
from tests.waiting import PATIENCE, wait_for


def test_only_some_run_at_once() -> None:
    turns, lock, running, most = Turns(2, PATIENCE), threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def work(_: int) -> None:
        nonlocal running, most
        with turns.taken():
            with lock:
                running += 1
                most = max(most, running)
            together.wait(PATIENCE)  # two are let in, or this would break
            with lock:
                running -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(20)))
    assert most == 2


@pytest.mark.parametrize(
    ("ranks", "due"),
    [((0, 0, 0, 0, 0), [0, 1, 2, 3, 4]), ((2, 1, 2, 0, 1, 0), [3, 5, 1, 4, 0, 2])],
    ids=["all the same", "some before others"],
)
def test_turns_go_by_rank_and_then_in_the_order_of_asking(ranks: Sequence[int], due: list[int]) -> None:
    turns, order, threads = Turns(1, PATIENCE), list[int](), []

    def work(number: int) -> None:
        with turns.taken(ranks[number]):
            order.append(number)

    with turns.taken():
        for number in range(len(ranks)):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            wait_for(lambda: len(turns._waiting) == len(threads), "the thread in the queue")
    for thread in threads:
        thread.join(PATIENCE)
    assert order == due


def test_those_before_keep_nobody_waiting_forever() -> None:
    turns, stop = Turns(1, 0.05), threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            with turns.taken(0):
                stop.wait(0.001)

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    with turns.taken(2):
        stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (turns._free, len(turns._waiting)) == (1, 0)


def test_whoever_waited_too_long_goes_without() -> None:
    turns = Turns(1, 0.01)
    with turns.taken(), turns.taken(), turns.taken():
        pass
    assert (turns._free, len(turns._waiting)) == (1, 0)


def test_failure_gives_the_turn_back() -> None:
    turns = Turns(1, PATIENCE)
    with pytest.raises(ValueError), turns.taken():
        raise ValueError
    with turns.taken():
        assert turns._free == 0
