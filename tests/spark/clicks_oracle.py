"""The rows expected from a sequence of log lines and product names, in plain Python and one line after another."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

EPOCH_MS = 1_767_261_600_000  # 2026-01-01T10:00:00Z
GRACE_MS = 60_000


@dataclass(frozen=True)
class Event:
    """A line of the log, or the name of a product; `at` is its event time in milliseconds."""

    kind: str
    at: int
    browser: str = ""
    product: int = 0
    name: str | None = None

    @property
    def topic(self) -> str:
        return "products" if self.kind == "name" else "logs"

    @property
    def key(self) -> str | None:
        return str(self.product) if self.kind == "name" else None

    @property
    def value(self) -> Any:
        """The record's value; a name is a JSON text."""
        if self.kind == "name":
            return None if self.name is None else f'"{self.name}"'
        fields = {"browserHash": self.browser} | ({"productId": self.product} if self.kind == "view" else {})
        kinds = {"view": "ViewProductEvent", "verified": "BrowserCaptchaVerified", "other": "Heartbeat"}
        return {"logger_name": f"shop.{kinds[self.kind]}", **fields}


@dataclass
class Due:
    """Expected rows, in order of arrival."""

    views: list[tuple[int, str | None, int]] = field(default_factory=list)
    captchas: list[tuple[str, int]] = field(default_factory=list)
    popular: list[tuple[int, int]] = field(default_factory=list)


def due(events: Iterable[Event], captcha_views: int, window_ms: int | None, popular_views: int) -> Due:
    """Take events in order of arrival."""
    found, names = Due(), dict[int, str]()
    counts, seen, verified = Counter[int](), defaultdict[str, list[int]](list), set[str]()
    for event in events:
        if event.kind == "name":
            names.pop(event.product, None)
            if event.name is not None:
                names[event.product] = event.name
        elif event.kind == "verified":
            verified.add(event.browser)
        elif event.kind == "view":
            counts[event.product] += 1
            found.views.append((event.product, names.get(event.product), counts[event.product]))
            if counts[event.product] == popular_views:
                found.popular.append((event.product, popular_views))
            seen[event.browser].append(event.at)
            count = _counted(seen[event.browser], window_ms)
            if count >= captcha_views and event.browser not in verified:
                found.captchas.append((event.browser, count))
    return found


def _counted(times: list[int], window_ms: int | None) -> int:
    """The views that count at the last of them."""
    if window_ms is None:
        return len(times)
    remembered = [at for at in times if at > max(times) - window_ms - GRACE_MS]
    return sum(times[-1] - window_ms < at <= times[-1] for at in remembered)


def activity(events: Iterable[Event]) -> Counter[tuple[str, int]]:
    """Views by browser and start of a five-second window, one every two seconds."""
    found = Counter[tuple[str, int]]()
    for event in events:
        if event.kind == "view":
            last = event.at // 2000 * 2000
            starts = (start for start in range(last - 4000, last + 1, 2000) if start + 5000 > event.at)
            found.update((event.browser, start) for start in starts)
    return found


def reach(events: Iterable[Event], final_before: int) -> Counter[tuple[int, int]]:
    """Distinct browsers by product and start of a fifteen-second window, for windows that ended by a time."""
    triples = {(e.product, e.at // 15000 * 15000, e.browser) for e in events if e.kind == "view"}
    return Counter((product, start) for product, start, _ in triples if start + 15000 <= final_before)


def load(seed: int) -> Iterator[Event]:
    """Endless events: a burst of a few busy browsers first, so that captchas are due, then whatever comes."""
    chance, now = random.Random(seed), EPOCH_MS
    for number in range(30):
        yield Event("view", now + number * 100, f"busy-{number % 4}", number % 3)
    while True:
        now += chance.choice((0, 300, 1500, 9000))
        at = now - chance.choice((0, 0, 0, 700, 4000, 50_000, 80_000))
        browser = f"busy-{chance.randrange(4)}" if chance.random() < 0.5 else f"b-{chance.randrange(30)}"
        kind = chance.choices(("view", "verified", "other", "name"), (82, 2, 6, 10))[0]
        name = chance.choice((None, "Pen", "Ink", "Cap")) if kind == "name" else None
        yield Event(kind, at, browser, chance.randrange(3), name)
