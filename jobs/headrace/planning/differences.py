"""How two canonical forms of a model differ, and what that means for what the model stores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from sqlglot import exp

from headrace.errors import Place
from headrace.planning.forms.columns import DELAY
from headrace.planning.forms.functions import FAILS
from headrace.planning.forms.scope import with_children
from headrace.planning.forms.steps import MADE, Form, Step
from headrace.planning.forms.terms import WINDOWS, Term, atoms, deep, every, in_order, key, outside_queries
from headrace.planning.forms.types import TypeOf, is_never_null, type_of
from headrace.planning.verdict import Evidence, Reason, Verdict

_ALIKE = {"min": "extreme", "max": "extreme"}
"""Aggregates whose state has the same format, so that Spark accepts the one for the other."""

_NO_SHAPE = ("watermark", *MADE)
"""Parts of a step that do not count for how rows are put together."""

_NEVER_FAIL = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Alias, exp.PropertyEQ),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between),
    *(exp.Case, exp.If, exp.Coalesce, exp.Dot, exp.Struct, exp.Upper, exp.Lower),
)
"""What gives a value of every row, whatever the row holds."""


@dataclass(frozen=True)
class Sides:
    """Both forms of a model, with the types of the columns they read; `place` is where the file of `table` starts."""

    old: Form
    new: Form
    old_type: TypeOf
    new_type: TypeOf
    place: Place
    table: str


def edited_columns(sides: Sides) -> dict[str, Reason]:
    """Columns that both forms have and that are made in another way; the verdict is not decided here.

    A condition on what is looked up leaves the rows that stream as they are, and changes what is found for them.
    """
    found, narrowed = {}, [*_narrowed_scans(sides)]
    for name, term in sides.new.columns.items():
        before = sides.old.columns.get(name)
        if before is not None and (before.key != term.key or _is_of(before, narrowed) or _is_of(term, narrowed)):
            message = f"column {name} is computed differently"
            reason = Reason.between(Verdict.KEEP, term.place() or sides.place, message, (before,), (term,))
            found[name] = replace(reason, columns=(name,))
    return found


def has_same_branches(sides: Sides) -> bool:
    """Whether only branches of a `union all` came or went: each that both texts have makes its columns as it did."""
    if any(_narrowed_scans(sides)):
        return False
    names = [name for name in sides.new.columns if name in sides.old.columns]
    rows = [_branches([form.columns[name].tree for name in names]) for form in (sides.old, sides.new)]
    return rows[0] <= rows[1] or rows[1] <= rows[0]


def _branches(columns: Sequence[exp.Expr]) -> set[tuple[str, ...]]:
    """The columns of each branch of a `union all`; of all rows, if there is none, or more than one side by side."""
    found = {atom for tree in columns for atom in atoms(tree) if atom.kind == "union"}
    if len({atom.name.partition(".")[0] for atom in found}) != 1:
        return {tuple(map(key, columns))}
    return _of_branch(columns, 0) | _of_branch(columns, 1)


def _of_branch(columns: Sequence[exp.Expr], at: int) -> set[tuple[str, ...]]:
    made: dict[int, exp.Expr] = {}  # expressions share what is below them, so each node is seen many times

    def put(node: exp.Expr) -> exp.Expr:
        atom = node.meta.get("atom")
        if atom is not None:
            return atom.made_of[at] if atom.kind == "union" else node
        if id(node) not in made:
            has_union = any(each.kind == "union" for each in atoms(node))
            made[id(node)] = with_children(node, put) if has_union else node
        return made[id(node)]

    return _branches([put(each) for each in columns])


def edited_filters(sides: Sides) -> Iterator[Reason]:
    """Conditions that came or went, wherever they stand."""
    gone, come = _filters_of(sides.old, sides.new), _filters_of(sides.new, sides.old)
    yield from _filters([each for _, each in gone], [each for _, each in come], sides.place)


def is_filter_of(sides: Sides, table: str) -> bool:
    """Whether a condition that came or went is on rows of a table, apart from those that a subquery looks for."""
    edited = (*_filters_of(sides.old, sides.new), *_filters_of(sides.new, sides.old))
    return any(atom.table == table for _, each in edited for atom in outside_queries(each.tree))


def is_folded(sides: Sides, table: str, columns: Collection[str]) -> bool:
    """Whether earlier rows of a table go into some columns."""
    terms = [form.columns[name] for form in (sides.old, sides.new) for name in columns if name in form.columns]
    return any(atom.table == table for term in terms for atom in term.columns)


def may_fail(sides: Sides, columns: Collection[str]) -> bool:
    """Whether some columns are made by expressions that can raise an error, which `on_error` may let drop a row."""
    terms = [form.columns[name] for form in (sides.old, sides.new) for name in columns if name in form.columns]
    return any(not isinstance(node, _NEVER_FAIL) or node.meta.get(FAILS) for term in terms for node in every(term.tree))


def _filters_of(form: Form, other: Form) -> list[tuple[Step, Term]]:
    """The conditions of one form that the other has not."""
    known = {(step.name, each.key) for step in other.root.every() for each in step.filters}
    steps = ((step, each) for step in form.root.every() for each in step.filters)
    return [(step, each) for step, each in steps if (step.name, each.key) not in known]


def _narrowed_scans(sides: Sides) -> Iterator[str]:
    """The scans of tables that are looked up, under a condition that came or went."""
    for step, _ in (*_filters_of(sides.old, sides.new), *_filters_of(sides.new, sides.old)):
        yield from (each.name for each in step.every() if each.kind == "scan" and not step.moves)


def _is_of(term: Term, scans: Sequence[str]) -> bool:
    """Whether an expression is derived from columns of some scans; a constant may be, of a row that is looked for."""
    if any(atom.name.startswith(f"{scan}.") for scan in scans for atom in term.columns):
        return True
    constants = (atom for atom in deep(term.tree) if atom.kind == "outer" and not deep(*atom.made_of))
    return bool(scans) and any(constants)


def edited_shape(sides: Sides) -> Iterator[Reason]:
    """The first step that is another one: filters, watermarks, and the columns that steps make, do not count."""
    old, new = sides.old.root.every(), sides.new.root.every()
    for before, after in zip_longest(old, new):
        if before is None or after is None or _words(before) != _words(after):
            was, now = ([*_terms(step)] if step else [] for step in (before, after))
            message = f"its rows are combined differently: {_changed(before, after)}"
            gone, come = _without(was, now), _without(now, was)
            yield Reason.between(Verdict.KEEP, _at(after, sides), message, gone, come, *(after.named if after else ()))
            return


def state_reasons(sides: Sides) -> Iterator[Reason]:
    """Differences in a query of Spark's streaming engine, judged by what its state store holds."""
    yield from _Walk(sides).steps(sides.old.root, sides.new.root, is_below=False)


class _Walk:
    """Both forms step by step; `is_below` means that a step above keeps rows."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def steps(self, old: Step, new: Step, is_below: bool) -> Iterator[Reason]:
        place = _at(new, self._sides)
        if (old.kind, len(old.inputs), old.moves) != (new.kind, len(new.inputs), new.moves):
            message = f"{new.title} replaces {old.title}"
            yield Reason.between(Verdict.RESET, place, message, [*_terms(old)], [*_terms(new)], *new.named)
            return
        yield from self._watermark(old, new)
        yield from self._filters(old, new, is_below)
        yield from self._parts(old, new, is_below, place)
        for before, after in zip(old.inputs, new.inputs, strict=True):
            yield from self.steps(before, after, is_below or new.is_stateful)

    def _filters(self, old: Step, new: Step, is_below: bool) -> Iterator[Reason]:
        known, now = {each.key for each in old.filters}, {each.key for each in new.filters}
        gone, come = [e for e in old.filters if e.key not in now], [e for e in new.filters if e.key not in known]
        keeps = any(step.is_stateful for step in new.every())
        # Spark evaluates a condition over keys alone before it counts, so what that left out was never counted.
        late = new.kind == "aggregate" and all(any(a.kind == "aggregate" for a in e.atoms) for e in (*gone, *come))
        verdict = Verdict.FORWARD if is_below or (keeps and not late) else Verdict.KEEP
        if is_below and not new.moves and (self._is_in_state(old, new) or self._has_own_rows(new)):
            verdict = Verdict.MIX
        if new.kind == "join" and new.is_stateful and any(map(_may_be_key, (*gone, *come))):
            verdict = Verdict.RESET  # Spark joins by it, wherever it is written
        yield from (replace(reason, verdict=verdict) for reason in _filters(gone, come, self._sides.place))

    def _has_own_rows(self, looked_up: Step) -> bool:
        """Whether rows of the model itself are looked up: those that it has emitted decide what goes into its state."""
        return any(each.title == self._sides.table for each in looked_up.every() if each.kind == "scan")

    def _is_in_state(self, *looked_up: Step) -> bool:
        """Whether columns of tables that are looked up are among those that steps keep."""
        scans = [each.name for step in looked_up for each in step.every() if each.kind == "scan"]
        roots = (self._sides.old.root, self._sides.new.root)
        stateful = [step for root in roots for step in root.every() if step.is_stateful]
        return any(_is_of(term, scans) for step in stateful for terms in step.parts.values() for term in terms)

    def _parts(self, old: Step, new: Step, is_below: bool, place: Place) -> Iterator[Reason]:
        if new.kind == "scan":
            yield from self._scan(old, new, is_below, place)
        elif new.kind == "aggregate":
            found = [e for part in new.parts for e in self._state_columns(part, old, new, place)]
            yield from found or self._order(old, new, place)
        elif new.kind == "join" and new.is_stateful:
            yield from self._join(old, new, place)
        elif _words(old) != _words(new):
            verdict = Verdict.MIX if is_below else Verdict.KEEP
            verdict = Verdict.RESET if new.kind in ("union", "window") else verdict
            was, now = [*_terms(old)], [*_terms(new)]
            message = f"{new.title} has changed"
            yield Reason.between(verdict, place, message, _without(was, now), _without(now, was), *new.named)

    def _scan(self, old: Step, new: Step, is_below: bool, place: Place) -> Iterator[Reason]:
        if old.name != new.name or (not new.moves and _words(old) != _words(new)):
            verdict = (Verdict.MIX if is_below else Verdict.KEEP) if not new.moves else Verdict.RESET
            message = f"it reads {new.title} instead of {old.title}"
            yield Reason.between(verdict, place, message, [*_terms(old)], [*_terms(new)], *new.named)
        elif _keys(old.parts.get("landing", ())) != _keys(new.parts.get("landing", ())):
            yield Reason(Verdict.RESET, place, f"{new.title} lands with another landing")

    def _watermark(self, old: Step, new: Step) -> Iterator[Reason]:
        """The delay may be another; the column is part of the state's format."""
        clauses, now = old.parts.get("watermark", ()), new.parts.get("watermark", ())
        if _keys(clauses) != _keys(now):
            before, after = (" ".join(_keys(each)) for each in (clauses, now))
            is_delay = bool(before and after) and before.rpartition(DELAY)[0] == after.rpartition(DELAY)[0]
            message = "the watermark has changed; rows that were dropped as late stay dropped"
            verdict = Verdict.FORWARD if is_delay else Verdict.RESET
            yield Reason.between(verdict, _at(new, self._sides), message, clauses, now)

    def _join(self, old: Step, new: Step, place: Place) -> Iterator[Reason]:
        for part in ("kind", "keys"):
            if _keys(old.parts[part]) != _keys(new.parts[part]):
                what = "the kind of join" if part == "kind" else "what the join is by"
                yield self._of_part(part, Verdict.RESET, f"{what} has changed", old, new, place)
        if sorted(_keys(old.parts["on"])) != sorted(_keys(new.parts["on"])):
            message = "a condition of the join has changed: rows that left its state are missing, others stay too long"
            yield self._of_part("on", Verdict.MIX, message, old, new, place)
        for part in ("left", "right"):
            yield from self._state_columns(part, old, new, place)

    def _of_part(self, part: str, verdict: Verdict, message: str, old: Step, new: Step, place: Place) -> Reason:
        was, now = old.parts.get(part, ()), new.parts[part]
        gone, come = _without(was, now), _without(now, was)
        return Reason.between(verdict, place, message, gone or was, come or now, *new.named)

    def _state_columns(self, part: str, old: Step, new: Step, place: Place) -> Iterator[Reason]:
        """Columns of state, whose order and types Spark compares, but not their meaning."""
        was, now = old.parts.get(part, ()), new.parts[part]
        if _keys(was) == _keys(now):
            return
        if len(was) != len(now) or sorted(_keys(was)) == sorted(_keys(now)):
            message = f"{_PARTS[part]}: they differ, or are in another order"
            yield self._of_part(part, Verdict.RESET, message, old, new, place)
            return
        for before, after in zip(was, now, strict=True):
            if before.key != after.key:
                alike = self._state_type(part, before, self._sides.old_type)
                fits = alike is not None and alike == self._state_type(part, after, self._sides.new_type)
                # aggregates keep what may be null in any case
                fits &= part == "aggregates" or is_never_null(after.tree) or not is_never_null(before.tree)
                message = (
                    f"{_PARTS[part]}: state means something else{'' if fits else ', perhaps of another type, or null'}"
                )
                verdict = Verdict.MIX if fits else Verdict.RESET
                yield Reason.between(verdict, after.place() or place, message, (before,), (after,))

    def _order(self, old: Step, new: Step, place: Place) -> Iterator[Reason]:
        """State is in the order in which aggregates are named, by the aggregation or by the select right above it.

        Spark merges these two if it can; a condition over an aggregate prevents that.
        """
        before, after = _orders(self._sides.old, old), _orders(self._sides.new, new)
        columns = [_keys([*form.columns.values()]) for form in (self._sides.old, self._sides.new)]
        if before != after or (len(after) > 1 and columns[0] != columns[1]):
            message = f"{_PARTS['aggregates']}: the columns made of it name it in another order, and so may state"
            yield Reason(Verdict.RESET, place, message, evidence=Evidence(at=new.named))

    def _state_type(self, part: str, term: Term, column: TypeOf) -> str | None:
        """The format of state in Spark; None where that is not certain."""
        (made,) = next(iter(term.atoms)).made_of if part in MADE and len(term.atoms) == 1 else (term.tree,)
        if part in ("left", "right", "keys"):
            call = made.unnest()
            window = f"{call.name.lower()}{len(call.expressions)} " if isinstance(call, exp.Anonymous) else ""
            found = type_of(made, column)
            return f"{window}{found}" if found and (not window or call.name.lower() in WINDOWS) else None
        return _buffer(made, column)


_PARTS = {
    "keys": "what it groups by",
    "aggregates": "what it counts",
    "left": "what the join keeps of its left side",
    "right": "what the join keeps of its right side",
}


def _orders(form: Form, step: Step) -> frozenset[tuple[str, ...]]:
    """The orders in which Spark may keep the aggregates of a step, by their keys."""
    made = {atom.name: each.key for each in step.parts.get("aggregates", ()) for atom in each.atoms}
    if any(atom.name in made for each in step.filters for atom in each.atoms):
        return frozenset({tuple(made.values())})
    above = in_order(each.tree for each in (*form.columns.values(), *form.root.terms()))
    used = tuple(made[atom.name] for atom in above if atom.name in made)
    return frozenset({tuple(made.values()), used})


def _buffer(tree: exp.Expr, column: TypeOf) -> str | None:
    if isinstance(tree, exp.Filter):
        return _buffer(tree.this, column)
    name = (tree.name if isinstance(tree, exp.Anonymous) else type(tree).__name__).lower()
    arguments = [each for each in tree.iter_expressions() if not isinstance(each, exp.Star)]
    types = [type_of(each, column) for each in arguments]
    if name == "count" and not any(isinstance(each, exp.Distinct) for each in arguments):
        return "count"
    return None if None in types else f"{_ALIKE.get(name, name)}({', '.join(map(str, types))})"


def _filters(gone: Sequence[Term], come: Sequence[Term], default: Place) -> Iterator[Reason]:
    message = "other rows pass its conditions" if come else "more rows pass: a condition is gone"
    if all("rows_of" in each.tree.meta for each in (*gone, *come)):
        message = "it reads other rows from now on"
    if gone or come:
        place = next((at for each in come if (at := each.place())), default)
        yield Reason.between(Verdict.KEEP, place, message, gone, come)


def _may_be_key(condition: Term) -> bool:
    """Whether a condition is an equality of columns."""
    tree = condition.tree.unnest()
    return isinstance(tree, (exp.EQ, exp.NullSafeEQ)) and all(any(atoms(side)) for side in (tree.left, tree.right))


def _changed(before: Step | None, after: Step | None) -> str:
    if before is None or after is None:
        return f"{before.title} is gone" if before else f"{after.title} is new" if after else ""
    return f"{after.title} has changed" if before.title == after.title else f"{after.title} replaces {before.title}"


def _at(step: Step | None, sides: Sides) -> Place:
    return (step.place if step else None) or sides.place


def _terms(step: Step) -> Iterator[Term]:
    """What a step is made by, apart from the columns that it makes."""
    for part, terms in step.parts.items():
        yield from terms if part not in _NO_SHAPE else ()


def _words(step: Step) -> str:
    parts = [f"{part}: {sorted(_keys(terms))}" for part, terms in step.parts.items() if part not in _NO_SHAPE]
    return " ".join([step.kind, step.name, str(len(step.inputs)), *parts])


def _keys(terms: Sequence[Term]) -> list[str]:
    return [each.key for each in terms]


def _without(terms: Sequence[Term], others: Sequence[Term]) -> list[Term]:
    known = {*_keys(others)}
    return [each for each in terms if each.key not in known]
