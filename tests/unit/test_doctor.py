"""What the doctor finds, and that it advises what to do."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.environment import doctor, jars
from headrace.environment.doctor import Check, Facts
from headrace.environment.java import Java
from headrace.errors import EnvironmentFault
from headrace.project.kafka_options.topic_names import PROGRESS_SETTINGS


def with_java(monkeypatch: pytest.MonkeyPatch, major: int, *names: str) -> None:
    monkeypatch.setattr(doctor, "find_java", lambda: Java(Path("/jvm/bin/java"), major))
    monkeypatch.setattr(doctor, "modules", lambda java: frozenset(names))


def test_every_check_answers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_java(monkeypatch, 17, "jdk.incubator.vector")
    names = [check.name for check in doctor.diagnose(Facts(tmp_path))]
    assert names == [
        *("python", "java", "jars", "ports", "broker", "progress", "store", "positions", "disk", "memory", "time zone")
    ]


def test_what_is_not_right_has_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_java(monkeypatch, 21)
    monkeypatch.setattr(jars, "user_cache_path", lambda name: tmp_path)
    checks = doctor.diagnose(Facts(tmp_path))
    assert {check.name for check in checks if check.ok is not True and not check.fix} == set()


def test_positions_that_are_ahead_are_named(tmp_path: Path) -> None:
    found = doctor.positions(Facts(tmp_path, ahead=("shipping has read too much",)))
    assert (found.ok, found.detail) == (False, "shipping has read too much")
    assert doctor.positions(Facts(tmp_path)).ok


@pytest.mark.parametrize(
    ("major", "names", "ok"),
    [(17, ["jdk.incubator.vector"], True), (25, ["jdk.incubator.vector"], None), (21, ["java.base"], False)],
)
def test_java_needs_the_vector_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, major: int, names: list[str], ok: bool | None
) -> None:
    with_java(monkeypatch, major, *names)
    assert doctor.java(Facts(tmp_path)).ok is ok


def test_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_java() -> Java:
        raise EnvironmentFault("No Java on the PATH.")

    monkeypatch.setattr(doctor, "find_java", no_java)
    assert doctor.java(Facts(tmp_path)).ok is False


def test_missing_jars_ask_for_setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "user_cache_path", lambda name: tmp_path)
    found = doctor.jar_files(Facts(tmp_path))
    assert (found.ok, "headrace setup" in found.fix) == (False, True)


def test_jars_that_nobody_asks_for_may_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "damaged", lambda name: jars.locked(name) if name == "s3" else ())
    found = [doctor.jar_files(Facts(tmp_path, jar_sets=sets)) for sets in (jars.ALWAYS, (*jars.ALWAYS, "s3"))]
    assert [(check.ok, check.detail.split()[0]) for check in found] == [(True, "58"), (False, "38")]


def test_port_taken_by_another_is_a_warning(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        state = {"port": port, "controller_port": port, "pid": None}
        (tmp_path / "broker").mkdir()
        (tmp_path / "broker" / "broker.json").write_text(json.dumps(state))
        assert doctor.ports(Facts(tmp_path)).ok is None


def test_stopped_embedded_broker_is_a_warning(tmp_path: Path) -> None:
    assert doctor.broker(Facts(tmp_path)).ok is None


SECURED = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required username=ana password=x;",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "ca.pem",
    "max.poll.records": "10",
}


class FakeClient:
    """Takes what librdkafka would take."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.__class__.config = config

    def list_topics(self, timeout: float) -> None:
        """It answers."""


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of what takes connections and speaks no Kafka."""
    monkeypatch.setattr(doctor, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_silent_broker_of_the_target_is_wrong(tmp_path: Path, silent: str) -> None:
    found = doctor.broker(Facts(tmp_path, silent))
    assert (found.ok, found.detail.startswith(f"{silent} does not answer: ")) == (False, True)


def test_answering_broker_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "AdminClient", FakeClient)
    assert doctor.broker(Facts(tmp_path, "kafka.example:9092")) == Check("broker", True, "kafka.example:9092 answers")


def test_secured_broker_is_asked_by_librdkafkas_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "AdminClient", FakeClient)
    assert doctor.broker(Facts(tmp_path, "kafka.example:9092", SECURED)).ok
    configured = {name: value for name, value in FakeClient.config.items() if name.startswith(("sasl", "ssl", "max"))}
    assert configured == {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ana",
        "sasl.password": "x",
        "ssl.ca.location": "ca.pem",
    }


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:1", "embedded"])
def test_options_that_make_no_client_are_reported(tmp_path: Path, bootstrap: str) -> None:
    missing = {**SECURED, "ssl.truststore.location": str(tmp_path / "ca.pem")}
    found = doctor.broker(Facts(tmp_path, bootstrap, missing))
    assert (found.ok, found.fix) == (False, "Correct `kafka.options` in conf/.")
    assert found.detail.startswith("`kafka.options` cannot be used: ") and "ssl.ca.location" in found.detail


def test_options_that_the_broker_refuses_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "ANSWER_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_speak_plainly, args=(server,), daemon=True).start()
        found = doctor.broker(Facts(tmp_path, f"127.0.0.1:{server.getsockname()[1]}", {"security.protocol": "SSL"}))
    assert (found.ok, found.fix) == (False, "Correct `kafka.options` in conf/.")


def _speak_plainly(server: socket.socket) -> None:
    """Answer as a listener without TLS does."""
    with suppress(OSError):
        while True:
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


GOOD = dict(PROGRESS_SETTINGS)


@pytest.mark.parametrize(
    ("settings", "ok", "fix"),
    [
        (GOOD, True, ""),
        ({**GOOD, "segment.bytes": "1000000", "min.cleanable.dirty.ratio": "0.05"}, True, ""),
        ({**GOOD, "segment.bytes": "1073741824"}, None, "--add-config segment.bytes=1048576`."),
        ({**GOOD, "cleanup.policy": "delete"}, False, "--add-config cleanup.policy=compact`."),
        ({**GOOD, "cleanup.policy": "compact,delete"}, False, "--add-config cleanup.policy=compact`."),
        (None, True, ""),
    ],
)
def test_topic_of_progress_must_be_compacted_and_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str] | None, ok: bool | None, fix: str
) -> None:
    class Configured(FakeClient):
        def describe_configs(self, asked: list[Any], request_timeout: float) -> dict[Any, Any]:
            return {asked[0]: self}

        def result(self, timeout: float) -> dict[str, Any]:
            if settings is None:
                raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
            return {name: SimpleNamespace(value=value) for name, value in settings.items()}

    monkeypatch.setattr(doctor, "AdminClient", Configured)
    found = doctor.progress(Facts(tmp_path, "kafka.example:9092", progress_topic="headrace-progress_dev"))
    assert (found.ok, "headrace-progress_dev" in found.detail, found.fix.endswith(fix)) == (ok, True, True)


@pytest.mark.parametrize(("free", "ok"), [(doctor.ENOUGH_DISK, True), (doctor.ENOUGH_DISK - 1, False)])
def test_disk_needs_two_gib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, ok: bool) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert doctor.disk(Facts(tmp_path / "not" / "yet" / "there")).ok is ok


@pytest.mark.parametrize(("available", "ok"), [(doctor.ENOUGH_MEMORY, True), (doctor.ENOUGH_MEMORY - 1, None)])
def test_little_memory_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, available: int, ok: bool | None
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=available))
    assert doctor.memory(Facts(tmp_path)).ok is ok
