"""The shop as its customers see it: orders to two instances of the service, a live runner behind, letters back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kafka.runner import Runner
from tests.kafka.service import Instance, serving
from tests.kafka.stage import Stage, checkout, command
from tests.post_office import Office, open_office
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.kafka, pytest.mark.long]

TOPICS = {"shop-orders": 2, "warehouse-inventory": 1, "customers": 1, "payments": 1}
LONG = int(PATIENCE * 1000)
CONF = """
kafka: {{bootstrap: embedded, create_topics: true}}
spark: {{compiler: quick}}
trigger: {{ingest: 200ms}}
vars: {{stock_deadline: 36000, order_timeout: 36000, payment_gap: 36000}}  # far away, however slow the machine is
mail: {{host: 127.0.0.1, port: {port}, sender: shop@example.org}}
"""


@dataclass(frozen=True)
class Shop:
    """A shop with ten jumpers."""

    stage: Stage
    root: Path
    office: Office
    instances: tuple[Instance, Instance]

    def place(self, number: int) -> dict[str, Any]:
        """Order a jumper at one of the instances, and wait for its outcome."""
        body = {"id": f"o{number:02}", "customerId": number, "product": "JUMPERS", "quantity": 1, "price": 9.5}
        instance = self.instances[number % 2]
        answer = instance.client.post("/v1/orders", json=body, params={"wait": "validated", "timeout": LONG})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def mail(self) -> str:
        """Send the next letter; return the command's output."""
        words = ("mail", "order-emails", "--send", "--limit", "1", "--timeout", str(PATIENCE))
        done = self.stage.call(*words, project=self.root)
        assert done.returncode == 0, done.stderr
        return done.stderr


@pytest.fixture(scope="module")
def shop(stage: Stage) -> Iterator[Shop]:
    stage.create(TOPICS)
    customer = {"id": 3, "firstName": "Ada", "email": "ada@example.org", "level": "GOLD"}
    stage.send([("warehouse-inventory", "JUMPERS", "10"), ("customers", "3", json.dumps(customer))])
    with open_office() as office:
        root = checkout(stage.folder / "shop", CONF.format(port=office.port))
        runner = Runner(command("run", "--select", "shop", project=root), stage.environ, stage.folder, stage.data_dir)
        try:
            with (
                serving(root, stage.bootstrap, data_dir=stage.data_dir) as one,
                serving(root, stage.bootstrap, data_dir=stage.data_dir) as other,
            ):
                yield Shop(stage, root, office, (one, other))
        finally:
            runner.close()


def test_eleventh_order_of_ten_pieces_fails(shop: Shop) -> None:
    with ThreadPoolExecutor(11) as pool:
        decided = [*pool.map(shop.place, range(1, 12))]
    outcomes = Counter((order["state"], order.get("reason")) for order in decided)
    assert outcomes == {("VALIDATED", None): 10, ("FAILED", "INVENTORY_CHECK: out_of_stock"): 1}


def test_instances_answer_alike(shop: Shop) -> None:
    for number in range(1, 12):
        one, other = (each.client.get(f"/v1/orders/o{number:02}/validated") for each in shop.instances)
        assert (one.status_code, one.json()) == (200, other.json())


def test_payment_brings_a_letter(shop: Shop) -> None:
    payment = {"id": "p3", "orderId": "o03", "ccy": "EUR", "amount": 9.5}
    shop.stage.send([("payments", "p3", json.dumps(payment))])
    assert "sent" in shop.mail()
    (letter,) = shop.office.letters
    assert (letter["To"], "o03" in letter["Subject"]) == ("Ada <ada@example.org>", True)
