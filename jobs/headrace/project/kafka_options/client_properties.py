"""Kafka client properties as Java names them: which can be used, and how they are translated for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from headrace.errors import did_you_mean
from headrace.project.kafka_options import jaas
from headrace.project.kafka_options.client_names import JAVA_ALONE, LIBRDKAFKA

KNOWN = JAVA_ALONE | LIBRDKAFKA

_RENAMED = {
    "buffer.memory": "queue.buffering.max.kbytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}

# fmt: off
_SPARKS = frozenset(
    (
        "auto.commit.interval.ms", "auto.offset.reset", "enable.auto.commit", "fetch.max.bytes", "fetch.min.bytes",
        "group.id", "group.instance.id", "group.protocol", "group.remote.assignor", "heartbeat.interval.ms",
        "isolation.level", "max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records",
        "partition.assignment.strategy", "session.timeout.ms", "share.acknowledgement.mode", "ssl.cipher.suites",
    )
)
"""What librdkafka has too, but our clients do not need: they join no group and read little; ciphers are OpenSSL's."""

_OURS = frozenset(
    (
        "acks", "auto.commit.enable", "delivery.timeout.ms", "enable.auto.offset.store", "enable.idempotence",
        "enable.partition.eof", "max.in.flight", "max.in.flight.requests.per.connection", "message.send.max.retries",
        "message.timeout.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.required.acks", "retries",
        "transaction.timeout.ms", "transactional.id",
    )
)
"""What our clients set as they need it: with other values, librdkafka refuses to create some of them."""

_LEFT_OUT = (JAVA_ALONE - _RENAMED.keys()) | _SPARKS | _OURS | {"ssl.keystore.location", "ssl.keystore.password"}

_STORES = (
    ("ssl.truststore", ("PEM",), ("ssl.ca.location", "ssl.ca.pem")),
    ("ssl.keystore", ("PEM", "PKCS12"), ("ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location")),
)
"""Java's stores, the types that librdkafka reads, and its own properties in their place."""

_INSTEAD = {
    "bootstrap.servers": "kafka.bootstrap",
    "metadata.broker.list": "kafka.bootstrap",
    "sasl.mechanisms": "kafka.options.sasl.mechanism",
}
"""What Spark would not see, or not the same way, and where it belongs."""

_BOOLEAN = ("true", "false")
_VALUES = {
    "allow.auto.create.topics": _BOOLEAN,
    "auto.offset.reset": ("earliest", "latest", "none"),
    "check.crcs": _BOOLEAN,
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "enable.metrics.push": _BOOLEAN,
    "group.protocol": ("classic", "consumer"),
    "isolation.level": ("read_committed", "read_uncommitted"),
    "metadata.recovery.strategy": ("none", "rebootstrap"),
    "sasl.mechanism": ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"),
    "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl.endpoint.identification.algorithm": ("https", ""),
}
_ANY_CASE = frozenset(name for name, values in _VALUES.items() if values is _BOOLEAN) | {
    "group.protocol", "metadata.recovery.strategy", "security.protocol", "ssl.endpoint.identification.algorithm",
}
# fmt: on

_RANGES = {
    "batch.size": (1, 2**31 - 1),
    "connections.max.idle.ms": (0, 2**31 - 1),
    "fetch.max.wait.ms": (0, 300_000),
    "linger.ms": (0, 900_000),
    "max.request.size": (1_000, 1_000_000_000),
    "metadata.max.age.ms": (1, 86_400_000),
    "metadata.recovery.rebootstrap.trigger.ms": (0, 2**31 - 1),
    "receive.buffer.bytes": (0, 100_000_000),
    "request.timeout.ms": (1, 900_000),
    "retry.backoff.max.ms": (1, 300_000),
    "retry.backoff.ms": (1, 300_000),
    "sasl.kerberos.min.time.before.relogin": (0, 86_400_000),
    "send.buffer.bytes": (0, 100_000_000),
    "socket.connection.setup.timeout.ms": (1_000, 2**31 - 1),
}
"""What librdkafka takes of the numbers that it shares with Java, which takes others too: -1 is no limit there."""

_NUMBER = re.compile(r".*\.(?:bytes|ms|records|size)|buffer\.memory|max\.in\.flight.*|retries")
"""Names of whole numbers."""


def refused(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each known property that Spark's consumers or the driver's clients could not use, and why."""
    for name, value in options.items():
        if reason := _refusal(name, value):
            yield name, reason
    for store, kinds, own in _STORES:
        unread = f"{store}.location" in options and options.get(f"{store}.type") not in kinds
        if unread and not options.keys() & set(own):
            advice = f"set `{store}.type` to {' or '.join(kinds)}, or give them `{own[0]}` beside it"
            yield f"{store}.location", f"the driver's clients cannot read a store of this type: {advice}"


def translated(options: Mapping[str, str]) -> dict[str, str]:
    """Return librdkafka's properties for options of which none is refused.

    Properties that only Java's consumers know are left out. librdkafka's own names override translated ones.
    """
    plain = dict(_plain(name, value) for name, value in options.items() if name not in _LEFT_OUT)
    entry = options.get("sasl.jaas.config")
    return {**(jaas.credentials(entry) if entry else {}), **dict(_stores(options)), **plain}


def _refusal(name: str, value: str) -> str:
    if name in _INSTEAD:
        return f"give `{_INSTEAD[name]}` instead"
    if name in KNOWN and _NUMBER.fullmatch(name) and not re.fullmatch(r"-?[0-9]+", value):
        return "it is a whole number"
    if (values := _VALUES.get(name)) and value not in values and not (name in _ANY_CASE and _fits(value, values)):
        known = ", ".join(f"`{each}`" if each else "empty" for each in values)
        return f"`{value}` is none of {known}.{did_you_mean(value, values) or did_you_mean(value.upper(), values)}"
    if name == "sasl.jaas.config":
        return _jaas_refusal(value)
    return ""


def _fits(value: str, values: Iterable[str]) -> bool:
    return value.lower() in (each.lower() for each in values)


def _jaas_refusal(entry: str) -> str:
    """Why the driver's clients cannot use the credentials of a JAAS entry; empty if they can."""
    try:
        jaas.credentials(entry)
    except ValueError as error:
        return str(error)
    return ""


def _plain(name: str, value: str) -> tuple[str, str]:
    """A property that is set by itself, under librdkafka's name."""
    if name == "buffer.memory":
        return _RENAMED[name], str(max(1, int(value) // 1024))
    if name == "ssl.endpoint.identification.algorithm":
        return name, value or "none"
    if name in _RANGES:
        least, most = _RANGES[name]
        value = str(min(max(int(value), least), most))
    return _RENAMED.get(name, name), value


def _stores(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of trust and key stores."""
    if options.get("ssl.truststore.type") == "PEM" and (location := options.get("ssl.truststore.location")):
        yield "ssl.ca.location", location
    kind, location = options.get("ssl.keystore.type"), options.get("ssl.keystore.location")
    if location and kind == "PEM":  # it holds the chain and the key in one file
        yield "ssl.certificate.location", location
        yield "ssl.key.location", location
    elif location and kind == "PKCS12":
        yield "ssl.keystore.location", location
        yield "ssl.keystore.password", options.get("ssl.keystore.password", "")
