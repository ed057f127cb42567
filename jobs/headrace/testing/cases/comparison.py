"""Compares what a case expects with its outcome, cell by cell."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chispa import DataFramesNotEqualError
from chispa.formatting import Color, Format, FormattingConfig, Style
from chispa.rows_comparer import assert_basic_rows_equality
from pyspark.sql import DataFrame, Row

from headrace.errors import Finding, InvalidProject, did_you_mean
from headrace.testing.cases import values
from headrace.testing.cases.case import Case, topic_named
from headrace.testing.cases.landing import Landed
from headrace.testing.cases.outcome import Outcome

Cells = dict[str, str]

_FORMATS = FormattingConfig(
    mismatched_rows=Format(Color.RED),
    matched_rows=Format(),
    mismatched_cells=Format(Color.RED, [Style.BOLD]),
    matched_cells=Format(),
)


def differences(case: Case, landed: Landed, outcome: Outcome) -> Iterator[str]:
    """One text for each expectation that does not hold."""
    expect = case.expect
    if expect.rows is not None:
        wanted, rows = _both(case, (*case.expect_at, "rows"), expect.rows, outcome.rows(case.model))
        yield from _difference(f"rows of {case.model.table}", wanted, rows, expect.ordered)
    for table, expected in expect.state.items():
        wanted, rows = _both(case, (*case.expect_at, "state", table), expected, outcome.rows(case.project.model(table)))
        yield from _difference(f"state of {table}", wanted, rows)
    for table, keys in expect.history.items():
        for key, expected in keys.items():
            changes = outcome.history(case.project.model(table), str(key))
            wanted, rows = _both(case, (*case.expect_at, "history", table, key), expected, changes)
            yield from _difference(f"history of {key} in {table}", wanted, rows, ordered=True)
    if expect.late is not None:
        wanted, rows = _both(case, ("expect", "late"), expect.late, outcome.late[case.model.table])
        yield from _difference(f"late rows of {case.model.table}", wanted, rows)
    yield from _dead_letters(case, landed)
    yield from _published(case, outcome)
    yield from _failed_rows(case, outcome)
    if expect.watermark is not None:
        wanted = [{"watermark": values.found(expect.watermark)}]
        rows = [{"watermark": values.found(outcome.watermarks.get(case.model.table))}]
        yield from _difference(f"watermark of {case.model.table}", wanted, rows)
    if expect.log is not None:
        yield from _difference("lines logged", _lines(expect.log), _lines(outcome.lines), ordered=True)


def row_differences(title: str, frame: DataFrame, other: DataFrame, least: bool = False) -> Iterator[str]:
    """How rows differ from those that they must equal; with `least` there may be more of the latter."""
    names = [name for name in frame.columns if not name.startswith("_")]
    found, due = (
        [{name: values.found(row[name]) for name in names} for row in side.collect()] for side in (frame, other)
    )
    if least:
        left, right = _unmatched(found, due)
        found, due = left, right[: len(left)]
    yield from _difference(title, due, found)


def _both(
    case: Case, at: tuple[str | int, ...], expected: Sequence[Mapping[str, Any]], frame: DataFrame
) -> tuple[list[Cells], list[Cells]]:
    """Expected and found rows, with the columns named by the expected rows, or all of them if there are none."""
    names = list(expected[0]) if expected else [name for name in frame.columns if not name.startswith("_")]
    if missing := [name for name in names if name not in frame.columns]:
        advice = did_you_mean(missing[0], frame.columns)
        place = case.document.key_place(*at, 0, missing[0])
        raise InvalidProject([Finding(place, "unknown-column", f"no column {missing[0]}.{advice}")])
    wanted = [
        {name: _cell(case, (*at, index, name), row[name], frame) for name in names}
        for index, row in enumerate(expected)
    ]
    return wanted, [{name: values.found(row[name]) for name in names} for row in frame.collect()]


def _cell(case: Case, at: tuple[str | int, ...], value: Any, frame: DataFrame) -> str:
    try:
        return values.expected(value, frame.schema[str(at[-1])].dataType)
    except ValueError as error:
        raise InvalidProject([Finding(case.document.value_place(*at), "bad-value", str(error))]) from None


def _dead_letters(case: Case, landed: Landed) -> Iterator[str]:
    if case.expect.dead_letters is None:
        return
    expected = [
        {name: getattr(letter, name) for name in letter.model_fields_set} for letter in case.expect.dead_letters
    ]
    names = [name for name in ("topic", "key", "reject_reason") if not expected or any(name in row for row in expected)]
    wanted = [{name: values.canonical(_resolved(case, name, row.get(name))) for name in names} for row in expected]
    rows = [{name: values.canonical(row[name]) for name in names} for row in landed.rejected]
    yield from _difference("dead letters", wanted, rows)


def _failed_rows(case: Case, outcome: Outcome) -> Iterator[str]:
    """Of a row's JSON, only the fields named by the expected rows are compared."""
    if (expected := case.expect.failed_rows) is None:
        return
    names = [name for name in ("model", "test") if not expected or any(getattr(row, name) for row in expected)]
    fields = list(next((row.row for row in expected if row.row), ()))
    wanted = [_failed_cells(names, fields, row.model_dump(), row.row or {}) for row in expected]
    rows = [_failed_cells(names, fields, row.asDict(), json.loads(row["row"])) for row in outcome.failed]
    yield from _difference("failed rows", wanted, rows)


def _failed_cells(
    names: Sequence[str], fields: Sequence[str], entry: Mapping[str, Any], row: Mapping[str, Any]
) -> Cells:
    cells = {name: values.canonical(entry[name]) for name in names}
    return cells | {f"row.{name}": values.canonical(row.get(name)) for name in fields}


def _resolved(case: Case, name: str, value: Any) -> Any:
    if name == "topic":
        source = topic_named(case.project, str(value))
        return source[1].topic if source else value
    return value if value is None else str(value)


def _published(case: Case, outcome: Outcome) -> Iterator[str]:
    """Records of different keys have no order between them."""
    if case.expect.published is None:
        return
    names = ["topic", "key"] if any(message.topic for message in case.expect.published) else ["key"]
    wanted = [
        {name: values.canonical(_resolved(case, name, getattr(message, name))) for name in names}
        | {"value": values.canonical(message.value)}
        for message in case.expect.published
    ]
    rows = [
        {name: values.canonical(row[name]) for name in names} | {"value": values.canonical_text(row["value"])}
        for row in outcome.messages(case.model)
    ]
    wanted.sort(key=lambda cells: [cells[name] for name in names])
    rows.sort(key=lambda cells: [cells[name] for name in names])
    yield from _difference("published records", wanted, rows, ordered=True)


def _lines(lines: Iterable[str]) -> list[Cells]:
    return [{"line": values.canonical(line)} for line in lines]


def _difference(title: str, wanted: Sequence[Cells], rows: Sequence[Cells], ordered: bool = False) -> Iterator[str]:
    left, right = (list(rows), list(wanted)) if ordered else _unmatched(rows, wanted)
    try:
        assert_basic_rows_equality(_as_rows(left), _as_rows(right), formats=_FORMATS)
    except DataFramesNotEqualError as error:
        yield f"{title} (df1: found, df2: expected)\n{str(error).strip()}"


def _unmatched(rows: Iterable[Cells], wanted: Iterable[Cells]) -> tuple[list[Cells], list[Cells]]:
    """What each side has beyond the other, each row beside the one most similar to it."""
    found, due = (Counter(tuple(cells.items()) for cells in side) for side in (rows, wanted))
    left = [dict(cells) for cells in (found - due).elements()]
    right = [dict(cells) for cells in (due - found).elements()]
    beside: list[Cells] = []
    while left and right:
        nearest = max(left, key=lambda cells: len(cells.items() & right[len(beside)].items()))
        left.remove(nearest)
        beside.append(nearest)
        if len(beside) == len(right):
            break
    return [*beside, *left], right


def _as_rows(side: Iterable[Cells]) -> list[Row]:
    return [Row(**cells) for cells in side]


def plain(text: str) -> str:
    """A text without colours; coloured parts are put between `>` and `<`."""
    return re.sub(r"(?:\x1b\[\d+m)+(.*?)\x1b\[0m", r">\1<", text, flags=re.DOTALL)
