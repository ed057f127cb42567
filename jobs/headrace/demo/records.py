"""A record for Kafka before it is sent, and ids that keep runs apart."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any


@dataclass(frozen=True)
class Record:
    """What one Kafka record holds; a null value is a tombstone, no timestamp means when it is sent."""

    topic: str
    key: str | None
    value: str | None
    timestamp_ms: int | None = None


def as_json(value: Mapping[str, Any] | str) -> str:
    """Write a record's value."""
    return json.dumps(value, ensure_ascii=False)


def iso(moment: datetime) -> str:
    """Write a time as the demo's producers do: UTC, without a zone."""
    return moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds")


def fresh_run_id() -> str:
    """A short name that no earlier run had, to keep the keys of runs apart."""
    return uuid.uuid4().hex[:6]
