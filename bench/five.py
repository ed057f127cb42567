"""All five systems together: time from event to gold row at a steady rate, cost when idle, and the shop's backlog."""

from __future__ import annotations

import json
import random
import re
import statistics
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ruamel.yaml import YAML

from bench import load
from bench.load import Message
from bench.process import Job, job, wait_for
from bench.scenarios import HEADRACE, ROOT, DeltaRows, Figures, Times, contest, rows_in, stage, worked_off

PRODUCTS = ("JUMPERS", "UNDERPANTS", "STOCKINGS")
WATCHED = {"order_outcomes": "order_id", "shipment_ready": "order_id"}
_COST = re.compile(r"query=(\S+).* s=([0-9.]+)")


WARM_UP = 90.0
"""Seconds in which every model is planned once, on two cores; their figures are reported apart."""


def five(folder: Path, seconds: float) -> Figures:
    """Fifty events a second over all systems: from the last contributing event to the gold row."""
    with stage(folder) as bootstrap, contest(HEADRACE, bootstrap, folder, ()) as running:
        load.send_all(bootstrap, [*customers(50), *stock(PRODUCTS, 1_000_000)])
        first = {f"first_{name}": value for name, value in _watched(bootstrap, folder, min(WARM_UP, seconds)).items()}
        logged, before, started = len(running.log.read_text()), running.cpu(), time.time()
        figures = _watched(bootstrap, folder, seconds)
        cpu = (running.cpu() - before) / (time.time() - started)
        costs = _costs(running.log.read_text()[logged:])
        return {**first, **figures, "jvm_cpu_per_s": round(cpu, 2), "peak_mib": running.peak_bytes >> 20, **costs}


def start_five(folder: Path) -> Figures:
    """Seconds from the command that runs all systems to their first batch, with records of all of them in Kafka."""
    with stage(folder) as bootstrap:
        load.send_all(bootstrap, [*customers(50), *stock(PRODUCTS, 1_000_000)])
        _send(bootstrap, 2, {})
        with contest(HEADRACE, bootstrap, folder, ()) as running:
            landed = _seconds_to(running, " landed ")
            return {"first_landing_s": landed, "first_batch_s": _seconds_to(running, " batch ")}


def _seconds_to(running: Job, word: str) -> float:
    wait_for(lambda: running.has_logged(word), f"'{word}' in the log")
    return round(time.time() - running.process.create_time(), 1)


def _watched(bootstrap: str, folder: Path, seconds: float) -> Figures:
    """Send for so many seconds; how long rows took."""
    sent: dict[str, Times] = {table: {} for table in WATCHED}
    seen: dict[str, Times] = {table: {} for table in WATCHED}
    tables = {table: DeltaRows(_gold(folder, table), column) for table, column in WATCHED.items()}
    _feed(bootstrap, seconds, sent, seen, tables)
    figures: Figures = {}
    for table in WATCHED:
        figures |= _delays(table, sent[table], seen[table])
    return figures


def idle_five(folder: Path, seconds: float, snapshots: bool) -> Figures:
    """CPU-seconds per second with all systems running and nothing to do."""
    chosen = () if snapshots else ("--exclude", "gold.view_counters")
    with stage(folder) as bootstrap, contest(HEADRACE, bootstrap, folder, chosen) as running:
        load.send_all(bootstrap, [*customers(50), *stock(PRODUCTS, 1000)])
        _feed(bootstrap, 20, {}, {}, {})
        time.sleep(90)  # deadlines pass, and nothing is waiting any more
        before, started = running.cpu(), time.time()
        time.sleep(seconds)
        used = (running.cpu() - before) / (time.time() - started)
        return {"jvm_cpu_per_s": round(used, 3), "peak_mib": running.peak_bytes >> 20}


CHECKS_AND_OUTCOME = ("--select", "+gold.order_outcomes")
WHOLE_SHOP = ("--select", "shop")


def shop_backlog(folder: Path, orders: int, chosen: Sequence[str], products: int = 1000) -> Figures:
    """Single-line orders over many products, all in Kafka before the start, until the last one has its outcome."""
    names = [f"P{number:04d}" for number in range(products)]
    with stage(folder) as bootstrap:
        load.send_all(bootstrap, [*customers(1000), *stock(names, orders)])
        chance = random.Random(5)
        load.send_all(
            bootstrap, [_order(f"s{n:07d}", chance.randrange(1000), chance.choice(names)) for n in range(orders)]
        )
        with contest(HEADRACE, bootstrap, folder, chosen, _selling(names, folder / "project")) as running:
            outcomes = _gold(folder, "order_outcomes")
            figures = worked_off(running, "orders", orders, lambda: rows_in(outcomes) >= orders)
            return {**figures, "validated": rows_in(outcomes, "state = 'VALIDATED'")}


def rest(folder: Path, orders: int) -> Figures:
    """Time of `POST /v1/orders?wait=validated` over a live runner, one after another."""
    with stage(folder) as bootstrap, contest(HEADRACE, bootstrap, folder, ("--select", "shop")) as running:
        load.send_all(bootstrap, [*customers(50), *stock(PRODUCTS, 1_000_000)])
        with _service(bootstrap, folder) as address:
            times = [_posted(address, f"r{number}") for number in range(orders)][orders // 5 :]
        return {
            "post_p50_s": round(statistics.median(times), 2),
            "post_max_s": round(max(times), 2),
            "jvm_cpu_s": round(running.cpu(), 1),
            "peak_mib": running.peak_bytes >> 20,
        }


def customers(number: int) -> Iterator[Message]:
    """Customers of all levels."""
    for each in range(number):
        value = {"id": each, "firstName": "A", "lastName": "B", "level": random.choice(("GOLD", "PLATINUM", "SILVER"))}
        yield "customers", str(each), json.dumps({**value, "email": f"{each}@example.org", "address": "Street"})


def stock(products: Iterable[str], pieces: int) -> Iterator[Message]:
    """A delivery of every product."""
    for product in products:
        yield "warehouse-inventory", product, str(pieces)


def _selling(products: Sequence[str], folder: Path) -> Path:
    """The project of the checkout, for a shop that has other products."""
    folder.mkdir()
    for part in ("sql", "macros", "manifest.yml"):
        (folder / part).symlink_to(ROOT / part)
    (folder / "conf").mkdir()
    target = YAML().load(ROOT / "conf/local.yml")
    target["vars"]["shop_products"] = list(products)
    YAML().dump(target, folder / "conf/local.yml")
    return folder


def _order(order_id: str, customer: int, product: str) -> Message:
    value = {"id": order_id, "customerId": customer, "state": "CREATED", "product": product, "quantity": 1, "price": 1}
    return "shop-orders", order_id, json.dumps(value)


def _second(number: int, chance: random.Random) -> Iterator[tuple[str | None, str, list[Message]]]:
    """Fifty events: the table and id of the row that some of them produce, and the events."""
    now = int(time.time() * 1000)
    for each in range(5):
        order_id = f"o{number}-{each}-{now}"
        customer = chance.randrange(50)
        payment_id = f"p{order_id}"
        payment = {"id": payment_id, "orderId": order_id, "ccy": "EUR", "amount": 1}
        ordered = _order(order_id, customer, chance.choice(PRODUCTS))
        yield "order_outcomes", order_id, [ordered, ("payments", payment_id, json.dumps(payment))]
        yield "shipment_ready", f"x{order_id}", list(load.messages(f"x{order_id}"))
        yield None, "", [("sales-events-v1", f"product{each}", json.dumps({"value": 100}))]
        half = {"user1": f"u{chance.randrange(30)}", "user2": "b", "timestamp": now}
        yield None, "", [("analyticsTopic", "k", json.dumps({**half, "analytics": "a"}))]
        yield None, "", [("metricsTopic", "k", json.dumps({**half, "metrics": "m"}))]
        view = {"logger_name": "shop.ViewProductEvent", "productId": chance.randrange(100)}
        yield None, "", [("logs", "", json.dumps({**view, "browserHash": f"h{chance.randrange(40)}"}))] * 2


def _feed(
    bootstrap: str, seconds: float, sent: dict[str, Times], seen: dict[str, Times], tables: dict[str, DeltaRows]
) -> None:
    """Send for `seconds`, and poll for the rows until all have come or a minute has passed."""
    sender = threading.Thread(target=_send, args=(bootstrap, seconds, sent), daemon=True)
    sender.start()
    until = time.time() + seconds + 60
    while sender.is_alive() or (time.time() < until and any(sent[t].keys() - seen[t].keys() for t in tables)):
        for table, rows in tables.items():
            for found in rows.new():
                seen[table].setdefault(found, time.time())
        time.sleep(0.02)


def _send(bootstrap: str, seconds: float, sent: dict[str, Times]) -> None:
    chance, started = random.Random(3), time.time()
    with load.sender(bootstrap) as send:
        for number in range(int(seconds)):
            parts = list(_second(number, chance))
            for place, (table, name, events) in enumerate(parts):
                time.sleep(max(0.0, started + number + place / len(parts) - time.time()))
                send(events)
                if table in sent:
                    sent[table][name] = time.time()


def _delays(table: str, sent: Times, seen: Times) -> Figures:
    found = sorted(seen[name] - at for name, at in sent.items() if name in seen)
    cuts = statistics.quantiles(found, n=100)
    percentiles = {f"{table}_p50_s": round(cuts[49], 2), f"{table}_p99_s": round(cuts[98], 2)}
    return {**percentiles, f"{table}_missing": len(sent) - len(found)}


def _costs(log: str) -> Figures:
    """Busy seconds of each query."""
    spent: dict[str, float] = defaultdict(float)
    for name, seconds in _COST.findall(log):
        spent[name] += float(seconds)
    return {f"busy_s_{name}": round(value, 1) for name, value in sorted(spent.items())}


def _gold(folder: Path, table: str) -> Path:
    return folder / HEADRACE.name / "tables" / "gold" / table


@contextmanager
def _service(bootstrap: str, folder: Path) -> Iterator[str]:
    port = 18080
    environment = {
        "HEADRACE_KAFKA_BOOTSTRAP": bootstrap,
        "HEADRACE_DATA_DIR": str(folder / HEADRACE.name),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'jobs'}",
    }
    place = folder / "service"
    place.mkdir()
    with job(["-m", "headrace", "-C", str(ROOT), "-t", "local", "serve", "--port", str(port)], place, environment):
        wait_for(lambda: _answers(f"http://127.0.0.1:{port}/openapi.json"), "the service")
        yield f"http://127.0.0.1:{port}"


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _posted(address: str, order_id: str) -> float:
    body = _order(order_id, 1, PRODUCTS[0])[2].encode()
    request = urllib.request.Request(
        f"{address}/v1/orders?wait=validated&timeout=60000", body, {"Content-Type": "application/json"}
    )
    started = time.time()
    with urllib.request.urlopen(request, timeout=70) as answer:
        assert answer.status == 200
    return time.time() - started
