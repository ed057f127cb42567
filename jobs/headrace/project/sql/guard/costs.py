"""What rows may make of a text without any bound: sizes that they decide, patterns that never end, folds that double.

A model's header may allow these, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from headrace.errors import Finding
from headrace.project.files import place_at
from headrace.project.sql import lexing
from headrace.project.sql.dialect import Statement
from headrace.project.sql.guard import patterns, sizes
from headrace.project.sql.guard.forms import written
from headrace.project.sql.guard.growth import folds, lengths

_WORDS = patterns.NAMES | lengths.FOLDS


@dataclass(frozen=True)
class Costs:
    """What has no bound in a text, and how much the text makes of one: characters, elements or rows."""

    findings: tuple[Finding, ...] = ()
    weight: Decimal = Decimal(1)


def of(statement: Statement) -> Costs:
    """The costs of a text; one that holds such words is parsed once more for that."""
    if not sizes.may_multiply(statement.text) and _WORDS.isdisjoint(name for name, _ in lexing.names(statement.text)):
        return Costs()
    tree = written(statement.text, statement.path)
    return Costs(tuple(sorted(_findings(statement, tree))), sizes.weight(tree))


def together(text: str, path: str, known: Mapping[str, Decimal]) -> Iterator[Finding]:
    """Find what has no bound only together with what macros and views make, which is `known` by their names."""
    tree = written(text, path)
    for at, message in sizes.faults(tree, known):
        yield Finding(place_at(path, text, at), "not-allowed", message)
    for at, message in folds.faults(tree, known.keys()):
        yield Finding(place_at(path, text, at), "unbounded-size", message)


def _findings(statement: Statement, tree: exp.Expr) -> Iterator[Finding]:
    for at, message in (*sizes.unbounded(tree), *folds.faults(tree)):
        yield Finding(statement.place(at), "unbounded-size", message)
    for at, message in patterns.faults(tree):
        yield Finding(statement.place(at), "unbounded-pattern", message)
