"""Which rows of a query have an arrival of their own, and what of many rows there is only one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms.steps import Step
from headrace.planning.forms.terms import EDITED, Atom, Term, atoms

ARRIVAL = "_arrival"
INNER = ("inner", "cross")
OF_EACH_ROW = ("left", "left semi", "left anti")

Origins = Callable[[str], frozenset[str] | None]
"""The Kafka topics that a table is made of; None where its rows may have arrivals of no topic."""


def is_unique(tree: exp.Expr, step: Step, origins: Origins) -> bool:
    """Whether a value is the arrival of a record of Kafka, of which the rows of a step have each another one."""
    return _topics(tree, step, origins) is not None


def _topics(tree: exp.Expr, step: Step, origins: Origins) -> frozenset[str] | None:
    """The topics of the records whose arrivals rows have, each its own; None if two rows may have the same."""
    atom = tree.unnest().meta.get("atom")
    if atom is None:
        return None
    if step.kind == "scan":
        is_landed = (
            atom.table.startswith("bronze.") and atom.column == ARRIVAL and atom.name.startswith(f"{step.name}.")
        )
        return origins(atom.table) if is_landed else None
    if step.kind == "union" and atom.kind == "union" and step.parts["kind"][0].key == "union all":
        sides = [_topics(of, each, origins) for of, each in zip(atom.made_of, step.inputs, strict=True)]
        known = [each for each in sides if each is not None]
        is_apart = len(known) == len(sides) and len(frozenset[str]().union(*known)) == sum(map(len, known))
        return frozenset[str]().union(*known) if is_apart else None
    if step.kind == "window" or (step.kind == "join" and not multiplies(step) and _is_of_each_row(step)):
        return _topics(tree, step.inputs[0], origins)
    return None


def _is_of_each_row(step: Step) -> bool:
    """Whether a join only adds something to rows of its left side, or leaves some of them out."""
    kind = step.parts["kind"][0].key
    return kind in OF_EACH_ROW or (kind in INNER and is_single(step.inputs[1], step.parts["on"]))


def multiplies(step: Step) -> bool:
    """Whether a join may give several rows for one that streams, or is looked up by less than its key."""
    kind = step.parts["kind"][0].key if step.kind == "join" else "semi"
    if kind.endswith(("semi", "anti")):
        return False
    on = step.parts.get("on", ())
    return not (is_single(step.inputs[1], on) or (kind in INNER and is_single(step.inputs[0], on)))


def is_single(step: Step, on: Sequence[Term]) -> bool:
    """Whether conditions of a join find at most one row of a step: by the key of a table, or of a group."""
    equated = {name for each in on if isinstance(each.tree, exp.EQ) for name in _equated(each, step)}
    if step.kind == "scan":
        keys = step.parts["read"][0].tree.meta.get("unique") or ()
        return bool(keys) and all({f"{step.name}.{key}", f"{step.name}.{key}{EDITED}"} & equated for key in keys)
    if step.kind != "aggregate":
        return False
    return len({each for each in equated if each.startswith(f"{step.name}.")}) == len(step.parts["keys"])


def _equated(condition: Term, step: Step) -> Iterator[str]:
    """The columns of a step that a condition says to be a value of another one."""
    sides = [*condition.tree.iter_expressions()]
    for side, other in (sides, sides[::-1]):
        atom = side.unnest().meta.get("atom")
        is_other = not any(each.name.startswith(f"{step.name}.") for each in atoms(other))
        if atom is not None and atom.kind in ("column", "key") and is_other:
            yield atom.name


def values(atom: Atom) -> Iterator[exp.Expr]:
    """What a column of a step has the very values of: branches, keys of a group, the least or greatest in it."""
    if atom.kind in ("union", "key"):
        yield from atom.made_of
    elif atom.kind == "aggregate":
        yield from (each.this for each in atom.made_of if isinstance(each, (exp.Min, exp.Max)))
