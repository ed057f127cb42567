"""Years of shipping in minutes: finished and open orders, and commits of one row, written into a run that was ended.

Running them would take hours. So tables, log, history, stored state and closed keys are written as maintenance and a
run leave them; the rows are like those that the run has made, with other keys. `history` measures how they get there.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.grown import Grown
from headrace.project import loader
from headrace.project.model import Model, Project
from headrace.publishing.outlet import Outlet, read_progress
from headrace.publishing.progress import Progress
from headrace.queries.inputs import InputLog, Inputs
from headrace.store.commits import UPKEEP, Commit, actions_of, commit_of, entry_path
from headrace.store.delta_tables import create_checkpoint, id_of, open_table
from headrace.store.history import History
from headrace.store.layout import Layout
from headrace.store.maintenance.passes import KEPT, WORTH, Policy
from headrace.tables.closed_keys.runs import SCHEMA, KeyRuns
from headrace.tables.positions import Position

_LANDING, _STATE, _SHIPPED = "_landing.shipping", "silver.open_orders", "gold.shipment_ready"
_IN_LOG = KEPT + WORTH
"""So many commits are in the log, at the most."""

_UNSTORED = 500
"""So many batches are behind the stored rows and closed keys: half of what a run lets wait at most."""

_STEP = 200_000
"""Rows of a data file."""


def age(root: Path, data: Path, orders: int, waiting: int, commits: int) -> None:
    """Add finished orders, open ones and commits to what a run of the project in `root` has left; its broker runs.

    The run has shipped an order, and one waits for its products.
    """
    layout = Layout(data)
    inputs = InputLog(layout.checkpoint("shipping"))
    last = inputs.newest()
    assert last is not None and inputs.is_finished(last.batch), "the run was not ended in order"
    tables = Tables.of(layout)
    aged = tables.aged(last, orders, waiting, commits)
    inputs.record(aged)
    inputs.finish(aged.batch, tables.written())
    _store_state(layout, aged.batch - _UNSTORED, waiting)
    project = loader.load(root, "local")
    _store_keys(layout, project.model(_STATE), aged.batch - _UNSTORED, orders)
    _count_as_sent(project, tables.shipped, orders + commits)


@dataclass
class Tables:
    """What a batch of shipping reads and writes."""

    landing: Grown
    state: Grown
    shipped: Grown

    @classmethod
    def of(cls, layout: Layout) -> Tables:
        """Those of a data directory."""
        paths = (layout.landing("shipping"), layout.changes(_STATE), layout.table(_SHIPPED))
        return cls(*(Grown(Path(str(path)), Policy(0.0)) for path in paths))

    def aged(self, last: Inputs, orders: int, waiting: int, commits: int) -> Inputs:
        """Add all of it; the inputs of the newest batch."""
        first, old = last.batch + 1, commits - _IN_LOG
        record, shipment = _like(self.landing), _like(self.shipped)
        opened, closed = _like(self.state, "not _deleted"), _like(self.state, "_deleted")
        finished = [f"f{number}" for number in range(orders)]
        add = _Bulk(self.landing, record, "key", old)
        add.rows([*finished, *finished, *finished, *_open(waiting)], spread=False)
        add.rows([f"again{number}" for number in range(old)])
        landed = add.end({"records": 1})
        add = _Bulk(self.state, opened, "order_id", old)
        add.rows([*finished, *finished], spread=False)
        add.rows(finished, like=closed, spread=False)
        add.rows(_open(waiting), spread=False)
        add.rows(_again(old, waiting))
        marked = replace(last, batch=first + old - 1, ranges={_LANDING: (landed - 1, landed)})
        add.end(_marker(marked))
        add = _Bulk(self.shipped, shipment, "order_id", old)
        add.rows(finished, spread=False)
        add.rows([f"again{number}" for number in range(old)])
        add.end(_marker(marked))
        for number in range(_IN_LOG):
            after = self.landing.newest
            upto = self.landing.append(record, records=1)
            marked = replace(marked, batch=marked.batch + 1, ranges={_LANDING: (after, upto)})
            self.state.append(_keyed(opened, "order_id", [f"open{number}"]), **_marker(marked))
            self.shipped.append(_keyed(shipment, "order_id", [f"late{number}"]), **_marker(marked))
        return marked

    def written(self) -> Iterator[Position]:
        """The newest versions of what a batch writes."""
        for name, table in ((_STATE, self.state), (_SHIPPED, self.shipped)):
            yield Position(name, table.newest, id_of(table.path))


class _Bulk:
    """Commits that have left the log of a table: their rows in large files, their markers in its history."""

    def __init__(self, table: Grown, like: pa.Table, key: str, commits: int) -> None:
        self._table, self._like, self._key, self._commits = table, like, key, commits
        self._first = table.batch + 1
        self._adds: list[Mapping[str, Any]] = []

    def rows(self, keys: Sequence[str], like: pa.Table | None = None, spread: bool = True) -> None:
        """Rows with these keys, one for each commit in order or, unless they are spread, all in the first of them."""
        numbers = count(self._first)
        for at in range(0, len(keys), _STEP):
            some = _keyed(self._like if like is None else like, self._key, keys[at : at + _STEP])
            batches = [next(numbers) if spread else self._first for _ in range(some.num_rows)]
            written = self._table.write(_numbered(some, batches))
            column = _batch_column(some)
            found = replace(written, batches=(column, batches[0], batches[-1]))
            self._adds.append(found.to_add(data_change=False))

    def end(self, marker: Mapping[str, Any]) -> int:
        """Write the log and the history; the newest version."""
        table, path = self._table, self._table.path
        begin, upto = table.newest + 1, table.newest + self._commits + 1
        past = [commit_of(version, actions_of(path, version)) for version in range(begin)]
        known = {**table.marker, **marker}
        past += [
            Commit(version, {**known, "batch": self._first + n}, ("file",), 20_000)
            for n, version in enumerate(range(begin, upto))
        ]
        table.commit(self._adds, **{UPKEEP: "compaction"})
        create_checkpoint(path)
        History(path).add(past)
        _rename_version(path, begin, upto)
        table.newest, table.marker = upto, {**known, "batch": self._first + self._commits - 1}
        return upto - 1


def _rename_version(path: Path, version: int, upto: int) -> None:
    """Let the checkpoint of a version be that of a later one, which changed nothing, and remove the log before it."""
    log = path / "_delta_log"
    checkpoint = f"{version:020}.checkpoint.parquet"
    (log / checkpoint).rename(log / f"{upto:020}.checkpoint.parquet")
    pointer = log / "_last_checkpoint"
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), "version": upto}))
    marked = json.dumps(
        {"commitInfo": {"timestamp": 0, "userMetadata": json.dumps({"headrace": {UPKEEP: "compaction"}})}}
    )
    for file in log.glob("0*"):
        if file.name[:20] < f"{upto:020}":
            file.unlink()
    entry_path(path, upto).write_text(f"{marked}\n")


def _like(table: Grown, condition: str = "true") -> pa.Table:
    """A row of a table for which a condition holds."""
    rows = open_table(table.path).to_pyarrow_table()
    if condition != "true":
        rows = rows.filter(pa.compute.field("_deleted") == (condition == "_deleted"))
    return rows.slice(rows.num_rows - 1, 1)


def _keyed(like: pa.Table, column: str, keys: Sequence[str]) -> pa.Table:
    """Rows like one, with these keys."""
    rows = like.take([0] * len(keys))
    return rows.set_column(rows.column_names.index(column), column, pa.array(keys, pa.string()))


def _numbered(rows: pa.Table, batches: Sequence[int]) -> pa.Table:
    column = _batch_column(rows)
    return rows.set_column(rows.column_names.index(column), column, pa.array(batches, pa.int64()))


def _batch_column(rows: pa.Table) -> str:
    return "landing_batch" if "landing_batch" in rows.column_names else "_batch"


def _open(waiting: int) -> list[str]:
    return [f"open{number}" for number in range(waiting)]


def _again(commits: int, waiting: int) -> list[str]:
    """Open orders that change to what they were, in turn."""
    return [f"open{number % waiting}" for number in range(commits)]


def _marker(inputs: Inputs) -> dict[str, Any]:
    return {"query": "shipping", "batch": inputs.batch, "inputs": inputs.to_json(), "rows": 1}


def _store_state(layout: Layout, batch: int, waiting: int) -> None:
    """Store the current rows as of a batch."""
    current = Grown(Path(str(layout.table(_STATE))), Policy(0.0))
    rows = _keyed(_like(current), "order_id", _open(waiting))
    current.replace(current.write(_numbered(rows, [batch] * waiting)), batch=batch)


def _store_keys(layout: Layout, model: Model, batch: int, orders: int) -> None:
    """Store as many closed keys, as of a batch: those of other orders, as Spark alone knows how these are hashed."""
    path = Path(str(layout.changes(_STATE)))
    closing = f"_deleted and coalesce({model.close_when}\n, false)"
    about = {"table": id_of(path), "name": _STATE, "keys": [*model.unique_key], "closes": closing, "called": []}
    runs = KeyRuns(path / "_keys" / re.sub(r"\W+", "_", _STATE), about)
    chance = random.Random(1)
    hashes = [pa.array([chance.getrandbits(63) for _ in range(orders)], pa.int64()) for _ in SCHEMA]
    keys = pa.table(hashes, schema=SCHEMA)
    runs.replace((keys.slice(at, _STEP) for at in range(0, orders, _STEP)), batch)


def _count_as_sent(project: Project, shipped: Grown, rows: int) -> None:
    outlet = Outlet.of(project, project.model(_SHIPPED))
    found = read_progress(outlet)
    assert found is not None and found.progress.rows is not None, "nothing was published"
    begun = Progress(found.progress.table_id, shipped.newest + 1, rows=found.progress.rows + 1 + rows)
    outlet.move(begun)
