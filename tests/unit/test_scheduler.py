"""Who may run when: some at a time, in the order of asking, and nobody waits forever."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.queries.scheduler import Scheduler
from tests.waiting import PATIENCE, wait_for


def test_only_some_run_at_once() -> None:
    scheduler, lock, running, most = Scheduler(2, PATIENCE), threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def work(_: int) -> None:
        nonlocal running, most
        with scheduler.slot():
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
def test_slots_go_by_rank_and_then_in_the_order_of_asking(ranks: Sequence[int], due: list[int]) -> None:
    scheduler, order, threads = Scheduler(1, PATIENCE), list[int](), []

    def work(number: int) -> None:
        with scheduler.slot(ranks[number]):
            order.append(number)

    with scheduler.slot():
        for number in range(len(ranks)):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            wait_for(lambda: len(scheduler._waiting) == len(threads), "the thread in the queue")
    for thread in threads:
        thread.join(PATIENCE)
    assert order == due


def test_those_before_keep_nobody_waiting_forever() -> None:
    scheduler, stop = Scheduler(1, 0.05), threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            with scheduler.slot(0):
                stop.wait(0.001)

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    with scheduler.slot(2):
        stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (scheduler._free, len(scheduler._waiting)) == (1, 0)


def test_whoever_waited_too_long_goes_without() -> None:
    scheduler = Scheduler(1, 0.01)
    with scheduler.slot(), scheduler.slot(), scheduler.slot():
        pass
    assert (scheduler._free, len(scheduler._waiting)) == (1, 0)


def test_failure_gives_the_slot_back() -> None:
    scheduler = Scheduler(1, PATIENCE)
    with pytest.raises(ValueError), scheduler.slot():
        raise ValueError
    with scheduler.slot():
        assert scheduler._free == 0
