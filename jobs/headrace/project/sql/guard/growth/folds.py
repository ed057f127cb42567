"""Folds and recursive queries that double what they carry in each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from sqlglot import exp

from headrace.project.sql.guard.forms import arguments, name_of, offset
from headrace.project.sql.guard.growth.lengths import AGAIN, FOLDS
from headrace.project.sql.guard.growth.parts import Scope, copies

MESSAGE = "what is carried on doubles in each step; put it in once"


def faults(tree: exp.Expr, longer: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Find what grows by a factor in each step: offset, and what to do. `longer` are macros that do so themselves."""
    functions = AGAIN.union(longer)
    for node in tree.walk():
        name = name_of(node)
        if name in FOLDS and _grows_in_step(arguments(node), functions):
            yield offset(node), f"`{name}`: {MESSAGE}"
        elif isinstance(node, exp.With) and node.args.get("recursive"):
            grown = (cte for cte in node.expressions if any(copies(each, functions) > 1 for each in _made(cte)))
            yield from ((offset(cte), f"`{cte.alias}`: {MESSAGE}") for cte in grown)


def _grows_in_step(values: list[exp.Expr], longer: frozenset[str]) -> bool:
    step = values[2] if len(values) > 2 else None
    if not isinstance(step, exp.Lambda) or len(step.expressions) != 2:
        return False
    carried = step.expressions[0].name.lower()
    parts = Scope({carried: Counter([()])}, longer).parts(step.this)
    return any(count > 1 for count in parts.values())  # a whole and one of its elements is no doubling of either


def _made(cte: exp.CTE) -> Iterator[exp.Expr]:
    for select in cte.this.find_all(exp.Select):
        yield from select.expressions
