"""What keeps a client from a broker that it reaches: its options, its login, a certificate, or TLS; each in words.

librdkafka says the same of every certificate that it does not trust. Python's own TLS says why. Where only one side
speaks TLS, it says no more than that brokers are down.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError

_OF_OPTIONS = frozenset((KafkaError._INVALID_ARG, KafkaError._AUTHENTICATION, KafkaError._SSL))
"""Errors that another address does not fix."""

_SECONDS = 5.0
_PROBE_SECONDS = 2.0
_UNTRUSTED = re.compile(r"ssl://(?P<host>\[[^\]]+\]|[^/:]+):(?P<port>\d+)/.*certificate verify failed", re.DOTALL)
_REFUSED = re.compile(r"ssl://(?P<server>[^/]+)/.*alert (?P<reason>[a-z ]*certificate[a-z ]*|unknown ca)", re.DOTALL)
"""What a broker answers that does not take the client's certificate; to librdkafka that is a broken connection."""

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_FILES = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location")


def cause(errors: Iterable[KafkaError], otherwise: KafkaError) -> KafkaError:
    """Of what a client has reported, what another address does not fix; else the first."""
    found = [*errors, otherwise]
    return next((each for each in found if is_of_options(each)), found[0])


def is_of_options(error: KafkaError) -> bool:
    """Whether it is the client's options that do not fit, whatever the address."""
    return error.code() in _OF_OPTIONS or _REFUSED.search(error.str()) is not None


def explained(error: KafkaError, options: Mapping[str, Any]) -> str:
    """What an error says, or why; `options` are those of the client that has it."""
    text = " ".join(error.str().split())
    if refused := _REFUSED.search(text):
        own = "the client's certificate" if "ssl.certificate.location" in options else "a client without certificate"
        own = "the client's certificate" if "ssl.keystore.location" in options else own
        return f"{refused['server']} refuses {own} (ssl.keystore.location): {refused['reason'].strip()}"
    if untrusted := _UNTRUSTED.search(text):
        host, port = untrusted["host"].strip("[]"), int(untrusted["port"])
        if reason := _distrust(host, port, options):
            return f"the certificate of {untrusted['host']}:{port} is not trusted: {reason}"
    return next(_unreadable(text, options), text) if error.code() in _OF_OPTIONS else text


def obstacle(error: KafkaError, options: Mapping[str, Any]) -> str | None:
    """Why a client of these options cannot use the broker, whatever its address; None if it may just be gone."""
    return explained(error, options) if is_of_options(error) else other_protocol(options)


def other_protocol(options: Mapping[str, Any]) -> str | None:
    """Why a client of these options and its broker do not understand each other; None if TLS is not the reason."""
    protocol = str(options.get("security.protocol", "PLAINTEXT")).upper()
    for server in str(options.get("bootstrap.servers", "")).split(","):
        host, _, port = server.strip().rpartition(":")
        speaks = _speaks_tls(host.strip("[]"), int(port)) if port.isdecimal() else None
        if speaks is not None and speaks != protocol.endswith("SSL"):
            does = "speaks TLS" if speaks else "closes the connection as soon as TLS begins"
            return f"{server.strip()} {does}, and security.protocol is {protocol}"
    return None


def _speaks_tls(host: str, port: int) -> bool | None:
    """Whether a server answers in TLS, whatever its certificate; None if it does not answer at all."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), _PROBE_SECONDS) as opened:
            try:
                context.wrap_socket(opened).close()
            except (ssl.SSLEOFError, ConnectionResetError):
                return False
            except ssl.SSLError as error:
                return error.reason not in _NO_TLS
    except OSError:
        return None
    return True


def _distrust(host: str, port: int, options: Mapping[str, Any]) -> str | None:
    """Why a certificate is not trusted; None if it is by now, or that cannot be known."""
    with suppress(OSError):
        place, text = options.get("ssl.ca.location"), options.get("ssl.ca.pem")
        folder = place if place and Path(place).is_dir() else None
        context = ssl.create_default_context(cafile=None if folder else place, capath=folder, cadata=text)
        context.check_hostname = options.get("ssl.endpoint.identification.algorithm") != "none"
        try:
            with socket.create_connection((host, port), _SECONDS) as opened:
                context.wrap_socket(opened, server_hostname=host).close()
        except ssl.SSLCertVerificationError as error:
            return error.verify_message.rstrip(".")
    return None


def _unreadable(text: str, options: Mapping[str, Any]) -> Iterator[str]:
    """The files of certificates and keys that are not there; or the one of which the client says that it is no such."""
    places = {name: str(place) for name in _FILES if (place := options.get(name))}
    for name, place in places.items():
        try:
            Path(place).stat()
        except OSError as error:
            yield f"{name}: {place}: {error.strerror}"
    for name, place in places.items():
        if f"{name} failed" in text:
            what = "no key that ssl.key.password opens" if name == "ssl.key.location" else "no certificate in PEM"
            yield f"{name}: {place} holds {what}"
