"""A broker whose certificate is not trusted: the reason is said, and what is to be corrected."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headrace.environment import doctor
from headrace.environment.doctor import Facts, broker
from headrace.errors import EnvironmentFault, HeadraceError
from headrace.landing import broker_admin
from headrace.landing.broker_admin import BrokerAdmin
from headrace.project.kafka_options.certificates import explained, other_protocol
from headrace.project.model import Kafka
from headrace.reading import topics
from headrace.reading.topics import existing

HOST = "127.0.0.1"
NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
TODAY = datetime.now(timezone.utc)


def certificate(file: Path, host: str = HOST, days: int = 1, password: bytes | None = None) -> Path:
    """Write a certificate that signs itself, with its key: for some host, until so many days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    built = x509.CertificateBuilder(NAME, NAME, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(TODAY - timedelta(days=9)).not_valid_after(TODAY + timedelta(days=days))
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
    signed = built.add_extension(hosts, False).sign(key, hashes.SHA256())
    text = signed.public_bytes(serialization.Encoding.PEM)
    lock = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    file.write_bytes(text + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock))
    return file


@contextmanager
def answering(certificate: Path, clients: Path | None = None) -> Iterator[int]:
    """A server that shows a certificate and says nothing else; its port. It may ask `clients` for theirs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server((HOST, 0)) as listening:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    with suppress(OSError):
                        context.wrap_socket(taken, server_side=True).close()

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


REASONS: list[tuple[str, Callable[[Path], Path], bool, str]] = [
    ("expired", lambda file: certificate(file, days=-1), True, "certificate has expired"),
    ("of another host", lambda file: certificate(file, host="10.1.2.3"), True, "IP address mismatch"),
    ("of another CA", lambda file: certificate(file), False, "self-signed certificate"),
]


@pytest.mark.parametrize(("made", "is_known", "reason"), [each[1:] for each in REASONS], ids=[e[0] for e in REASONS])
def test_reason_is_that_of_the_certificate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: Callable[[Path], Path], is_known: bool, reason: str
) -> None:
    """The commands and the doctor say it, and do not ask to start a broker that is up."""
    for module in (doctor, topics):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 1.0)
    shown = made(tmp_path / "server.pem")
    trusted = shown if is_known else certificate(tmp_path / "other.pem")
    options = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(trusted)}
    with answering(shown) as port, pytest.raises(EnvironmentFault) as failed:
        existing(Kafka(bootstrap=f"{HOST}:{port}", options=options))
    says = f"the certificate of {HOST}:{port} is not trusted: {reason}"
    assert says in str(failed.value) and str(failed.value).endswith("correct kafka.options in conf/")
    with answering(shown) as port:
        found = broker(Facts(tmp_path, f"{HOST}:{port}", options))
    assert (found.ok, f"{HOST}:{port} is not trusted: {reason}" in found.detail) == (False, True)


def test_certificate_that_is_trusted_by_now_is_not_blamed(tmp_path: Path) -> None:
    """The client's own words stay where nothing more is known."""
    shown = certificate(tmp_path / "server.pem")
    with answering(shown) as port:
        text = f"ssl://{HOST}:{port}/bootstrap: SSL handshake failed: certificate verify failed"
        error = KafkaError(KafkaError._SSL, text)
        assert explained(error, {"ssl.ca.location": str(shown)}) == text


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone.pem"
    options = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(gone)}
    with pytest.raises(HeadraceError, match=f"^kafka.options: ssl.ca.location: {gone}: No such file or directory$"):
        existing(Kafka(bootstrap=f"{HOST}:1", options=options))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "ssl.ca.location: {file} holds no certificate in PEM"),
        (
            {"ssl.ca.location": "{fine}", "ssl.keystore.type": "PEM", "ssl.keystore.location": "{locked}"},
            "ssl.key.location: {locked} holds no key that ssl.key.password opens",
        ),
    ],
)
def test_file_of_another_content_is_named(tmp_path: Path, options: Mapping[str, str], says: str) -> None:
    places = {name: tmp_path / f"{name}.pem" for name in ("file", "fine", "locked")}
    places["file"].write_text("no certificate", "utf-8")
    certificate(places["fine"])
    certificate(places["locked"], password=b"right")
    known = {"security.protocol": "SSL", "ssl.ca.location": "{file}", "ssl.key.password": "wrong", **options}
    with pytest.raises(HeadraceError) as failed:
        existing(Kafka(bootstrap=f"{HOST}:1", options={name: text.format(**places) for name, text in known.items()}))
    assert str(failed.value) == f"kafka.options: {says.format(**places)}"


@contextmanager
def plain() -> Iterator[int]:
    """A server that ends a connection whose first bytes are no request of its protocol, as a broker does; its port."""
    with socket.create_server((HOST, 0)) as listening:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    with suppress(OSError), taken:
                        taken.recv(1)

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def test_client_without_tls_at_a_port_with_tls_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The broker is up, so that nobody is asked to start it; also while a run is up."""
    for module in (doctor, topics):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(broker_admin, "TIMEOUT", 1.0)
    with answering(certificate(tmp_path / "server.pem")) as port:
        says = f"{HOST}:{port} speaks TLS, and security.protocol is PLAINTEXT"
        with pytest.raises(EnvironmentFault) as failed:
            existing(Kafka(bootstrap=f"{HOST}:{port}"))
        with pytest.raises(KafkaException, match=says):
            BrokerAdmin({"bootstrap.servers": f"{HOST}:{port}", "log_level": 0}).describe(["orders"])
        found = broker(Facts(tmp_path, f"{HOST}:{port}", {}))
    assert str(failed.value) == f"Kafka at {HOST}:{port} cannot be used: {says}; correct kafka.options in conf/"
    assert (found.ok, says in found.detail, "conf/" in (found.fix or "")) == (False, True, True)


def test_client_with_tls_at_a_port_without_is_told() -> None:
    with plain() as port:
        found = other_protocol({"bootstrap.servers": f"{HOST}:{port}", "security.protocol": "sasl_ssl"})
        assert found == f"{HOST}:{port} closes the connection as soon as TLS begins, and security.protocol is SASL_SSL"
        assert other_protocol({"bootstrap.servers": f"{HOST}:{port}"}) is None


def test_server_that_is_gone_is_not_blamed_for_its_protocol(tmp_path: Path) -> None:
    with plain() as port:
        pass
    assert other_protocol({"bootstrap.servers": f"{HOST}:{port}", "security.protocol": "SSL"}) is None
    with answering(certificate(tmp_path / "server.pem")) as port:
        assert other_protocol({"bootstrap.servers": f"{HOST}:{port}", "security.protocol": "SSL"}) is None


@pytest.mark.parametrize(
    ("is_shown", "says"),
    [
        (False, "refuses a client without certificate (ssl.keystore.location): certificate required"),
        (True, "refuses the client's certificate (ssl.keystore.location): unknown ca"),
    ],
)
def test_client_whose_certificate_the_broker_refuses_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_shown: bool, says: str
) -> None:
    """librdkafka takes that for a connection that breaks, so the broker was to be started."""
    for module in (doctor, topics):
        monkeypatch.setattr(module, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(broker_admin, "TIMEOUT", 1.0)
    shown, stranger = certificate(tmp_path / "server.pem"), certificate(tmp_path / "stranger.pem")
    options = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": str(shown)}
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(stranger)} if is_shown else {}
    with answering(shown, clients=shown) as port:
        kafka = Kafka(bootstrap=f"{HOST}:{port}", options={**options, **own})
        with pytest.raises(EnvironmentFault) as failed:
            existing(kafka)
        with pytest.raises(KafkaException) as late:
            BrokerAdmin(topics.client_options(kafka)).describe(["orders"])
        found = broker(Facts(tmp_path, f"{HOST}:{port}", {**options, **own}))
    says = f"{HOST}:{port} {says}"
    assert str(failed.value) == f"Kafka at {HOST}:{port} cannot be used: {says}; correct kafka.options in conf/"
    assert (late.value.args[0].str(), found.ok, says in found.detail) == (says, False, True)
