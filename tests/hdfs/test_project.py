"""A project whose data are on HDFS: micro-batches, the streaming engine, a second machine, edits, a backup.

Every command is a process of its own. The tests follow one another.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.store.paths import path_of
from tests.hdfs.cluster import HdfsCluster, serving
from tests.kafka.events import made, order
from tests.s3.project import Machine, Site, Store, site
from tests.s3.story import RUN, TOPICS, continued, sent, shipped
from tests.waiting import wait_for

pytest.importorskip("hdfs_native", reason="hdfs-native is an extra, which is not installed here")

pytestmark = [pytest.mark.long, pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with serving(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, hdfs: HdfsCluster) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), Store(f"{hdfs.url}/lake/shop", {})) as found:
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


def test_commands_read_the_store(started: Site, moved: Machine) -> None:
    elsewhere = started.machine("reader")
    assert elsewhere.rows("sql", "select count(*) as n from gold.shipment_ready") == [{"n": 3}]
    assert elsewhere.call("plan").returncode == 0
    assert json.loads(elsewhere.done("status", "--json"))["project"]["state"] == "stopped"
    assert "can be read and written" in elsewhere.done("doctor")


def test_rebuild_takes_the_place_of_what_runs(started: Site, moved: Machine) -> None:
    moved.done("rebuild", "shipping")
    moved.done("rebuild", "shipping", "--swap", "--keep", "0")
    assert shipped(moved) == ["a", "b", "c"]
    started.cluster.send([order("d", 1), made("d", 1)])
    moved.done(*RUN)
    assert (shipped(moved), sent(started)) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])


def test_backup_on_a_disk_is_restored(started: Site, moved: Machine, tmp_path: Path) -> None:
    calls = moved.rows("show", "gold.calls")
    moved.done("maintain")
    moved.done("backup", str(tmp_path / "copy"))
    moved.done("reset", "calls", "--yes")
    assert moved.rows("show", "gold.calls") == []
    moved.done("restore", str(tmp_path / "copy"), "--replace", "--publish", "skip")
    assert (shipped(moved), moved.rows("show", "gold.calls")) == (["a", "b", "c", "d"], calls)


def ship(started: Site, name: str) -> None:
    """An order and its product are sent, and must come out."""
    started.cluster.send([order(name, 1), made(name, 1)])
    wait_for(lambda: name in sent(started), f"the order {name}", every=0.5)


def test_runner_on_standby_takes_over_from_one_that_is_killed(started: Site, moved: Machine) -> None:
    with moved.runner("--select", "shipping") as first:
        ship(started, "e")
        with started.machine("third").runner("--select", "shipping", "--standby") as second:
            second.heard(rf"^headrace: waiting for hdfs://.*: pid {first.process.pid} on .* holds it$")
            first.process.kill()
            second.heard(" starting ")
            ship(started, "f")
            assert second.stop(signal.SIGTERM) == 143, second.output
    assert sent(started) == ["a", "b", "c", "d", "e", "f"]


def test_little_is_left_beside_tables(hdfs: HdfsCluster, moved: Machine) -> None:
    """One version of the lease, and no more drafts than the runner that was killed can have left."""
    store = path_of(f"{hdfs.url}/lake/shop")
    assert len([*(store / "locks" / "lease.json").glob("*")]) == 1
    assert len([*store.glob("**/.*.tmp")]) <= 2
