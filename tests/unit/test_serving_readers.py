"""Reads in processes of their own: endless and greedy ones end, and others go on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from headrace.serving import replies
from headrace.serving.orders import Busy
from headrace.serving.readers import Readers
from headrace.serving.replies import Read, Reply
from headrace.serving.tables import Asked

if TYPE_CHECKING:
    from tests.unit.conftest import Store

ORDER_ID = "repeat('1,', 3000) as order_id"
MANY = "split(order_id, ',')"
ENDLESS = f"size(transform({MANY}, a -> size(transform({MANY}, b -> length(concat(a, b, order_id)))))) = 1"
"""It makes nine million texts of 6,000 characters, one after the other, so its memory stays small."""

GREEDY = "length(repeat(repeat(order_id, 1000), 1000)) = 1"


def acting(read: Read) -> Reply:
    """Do what the name of the table says."""
    if read.table == "endless":
        while True:
            pass
    if read.table == "greedy":
        return Reply(200, str(len(bytearray(2**30))))
    if read.table == "broken":
        raise RuntimeError("a fault of ours")
    return Reply(200, str(os.getpid()))


@contextmanager
def readers(answer: Any = acting, **options: Any) -> Iterator[Readers]:
    made = Readers(answer, **{"most": 1, "waiting": 5, "seconds": 60.0, "memory": 2**29, **options})
    try:
        yield made
    finally:
        made.close()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_process_is_used_again() -> None:
    async def twice(made: Readers) -> list[str]:
        return [(await made.read(Read("quick", Asked()))).body for _ in range(2)]

    with readers() as made:
        one, other = run(twice(made))
    assert one == other != str(os.getpid())


def test_endless_reads_stop_nobody() -> None:
    async def three(made: Readers) -> tuple[Reply, list[bool]]:
        endless = [asyncio.create_task(made.read(Read("endless", Asked()))) for _ in range(2)]
        quick = await made.read(Read("quick", Asked()))
        over = [each.done() for each in endless]
        made.close()
        await asyncio.gather(*endless)
        return quick, over

    with readers(most=3) as made:
        quick, over = run(three(made))
    assert (quick.status, over) == (200, [False, False])


def test_greedy_read_ends() -> None:
    async def both(made: Readers) -> list[Reply]:
        return [await made.read(Read(name, Asked(where="x"))) for name in ("greedy", "quick")]

    with readers() as made:
        greedy, quick = run(both(made))
    assert (greedy.status, quick.status) == (422, 200)
    assert '"where"' in greedy.body and "512 MiB" in greedy.body


def test_fault_of_ours_is_told_from_a_greedy_read() -> None:
    with readers() as made:
        assert run(made.read(Read("broken", Asked()))).status == 500


def test_reads_beyond_those_that_may_wait_are_refused() -> None:
    async def many(made: Readers) -> list[Any]:
        return await asyncio.gather(*(made.read(Read("endless", Asked())) for _ in range(4)), return_exceptions=True)

    with readers(waiting=1, seconds=0.5) as made:
        found = run(many(made))
    assert [type(each) for each in found].count(Busy) >= 2
    assert {each.status for each in found if isinstance(each, Reply)} == {504}


@pytest.mark.parametrize(("where", "seconds", "status"), [(ENDLESS, 2.0, 504), (GREEDY, 60.0, 422)])
def test_condition_of_a_user_is_stopped(store: Store, where: str, seconds: float, status: int) -> None:
    store.append("gold.order_checks", f"{ORDER_ID}, 'FRAUD' as check_type, 0 as _batch")
    read = Read("gold.order_checks", Asked(where=where))
    with readers(partial(replies.reply, store.project, store.layout), seconds=seconds, memory=2**30) as made:
        assert run(made.read(read)).status == status
