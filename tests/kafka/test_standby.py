"""A runner on standby, while another one is at work and after its death."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack

import pytest

from tests.kafka.events import made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS
from tests.kafka.stage import Stage
from tests.waiting import wait_for

pytestmark = pytest.mark.kafka

SECONDS = 30
"""Within this time after the death of the other one, the runner on standby has taken over."""


def test_runner_on_standby_takes_over(stage: Stage) -> None:
    stage.create({ORDERS: 1, MANUFACTURED: 1})
    with ExitStack() as running:
        holder = running.enter_context(stage.runner("--select", "shipping"))
        holder.heard(" started ")
        other = running.enter_context(stage.runner("--select", "shipping", "--standby"))
        other.heard(rf"^headrace: waiting for .*: pid {holder.process.pid} on .* holds it$")
        holder.process.kill()
        holder.process.wait()
        killed_at = time.monotonic()
        other.heard(" starting ")
        seconds = time.monotonic() - killed_at
        stage.send([order("late", 1), made("late", 1)])
        wait_for(lambda: [record.key for record in stage.committed("shipping")] == ["late"], "the order")
        assert (seconds < SECONDS, other.stop(signal.SIGTERM)) == (True, 143), other.output
