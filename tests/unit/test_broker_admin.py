"""What the driver says of a cluster that does not answer it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.landing import broker_admin
from headrace.landing.broker_admin import BrokerAdmin
from headrace.spark.failures import is_transient, message_of

LATE = KafkaError(KafkaError._TIMED_OUT, "Failed while waiting for controller")
REFUSED = KafkaError(KafkaError._AUTHENTICATION, "Authentication failed")
EXPIRED = KafkaError(KafkaError._SSL, "SSL handshake failed: certificate has expired")


class Client:
    """A client whose requests are late; it learns of errors as it is polled."""

    errors: tuple[KafkaError, ...] = ()

    def __init__(self, config: dict[str, Callable[[KafkaError], None]]) -> None:
        self._tell = config["error_cb"]

    def poll(self, _: float) -> None:
        for error in self.errors:
            self._tell(error)

    def describe_topics(self, _: Any, **__: Any) -> dict[str, Future[None]]:
        return {"t": self._late()}

    def list_offsets(self, wanted: Any, **_: Any) -> dict[Any, Future[None]]:
        return dict.fromkeys(wanted, self._late())

    def _late(self) -> Future[None]:
        future = Future[None]()
        future.set_exception(KafkaException(LATE))
        return future


REQUESTS: list[Callable[[BrokerAdmin], object]] = [
    lambda admin: admin.describe(["t"]),
    lambda admin: admin.starts({"t": [0]}),
]


@pytest.mark.parametrize("request_it", REQUESTS)
@pytest.mark.parametrize(
    ("errors", "says", "waits"),
    [
        ((), "Failed while waiting for controller", True),
        ((REFUSED,), "Authentication failed", False),
        # Whoever runs the brokers can renew a certificate, and the run goes on.
        ((EXPIRED,), "SSL handshake failed: certificate has expired", True),
    ],
)
def test_what_is_refused_is_no_time_out(
    monkeypatch: pytest.MonkeyPatch,
    request_it: Callable[[BrokerAdmin], object],
    errors: tuple[KafkaError, ...],
    says: str,
    waits: bool,
) -> None:
    """A password that was changed while a run is up ends it; a certificate is waited for; both are named."""
    monkeypatch.setattr(broker_admin, "AdminClient", Client)
    monkeypatch.setattr(Client, "errors", errors)
    with pytest.raises(KafkaException) as failed:
        request_it(BrokerAdmin({}))
    assert (message_of(failed.value), is_transient(failed.value)) == (says, waits)
