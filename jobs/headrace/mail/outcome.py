"""The outcome of a notice: what has become of its letter, and where the notice is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["sending", "sent", "refused", "undeliverable"]


@dataclass(frozen=True)
class Place:
    """A partition of a topic, and the offset of a record in it."""

    partition: int
    offset: int
