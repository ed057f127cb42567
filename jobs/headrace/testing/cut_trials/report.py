"""The result of cuts as an analyst reads it: the few events, the rows of each cut, and a case to add."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from headrace.project.model import SEED_PARTITION, Model
from headrace.testing import recording
from headrace.testing.cases import values
from headrace.testing.cases.landing import LandedBatch
from headrace.testing.cut_trials.runs import Rows
from headrace.testing.cut_trials.trial import Difference

MOST_ROWS = 10


def describe(model: Model, difference: Difference, names: Mapping[str, str], seed: int) -> str:
    """A difference as a text; `names` are those of the topics in bronze."""
    (first, one), (second, other) = difference.one, difference.other
    lines = [
        f"{model.table} depends on how records are cut into batches: these give other rows",
        *_events(difference.batches, names),
        *_side(first, one, other),
        *_side(second, other, one),
        f"again: headrace test --cuts --seed {seed} --select {model.table}",
        "as a case, with the rows that are right:",
        *(f"  {line}" for line in case_lines(model, difference, names, seed)),
    ]
    return "\n".join(lines)


def case_lines(model: Model, difference: Difference, names: Mapping[str, str], seed: int) -> Iterator[str]:
    """A case of the events; its rows are those of the second cut, as it is not known which are right."""
    seeds = any(_is_seed(batch) for batch in difference.batches)
    given = [_given(batch, names) for batch in difference.batches if not _is_seed(batch)]
    described = f"Found by made-up events, seed {seed}; the rows are those of {difference.other[0]}."
    rows = [json.loads(text, parse_float=Decimal) for text in sorted(difference.other[1].rows.elements())]
    cells = [{name: values.found(row[name]) for name in row if not name.startswith("_")} for row in rows]
    yield from recording.lines(model, described, given, cells, seeds)


def _given(batch: LandedBatch, names: Mapping[str, str]) -> dict[str, Any]:
    return (
        {"at": recording.time_of(batch.rows[0].landed_at)} if batch.is_tick else recording.batch_of(batch.rows, names)
    )


def _events(batches: Sequence[LandedBatch], names: Mapping[str, str]) -> Iterator[str]:
    for batch in batches:
        at = recording.time_of(batch.rows[0].landed_at)
        if batch.is_tick:
            yield f"  {at}  nothing arrives (a tick)"
        elif _is_seed(batch):
            yield f"  {at}  the rows that come with the project"
        else:
            for row in batch.rows:
                yield f"  {at}  {names[row.topic]}  key {json.dumps(row.key, ensure_ascii=False)}  {row.value}"


def _side(name: str, rows: Rows, other: Rows) -> Iterator[str]:
    if rows.failure:
        yield f"{name}: it fails: {rows.failure}"
        return
    found = rows.beyond(other)
    yield f"{name}: {'only here' if found else 'no other rows'}"
    yield from (f"  {text}" for text in found[:MOST_ROWS])
    if len(found) > MOST_ROWS:
        yield f"  ... and {len(found) - MOST_ROWS} more"


def _is_seed(batch: LandedBatch) -> bool:
    return any(row.partition == SEED_PARTITION for row in batch.rows)
