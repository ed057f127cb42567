"""A runner that is killed again and again in the middle of its work, while records keep coming."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator

import pytest

from tests.kafka import oracle, outcome
from tests.kafka.events import load, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.runner import Runner
from tests.kafka.stage import Stage
from tests.long import long
from tests.waiting import pause, wait_for

pytestmark = pytest.mark.kafka

SYSTEMS = (("shipping", "sales"), ("shipping",), ("sales",))
"""What runs between kills, alternately."""


def fates(chance: random.Random, stage: Stage, kills: int) -> Iterator[Runner]:
    """Runners, each at the moment of its death: the first while it makes the tables, the others in their work.

    Lines are logged after a step, so for whoever waits for one the next step begins there.
    """
    for number in range(kills):
        systems = SYSTEMS[number % len(SYSTEMS)]
        work = (" landed ", " published ", *(f" batch .*query={system} " for system in systems))
        with stage.runner(*(word for system in systems for word in ("--select", system))) as runner:
            if number == 0:
                wait_for((stage.data_dir / "tables").exists, "the first table")
            else:
                runner.heard(chance.choice(work), times=chance.randint(1, 3))
            pause(chance.uniform(0, 0.6))
            yield runner


@pytest.mark.parametrize("kills", [long(4), long(12)])
def test_kills_lose_and_repeat_nothing(stage: Stage, kills: int) -> None:
    seed = int(os.environ.get("HEADRACE_TEST_SEED", time.time_ns() % 10_000))
    print(f"HEADRACE_TEST_SEED={seed}")
    stage.create({ORDERS: 2, MANUFACTURED: 1, SALES: 2})
    with stage.sending(load(seed)):
        for runner in fates(random.Random(seed), stage, kills):
            runner.kill()
    stage.send([sale("closing", 1)], timestamp=int(time.time() * 1000) + 3 * oracle.MINUTE_MS)
    stage.process_all()
    assert outcome.found(stage) == outcome.expected(stage.acked)
