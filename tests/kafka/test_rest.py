"""The REST service on a real broker, without a runner: the tests write what a runner would write."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from confluent_kafka import Producer
from deltalake import QueryBuilder, write_deltalake

from headrace.environment.broker import Broker
from headrace.store.layout import Layout
from tests.kafka.cluster import Cluster
from tests.kafka.service import Instance, project, serving
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.kafka

TOPIC = "shop-orders"
LONG = int(PATIENCE * 1000)
"""Milliseconds that a request waits for a certain event."""
OLD = """
select '{id}' as order_id, '{body}' as body,
    named_struct('landing_batch', 0, 'topic', 'elsewhere', 'partition', 0, 'offset', {offset}) as _arrival,
    false as _deleted, 0 as _batch
"""


@dataclass(frozen=True)
class Shop:
    """A broker and two instances of the service side by side."""

    cluster: Cluster
    root: Path
    one: Instance
    other: Instance

    def outcome(self, order: dict[str, Any], state: str) -> None:
        """Write what the runner writes of an order."""
        self.cluster.send([(TOPIC, order["id"], json.dumps({**order, "state": state, "reason": None}))])


@pytest.fixture(scope="module")
def shop(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    cluster = Cluster(bootstrap)
    cluster.create({TOPIC: 3})
    root = project(tmp_path_factory.mktemp("shop"))
    _store_history(Layout(root / "data"))
    with serving(root, bootstrap, "--waiters", "20") as one, serving(root, bootstrap) as other:
        yield Shop(cluster, root, one, other)


def _store_history(layout: Layout) -> None:
    """Orders from before: the topic no longer has them."""
    bodies = [order("old") | {"state": "CREATED"}, order("old") | {"state": "VALIDATED"}]
    rows = [OLD.format(id="old", body=json.dumps(body), offset=at) for at, body in enumerate(bodies)]
    write_deltalake(layout.changes("silver.orders_by_id"), QueryBuilder().execute(" union all ".join(rows)))
    sales = "select 'sale-' || cast(value as varchar) as sale_id, 0 as _batch from generate_series(1, 5)"
    write_deltalake(layout.table("gold.sales"), QueryBuilder().execute(sales))


def order(order_id: str | None = None, **fields: Any) -> dict[str, Any]:
    body = {"id": order_id or f"order-{uuid4()}", "customerId": 7, "product": "JUMPERS", "quantity": 2, "price": 9.5}
    return {**body, **fields}


def post(instance: Instance, body: dict[str, Any], **parameters: Any) -> httpx.Response:
    return instance.client.post("/v1/orders", json=body, params=parameters)


def get(instance: Instance, path: str, **parameters: Any) -> httpx.Response:
    return instance.client.get(path, params=parameters)


def records(shop: Shop, order_id: str) -> list[Any]:
    return [record.value for record in shop.cluster.committed(TOPIC) if record.key == order_id]


def test_placed_order_is_in_the_topic(shop: Shop) -> None:
    body = order(price=12.30)
    answer = post(shop.one, body)
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/orders/{body['id']}")
    assert records(shop, body["id"]) == [{**body, "state": "CREATED"}]


def test_instances_answer_alike(shop: Shop) -> None:
    body = order()
    location = post(shop.one, body).headers["location"]
    answers = [get(instance, location) for instance in (shop.one, shop.other)]
    assert [answer.json() for answer in answers] == [{**body, "state": "CREATED"}] * 2


def test_repeated_post_makes_no_second_order(shop: Shop) -> None:
    body = order()
    answers = [post(instance, body) for instance in (shop.one, shop.one, shop.other)]
    assert {(answer.status_code, answer.headers["location"], answer.text) for answer in answers} == {
        (201, f"/v1/orders/{body['id']}", answers[0].text)
    }
    assert len(records(shop, body["id"])) == 1


def test_other_body_of_an_id_is_refused(shop: Shop) -> None:
    body = order()
    post(shop.one, body)
    assert [post(each, {**body, "quantity": 3}).status_code for each in (shop.one, shop.other)] == [409, 409]


def test_race_for_an_id_has_one_winner(shop: Shop) -> None:
    ids = [f"race-{uuid4()}" for _ in range(5)]
    with ThreadPoolExecutor(20) as pool:
        tries = [
            (order_id, quantity, pool.submit(post, instance, order(order_id, quantity=quantity)))
            for order_id in ids
            for quantity, instance in ((1, shop.one), (2, shop.other), (3, shop.one), (4, shop.other))
        ]
        won = {
            order_id: [q for name, q, done in tries if name == order_id and done.result().status_code == 201]
            for order_id in ids
        }
    assert {done.result().status_code for *_, done in tries} == {201, 409}
    first = {record.key: [record.value["quantity"]] for record in reversed(shop.cluster.committed(TOPIC))}
    assert won == {order_id: first[order_id] for order_id in ids}


def test_post_waits_for_the_outcome(shop: Shop) -> None:
    body = order()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(post, shop.one, body, wait="validated", timeout=LONG)
        assert get(shop.other, f"/v1/orders/{body['id']}", timeout=LONG).status_code == 200
        shop.outcome(body, "VALIDATED")
        answer = waiting.result()
    assert (answer.status_code, answer.json()["state"]) == (200, "VALIDATED")


def test_undecided_post_times_out_with_its_location(shop: Shop) -> None:
    body = order()
    answer = post(shop.one, body, wait="validated", timeout=50)
    assert (answer.status_code, answer.headers["location"]) == (504, f"/v1/orders/{body['id']}")


def test_unknown_order_times_out(shop: Shop) -> None:
    answer = get(shop.one, "/v1/orders/nobody", timeout=30)
    assert (answer.status_code, answer.json()) == (504, {"detail": "HTTP GET timed out after 30 ms"})


def test_read_blocks_until_the_order_comes(shop: Shop) -> None:
    body = order("with/slash and ü")
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(get, each, "/v1/orders/with%2Fslash%20and%20%C3%BC/validated", timeout=LONG)
            for each in (shop.one, shop.other)
        ]
        shop.outcome(body, "FAILED")
        assert [each.result().json()["state"] for each in waiting] == ["FAILED", "FAILED"]


def test_order_of_delta_alone_is_answered(shop: Shop) -> None:
    assert get(shop.one, "/v1/orders/old/validated").json()["state"] == "VALIDATED"


def test_order_of_delta_alone_is_not_placed_again(shop: Shop) -> None:
    answers = [post(shop.one, order("old")), post(shop.other, order("old", quantity=1))]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert records(shop, "old") == []


def test_events_are_the_states_in_order(shop: Shop) -> None:
    body = order()
    post(shop.one, body)
    with shop.other.client.stream("GET", f"/v1/orders/{body['id']}/events") as answer:
        events = (line.removeprefix("event: ") for line in answer.iter_lines() if line.startswith("event: "))
        seen = [next(events)]
        shop.outcome(body, "VALIDATED")
        assert [*seen, next(events)] == ["CREATED", "VALIDATED"]


def test_waiters_are_bounded_and_none_leaks(shop: Shop) -> None:
    for _ in range(2):  # the second time all places are free again
        assert crowd(shop, 40) == [200] * 20 + [503] * 20


def crowd(shop: Shop, size: int) -> list[int]:
    """The statuses of concurrent requests for an order, which arrives once those without a place have been refused."""
    body = order()
    many = httpx.Limits(max_connections=None)
    with (
        httpx.Client(base_url=shop.one.client.base_url, limits=many, timeout=PATIENCE) as client,
        ThreadPoolExecutor(size) as pool,
    ):
        path, patiently = f"/v1/orders/{body['id']}", {"timeout": LONG}
        asked = [pool.submit(client.get, path, params=patiently) for _ in range(size)]
        wait_for(lambda: sum(each.done() for each in asked) >= size - 20, "the end of those without a place")
        post(shop.other, body)
        return sorted(each.result().status_code for each in asked)


def test_place_of_a_client_that_left_is_free(shop: Shop) -> None:
    in_a_hurry = httpx.Timeout(PATIENCE, read=0.02)
    for _ in range(30):  # more than there are places
        with pytest.raises(httpx.ReadTimeout):
            shop.one.client.get("/v1/orders/never", params={"timeout": LONG}, timeout=in_a_hurry)
    wait_for(lambda: get(shop.one, "/v1/orders/never", timeout=0).status_code == 504, "a free place")


def test_open_transaction_delays_nobody_who_posts(shop: Shop, bootstrap: str) -> None:
    order_ids = [f"behind-{number}" for number in range(6)]  # in all partitions
    runner = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"open-{uuid4()}", "log_level": 0})
    runner.init_transactions(PATIENCE)
    runner.begin_transaction()
    for order_id in order_ids:
        runner.produce(TOPIC, json.dumps(order(f"other-{order_id}") | {"state": "VALIDATED"}), order_id)
    runner.flush()
    try:
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda order_id: post(shop.one, order(order_id)).status_code, order_ids))
    finally:
        runner.abort_transaction(PATIENCE)
    assert answers == [201] * 6


def test_invalid_body_names_the_field(shop: Shop) -> None:
    answer = post(shop.one, order(quantity="2"))
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "quantity"])


def test_table_is_paged_to_its_end(shop: Shop) -> None:
    rows: list[str] = []
    link: str | None = "/v1/tables/gold.sales?limit=2"
    while link is not None:
        answer = shop.one.client.get(link)
        rows += [row["sale_id"] for row in answer.json()["rows"]]
        link = answer.links["next"]["url"] if "next" in answer.links else None
    assert sorted(rows) == [f"sale-{number}" for number in range(1, 6)]


def test_unchanged_table_is_not_sent_again(shop: Shop) -> None:
    version = get(shop.one, "/v1/tables/gold.sales").headers["etag"]
    answer = shop.other.client.get("/v1/tables/gold.sales", headers={"If-None-Match": version})
    assert answer.status_code == 304


def test_new_instance_knows_what_was(shop: Shop, bootstrap: str) -> None:
    body = order()
    post(shop.one, body)
    with serving(shop.root, bootstrap) as fresh:
        assert [post(fresh, body).status_code, post(fresh, order(body["id"], price=1)).status_code] == [201, 409]
        assert fresh.stop(signal.SIGINT) == 130


def only_waiter(pool: ThreadPoolExecutor, instance: Instance) -> Future[httpx.Response]:
    """A request that has the one place of a waiter: it asks again if a question whether it has it was there first."""
    waiting: list[Future[httpx.Response]] = []

    def has_the_place() -> bool:
        if not waiting or waiting[-1].done():
            waiting.append(pool.submit(get, instance, "/v1/orders/never", timeout=LONG))
        return get(instance, "/v1/orders/other", timeout=0).status_code == 503

    wait_for(has_the_place, "a waiter")
    return waiting[-1]


@pytest.mark.long
def test_outage_refuses_orders_and_ends_well(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    with (
        Broker(tmp_path / "broker").running() as state,
        serving(root, str(state.bootstrap), "--waiters", "1") as instance,
    ):
        body = order()
        assert post(instance, body).status_code == 201
        Broker(tmp_path / "broker").stop()
        refused = post(instance, order(), timeout=1000)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert refused.elapsed.total_seconds() < 30  # it does not wait for the broker
        assert get(instance, f"/v1/orders/{body['id']}").status_code == 200
        with ThreadPoolExecutor(1) as pool:
            waiting = only_waiter(pool, instance)
            assert instance.stop() == 143
            assert waiting.result().status_code == 503
