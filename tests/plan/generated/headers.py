"""Edits of a model's header."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from random import Random
from typing import Any

from ruamel.yaml import YAML

Header = dict[str, Any]
Rewrite = Callable[[Header, Random], None]

_HEADER = re.compile(r"/\*\n(?P<title>.*?)(?:\n\n(?P<keys>.*?))?\n?\*/", re.DOTALL)


def edited(text: str, random: Random) -> tuple[str, str, bool] | None:
    """A text under another header, with the name of the edit and whether it leaves the meaning; None where not."""
    found = _HEADER.match(text)
    if found is None:
        return None
    header: Header = YAML(typ="safe").load(found["keys"] or "") or {}
    name, header, is_neutral = random.choice([*_edits(header, random)])
    keys = StringIO()
    for key, value in header.items():
        keys.write(f"{key}: {json.dumps(value)}\n")
    title = f"{found['title']} Really so." if name == "description" else found["title"]
    return f"/*\n{title}\n\n{keys.getvalue()}*/{text[found.end() :]}", name, is_neutral


def _edits(header: Header, random: Random) -> Iterator[tuple[str, Header, bool]]:
    yield random.choice((("description", header, True), ("tags", {**header, "tags": ["new"]}, True)))
    for key in ("unique_key", "once_per"):
        names = header.get(key)
        if isinstance(names, list):
            yield f"order of {key}", {**header, key: names[::-1]}, True
            yield f"shorter {key}", {**header, key: names[:1]}, False
        elif names is not None:
            yield f"longer {key}", {**header, key: [names, "_arrival"]}, False
    if "materialized" in header:
        other = "upsert" if header["materialized"] == "append" else "append"
        keyed = {"unique_key": "_arrival"} if other == "upsert" else {}
        rest = {k: v for k, v in header.items() if k not in ("unique_key", "delete_when", "close_when", "once_per")}
        yield "materialized", {**rest, "materialized": other, **keyed}, False
    if header.get("materialized") == "append":
        yield "once_per", {**header, "once_per": ["_arrival"]}, False
    if "unique_key" in header or "once_per" in header:  # of those that run per micro-batch, these are the most
        yield "on_error", {**header, "on_error": "dead_letter"}, False
        yield "query", {**header, "query": "another"}, False
    for key in ("close_when", "delete_when"):
        if rule := header.get(key):
            yield f"no {key}", {k: v for k, v in header.items() if k != key}, False
            yield f"denied {key}", {**header, key: f"not ({rule})"}, False
            yield f"enclosed {key}", {**header, key: f"({rule})"}, True
            sides = str(rule).split(" and ")
            yield f"other order of {key}", {**header, key: " and ".join(reversed(sides))}, True
            yield f"shorter {key}", {**header, key: sides[0]}, len(sides) == 1
            other = "close_when" if key == "delete_when" else "delete_when"
            yield f"{other} for {key}", {other if k == key else k: v for k, v in header.items()}, False
    for key in ("once_per", "publish", "log", "columns", "remember", "output_mode", "every"):
        if key in header:
            yield f"no {key}", {k: v for k, v in header.items() if k != key}, False
    for key in ("remember", "every"):
        if key in header:
            yield f"another {key}", {**header, key: 7}, False
    if publish := header.get("publish"):
        yield from _published(header, publish)
    if columns := header.get("columns"):
        yield "order of columns", {**header, "columns": dict(reversed(columns.items()))}, True


def _published(header: Header, publish: dict[str, Any]) -> Iterator[tuple[str, Header, bool]]:
    value = publish.get("value", {})
    if isinstance(value, dict) and len(value) > 1:
        shorter = dict([*value.items()][:-1])
        yield "fewer fields published", {**header, "publish": {**publish, "value": shorter}}, False
    yield "published under another key", {**header, "publish": {**publish, "key": "_arrival"}}, False
    if isinstance(publish["topic"], str):
        yield "another topic", {**header, "publish": {**publish, "topic": f"{publish['topic']}-2"}}, False
    if "tombstone_when" in publish:
        plain = {k: v for k, v in publish.items() if k != "tombstone_when"}
        yield "no tombstones", {**header, "publish": plain}, False
