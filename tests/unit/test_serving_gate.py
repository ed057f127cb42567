"""Who may ask the REST service, how often, and how slowly."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
import uvicorn

from headrace.errors import UsageError
from headrace.project.model import Http
from headrace.serving import server
from headrace.serving.connections import Limits, config
from headrace.serving.gate import Gate, Policy, Rates, refusal
from headrace.serving.server import Settings, policy_of
from tests.waiting import wait_for

TOKEN = "canary-token-0123456789"
JSON = "application/json"


def ask(policy: Policy, method: str = "GET", **headers: str) -> int | None:
    """The status with which a request is refused; None if it is admitted."""
    named = {"host": "localhost:8080", **{name.replace("_", "-"): text for name, text in headers.items()}}
    refused = refusal(policy, method, named)
    return refused and refused.status


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080", "[::1]"])
def test_this_machine_is_served_by_its_names(host: str) -> None:
    assert ask(Policy(), host=host) is None


@pytest.mark.parametrize(
    "host", ["rebound.example", "localhost.example:8080", "127.0.0.1.example", "", "[", "a@localhost:1:2"]
)
def test_other_host_is_refused(host: str) -> None:
    assert ask(Policy(), host=host) == 421


def test_host_of_the_target_is_served() -> None:
    policy = policy_of(Http(hosts=("Shop.example",)), Settings())
    assert [ask(policy, host=host) for host in ("shop.example", "SHOP.example:80", "x.example")] == [None, None, 421]


@pytest.mark.parametrize("origin", ["null", "http://elsewhere.example", "http://localhost:8081", "http://[", ""])
def test_page_of_another_origin_is_refused(origin: str) -> None:
    assert ask(Policy(), origin=origin) == 403


def test_own_page_is_served() -> None:
    assert ask(Policy(), origin="http://localhost:8080") is None


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonx"]
)
def test_body_of_another_type_is_refused(kind: str) -> None:
    assert [ask(Policy(), method, content_type=kind) for method in ("POST", "PUT", "PATCH")] == [415] * 3


@pytest.mark.parametrize("kind", [JSON, "Application/JSON; charset=utf-8"])
def test_json_is_taken(kind: str) -> None:
    assert ask(Policy(), "POST", content_type=kind) is None


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer x", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer ü"]
)
def test_wrong_token_is_refused(shown: str) -> None:
    assert ask(Policy(token=TOKEN), authorization=shown) == 401


def test_right_token_is_admitted() -> None:
    assert ask(Policy(token=TOKEN), authorization=f"bearer  {TOKEN}") is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "shop.example"])
def test_others_need_a_token(host: str) -> None:
    with pytest.raises(UsageError, match=r"http\.token"):
        policy_of(Http(), Settings(host))
    assert policy_of(Http(token=TOKEN), Settings(host)).token == TOKEN


def test_open_service_still_knows_its_names() -> None:
    policy = policy_of(Http(open=True), Settings("0.0.0.0"))
    assert [ask(policy, host=host) for host in ("localhost:8080", "rebound.example")] == [None, 421]


def test_client_may_be_ahead_of_its_rate_for_a_while() -> None:
    now = 0.0
    rates = Rates(2, lambda: now)
    assert [bool(rates.take("a")) for _ in range(22)] == [False] * 21 + [True]
    assert rates.take("b") == 0
    now = 0.5
    assert [bool(rates.take("a")) for _ in range(2)] == [False, True]


def test_many_addresses_take_no_room_for_ever() -> None:
    now = 0.0
    rates = Rates(1000, lambda: now)
    for number in range(30_000):
        rates.take(str(number))
        now += 0.01
    assert len(rates._next) <= 10_001


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer 200 when the body is here, 408 when it is not; at /slow after the client has left, at /large at once."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/large":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(100):
            await send({"type": "http.response.body", "body": bytes(1_000_000), "more_body": True})
    status, message = 200, await receive()
    while message.get("more_body", False):
        message = await receive()
    if message["type"] == "http.disconnect":
        status = 408
    elif scope["path"] == "/slow":
        await receive()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def served(policy: Policy | None = None, seconds: float = 0.3, connections: int = 1000) -> Iterator[tuple[str, int]]:
    """The address of a service whose limits of time are short."""
    service = uvicorn.Server(config(Gate(echo, policy or Policy(), seconds), Limits(seconds, connections)))
    with server.listening("127.0.0.1", 0, stalled_seconds=1) as listener:
        thread = threading.Thread(target=service.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            service.should_exit = True
            thread.join()


def sent(address: tuple[str, int], text: str) -> socket.socket:
    """A connection over which something has been sent."""
    client = socket.create_connection(address, timeout=20)
    client.sendall(text.replace("\n", "\r\n").encode())
    return client


def status(client: socket.socket) -> str:
    """The first line of the answer; empty if the server hangs up without one."""
    with client, client.makefile("r") as answered, suppress(ConnectionResetError):
        return answered.readline().strip()
    return ""


def answers(address: tuple[str, int]) -> bool:
    """Whether the service answers."""
    try:
        return httpx.get("http://{}:{}".format(*address)).status_code == 200
    except httpx.TransportError:
        return False


def test_half_sent_requests_stop_nobody_and_are_dropped() -> None:
    with served() as address:
        halves = [sent(address, "GET / HTTP/1.1\nHost: localhost\n") for _ in range(300)]
        assert httpx.get("http://{}:{}".format(*address)).status_code == 200
        assert {status(half) for half in halves} == {""}


def is_dropped(client: socket.socket, drip: bytes) -> bool:
    """Whether a client is disconnected although it sends something all the time."""
    client.settimeout(0.02)
    for _ in range(500):
        try:
            client.sendall(drip)
            if client.recv(65_536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_head_that_drips_is_dropped_all_the_same() -> None:
    with served() as address, sent(address, "GET / HTTP/1.1\nHost: localhost\n") as client:
        assert is_dropped(client, b"X-More: 1\r\n")


def test_connections_are_bounded() -> None:
    slow = "GET /slow HTTP/1.1\nHost: localhost\n\n"
    with served(connections=1) as address, sent(address, slow) as held:
        assert status(sent(address, slow)) == ""
        held.close()
        wait_for(lambda: answers(address), "an end of the one connection")


def test_idle_connection_is_closed() -> None:
    with served() as address:
        assert status(sent(address, "")) == ""


@pytest.mark.parametrize("length", ["Content-Length: 10", "Transfer-Encoding: chunked"])
def test_body_that_does_not_come_is_given_up(length: str) -> None:
    head = f"POST / HTTP/1.1\nHost: localhost\nContent-Type: {JSON}\n{length}\n\n"
    with served() as address:
        assert status(sent(address, head)) == "HTTP/1.1 408 Request Timeout"


def test_request_that_waits_is_not_cut_off() -> None:
    with served() as address, sent(address, "GET /slow HTTP/1.1\nHost: localhost\n\n") as client:
        client.settimeout(1.0)
        with pytest.raises(TimeoutError):
            client.recv(1)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system drops such clients on Linux only")
def test_client_that_takes_nothing_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    with served(Policy(at_a_time=1)) as address, sent(address, "GET /large HTTP/1.1\nHost: localhost\n\n"):
        url = "http://{}:{}".format(*address)
        wait_for(lambda: httpx.get(url).status_code == 503, "the large answer")
        wait_for(lambda: httpx.get(url).status_code == 200, "an end of it")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (f"GET / HTTP/1.1\nHost: localhost\nX: {'x' * 200_000}\n\n", b"400"),
        ("EHLO here\n\n", b"400"),
        ("PRI * HTTP/2.0\n\nSM\n\n", b"421"),  # no Host
    ],
    ids=["large", "other", "http2"],
)
def test_large_head_and_other_protocols_are_refused(head: str, code: bytes) -> None:
    with served() as address, sent(address, head) as client:
        assert client.recv(12) == b"HTTP/1.1 " + code
        assert is_dropped(client, b"x")


def test_what_is_no_request_is_refused_in_json() -> None:
    with served() as address, sent(address, "EHLO here\n\n") as client, client.makefile("rb") as answer:
        head, _, body = answer.read().partition(b"\r\n\r\n")
    assert b"application/json" in head and "HTTP/1.1" in json.loads(body)["detail"]


def test_body_that_breaks_off_within_an_answer_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    head = "GET /large HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\n"
    with served() as address, sent(address, head) as client:
        assert client.recv(12) == b"HTTP/1.1 200"
        client.sendall(b"no length\r\n")
        with suppress(ConnectionError):
            while client.recv(65_536):
                pass
        assert answers(address)
    assert caplog.messages == []


def test_body_of_a_refused_request_is_not_read_for_long() -> None:
    head = "POST / HTTP/1.1\nHost: localhost\nContent-Type: text/plain\nContent-Length: 1000000000\n\n"
    with served() as address, sent(address, head) as client:
        assert client.recv(12) == b"HTTP/1.1 415"
        assert is_dropped(client, b"x")


def test_requests_at_a_time_are_bounded() -> None:
    with served(Policy(at_a_time=1)) as address, sent(address, "GET /slow HTTP/1.1\nHost: localhost\n\n"):
        url = "http://{}:{}".format(*address)
        wait_for(lambda: httpx.get(url).status_code == 503, "the slow one to be inside")
        assert httpx.get(url).headers["retry-after"] == "1"


def test_refusal_is_json_over_the_wire() -> None:
    with served(Policy(token=TOKEN)) as address:
        refused = httpx.get("http://{}:{}/v1".format(*address))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert "Authorization" in json.loads(refused.text)["detail"] and TOKEN not in refused.text


def test_too_many_requests_are_told_when_to_come_again() -> None:
    with served(Policy(rate=0.1)) as address, httpx.Client(base_url="http://{}:{}".format(*address)) as client:
        answers = [client.get("/") for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
