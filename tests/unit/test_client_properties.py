"""Kafka client properties: which can be used, and how they are translated for librdkafka."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from headrace.project.kafka_options.client_names import JAVA_ALONE, LIBRDKAFKA
from headrace.project.kafka_options.client_properties import KNOWN, refused, translated

SCRAM = r'org.apache.kafka.common.security.scram.ScramLoginModule required username="ana" password="p \"w\\";'
NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 2}
JAVA = {
    "acks": "1",
    "allow.auto.create.topics": "true",
    "auto.commit.interval.ms": "5000",
    "auto.include.jmx.reporter": "true",
    "auto.offset.reset": "none",
    "batch.size": "0",
    "buffer.memory": "33554432",
    "check.crcs": "true",
    "client.dns.lookup": "use_all_dns_ips",
    "client.id": "",
    "client.rack": "",
    "compression.gzip.level": "-1",
    "compression.type": "zstd",
    "connections.max.idle.ms": "-1",
    "default.api.timeout.ms": "60000",
    "delivery.timeout.ms": "120000",
    "enable.auto.commit": "true",
    "enable.idempotence": "false",
    "enable.metrics.push": "TRUE",
    "exclude.internal.topics": "true",
    "fetch.max.bytes": "1000",
    "fetch.max.wait.ms": "900000",
    "fetch.min.bytes": "0",
    "group.id": "g",
    "group.instance.id": "i",
    "group.protocol": "CONSUMER",
    "group.remote.assignor": "uniform",
    "heartbeat.interval.ms": "3000",
    "interceptor.classes": "org.example.Interceptor",
    "isolation.level": "read_uncommitted",
    "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    "linger.ms": "5",
    "max.block.ms": "60000",
    "max.in.flight.requests.per.connection": "10",
    "max.partition.fetch.bytes": "0",
    "max.poll.interval.ms": "3000",
    "max.poll.records": "500",
    "max.request.size": "0",
    "metadata.max.age.ms": "9223372036854775807",
    "metadata.max.idle.ms": "300000",
    "metadata.recovery.strategy": "REBOOTSTRAP",
    "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
    "metrics.num.samples": "2",
    "metrics.recording.level": "INFO",
    "metrics.sample.window.ms": "30000",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
    "receive.buffer.bytes": "-1",
    "reconnect.backoff.max.ms": "1000",
    "reconnect.backoff.ms": "20000",
    "request.timeout.ms": "30000",
    "retries": "0",
    "retry.backoff.max.ms": "1000",
    "retry.backoff.ms": "0",
    "sasl.login.refresh.window.factor": "0.8",
    "security.protocol": "plaintext",
    "security.providers": "org.example.Provider",
    "send.buffer.bytes": "-1",
    "session.timeout.ms": "45000",
    "socket.connection.setup.timeout.max.ms": "30000",
    "socket.connection.setup.timeout.ms": "1",
    "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "ssl.endpoint.identification.algorithm": "",
    "ssl.protocol": "TLSv1.3",
    "transaction.timeout.ms": "900000",
    "transactional.id": "t",
    "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
}
"""Properties of Java's clients, many with a value that only they take."""


def test_jaas_becomes_name_and_password() -> None:
    found = translated({"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM})

    assert found == {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "ana", "sasl.password": 'p "w\\'}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"receive.buffer.bytes": "65536"}, {"socket.receive.buffer.bytes": "65536"}),
        ({"send.buffer.bytes": "-1"}, {"socket.send.buffer.bytes": "0"}),
        ({"fetch.max.wait.ms": "20"}, {"fetch.wait.max.ms": "20"}),
        ({"max.request.size": "2000000"}, {"message.max.bytes": "2000000"}),
        ({"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": "32768"}),
        ({"retry.backoff.ms": "0"}, {"retry.backoff.ms": "1"}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"client.id": "x", "ssl.key.password": "y"}, {"client.id": "x", "ssl.key.password": "y"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}, {"ssl.ca.location": "/ca.pem"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "-"}, {"ssl.ca.pem": "-"}),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k.pem"},
            {"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "-", "ssl.keystore.key": "+"},
            {"ssl.certificate.pem": "-", "ssl.key.pem": "+"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"},
        ),
        (
            {"ssl.truststore.location": "/ca.jks", "ssl.truststore.password": "x", "ssl.ca.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
        ),
    ],
)
def test_properties_become_those_of_librdkafka(options: dict[str, str], expected: dict[str, str]) -> None:
    assert (translated(options), [*refused(options)]) == (expected, [])


@pytest.mark.parametrize(
    "name",
    [
        "max.poll.records",
        "isolation.level",
        "ssl.enabled.protocols",
        "interceptor.classes",
        "metric.reporters",
        "key.deserializer",
        "group.id",
        "session.timeout.ms",
        "acks",
        "reconnect.backoff.ms",
        "ssl.cipher.suites",
    ],
)
def test_what_our_clients_do_without_is_left_out(name: str) -> None:
    assert translated({name: JAVA[name]}) == {}


def test_clients_are_made_with_whatever_java_takes() -> None:
    options = {**NOWHERE, **translated(JAVA)}
    published = {"transactional.id": "x", "enable.idempotence": True, "transaction.timeout.ms": 60_000}
    tailed = {"group.id": "x", "reconnect.backoff.max.ms": 1000, "isolation.level": "read_committed"}

    assert [*refused(JAVA)] == []
    AdminClient(options)
    Producer({**options, **published})
    Consumer({**options, **tailed}).close()


@pytest.mark.parametrize("value", ["-9999999999", "9999999999"])
def test_numbers_are_brought_into_the_range_of_librdkafka(value: str) -> None:
    numbers = {name: value for name in KNOWN & JAVA.keys() if JAVA[name].lstrip("-").isdigit()}

    Consumer({**NOWHERE, "group.id": "x", **translated(numbers)}).close()


def test_librdkafka_takes_a_secured_client() -> None:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM}

    assert AdminClient({**NOWHERE, **translated(options)}) is not None


@pytest.mark.parametrize(
    ("options", "name", "advice"),
    [
        ({"isolation.level": "read_comitted"}, "isolation.level", "Did you mean read_committed?"),
        ({"isolation.level": "READ_COMMITTED"}, "isolation.level", "`read_uncommitted`"),
        ({"security.protocol": "SASL_SLL"}, "security.protocol", "Did you mean SASL_SSL?"),
        ({"security.protocol": "sasl_sll"}, "security.protocol", "Did you mean SASL_SSL?"),
        ({"sasl.mechanism": "SCRAM-SHA512"}, "sasl.mechanism", "Did you mean SCRAM-SHA-512?"),
        ({"sasl.mechanism": "scram-sha-256"}, "sasl.mechanism", "Did you mean SCRAM-SHA-256?"),
        ({"auto.offset.reset": "earlyest"}, "auto.offset.reset", "Did you mean earliest?"),
        ({"ssl.endpoint.identification.algorithm": "none"}, "ssl.endpoint.identification.algorithm", "empty"),
        ({"session.timeout.ms": "6s"}, "session.timeout.ms", "whole number"),
        ({"max.poll.records": "many"}, "max.poll.records", "whole number"),
        ({"sasl.jaas.config": SCRAM.rstrip(";")}, "sasl.jaas.config", "`;` is missing"),
        ({"sasl.jaas.config": ""}, "sasl.jaas.config", "begins with"),
        ({"ssl.truststore.location": "/ca.jks"}, "ssl.truststore.location", "`ssl.truststore.type` to PEM,"),
        (
            {"ssl.keystore.location": "/k.jks", "ssl.keystore.type": "JKS"},
            "ssl.keystore.location",
            "PEM or PKCS12, or give them `ssl.certificate.location`",
        ),
        ({"bootstrap.servers": "h:1"}, "bootstrap.servers", "`kafka.bootstrap` instead"),
        ({"sasl.mechanisms": "PLAIN"}, "sasl.mechanisms", "`kafka.options.sasl.mechanism` instead"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, str], name: str, advice: str) -> None:
    (found,) = refused(options)
    assert (found[0], advice in found[1]) == (name, True), found


def test_names_are_those_that_librdkafka_knows() -> None:
    ours = {"receive.buffer.bytes", "fetch.max.wait.ms", "ssl.truststore.type", "interceptor.classes"}

    assert {name for name in LIBRDKAFKA if not _taken(name)} == set()
    assert {name for name in JAVA_ALONE if _taken(name)} == set()
    assert ours <= JAVA_ALONE and JAVA.keys() <= KNOWN


def _taken(name: str) -> bool:
    """Whether librdkafka accepts a property: the next one, which it does not know, keeps a client from starting."""
    with pytest.raises(KafkaException) as caught:
        Producer({name: "", "no.such": ""})
    reason = caught.value.args[0].str()
    return not any(sign in reason for sign in (f'No such configuration property: "{name}"', "dedicated", "Java "))
