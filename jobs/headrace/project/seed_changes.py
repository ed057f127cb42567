"""What an edited seed file lands: the lines of keys that are new or changed, and the end of keys that are gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.project.model import Seed, Topic

Landed = Mapping[str, Sequence[str | None]]
"""By key the values of its lines as they landed last; a null is the end of the key."""


@dataclass(frozen=True)
class SeedChanges:
    """What lands of a topic, and the keys that are gone from the file and remain, as the source cannot end them."""

    seeds: tuple[Seed, ...]
    new: int
    changed: int
    gone: int
    remaining: tuple[str, ...]


def of(topic: Topic, landed: Landed) -> SeedChanges:
    """Compare a topic's file with what has landed of it. Of a key that differs, all lines land."""
    due = _by_key(topic.seeds)
    differing = [
        key for key, seeds in due.items() if _canonical(seed.value for seed in seeds) != _canonical(landed.get(key, ()))
    ]
    lines = sorted((seed for key in differing for seed in due[key]), key=lambda seed: seed.line)
    missing = [key for key, values in landed.items() if key not in due and [*values] != [None]]
    ended = _ends(missing, topic.seeds) if topic.null_value else ()
    new = sum(key not in landed or [*landed[key]] == [None] for key in differing)
    return SeedChanges((*lines, *ended), new, len(differing) - new, len(ended), () if ended else tuple(missing))


def digest(seeds: Iterable[Seed]) -> str:
    """A hash of a file's content."""
    content = json.dumps([[seed.key, seed.value] for seed in seeds])
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def _by_key(seeds: Iterable[Seed]) -> dict[str, list[Seed]]:
    found: dict[str, list[Seed]] = {}
    for seed in seeds:
        found.setdefault(seed.key, []).append(seed)
    return found


def _ends(keys: Sequence[str], seeds: Sequence[Seed]) -> tuple[Seed, ...]:
    """Records without a value, numbered behind the lines of the file."""
    last = max((seed.line for seed in seeds), default=0)
    return tuple(Seed(last + number, key, None) for number, key in enumerate(keys, 1))


def _canonical(values: Iterable[str | None]) -> list[str | None]:
    """Values in a canonical form, so that two of the same meaning are equal: the order of fields does not matter."""
    return [None if value is None else _canonical_json(value) for value in values]


def _canonical_json(value: str) -> str:
    try:
        return json.dumps(json.loads(value, parse_float=str), sort_keys=True)
    except ValueError:
        return value
