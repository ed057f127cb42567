"""A project whose data are on S3: what one machine has begun another goes on with, and nothing is lost or done twice.

Every command is a process of its own. The tests follow one another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.kafka.events import made, order
from tests.s3.project import Machine, Site, in_bucket, site
from tests.s3.server import S3Server, serving
from tests.s3.story import AT, RUN, TOPICS, continued, sent, shipped

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

MOST_REQUESTS = 15
"""Of a batch of shipping, which writes two tables."""

OTHERS = re.compile(r"(HEAD|GET) .*/shipment_ready/_delta_log|calls|call_|status.json")
"""Requests of the publisher, of the other domain and of the runner, which come in between."""


def of_last_batch(requests: Sequence[str]) -> list[str]:
    """The requests from the record of a batch's inputs to the note that it is finished, but for those of others."""
    begins = [at for at, line in enumerate(requests) if re.search(r"PUT .*/shipping/inputs/\d+\.json", line)]
    batch = requests[begins[-1] :]
    ends = next(at for at, line in enumerate(batch) if line.endswith("/inputs/finished"))
    return [line for line in batch[: ends + 1] if not OTHERS.search(line)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with serving(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, server: S3Server) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), in_bucket(server)) as found:
        found.cluster.create(TOPICS)
        yield found


@pytest.fixture(scope="module")
def moved(started: Site) -> Machine:
    return continued(started)


def test_every_order_is_shipped_once(started: Site, moved: Machine) -> None:
    assert shipped(moved) == ["a", "b", "c"]
    assert sent(started) == ["a", "b", "c"]


def test_state_of_the_streaming_engine_is_on_the_store(started: Site, moved: Machine) -> None:
    call = started.cluster.committed("outputTopic")[0]
    assert (call.value["analytics"], call.value["metrics"]) == ("x", "x")


def test_batch_takes_few_requests(server: S3Server, moved: Machine) -> None:
    batch = of_last_batch(server.requests())
    assert len(batch) <= MOST_REQUESTS, batch


def test_commands_read_the_store(started: Site, moved: Machine) -> None:
    elsewhere = started.machine("reader")
    assert elsewhere.rows("sql", "select count(*) as n from gold.shipment_ready") == [{"n": 3}]
    assert [group["reason"] for group in elsewhere.rows("dead-letters")] == ["not_json"]
    assert elsewhere.call("plan").returncode == 0
    status = json.loads(elsewhere.done("status", "--json"))
    assert status["project"]["state"] == "stopped" and len(status["queries"]) > 3
    assert "store" in elsewhere.done("doctor")


@pytest.mark.long
def test_commands_with_spark_read_the_store(started: Site, moved: Machine) -> None:
    elsewhere = started.machine("other")
    assert elsewhere.rows("dead-letters", "replay") == [{"replayed": 0, "refused": {"not_json": 1}, "next_run": {}}]
    assert "gold.sales_per_minute: streaming table" in elsewhere.done("export", "sdp", "pipeline")


@pytest.mark.long
def test_rebuild_takes_the_place_of_what_runs(started: Site, moved: Machine) -> None:
    moved.done("rebuild", "shipping")
    (difference,) = moved.rows("diff", "gold.shipment_ready")
    assert (difference["rows_running"], difference["same"]) == (3, True)
    moved.done("rebuild", "shipping", "--swap", "--keep", "0")
    assert shipped(moved) == ["a", "b", "c"]
    started.cluster.send([order("d", 1), made("d", 1)])
    moved.done(*RUN)
    assert (shipped(moved), sent(started)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])


@pytest.mark.long
def test_reset_begins_anew_and_sends_nothing_twice(started: Site, moved: Machine) -> None:
    for query in ("shipping", "calls"):
        moved.done("reset", query, "--yes")
    assert (shipped(moved), moved.rows("show", "gold.calls")) == ([], [])
    moved.done(*RUN)
    calls = [call.value["ts"] for call in started.cluster.committed("outputTopic")]  # the lone half too, in its time
    assert calls[:1] == [AT] and len({*calls}) == len(calls) == len(moved.rows("show", "gold.calls"))
    assert (shipped(moved), sent(started)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])
