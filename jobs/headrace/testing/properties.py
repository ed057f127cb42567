"""Properties of every streaming append model: arrival within the watermark does not matter, and batch gives the same.

Both are compared with the rows that the case gives when it is streamed batch by batch, if none of its rows came late.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Literal

from headrace.project import graph
from headrace.project.model import LANDING_COLUMNS, Model, Project
from headrace.testing.cases.case import CUTS, Case
from headrace.testing.cases.comparison import row_differences
from headrace.testing.cases.landing import Landed, LandedBatch
from headrace.testing.cases.outcome import Outcome
from headrace.testing.runs import memory
from headrace.testing.runs.sandbox import Sandbox
from headrace.testing.runs.scope import Scope, narrowed
from headrace.testing.runs.trial import outcome_of

Property = Literal["shuffled", "as-batch"]

_DELAY = re.compile(r"\bdelay\s+of\s+interval\s+'?(\d+)'?\s+(second|minute|hour|day)s?\b", re.IGNORECASE)
_MOVED = ("landing_batch", "landed_at")
"""Columns that say when a record landed; they stay in place when records are exchanged."""


def properties(case: Case) -> Iterator[Property]:
    """The properties that a case can show; one that names its cuts shows none."""
    model = case.model
    if model.run != "streaming" or model.materialized != "append" or model.output_mode != "append" or case.cuts != CUTS:
        return
    if sum(bool(any(batch.records.values())) for batch in case.given) > 1:
        yield "shuffled"
    reads = graph.reads(model, graph.by_table(case.project.models))
    if all(read.table.startswith("bronze.") for read in reads):
        yield "as-batch"


def differences(
    sandbox: Sandbox, case: Case, landed: Landed, streamed: Outcome, which: Property, random: Random
) -> Iterator[str]:
    """How a case violates a property."""
    model, title = case.model, f"rows of {case.model.table}, streamed and {which}"
    if streamed.dropped:
        return  # the watermark decided, and it depends on the arrival
    if which == "as-batch":
        scope = Scope(sandbox, narrowed(case.project, case.tables), landed, case.tables)
        whole = memory.run_view(scope, [range(landed.count)], model, random)
        yield from row_differences(title, streamed.rows(model), whole.rows(model), least=True)
        return
    other = outcome_of(sandbox, case, shuffled(landed, delay(case.project, model), random), "one-by-one", random)
    if not other.dropped:
        yield from row_differences(title, streamed.rows(model), other.rows(model))


def delay(project: Project, model: Model) -> timedelta:
    """The shortest delay of the watermarks that a model reads; zero where it is not written as a number."""
    texts = [model.text, *(view.text for view in graph.views(model, graph.by_table(project.models)))]
    found = [timedelta(**{f"{unit.lower()}s": int(number)}) for text in texts for number, unit in _DELAY.findall(text)]
    return min(found, default=timedelta())


def shuffled(landed: Landed, delay: timedelta, random: Random) -> Landed:
    """The records of each batch in another order, and neighbouring batches exchanged where that makes none late."""
    batches = [replace(batch, rows=tuple(random.sample(batch.rows, len(batch.rows)))) for batch in landed.batches]
    for landing in {batch.landing for batch in batches}:
        places = [index for index, batch in enumerate(batches) if batch.landing == landing]
        for here, there in zip(places[::2], places[1::2], strict=False):
            if _are_near(batches[here], batches[there], delay):
                batches[here], batches[there] = _exchanged(batches[here], batches[there])
    return Landed(tuple(batches))


def _are_near(one: LandedBatch, other: LandedBatch, delay: timedelta) -> bool:
    times = [row.event_time for row in (*one.rows, *other.rows) if row.event_time is not None]
    is_record = not one.is_tick and not other.is_tick
    return is_record and bool(times) and max(times) - min(times) < delay


def _exchanged(one: LandedBatch, other: LandedBatch) -> tuple[LandedBatch, LandedBatch]:
    def put(rows: LandedBatch, into: LandedBatch) -> LandedBatch:
        fixed = {name: into.rows[0][name] for name in _MOVED}
        moved = (type(row)(**{name: fixed.get(name, row[name]) for name, _ in LANDING_COLUMNS}) for row in rows.rows)
        return replace(into, rows=tuple(moved))

    return put(other, one), put(one, other)
