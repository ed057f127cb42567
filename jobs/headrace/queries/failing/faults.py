"""An error of a value, as Spark reports it, and where its clause stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import Place
from headrace.project.model import Model
from headrace.project.statement import bind
from headrace.spark.spark_errors import full_text, with_causes

_VALUE_ERROR = re.compile(r"\[(?P<code>[A-Z0-9_.]+)\] (?P<text>.*?)\s*SQLSTATE: 22\w{3}", re.DOTALL)
_OVERFLOW = re.compile(r"java\.lang\.StackOverflowError\s+at (?:java\.base/)?java\.util\.regex\.")
"""A regular expression that takes Java's stack for each round of a repetition, over a text of too many rounds."""

_CLAUSE = re.compile(
    r"== SQL[^\n]*?\(line (?P<line>\d+), position (?P<at>\d+)\) ==\n(?P<text>[^\n]*)\n(?P<indent> *)(?P<marks>\^+)"
)


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
    start = len(clause["indent"])  # not its position: of a long line, Spark shows what is near, between "..."
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
