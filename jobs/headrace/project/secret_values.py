"""The secrets of a target: what no message, log or command line may show."""

from __future__ import annotations

from headrace.project.kafka_options import jaas
from headrace.project.model import Target
from headrace.secrets import is_secret
from headrace.store.paths import ObjectPath


def of(target: Target) -> frozenset[str]:
    """Return the values of all options that hold a secret by their name, and the credentials in a JAAS entry."""
    store = target.store.bucket.options if isinstance(target.store, ObjectPath) else {}
    named = (*target.kafka.options.items(), *store.items(), *target.spark_conf.items(), *_in_jaas(target))
    others = (target.mail.password if target.mail else None, target.http.token)
    return frozenset((*(value for name, value in named if is_secret(name)), *filter(None, others)))


def _in_jaas(target: Target) -> tuple[tuple[str, str], ...]:
    try:
        return tuple(jaas.credentials(target.kafka.options.get("sasl.jaas.config", "")).items())
    except ValueError:  # there is none; what cannot be read is refused elsewhere
        return ()
