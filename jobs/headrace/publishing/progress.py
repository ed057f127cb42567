"""How far a publisher has come, as it stands in Kafka beside what it has sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a table has been sent: all versions before `version`, and `position` rows of that one.

    With `replaced`, the progress over a table that a swap has put aside, it is otherwise: of the versions before
    `version` only what was not sent from that table is to be sent, and `position` rows of it have been.
    """

    table_id: str
    version: int = 0
    position: int = 0
    replaced: Progress | None = None

    @property
    def table_ids(self) -> frozenset[str]:
        """The tables that it hangs on."""
        return frozenset({self.table_id}) | (self.replaced.table_ids if self.replaced else frozenset())

    def to_json(self) -> str:
        return json.dumps(self._told())

    @classmethod
    def from_json(cls, text: str | bytes) -> Progress:
        return cls._of(json.loads(text))

    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = {"table": self.table_id, "version": self.version, "position": self.position}
        return told | ({"replaced": self.replaced._told()} if self.replaced else {})

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Progress:
        replaced = cls._of(told["replaced"]) if "replaced" in told else None
        return cls(told["table"], told["version"], told["position"], replaced)
