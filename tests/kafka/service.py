"""The REST service as a real process, on its own small project."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from headrace.environment import guard
from tests.kafka.stage import PROJECT, command, environ
from tests.waiting import PATIENCE

ORDERS_BY_ID = """/*
The latest record of each order: one row per order id.

materialized: upsert
unique_key: order_id
*/
select data.id as order_id, value as body, _arrival
from stream bronze.shop_orders
"""

SALES = """/*
What was sold: one row per sale.

materialized: append
once_per: sale_id
*/
select data.id as sale_id, _arrival
from stream bronze.payments
"""


@dataclass
class Instance:
    """One running service."""

    process: subprocess.Popen[str]
    client: httpx.Client

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


BRONZE = ("shop.yml", "validation_rules.csv")


def project(root: Path) -> Path:
    """Write a project with the shop's topics, the orders view and a gold table."""
    files = {
        "manifest.yml": "name: small\nmodels:\n  shop: {+query: shop}\n",
        "conf/test.yml": "kafka: {create_topics: true}\ndata_dir: data\nspark: {compiler: quick}\n",
        **{f"sql/bronze/{name}": (PROJECT / "sql/bronze" / name).read_text("utf-8") for name in BRONZE},
        "sql/silver/shop/orders_by_id.sql": ORDERS_BY_ID,
        "sql/gold/shop/sales.sql": SALES,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


@contextmanager
def serving(root: Path, bootstrap: str, *words: str, data_dir: Path | None = None) -> Iterator[Instance]:
    """A service of a project at a free port for as long as the block lasts."""
    asked = command("serve", "--port", "0", *words, project=root)
    process = subprocess.Popen(asked, env=environ(bootstrap, data_dir), stderr=subprocess.PIPE, text=True)
    leash = guard.tie(process.pid)
    assert process.stderr is not None
    rest = threading.Thread(target=process.stderr.read, daemon=True)
    try:
        with httpx.Client(base_url=_url(process), timeout=PATIENCE) as client:
            rest.start()
            yield Instance(process, client)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE)
        leash.release()
        if rest.ident is not None:
            rest.join(PATIENCE)
        process.stderr.close()


def _url(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if found := re.search(r"http://[\d.]+:\d+", line):
            return found.group()
    raise AssertionError(f"the service ended: {''.join(lines)}")
