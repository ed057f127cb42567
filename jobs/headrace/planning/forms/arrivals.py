"""Which rows of a query have an arrival of their own, and what of many rows there is only one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms.durations import TypeOf
from headrace.planning.forms.steps import Step
from headrace.planning.forms.terms import EDITED, Atom, Term, atoms
from headrace.planning.forms.types import INTEGERS, is_exact

ARRIVAL = "_arrival"
INNER = ("inner", "cross")
OF_EACH_ROW = ("left", "left semi", "left anti")

Origins = Callable[[str], frozenset[str] | None]
"""The Kafka topics that a table is made of; None where its rows may have arrivals of no topic."""


def is_unique(tree: exp.Expr, step: Step, origins: Origins, type_of: TypeOf) -> bool:
    """Whether a value is an arrival, of which the rows of a step have each another one."""
    return _Arrivals(origins, type_of).topics(tree, step) is not None


def multiplies(step: Step, type_of: TypeOf) -> bool:
    """Whether a join may give several rows for one that streams, or is looked up by less than its key."""
    return step.kind == "join" and not [*_kept(step, type_of)]


def is_single(step: Step, on: Sequence[Term], type_of: TypeOf) -> bool:
    """Whether conditions of a join find at most one row of a step: by the key of a table, or of a group."""
    equated = {name for each in on if isinstance(each.tree, exp.EQ) for name in _equated(each, step, type_of)}
    if step.kind == "scan":
        keys = step.parts["read"][0].tree.meta.get("unique") or ()
        return bool(keys) and all({f"{step.name}.{key}", f"{step.name}.{key}{EDITED}"} & equated for key in keys)
    if step.kind != "aggregate":
        return False
    return len({each for each in equated if each.startswith(f"{step.name}.")}) == len(step.parts["keys"])


class _Arrivals:
    """The topics of the records whose arrivals rows have, each its own; None if two rows may have the same."""

    def __init__(self, origins: Origins, type_of: TypeOf) -> None:
        self._origins = origins
        self._type = type_of

    def topics(self, tree: exp.Expr, step: Step) -> frozenset[str] | None:
        atom = tree.unnest().meta.get("atom")
        if atom is None or step.kind == "explode":
            return None
        if step.kind == "scan":
            is_arrival = atom.column == ARRIVAL and atom.name.startswith(f"{step.name}.")
            return self._origins(atom.table) if is_arrival else None
        if step.kind == "union":
            is_own = atom.kind == "union" and atom.name.startswith(f"{step.name}.")
            return self._of_branches(atom, step) if is_own else None
        if step.kind == "aggregate":
            return self._of_groups(atom, step)
        inputs = _kept(step, self._type) if step.kind == "join" else step.inputs
        return next((found for each in inputs if (found := self.topics(tree, each)) is not None), None)

    def _of_branches(self, atom: Atom, union: Step) -> frozenset[str] | None:
        sides = [self.topics(of, each) for of, each in zip(atom.made_of, union.inputs, strict=True)]
        known = [each for each in sides if each is not None]
        is_apart = len(known) == len(sides) and len(frozenset[str]().union(*known)) == sum(map(len, known))
        return frozenset[str]().union(*known) if is_apart else None

    def _of_groups(self, atom: Atom, group: Step) -> frozenset[str] | None:
        """Groups have each another key, and of rows that differ each another one."""
        made = [*values(atom)] if atom.name.startswith(f"{group.name}.") else []
        if len(made) != 1 or (atom.kind == "key" and len(group.parts["keys"]) > 1):
            return None
        return self.topics(made[0], group.inputs[0])


def _kept(join: Step, type_of: TypeOf) -> Iterator[Step]:
    """The sides of a join of whose rows it gives each once at most."""
    kind, on = join.parts["kind"][0].key, join.parts["on"]
    left, right = join.inputs
    if kind in ("left semi", "left anti") or (kind in (*INNER, "left") and is_single(right, on, type_of)):
        yield left
    if kind in INNER and is_single(left, on, type_of):
        yield right


def _equated(condition: Term, step: Step, type_of: TypeOf) -> Iterator[str]:
    """The columns of a step that a condition says to be a value of another one, as they are: `'01'` would be 1."""
    sides = [*condition.tree.iter_expressions()]
    types = {type_of(each) for each in sides}
    are_as_they_are = types <= {*INTEGERS} or (len(types) == 1 and all(map(is_exact, types)))
    for side, other in (sides, sides[::-1]) if are_as_they_are else ():
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
