"""How far a publisher has got, as recorded in Kafka beside what it has sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a table has been sent: all versions before `version`, and `position` rows of that one.

    With `replaced`, the progress over a table that a swap has put aside, the meaning differs: of the versions before
    `version` only what was not sent from that table is to be sent, and `position` rows of that have been.
    """

    table_id: str
    version: int = 0
    position: int = 0
    replaced: Progress | None = None

    @property
    def table_ids(self) -> frozenset[str]:
        """The ids of the tables that it depends on."""
        return frozenset({self.table_id}) | (self.replaced.table_ids if self.replaced else frozenset())

    def to_json(self) -> str:
        return json.dumps(self._fields())

    @classmethod
    def from_json(cls, text: str | bytes) -> Progress:
        return cls._from_fields(json.loads(text))

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"table": self.table_id, "version": self.version, "position": self.position}
        return fields | ({"replaced": self.replaced._fields()} if self.replaced else {})

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Progress:
        replaced = cls._from_fields(fields["replaced"]) if "replaced" in fields else None
        return cls(fields["table"], fields["version"], fields["position"], replaced)
