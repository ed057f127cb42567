"""Made-up halves of calls between a few users."""

from __future__ import annotations

import random
from collections.abc import Iterator

from headrace.demo.records import Record, as_json

ANALYTICS, METRICS = "analyticsTopic", "metricsTopic"
TOPICS = (ANALYTICS, METRICS)
USERS = ("anna", "bela", "cleo", "dino", "emil", "faye")

_MOODS = ("friendly", "brief", "angry", "sold")
_STEP_MS = 200
"""Event time from one half to the next, as at five halves a second."""

_DELAYED_MS = 30_000
"""How far behind its call a half may come at most."""


def analytics(user1: str, user2: str, text: str | None, at_ms: int | None = None) -> Record:
    """The half with the analysis of a call."""
    return _half(ANALYTICS, user1, user2, at_ms, analytics=text)


def metrics(user1: str, user2: str, text: str | None, at_ms: int | None = None) -> Record:
    """The half with the measurements of a call."""
    return _half(METRICS, user1, user2, at_ms, metrics=text)


def demo(run_id: str, seed: int, start_ms: int) -> Iterator[Record]:
    """Endless halves between a run's own users: most calls have both, in any order, some more, some only one."""
    chance, at_ms = random.Random(f"calls {seed}"), start_ms
    while True:
        user1, user2 = (f"{name}-{run_id}" for name in chance.sample(USERS, 2))
        for kind in chance.choice(("am", "ma", "am", "ma", "a", "m", "ama", "mmaa")):
            at_ms += _STEP_MS
            half_ms = at_ms - chance.choice((0, 0, chance.randrange(_DELAYED_MS)))
            if kind == "a":
                yield analytics(user1, user2, chance.choice(_MOODS), half_ms)
            else:
                yield metrics(user1, user2, f"{chance.randrange(10, 900)} s", half_ms)


def _half(topic: str, user1: str, user2: str, at_ms: int | None, **fields: str | None) -> Record:
    return Record(topic, f"{user1}-{user2}", as_json({"user1": user1, "user2": user2, "timestamp": at_ms, **fields}))
