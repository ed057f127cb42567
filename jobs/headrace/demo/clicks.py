"""Made-up visits of browsers to the pages of a few products."""

from __future__ import annotations

import random
from collections.abc import Iterator
from zlib import crc32

from headrace.demo.records import Record, as_json

LOGS, PRODUCTS = "logs", "products"
TOPICS = (LOGS, PRODUCTS)
NAMES = ("espresso", "filter", "cocoa", "tea", "cake")

_AT_ONCE = 4
"""Browsers that look around at the same time."""

_MOST_VIEWS = 9
_VERIFIED = 0.2
"""The chance, before a view, that a browser has solved its captcha."""

_NOISE = 0.1
"""The share of lines about something else."""


def view(browser: str, product: int) -> Record:
    """A browser views a product."""
    return _line("shop.web.ViewProductEvent", browserHash=browser, productId=product, message="product viewed")


def verified(browser: str) -> Record:
    """A browser has solved its captcha."""
    return _line("shop.web.BrowserCaptchaVerified", browserHash=browser, message="captcha verified")


def name(product: int, text: str | None) -> Record:
    """A product gets a name, or loses it."""
    return Record(PRODUCTS, str(product), None if text is None else as_json(text))


def demo(run_id: str, seed: int) -> Iterator[Record]:
    """Endless visits of a run's own browsers to its own products, which are named first."""
    chance, first = random.Random(f"clicks {seed}"), crc32(run_id.encode()) * 10
    products = range(first, first + len(NAMES))
    for product, text in zip(products, NAMES, strict=True):
        yield name(product, text)
    visits = [_visit(chance, run_id, number, products) for number in range(_AT_ONCE)]
    number = _AT_ONCE
    while True:
        place = chance.randrange(_AT_ONCE)
        record = next(visits[place], None)
        if record is None:
            visits[place] = _visit(chance, run_id, number, products)
            number += 1
            continue
        yield record
        if chance.random() < _NOISE:
            yield _line("shop.web.Heartbeat", message="still there")


def _visit(chance: random.Random, run_id: str, number: int, products: range) -> Iterator[Record]:
    browser, is_verified = f"browser-{run_id}-{number}", False
    for _ in range(chance.randint(1, _MOST_VIEWS)):
        if not is_verified and chance.random() < _VERIFIED:
            is_verified = True
            yield verified(browser)
        yield view(browser, chance.choice(products))


def _line(logger: str, **fields: str | int) -> Record:
    return Record(LOGS, None, as_json({"logger_name": logger, "thread_name": "main", "appName": "shop", **fields}))
