"""Kafka client properties as Java names them, told to librdkafka, which names some of them otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_RENAMED = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
}

_JAVA_ONLY = frozenset(
    {
        "ssl.truststore.type",
        "ssl.truststore.password",
        "ssl.keystore.type",
        "max.poll.records",
        "max.partition.fetch.bytes",
        "default.api.timeout.ms",
        "client.dns.lookup",
        "sasl.login.callback.handler.class",
        "isolation.level",
        "group.id",
    }
)
"""Properties that mean something to Spark's consumers alone."""

_JAAS_PAIR = re.compile(r"\b(username|password)\s*=\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|'([^']*)')")


def translated(options: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as librdkafka takes them; what only Java's consumers know is left out."""
    return dict(pair for name, value in options.items() for pair in _translated(name, value))


def _translated(name: str, value: str) -> Iterator[tuple[str, str]]:
    if name == "sasl.jaas.config":
        for key, double, single in _JAAS_PAIR.findall(value):
            yield f"sasl.{key}", double or single
    elif name == "ssl.keystore.location":  # a PEM store holds the chain and the key in one file
        yield "ssl.certificate.location", value
        yield "ssl.key.location", value
    elif name not in _JAVA_ONLY:
        yield _RENAMED.get(name, name), value
