"""Whether the branches of a `union all` may stand in any order: neither values nor types nor rows depend on it.

Spark makes the type of a column of those of all branches, from the first on, so all must have the same. Rows of several
branches must differ in arrival, and all that depends on the order of rows above the union must go by it: windows, the
choice between rows of one key (`once_per`), and readers of the result. So no two rows of different branches are ever
taken in the order in which the text has the branches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms.arrivals import ARRIVAL, Origins, values
from headrace.planning.forms.steps import Form, Step
from headrace.planning.forms.terms import Atom, deep
from headrace.planning.forms.types import EXACT, INTEGERS, TypeOf, of_atoms, type_of

_TRANSPARENT = ("scan", "join", "explode", "union", "values")
"""Steps whose rows do not depend on the order of those that they are made of."""

_PASSING = ("union", "key")
"""Columns of steps that have the very values that they are made of."""


def are_free(form: Form, column: TypeOf, origins: Origins) -> bool:
    """Whether all branches of a query may change places."""
    if any(atom.kind == "query" for atom in _atoms(form)):
        return not any(True for _ in _unions(form.root))
    found = _Order(form, of_atoms(column), origins)
    return all(found.is_free(union, above) for union, above in _unions(form.root))


def _unions(step: Step, above: tuple[Step, ...] = ()) -> Iterator[tuple[Step, tuple[Step, ...]]]:
    """Each `union all` with the steps above it."""
    if step.kind == "union" and step.parts["kind"][0].key == "union all":
        yield step, above
    for each in step.inputs:
        yield from _unions(each, (*above, step))


def _atoms(form: Form) -> frozenset[Atom]:
    return deep(*(each.tree for each in (*form.columns.values(), *form.root.terms())))


class _Order:
    """Answers for one query."""

    def __init__(self, form: Form, column: TypeOf, origins: Origins) -> None:
        self._form = form
        self._column = column
        self._origins = origins
        self._atoms = _atoms(form)

    def is_free(self, union: Step, above: Sequence[Step]) -> bool:
        """Whether the branches of one union may change places."""
        columns = [each for each in self._atoms if each.kind == "union" and each.name.startswith(f"{union.name}.")]
        arrivals = frozenset(each.name for each in columns if self._is_of_branch(each))
        result = self._form.columns.get(ARRIVAL)
        if result is None or not self._goes_by(result.tree, arrivals):
            return False
        others = (each for each in columns if each.name not in arrivals)
        return all(map(self._has_one_type, others)) and all(self._keeps(step, arrivals) for step in above)

    def _is_of_branch(self, column: Atom) -> bool:
        """Whether a column holds arrivals, and those of one branch are never those of another."""
        sides = [self._topics(each) for each in column.made_of]
        known = [each for each in sides if each]
        return len(known) == len(sides) and len(frozenset[str]().union(*known)) == sum(map(len, known))

    def _topics(self, tree: exp.Expr) -> frozenset[str] | None:
        """The topics whose arrivals a value is; None if it may be something else."""
        found = frozenset[str]()
        for each in _passed(tree):
            topics = self._origins(each.table) if each is not None and each.column == ARRIVAL else None
            if topics is None:
                return None
            found |= topics
        return found

    def _has_one_type(self, column: Atom) -> bool:
        """Whether all branches give a column the same type; fields of structs may differ in case.

        One of them may also have any type, if all others have nulls.
        """
        found = [each for each in (type_of(each, self._column) for each in column.made_of) if each != "void"]
        is_same = len({*found}) == 1 and all(each is not None and "struct<" not in each for each in found)
        return is_same or len(found) == 1

    def _keeps(self, step: Step, arrivals: frozenset[str]) -> bool:
        """Whether the rows of a step do not depend on the order of those that it is made of."""
        if step.kind == "window":
            return all(self._is_ordered(each.tree, arrivals) for each in step.parts["over"])
        if step.kind == "aggregate":
            made = [atom.made_of[0] for each in step.parts["aggregates"] for atom in each.atoms]
            by_arrival = any(self._goes_by(each.tree, arrivals) for each in step.parts["keys"])
            return by_arrival or all(self._is_commutative(each, arrivals) for each in made)
        return step.kind in _TRANSPARENT

    def _is_ordered(self, tree: exp.Expr, arrivals: frozenset[str]) -> bool:
        """Whether a column of a window step has an order in which no rows of two branches are alike."""
        (made,) = tree.meta["atom"].made_of
        order = made.args.get("order")
        return order is not None and any(self._goes_by(each.this, arrivals) for each in order.expressions)

    def _is_commutative(self, tree: exp.Expr, arrivals: frozenset[str]) -> bool:
        """Whether an aggregate is the same in whatever order it gets the rows of a group."""
        inner = tree.this if isinstance(tree, exp.Filter) else tree
        if isinstance(inner, exp.Count):
            return True
        if isinstance(inner, (exp.ArgMax, exp.ArgMin)):
            return self._goes_by(inner.expression, arrivals)
        if isinstance(inner, (exp.Min, exp.Max)):
            return self._goes_by(inner.this, arrivals) or type_of(inner.this, self._column) in EXACT
        return isinstance(inner, exp.Sum) and type_of(inner.this, self._column) in INTEGERS

    def _goes_by(self, tree: exp.Expr, arrivals: frozenset[str]) -> bool:
        """Whether a value is one of some columns of a union."""
        atom = tree.unnest().meta.get("atom")
        return atom is not None and (atom.name in arrivals or any(self._goes_by(e, arrivals) for e in values(atom)))


def _passed(tree: exp.Expr) -> Iterator[Atom | None]:
    """The columns of tables whose values an expression passes on; None for anything else."""
    atom = tree.unnest().meta.get("atom")
    passed = [*values(atom)] if atom is not None else []
    if not passed:
        yield atom if atom is not None and atom.kind == "column" else None
    for each in passed:
        yield from _passed(each)
