"""How far a publisher has got, as recorded in Kafka together with what it has sent."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Writer:
    """Who has written a record: a process on a machine, and where its data are. `run` differs from start to start."""

    host: str
    pid: int
    data: str
    run: str

    @classmethod
    def here(cls, data: str) -> Writer:
        """A new run in this process, over data at a place."""
        return cls(_host(), os.getpid(), data, uuid.uuid4().hex)

    def is_over_data_of(self, other: Writer) -> bool:
        """Whether both write over the same data: a path names those of its machine."""
        return self.data == other.data and ("://" in self.data or self.host == other.host)

    def __str__(self) -> str:
        return f"pid {self.pid} on {self.host} with the data in {self.data}"


@dataclass(frozen=True)
class Progress:
    """How far a table has been sent: all versions before `version`, and `position` rows of that one.

    `rows` is how many rows the versions before `version` hold; None in a record of an old run. The next `skip` rows
    count as sent: they were, before the table was restored from an older copy. `commit` is the id of the commit of
    which `position` rows were sent: in a copy that has gone its own way, that version is another commit.

    With `replaced`, the progress over a table that a swap has put aside, the meaning differs: of the versions before
    `version` only what was not sent from that table is to be sent, and `position` rows of that have been.
    """

    table_id: str
    version: int = 0
    position: int = 0
    replaced: Progress | None = None
    rows: int | None = 0
    skip: int = 0
    commit: str | None = None

    @property
    def table_ids(self) -> frozenset[str]:
        """The ids of the tables that it depends on."""
        return frozenset({self.table_id}) | (self.replaced.table_ids if self.replaced else frozenset())

    @property
    def upto(self) -> int:
        """The newest version that must exist in the table."""
        return self.version if self.position and not self.replaced else self.version - 1

    def passed(self, rows: int) -> Progress:
        """The progress after the next version, which has `rows` rows."""
        known = None if self.rows is None else self.rows + rows
        return replace(self, version=self.version + 1, position=0, rows=known, commit=None)

    def skipped(self, rows: int) -> Progress:
        """The progress before the next version, which has `rows` rows, after those of them that count as sent."""
        if self.skip > rows:
            return replace(self.passed(rows), skip=self.skip - rows)
        return replace(self, position=max(self.position, self.skip), skip=0)

    def to_json(self, writer: Writer | None = None) -> str:
        """As text; `writer` is who records it."""
        return json.dumps(self._fields() | ({"by": asdict(writer)} if writer else {}))

    @classmethod
    def from_json(cls, text: str | bytes) -> Progress:
        return cls._from_fields(json.loads(text))

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"table": self.table_id, "version": self.version, "position": self.position}
        fields |= {} if self.rows is None else {"rows": self.rows}
        fields |= {"skip": self.skip} if self.skip else {}
        fields |= {"commit": self.commit} if self.commit else {}
        return fields | ({"replaced": self.replaced._fields()} if self.replaced else {})

    @classmethod
    def _from_fields(cls, fields: Mapping[str, Any]) -> Progress:
        replaced = cls._from_fields(fields["replaced"]) if "replaced" in fields else None
        place = (fields["table"], fields["version"], fields["position"], replaced)
        return cls(*place, fields.get("rows"), fields.get("skip", 0), fields.get("commit"))


@dataclass(frozen=True)
class Recorded:
    """A record of the progress topic: the progress, and who has written it; None in a record of an old run."""

    progress: Progress
    by: Writer | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> Recorded:
        fields = json.loads(text)
        return cls(Progress._from_fields(fields), Writer(**fields["by"]) if "by" in fields else None)

    @property
    def source(self) -> str:
        """Who has written it, in words."""
        return str(self.by) if self.by else "an older version of headrace, which does not say where"


@cache
def _host() -> str:
    return socket.gethostname()
