"""The embedded broker as a real process: what it stores, what it survives, what it leaves."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.environment import kafka
from headrace.environment.broker import Broker, BrokerState, answers
from headrace.errors import EnvironmentFault
from tests.waiting import PATIENCE

pytestmark = pytest.mark.kafka

STARTER = """
import sys
from pathlib import Path
from headrace.environment.broker import Broker
broker = Broker(Path(sys.argv[1]))
print(broker.start(daemon=sys.argv[2] == "daemon").pid, flush=True)
input()
"""


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data directory whose broker, if any, is stopped in the end."""
    yield tmp_path / "broker data, ö"
    Broker(tmp_path / "broker data, ö").stop()


@pytest.fixture
def broker(data: Path) -> Broker:
    """A broker that runs, for one test."""
    made = Broker(data)
    made.start(daemon=False)
    return made


@pytest.fixture(scope="module")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared(shared_data: Path) -> Iterator[Broker]:
    """A broker that runs for all tests that leave it as it is."""
    made = Broker(shared_data)
    with made.running():
        yield made


def address(broker: Broker) -> str:
    bootstrap = broker.status().bootstrap
    assert bootstrap is not None
    return bootstrap


def make_topic(broker: Broker, name: str) -> None:
    client = AdminClient({"bootstrap.servers": address(broker)})
    client.create_topics([NewTopic(name, 1)])[name].result(PATIENCE)


def produce(broker: Broker, topic: str, value: str, timestamp: int = 0) -> None:
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": address(broker)})
    producer.produce(topic, value, timestamp=timestamp, on_delivery=lambda error, _: failures.append(error))
    producer.flush(PATIENCE)
    assert failures == [None]


def consume(broker: Broker, topic: str) -> str | None:
    """Return the first value of a topic, as a reader of committed records sees it."""
    settings = {"bootstrap.servers": address(broker), "group.id": "test", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    message = consumer.poll(PATIENCE)
    consumer.close()
    value = message.value() if message and not message.error() else None
    return value.decode() if value else None


def starter(data: Path, mode: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", STARTER, str(data), mode]
    return subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def killed_starter(data: Path, mode: str) -> psutil.Process:
    """Have another process start a broker, kill that process, and return the broker."""
    with starter(data, mode) as parent:
        assert parent.stdout is not None
        process = psutil.Process(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    return process


def test_restart_keeps_address_and_records(broker: Broker) -> None:
    before = broker.status()
    make_topic(broker, "orders")
    produce(broker, "orders", "kept")
    broker.stop()
    after = broker.start(daemon=False)
    assert after.bootstrap == before.bootstrap
    assert consume(broker, "orders") == "kept"


@pytest.mark.long
def test_killed_broker_starts_again_with_its_records(broker: Broker) -> None:
    make_topic(broker, "orders")
    produce(broker, "orders", "kept")
    process = psutil.Process(broker.status().pid)
    process.kill()
    process.wait(PATIENCE)
    assert broker.status().state == "stopped"
    broker.start(daemon=False)
    assert consume(broker, "orders") == "kept"


def test_second_start_leaves_the_first(shared: Broker, shared_data: Path) -> None:
    assert Broker(shared_data).start(daemon=True) == shared.status()


def test_block_stops_what_it_started(data: Path) -> None:
    with Broker(data).running() as state:
        assert state.state == "running"
    assert Broker(data).status() == BrokerState(state.bootstrap, None, "stopped")


def test_block_leaves_a_broker_that_was_up(shared: Broker, shared_data: Path) -> None:
    with Broker(shared_data).running():
        pass
    assert shared.status().state == "running"


def test_child_dies_with_its_killed_starter(data: Path) -> None:
    _, alive = psutil.wait_procs([killed_starter(data, "child")], timeout=PATIENCE)
    assert (alive, Broker(data).status().state) == ([], "stopped")


def test_daemon_outlives_its_killed_starter(data: Path) -> None:
    process = killed_starter(data, "daemon")
    assert Broker(data).status().pid == process.pid
    assert answers(address(Broker(data)), timeout=PATIENCE)


@pytest.mark.long
def test_stop_by_another_process_reaches_a_daemon(data: Path) -> None:
    process = killed_starter(data, "daemon")
    Broker(data).stop()
    _, alive = psutil.wait_procs([process], timeout=PATIENCE)
    assert alive == []


@pytest.mark.long
def test_stale_state_file_does_not_hinder(broker: Broker, data: Path) -> None:
    broker.stop()
    state = json.loads((data / "broker.json").read_text())
    (data / "broker.json").write_text(json.dumps({**state, "pid": os.getpid(), "state": "running"}))
    assert broker.start(daemon=False).pid != os.getpid()


@pytest.mark.long
def test_taken_port_is_left_to_its_owner(broker: Broker) -> None:
    make_topic(broker, "orders")
    produce(broker, "orders", "kept")
    before = address(broker)
    broker.stop()
    with socket.create_server((kafka.HOST, int(before.rpartition(":")[2]))):
        assert broker.start(daemon=False).bootstrap != before
    assert consume(broker, "orders") == "kept"


def test_broken_off_format_is_done_again(data: Path) -> None:
    (data / "logs.new").mkdir(parents=True)
    (data / "logs.new" / "meta.properties").write_text("vers")
    assert Broker(data).start(daemon=False).state == "running"


def test_unusable_log_directory_is_reported(data: Path) -> None:
    (data / "logs").mkdir(parents=True)
    (data / "logs" / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=7\n")
    with pytest.raises(EnvironmentFault, match=r"kafka\.log"):
        Broker(data).start(daemon=False)


def test_topics_are_not_made_by_asking(shared: Broker) -> None:
    client = AdminClient({"bootstrap.servers": address(shared), "allow.auto.create.topics": True})
    assert client.list_topics("other", timeout=PATIENCE).topics["other"].error is not None
    assert "other" not in client.list_topics(timeout=PATIENCE).topics


def test_records_of_any_time_are_taken(shared: Broker) -> None:
    make_topic(shared, "future")
    produce(shared, "future", "in ten years", timestamp=int((time.time() + 3650 * 86400) * 1000))
    assert consume(shared, "future") == "in ten years"


def test_only_committed_transactions_are_read(shared: Broker) -> None:
    make_topic(shared, "settled")
    producer = Producer({"bootstrap.servers": address(shared), "transactional.id": "test"})
    producer.init_transactions(PATIENCE)
    for value, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("settled", value)
        producer.flush(PATIENCE)
        end(PATIENCE)
    assert consume(shared, "settled") == "committed"
