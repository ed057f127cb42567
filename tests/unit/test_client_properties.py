"""Kafka client properties told to librdkafka."""

from confluent_kafka.admin import AdminClient

from headrace.reading.client_properties import translated

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ana" password="p w";'


def test_jaas_becomes_name_and_password() -> None:
    found = translated({"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM})

    assert found == {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "ana", "sasl.password": "p w"}


def test_truststore_becomes_ca_file() -> None:
    assert translated({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}) == {
        "ssl.ca.location": "/ca.pem"
    }


def test_consumer_settings_of_java_are_left_out() -> None:
    assert translated({"max.poll.records": "10", "isolation.level": "read_uncommitted"}) == {}


def test_librdkafka_takes_a_secured_client() -> None:
    options = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": SCRAM}

    client = AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 2, **translated(options)})

    assert client is not None
