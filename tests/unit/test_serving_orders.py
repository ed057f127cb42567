"""Orders over HTTP, on a topic in memory that several instances share."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from confluent_kafka import KafkaError, KafkaException

from headrace.errors import EnvironmentFault
from headrace.project.model import Kafka, Project
from headrace.serving import orders as serving_orders
from headrace.serving.app import Service, application
from headrace.serving.events import Event, Recent, states
from headrace.serving.feed import Feed
from headrace.serving.orders import Orders
from headrace.serving.producer import Unreachable
from headrace.serving.replies import Read, Reply, reply
from headrace.serving.waiters import Waiters
from headrace.store.layout import Layout

if TYPE_CHECKING:
    from tests.unit.conftest import Store

BODY = {"id": "a", "customerId": 1, "product": "JUMPERS", "quantity": 2, "price": 9.5}


@dataclass
class Topic:
    """One partition that notifies its readers at once, unless it is `held`."""

    events: list[Event] = field(default_factory=list)
    readers: list[Recent] = field(default_factory=list)
    held: bool = False
    down: bool = False

    async def check_broker(self) -> None:
        if self.down:
            raise Unreachable("nobody there")

    async def produce(self, key: str, value: str) -> tuple[int, int]:
        await asyncio.sleep(0)  # others may come first
        return self.write(key, json.loads(value)["state"], value)

    async def peek(self, partition: int, start: int, end: int) -> Sequence[Event]:
        return self.events[start:end]

    def write(self, order_id: str, state: str, body: str | None = None) -> tuple[int, int]:
        text = body or json.dumps({**BODY, "id": order_id, "state": state})
        self.events.append(Event(0, len(self.events), 0, order_id, state, text))
        if not self.held:
            self.release()
        return 0, len(self.events) - 1

    def release(self) -> None:
        for reader in self.readers:
            reader.add(self.events, {0: len(self.events)})


@dataclass
class Past:
    """What is stored: the records that were moved there."""

    events: list[Event] = field(default_factory=list)

    async def of(self, order_id: str) -> tuple[Event, ...]:
        await asyncio.sleep(0)
        return tuple(event for event in self.events if event.order_id == order_id)

    async def reopen(self) -> Mapping[int, int]:
        return {0: len(self.events)}


@dataclass(frozen=True)
class Instance:
    """A service with an HTTP client that needs no socket."""

    client: httpx.AsyncClient
    waiters: Waiters
    recent: Recent
    orders: Orders


@dataclass(frozen=True)
class Here:
    """Reads tables in this process."""

    project: Project
    layout: Layout

    async def read(self, read: Read) -> Reply:
        return reply(self.project, self.layout, read)


@dataclass(frozen=True)
class World:
    """The topic, the past, and the means to start instances."""

    project: Project
    layout: Layout
    topic: Topic = field(default_factory=Topic)
    past: Past = field(default_factory=Past)

    @asynccontextmanager
    async def instance(self, limit: int = 10) -> AsyncIterator[Instance]:
        waiters = Waiters(limit)
        recent = Recent(waiters.notify)
        recent.settle(caught_up=True)
        self.topic.readers.append(recent)
        self.topic.release()
        orders = Orders(recent, waiters, self.past, self.topic)
        service = Service(self.layout, orders, *[Here(self.project, self.layout)] * 2)
        transport = httpx.ASGITransport(application(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            yield Instance(client, waiters, recent, orders)


@pytest.fixture
def world(store: Store) -> World:
    return World(store.project, store.layout)


Play = Callable[[Instance], Coroutine[Any, Any, Any]]


def play(world: World, script: Play, limit: int = 10) -> Any:
    """Run what a test does with one instance; afterwards nobody may be waiting."""

    async def all_of_it() -> Any:
        async with world.instance(limit) as instance:
            answer = await script(instance)
            assert len(instance.waiters) == 0
            return answer

    return asyncio.run(all_of_it())


async def waiting(instance: Instance, number: int = 1) -> None:
    """Let others work until so many wait."""
    while len(instance.waiters) != number:
        await asyncio.sleep(0)


def test_placed_order_is_answered_with_its_location(world: World) -> None:
    answer = play(world, lambda one: one.client.post("/v1/orders", json={**BODY, "id": "a/b"}))
    assert (answer.status_code, answer.headers["location"]) == (201, "/v1/orders/a%2Fb")


@pytest.mark.parametrize("path", ["/v1/orders/", "/v1/orders//validated", "/v1/orders//events"])
def test_path_without_an_id_is_not_waited_for(world: World, path: str) -> None:
    answer = play(world, lambda one: asyncio.wait_for(one.client.get(path, params={"timeout": 0}), 10))
    assert (answer.status_code, "names no order" in answer.json()["detail"]) == (404, True)


@pytest.mark.parametrize("order_id", ["a/validated", "a/events", "a/"])
def test_location_leads_to_an_order_whose_id_ends_as_a_route(world: World, order_id: str) -> None:
    async def read_back(one: Instance) -> Any:
        placed = await one.client.post("/v1/orders", json={**BODY, "id": order_id})
        return await asyncio.wait_for(one.client.get(placed.headers["location"], params={"timeout": 0}), 10)

    answer = play(world, read_back)
    assert (answer.status_code, answer.json()["id"]) == (200, order_id)


def test_latest_state_is_answered(world: World) -> None:
    world.topic.write("a", "CREATED")
    world.topic.write("a", "VALIDATED")
    answer = play(world, lambda one: one.client.get("/v1/orders/a"))
    assert answer.json()["state"] == "VALIDATED"


def test_later_created_record_is_ignored(world: World) -> None:
    for state in ("CREATED", "VALIDATED", "CREATED"):
        world.topic.write("a", state)
    answer = play(world, lambda one: one.client.get("/v1/orders/a/validated"))
    assert answer.json()["state"] == "VALIDATED"


def test_losers_of_a_race_are_refused(world: World) -> None:
    async def race(one: Instance) -> list[int]:
        async with world.instance() as other:
            posts = [
                each.client.post("/v1/orders", json={**BODY, "quantity": quantity})
                for quantity, each in enumerate((one, other, one, other))
            ]
            return sorted(answer.status_code for answer in await asyncio.gather(*posts))

    assert play(world, race) == [201, 409, 409, 409]


def test_same_body_twice_at_once_is_one_order(world: World) -> None:
    async def race(one: Instance) -> set[tuple[int, str]]:
        posts = (one.client.post("/v1/orders", json=BODY) for _ in range(3))
        return {(answer.status_code, answer.text) for answer in await asyncio.gather(*posts)}

    assert len(play(world, race)) == 1


def test_order_is_read_back_before_it_is_answered(world: World) -> None:
    async def post(one: Instance) -> int:
        world.topic.held = True
        world.topic.write("a", "CREATED", json.dumps({**BODY, "quantity": 5, "state": "CREATED"}))
        answer = asyncio.create_task(one.client.post("/v1/orders", json=BODY))
        while len(world.topic.events) < 2:
            await asyncio.sleep(0)
        assert not answer.done()
        world.topic.release()
        return (await answer).status_code

    assert play(world, post) == 409


def test_order_behind_an_open_transaction_is_placed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_orders, "_DOUBT_SECONDS", 0.01)
    world.topic.held = True
    assert play(world, lambda one: one.client.post("/v1/orders", json=BODY)).status_code == 201


def test_doubt_that_stays_is_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_orders, "_DOUBT_SECONDS", 0.01)
    monkeypatch.setattr(serving_orders, "_CONFIRM_SECONDS", 0.05)

    async def post(one: Instance) -> int:
        world.topic.held = True
        world.topic.write("a", "CREATED")  # of a transaction that may yet be aborted
        return (await one.client.post("/v1/orders", json=BODY)).status_code

    assert play(world, post) == 503


def test_unreachable_broker_accepts_nothing(world: World) -> None:
    world.topic.down = True
    answer = play(world, lambda one: one.client.post("/v1/orders", json=BODY))
    assert (answer.status_code, world.topic.events) == (503, [])


def test_nothing_is_sent_without_room_to_wait(world: World) -> None:
    async def post(one: Instance) -> int:
        with one.orders.waiter("other"):
            return (await one.client.post("/v1/orders", json=BODY)).status_code

    assert (play(world, post, limit=1), world.topic.events) == (503, [])


def test_answer_that_is_there_needs_no_room(world: World) -> None:
    world.topic.write("a", "CREATED")

    async def get(one: Instance) -> int:
        with one.orders.waiter("other"):
            return (await one.client.get("/v1/orders/a")).status_code

    assert play(world, get, limit=1) == 200


def test_all_who_wait_for_an_order_hear_of_it(world: World) -> None:
    async def wait(one: Instance) -> set[str]:
        gets = [asyncio.create_task(one.client.get("/v1/orders/a/validated")) for _ in range(5)]
        await waiting(one, 5)
        world.topic.write("b", "VALIDATED")
        world.topic.write("a", "CREATED")
        world.topic.write("a", "FAILED")
        return {answer.json()["state"] for answer in await asyncio.gather(*gets)}

    assert play(world, wait) == {"FAILED"}


def test_service_that_ends_lets_go(world: World) -> None:
    async def wait(one: Instance) -> int:
        answer = asyncio.create_task(one.client.get("/v1/orders/a"))
        await waiting(one)
        one.waiters.close()
        return (await answer).status_code

    assert play(world, wait) == 503


def test_timed_out_wait_says_how_long(world: World) -> None:
    answer = play(world, lambda one: one.client.get("/v1/orders/a?timeout=5"))
    assert (answer.status_code, answer.json()["detail"]) == (504, "HTTP GET timed out after 5 ms")


@pytest.mark.parametrize("path", ["/v1/orders/a?timeout=-1", "/v1/orders/a?timeout=soon", "/v1/orders/a?timeout=9e9"])
def test_bad_timeout_is_named(world: World, path: str) -> None:
    answer = play(world, lambda one: one.client.get(path))
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "timeout"])


def test_unknown_wait_is_named(world: World) -> None:
    answer = play(world, lambda one: one.client.post("/v1/orders?wait=shipped", json=BODY))
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "wait"])


def test_huge_body_is_refused(world: World) -> None:
    answer = play(world, lambda one: one.client.post("/v1/orders", json={**BODY, "note": "x" * 1_000_000}))
    assert (answer.status_code, world.topic.events) == (413, [])


def test_forgotten_records_are_found_in_the_past(world: World) -> None:
    world.topic.write("a", "CREATED")
    world.topic.write("a", "VALIDATED")

    async def get(one: Instance) -> str:
        world.past.events += world.topic.events
        one.recent.forget(await world.past.reopen())
        assert one.recent.size == 0
        return str((await one.client.get("/v1/orders/a")).json()["state"])

    assert play(world, get) == "VALIDATED"


def test_event_stream_has_past_and_coming_states(world: World) -> None:
    world.past.events.append(Event(0, 0, 0, "a", "CREATED", "{}"))
    world.topic.events.append(Event(0, 0, 0, "a", "CREATED", "{}"))

    async def follow(one: Instance) -> list[str]:
        with one.orders.waiter("a") as waiter:
            events = one.orders.follow(waiter, None)
            first = await anext(events)
            world.topic.write("a", "VALIDATED")
            second = await anext(events)
            one.waiters.close()
            assert [event async for event in events] == []
        return [event.state for event in (first, second) if event]

    assert play(world, follow) == ["CREATED", "VALIDATED"]


def test_event_stream_goes_on_where_it_was(world: World) -> None:
    world.topic.write("a", "CREATED")
    world.topic.write("a", "VALIDATED")

    async def follow(one: Instance) -> str:
        with one.orders.waiter("a") as waiter:
            event = await anext(one.orders.follow(waiter, (0, 0)))
        return event.state if event else ""

    assert play(world, follow) == "VALIDATED"


def test_event_stream_is_written_as_browsers_read_it(world: World) -> None:
    world.topic.write("a", "CREATED", "{}")

    async def follow(one: Instance) -> str:
        answer = asyncio.create_task(one.client.get("/v1/orders/a/events"))
        await waiting(one)
        one.waiters.close()
        return (await answer).text

    assert "id: 0-0\nevent: CREATED\ndata: {}\n\n" in play(world, follow)


def test_event_streams_are_bounded_too(world: World) -> None:
    async def follow(one: Instance) -> int:
        with one.orders.waiter("other"):
            return (await one.client.get("/v1/orders/a/events")).status_code

    assert play(world, follow, limit=1) == 503


def test_records_of_two_partitions_go_by_time() -> None:
    recent = Recent(lambda _: None)
    created = Event(1, 0, 5, "a", "CREATED", "{}")
    recent.add([created, replace(created, partition=0, time=9, state="SHIPPED")], {})
    recent.add([replace(created, offset=1, time=7, state="VALIDATED")], {})
    assert [event.state for event in states(recent.of("a"))] == ["CREATED", "VALIDATED", "SHIPPED"]


def test_record_that_comes_twice_counts_once() -> None:
    recent = Recent(lambda _: None)
    for _ in range(2):
        recent.add([Event(0, 0, 0, "a", "CREATED", "{}")], {})
    assert (recent.size, len(recent.of("a"))) == (1, 1)


def test_page_of_operations_needs_nothing_from_elsewhere(world: World) -> None:
    page = play(world, lambda one: one.client.get("/docs")).text
    assert "POST /v1/orders" in page and "src=" not in page and "http" not in page


def test_openapi_names_every_route(world: World) -> None:
    paths = play(world, lambda one: one.client.get("/openapi.json")).json()["paths"]
    assert [path for path in paths if "order_id" in path] and {"/v1/orders", "/v1/tables/{name}", "/v1/mail"} <= {
        *paths
    }


def mailed(world: World) -> dict[str, int]:
    return dict(play(world, lambda one: one.client.get("/v1/mail")).json())


def test_mail_counts_are_zero_without_a_sender(world: World) -> None:
    assert mailed(world) == {"sent": 0, "dry_run": 0, "failed": 0}


def test_mail_counts_are_those_of_the_ledgers(world: World) -> None:
    folder = world.layout.data_dir / "mail"
    folder.mkdir()
    (folder / "just-begun.sqlite").touch()
    for topic in ("order-emails", "platinum-emails"):
        with closing(sqlite3.connect(folder / f"{topic}.sqlite")) as ledger, ledger:
            ledger.execute("create table letters (order_id text, outcome text)")
            outcomes = ("sent", "sent", "refused", "undeliverable", "sending")
            ledger.executemany("insert into letters values ('a', ?)", [(outcome,) for outcome in outcomes])
    assert mailed(world) == {"sent": 4, "dry_run": 0, "failed": 4}


def test_store_that_does_not_answer_is_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_orders, "_PRUNE_SECONDS", 0)
    monkeypatch.setattr(serving_orders, "MAX_RECENT", 0)
    world.topic.write("a", "CREATED")
    asked = list[int]()

    class Away(Past):
        async def reopen(self) -> Mapping[int, int]:
            asked.append(1)
            if len(asked) == 1:
                raise EnvironmentFault("the store fails")
            return {0: 1}

    async def wait(one: Instance) -> int:
        pruning = asyncio.create_task(one.orders.prune())
        while one.recent.size:
            await asyncio.sleep(0)
        pruning.cancel()
        return len(asked)

    assert play(replace(world, past=Away()), wait) == 2


@pytest.mark.parametrize("seen", ["9" * 5000 + "-1", "1-" + "9" * 5000, "\u00b2-\u00b3", "-1--1", "1_0-1"])
def test_place_that_cannot_be_starts_from_the_first_state(world: World, seen: str) -> None:
    async def follow(one: Instance) -> httpx.Response:
        await one.client.post("/v1/orders", json=BODY)
        one.waiters.close()  # so that the stream ends
        return await one.client.get("/v1/orders/a/events", headers={"Last-Event-ID": seen.encode("latin-1")})

    answer = play(world, follow)
    assert (answer.status_code, answer.text.count("event: CREATED")) == (200, 1)


def test_feed_says_in_words_why_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def follow(_: Feed) -> None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the broker does not answer"))

    def log(event: str, **words: Any) -> None:
        said.append((event, words["error"]))
        raise asyncio.CancelledError

    said = list[tuple[str, str]]()
    monkeypatch.setattr(Feed, "_follow", follow)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(Feed(Kafka("127.0.0.1:1"), "shop-orders", 1, Recent(lambda _: None)).run(log))
    assert said == [("waiting", "the broker does not answer")]
