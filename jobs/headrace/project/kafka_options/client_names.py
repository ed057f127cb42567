"""Names of Kafka's client properties, listed here because asking librdkafka takes too long for each command."""

# fmt: off
JAVA_ALONE = frozenset(
    (
        "auto.include.jmx.reporter", "bootstrap.controllers", "buffer.memory", "compression.gzip.level",
        "compression.zstd.level", "default.api.timeout.ms", "exclude.internal.topics", "fetch.max.wait.ms",
        "interceptor.classes", "key.deserializer", "key.serializer", "max.block.ms", "max.request.size",
        "metadata.max.idle.ms", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
        "metrics.sample.window.ms", "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
        "partitioner.class", "partitioner.ignore.keys", "receive.buffer.bytes", "sasl.client.callback.handler.class",
        "sasl.jaas.config", "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.callback.handler.class", "sasl.login.class", "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms", "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms", "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope.claim.name", "security.providers", "send.buffer.bytes", "share.acquire.mode",
        "socket.connection.setup.timeout.max.ms", "ssl.client.auth", "ssl.enabled.protocols",
        "ssl.engine.factory.class", "ssl.keymanager.algorithm", "ssl.keystore.certificate.chain", "ssl.keystore.key",
        "ssl.keystore.type", "ssl.protocol", "ssl.provider", "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm", "ssl.truststore.certificates", "ssl.truststore.location",
        "ssl.truststore.password", "ssl.truststore.type", "transaction.two.phase.commit.enable", "value.deserializer",
        "value.serializer",
    )
)
"""What librdkafka does not know, of ConsumerConfig, ProducerConfig, AdminClientConfig, SaslConfigs and SslConfigs.

They are the names of kafka-clients 3.9.2, which Spark brings, and of 4.3.1, the broker's.
"""

LIBRDKAFKA = frozenset(
    (
        "acks", "allow.auto.create.topics", "api.version.fallback.ms", "api.version.request",
        "api.version.request.timeout.ms", "auto.commit.enable", "auto.commit.interval.ms", "auto.offset.reset",
        "batch.num.messages", "batch.size", "bootstrap.servers", "broker.address.family", "broker.address.ttl",
        "broker.version.fallback", "builtin.features", "check.crcs", "client.dns.lookup", "client.id", "client.rack",
        "compression.codec", "compression.level", "compression.type", "connections.max.idle.ms",
        "consume.callback.max.messages", "coordinator.query.interval.ms", "debug", "delivery.timeout.ms",
        "enable.auto.commit", "enable.auto.offset.store", "enable.gapless.guarantee", "enable.idempotence",
        "enable.metrics.push", "enable.partition.eof", "enable.random.seed", "enable.sasl.oauthbearer.unsecure.jwt",
        "enable.ssl.certificate.verification", "fetch.error.backoff.ms", "fetch.max.bytes", "fetch.message.max.bytes",
        "fetch.min.bytes", "fetch.queue.backoff.ms", "fetch.wait.max.ms", "group.id", "group.instance.id",
        "group.protocol", "group.protocol.type", "group.remote.assignor", "heartbeat.interval.ms",
        "https.ca.location", "https.ca.pem", "isolation.level", "linger.ms", "log.connection.close",
        "log.thread.name", "log_level", "max.in.flight", "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "message.copy.max.bytes",
        "message.max.bytes", "message.send.max.retries", "message.timeout.ms", "metadata.broker.list",
        "metadata.max.age.ms", "metadata.recovery.rebootstrap.trigger.ms", "metadata.recovery.strategy",
        "offset.store.method", "offset.store.path", "offset.store.sync.interval.ms", "partition.assignment.strategy",
        "partitioner", "plugin.library.paths", "produce.offset.report", "queue.buffering.backpressure.threshold",
        "queue.buffering.max.kbytes", "queue.buffering.max.messages", "queue.buffering.max.ms",
        "queued.max.messages.kbytes", "queued.min.messages", "queuing.strategy", "receive.message.max.bytes",
        "reconnect.backoff.jitter.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.required.acks",
        "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.kerberos.keytab",
        "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.principal",
        "sasl.kerberos.service.name", "sasl.mechanism", "sasl.mechanisms", "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud", "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss", "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds", "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file", "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.file", "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem", "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret", "sasl.oauthbearer.config", "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.grant.type", "sasl.oauthbearer.metadata.authentication.type", "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope", "sasl.oauthbearer.sub.claim.name", "sasl.oauthbearer.token.endpoint.url",
        "sasl.password", "sasl.username", "security.protocol", "session.timeout.ms", "share.acknowledgement.mode",
        "socket.blocking.max.ms", "socket.connection.setup.timeout.ms", "socket.keepalive.enable", "socket.max.fails",
        "socket.nagle.disable", "socket.receive.buffer.bytes", "socket.send.buffer.bytes", "socket.timeout.ms",
        "ssl.ca.certificate.stores", "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location",
        "ssl.certificate.pem", "ssl.cipher.suites", "ssl.crl.location", "ssl.curves.list",
        "ssl.endpoint.identification.algorithm", "ssl.engine.id", "ssl.engine.location", "ssl.key.location",
        "ssl.key.password", "ssl.key.pem", "ssl.keystore.location", "ssl.keystore.password", "ssl.providers",
        "ssl.sigalgs.list", "statistics.interval.ms", "sticky.partitioning.linger.ms", "topic.blacklist",
        "topic.metadata.propagation.max.ms", "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.fast.interval.ms", "topic.metadata.refresh.interval.ms",
        "topic.metadata.refresh.sparse", "transaction.timeout.ms", "transactional.id",
    )
)
"""What librdkafka 2.16.0 takes as text, by its CONFIGURATION.md and by itself; Java's client knows many of them."""
