"""Where a test plays: the project on a broker and a data directory of its own, and its runner as a real process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from headrace.environment import guard
from headrace.environment.broker import Broker
from tests.kafka.oracle import Acked

PROJECT = Path(__file__).parents[2]
PATIENCE = 240.0
"""Seconds within which anything that is waited for must have come, on a machine that is busy with other things."""

Event = tuple[str, str | bytes | None, str | bytes | None]
"""Topic, key and value of a record to send."""


@dataclass(frozen=True)
class Sent:
    """A committed record as a reader finds it."""

    partition: int
    offset: int
    key: str | None
    value: Any


class Sender:
    """A producer that remembers what the broker has acknowledged, also over an outage."""

    def __init__(self, bootstrap: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0, "linger.ms": 2}
        self.acked: list[Acked] = []
        self._refused: list[KafkaError] = []
        self._producer = Producer({**settings, "message.timeout.ms": 300_000, "reconnect.backoff.max.ms": 500})

    def send(self, events: Iterable[Event], timestamp: int = 0) -> None:
        """Hand records over; their acknowledgement comes later."""
        for topic, key, value in events:
            self._producer.produce(topic, value, key, on_delivery=self._told, timestamp=timestamp)
            self._producer.poll(0)

    def flush(self) -> None:
        """Wait for every acknowledgement."""
        left = self._producer.flush(PATIENCE)
        assert (left, self._refused) == (0, [])

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error:
            self._refused.append(error)
            return
        place = (message.topic(), message.partition(), message.offset())
        self.acked.append(Acked(*place, message.key(), message.value(), message.timestamp()[1]))


@dataclass
class Stage:
    """The demo project of the checkout, run for the target `test`, on a broker of its own."""

    folder: Path
    broker: Broker
    bootstrap: str
    sender: Sender = field(init=False)
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        self.sender = Sender(self.bootstrap)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def acked(self) -> list[Acked]:
        return self.sender.acked

    def create(self, partitions: Mapping[str, int]) -> None:
        """Create topics."""
        wanted = [NewTopic(name, count) for name, count in partitions.items()]
        for made in self.admin.create_topics(wanted).values():
            made.result(30)

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def delete(self, topic: str) -> None:
        """Delete a topic and wait until the broker has forgotten it."""
        self.admin.delete_topics([topic])[topic].result(30)
        wait_for(lambda: topic not in self.admin.list_topics(timeout=10).topics, f"the end of {topic}")

    def send(self, events: Iterable[Event], timestamp: int = 0) -> None:
        """Send records and wait until all are acknowledged."""
        self.sender.send(events, timestamp)
        self.sender.flush()

    @contextmanager
    def sending(self, events: Iterator[Event]) -> Iterator[None]:
        """Send events all the time while the block lasts; at its end all of them are acknowledged."""
        over = threading.Event()

        def send() -> None:
            while not over.wait(0.2):
                self.sender.send(islice(events, 3))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.sender.flush()

    def committed(self, topic: str) -> list[Sent]:
        """Every committed record of a topic, each partition in its order."""
        return list(_read(self.bootstrap, topic))

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one headrace command to its end."""
        return subprocess.run(
            command(*words), env=self.environ, cwd=self.folder, capture_output=True, text=True, timeout=2 * PATIENCE
        )

    def rows(self, table: str, *words: str) -> list[dict[str, Any]]:
        """What `headrace show` tells of a table."""
        done = self.call("show", table, *words, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def process_all(self) -> None:
        """Run until all that has been sent is processed and published."""
        done = self.call("run", "--available-now")
        assert done.returncode == 0, done.stderr

    @contextmanager
    def runner(self, *words: str) -> Iterator[Runner]:
        """A runner for as long as the block lasts."""
        runner = Runner(self, words)
        try:
            yield runner
        finally:
            runner.close()

    def processes(self) -> list[psutil.Process]:
        """The JVMs that work on this stage's data; their command line names it."""
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if any(str(self.data_dir) in word for word in process.info["cmdline"] or [])
        ]

    @property
    def environ(self) -> dict[str, str]:
        paths = os.pathsep.join([str(PROJECT / "jobs"), os.environ.get("PYTHONPATH", "")])
        ours = {"HEADRACE_DATA_DIR": str(self.data_dir), "HEADRACE_KAFKA_BOOTSTRAP": self.bootstrap}
        return {**os.environ, **ours, "PYTHONPATH": paths}


class Runner:
    """`headrace run` as a child process, which ends with this one at the latest; its log is heard line by line."""

    def __init__(self, stage: Stage, words: Sequence[str]) -> None:
        self._stage = stage
        self._lines: list[str] = []
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            command("run", *words), env=stage.environ, cwd=stage.folder, stderr=subprocess.PIPE, text=True
        )
        self._leash = guard.tie(self.process.pid)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def said(self) -> str:
        return "\n".join(self._lines)

    def heard(self, pattern: str, times: int = 1) -> int:
        """Wait until so many log lines have matched since the start; the number that have."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while self._count(pattern) < times:
                assert self._listener.is_alive(), f"ended before it said {pattern}:\n{self.said}"
                assert self._news.wait(deadline - time.monotonic()), f"did not say {pattern}:\n{self.said}"
            return self._count(pattern)

    def count(self, pattern: str) -> int:
        """How many log lines have matched so far."""
        with self._news:
            return self._count(pattern)

    def kill(self) -> None:
        """End the process at once, as `kill -9` does, and wait until its JVM has followed."""
        self.process.kill()
        self.process.wait(PATIENCE)
        wait_for(lambda: not self._stage.processes(), "the end of the JVM")

    def stop(self, number: signal.Signals) -> int:
        """Ask the process to stop and return its exit code."""
        self.process.send_signal(number)
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait until the process ends by itself."""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.kill()
        self._leash.release()
        self._listener.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self._lines.append(line.rstrip())
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, line)) for line in self._lines)


def command(*words: str) -> list[str]:
    """A headrace command on the project of the checkout."""
    return [sys.executable, "-m", "headrace", "-C", str(PROJECT), "-t", "test", *words]


def wait_for(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} has not come"
        pause(0.05)


def pause(seconds: float) -> None:
    """Let a moment pass: what is awaited has no event of its own, or the moment itself is what is tested."""
    threading.Event().wait(seconds)


def _read(bootstrap: str, topic: str) -> Iterator[Sent]:
    settings = {"group.id": "reader", "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings, "enable.partition.eof": True, "log_level": 0})
    try:
        found = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in found])
        unread = set(found)
        while unread:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{topic} cannot be read"
            if message.error():
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                unread.discard(message.partition())
            else:
                key, value = message.key(), message.value()
                text = None if key is None else key.decode()
                yield Sent(message.partition(), message.offset(), text, None if value is None else json.loads(value))
    finally:
        consumer.close()
