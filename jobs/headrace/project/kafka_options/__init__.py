"""Kafka's client properties and topic names: which can be used, and how they are translated for librdkafka.

A target gives them once, by the names of Kafka's Java client. Spark's consumers get them as they are; for the
driver's own clients `client_properties` translates them, with `jaas` for credentials and `client_names` as the list of
all names. `topic_names` says which names Kafka accepts, `certificates` why a client and a broker do not get along.
"""
