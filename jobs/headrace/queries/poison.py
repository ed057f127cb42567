"""Rows that make a model's SQL fail: which they are, at which clause, and what is stored of them.

A row is found by running the failing model again over fewer rows; it writes nothing. Where each row of the result comes
from one row alone, halves that pass are done with. Else rows count in their order of arrival: the culprit is the row
with which those before it, which pass, fail. So the same rows are found wherever batches are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlglot import exp

from headrace.errors import HeadraceError, InvalidProject, Place
from headrace.project.literals import quoted
from headrace.project.model import Model
from headrace.project.sql import dialect
from headrace.project.statement import bind
from headrace.spark.spark_errors import full_text, with_causes

MOST = 500
"""With this many failing rows in one batch, the model must be fixed."""

Arrival = tuple[int, str, int, int]
"""Landing batch, topic, partition, offset."""

_VALUE_ERROR = re.compile(r"\[(?P<code>[A-Z0-9_.]+)\] (?P<text>.*?)\s*SQLSTATE: 22\w{3}", re.DOTALL)
_OVERFLOW = re.compile(r"java\.lang\.StackOverflowError\s+at (?:java\.base/)?java\.util\.regex\.")
"""A regular expression that takes Java's stack for each round of a repetition, over a text of too many rounds."""

_CLAUSE = re.compile(
    r"== SQL[^\n]*?\(line (?P<line>\d+), position (?P<at>\d+)\) ==\n(?P<text>[^\n]*)\n *(?P<marks>\^+)"
)
_MIXES_ROWS = (exp.Window, exp.AggFunc, exp.Group, exp.Distinct, exp.Join, exp.SetOperation, exp.Subquery, exp.Limit)


@dataclass(frozen=True)
class Fault:
    """An error of a value, as Spark reports it: its class, its text, and the clause where it happened."""

    code: str
    text: str
    clause: str | None = None
    line: int = 1
    column: int = 1

    @property
    def reason(self) -> str:
        """The value of the column `test` in `bronze.failed_rows`."""
        return self.code.split(".")[0].lower()


_OVERFLOWN = Fault("TOO_LONG_FOR_PATTERN", "a text is too long for a regular expression that repeats a group")


@dataclass(frozen=True)
class Poison:
    """Rows of one batch that a model is run without, as they make it fail in the same way at the same place."""

    table: str
    reason: str
    error: str
    clause: str | None
    place: str
    arrivals: tuple[Arrival, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Poison:
        arrivals = tuple((int(b), str(t), int(p), int(o)) for b, t, p, o in data["arrivals"])
        return cls(**{**data, "arrivals": arrivals})


def fault_of(error: BaseException) -> Fault | None:
    """The error of a value behind an exception; None if it is of another kind."""
    text = full_text(error)
    found = _VALUE_ERROR.search(text)
    if found is None:
        return _OVERFLOWN if _OVERFLOW.search(with_causes(error)) else None
    message = " ".join(f"[{found['code']}] {found['text']}".split())
    clause = _CLAUSE.search(text)
    if clause is None:
        return Fault(found["code"], message)
    start = int(clause["at"]) - 1
    marked = clause["text"][start : start + len(clause["marks"])]
    return Fault(found["code"], message, marked, int(clause["line"]), int(clause["at"]))


def place_of(fault: Fault, models: Iterable[Model], values: Mapping[str, Any]) -> Place | None:
    """Where the clause of a fault is, in the file of a model or of a view that it reads."""
    for model in models if fault.clause else ():
        statement = bind(model, values=values)
        lines = statement.sql.split("\n")
        if fault.line > len(lines):
            continue
        if lines[fault.line - 1][fault.column - 1 :].startswith(str(fault.clause)):
            return statement.place(sum(len(line) + 1 for line in lines[: fault.line - 1]) + fault.column - 1)
    return None


def is_by_row(models: Iterable[Model]) -> bool:
    """Whether each row of a model's result comes from one row of its stream alone, as far as its text shows."""
    for model in models:
        try:
            tree = dialect.parse(model.text, model.path).tree
        except InvalidProject:
            return False
        if sum(ref.stream for ref in model.inputs) > 1 or tree.find(*_MIXES_ROWS):
            return False
    return True


def culprits(count: int, fails: Callable[[int, int, Sequence[int]], bool], by_row: bool, most: int) -> list[int]:
    """The numbers of the rows that make a run over `count` rows fail, at most `most` of them.

    `fails` says whether the rows from one number to before another fail, without some of them.
    """
    if by_row:
        return _by_halves(0, count, lambda start, end: fails(start, end, ()), most)
    found, passes = list[int](), 0
    while len(found) < most and fails(0, count, found):
        passes = _first_failing(passes, count, lambda end: fails(0, end, found))
        found.append(passes)
    return found


def _by_halves(start: int, end: int, fails: Callable[[int, int], bool], most: int) -> list[int]:
    """The failing rows of a part that fails."""
    if end - start <= 1:
        return [start] if end > start else []
    middle, found = (start + end) // 2, list[int]()
    left_fails = fails(start, middle)
    if left_fails:
        found = _by_halves(start, middle, fails, most)
    if len(found) < most and (not left_fails or fails(middle, end)):
        found += _by_halves(middle, end, fails, most - len(found))
    return found


def _first_failing(passes: int, count: int, fails: Callable[[int], bool]) -> int:
    """The number of the row with which the rows before it fail, that pass; the first `passes` rows do.

    It is sought in steps that grow: where many rows fail, the next one is near, and few rows are cheap to run over.
    """
    step = 1
    while passes + step < count and not fails(passes + step):
        passes, step = passes + step, 2 * step
    count = min(passes + step, count)
    while count - passes > 1:
        middle = (passes + count) // 2
        passes, count = (passes, middle) if fails(middle) else (middle, count)
    return passes


def from_to(first: Arrival, last: Arrival) -> str:
    """The condition of rows that arrived within bounds, both included."""
    return f"_arrival >= {_struct(first)} and _arrival <= {_struct(last)}"


def without(arrivals: Iterable[Arrival]) -> str:
    """The condition of rows that are none of some."""
    texts = ", ".join(quoted(_text(each)) for each in arrivals)
    return f"{_TEXT} not in ({texts})" if texts else "true"


def among(arrivals: Iterable[Arrival]) -> str:
    """The condition of rows that are some."""
    return f"{_TEXT} in ({', '.join(quoted(_text(each)) for each in arrivals)})"


_TEXT = "concat_ws('/', _arrival.landing_batch, _arrival.topic, _arrival.partition, _arrival.`offset`)"


def _text(arrival: Arrival) -> str:
    return "/".join(map(str, arrival))


def _struct(arrival: Arrival) -> str:
    batch, topic, partition, offset = arrival
    parts = f"'landing_batch', {batch}L, 'topic', {quoted(topic)}, 'partition', {partition}, 'offset', {offset}L"
    return f"named_struct({parts})"


class RowFailed(HeadraceError):
    """One row makes a model fail: names the clause and the row."""

    def __init__(self, poison: Poison, key: str | None) -> None:
        batch, topic, partition, offset = poison.arrivals[0]
        clause = f" in `{poison.clause}`" if poison.clause else ""
        row = f"topic {topic}, partition {partition}, offset {offset}, key {key} (landing batch {batch})"
        advice = "mend the model, or set such rows aside with `on_error: dead_letter`"
        super().__init__(f"{poison.place}: {poison.table}: {poison.error}{clause}, at {row}; {advice}")
