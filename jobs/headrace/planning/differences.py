"""How two canonical forms of a model differ, and what that means for what the model stores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from sqlglot import exp

from headrace.errors import Place
from headrace.planning.forms.columns import DELAY
from headrace.planning.forms.steps import MADE, Form, Step
from headrace.planning.forms.terms import WINDOWS, Term, atoms, every, in_order, outside_queries
from headrace.planning.forms.types import TypeOf, type_of
from headrace.planning.verdict import Reason, Verdict

_ALIKE = {"min": "extreme", "max": "extreme"}
"""Aggregates whose state has the same format, so that Spark accepts the one for the other."""


_NEVER_FAIL = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Var, exp.Alias, exp.PropertyEQ),
    *(exp.And, exp.Or, exp.Not, exp.Is, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between),
    *(exp.Case, exp.If, exp.Coalesce, exp.Dot, exp.Struct, exp.Upper, exp.Lower),
)
"""What gives a value of every row, whatever the row holds."""


@dataclass(frozen=True)
class Sides:
    """Both forms of a model, with the types of the columns they read; `place` is where its file starts."""

    old: Form
    new: Form
    old_type: TypeOf
    new_type: TypeOf
    place: Place


def edited_columns(sides: Sides) -> dict[str, Reason]:
    """Columns that both forms have and that are made in another way; the verdict is not decided here.

    A condition on what is looked up leaves the rows that stream as they are, and changes what is found for them.
    """
    found, narrowed = {}, [*_narrowed_scans(sides)]
    for name, term in sides.new.columns.items():
        before = sides.old.columns.get(name)
        if before is not None and (before.key != term.key or _is_of(before, narrowed) or _is_of(term, narrowed)):
            place, message = term.place(before) or sides.place, f"column {name} is made in another way"
            found[name] = Reason(Verdict.KEEP, place, message, before.sql, term.sql, columns=(name,))
    return found


def edited_filters(sides: Sides) -> Iterator[Reason]:
    """Conditions that came or went, wherever they stand."""
    gone, come = _filters_of(sides.old, sides.new), _filters_of(sides.new, sides.old)
    yield from _filters([each for _, each in gone], [each for _, each in come], sides)


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
    return any(not isinstance(node, _NEVER_FAIL) for term in terms for node in every(term.tree))


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
    """Whether an expression is derived from columns of some scans."""
    return any(atom.name.startswith(f"{scan}.") for scan in scans for atom in term.columns)


def edited_shape(sides: Sides) -> Iterator[Reason]:
    """The first step that is another one: filters, watermarks, and the columns that steps make, do not count."""
    old, new = [*_skeleton(sides.old.root)], [*_skeleton(sides.new.root)]
    for (before, _, _), (after, place, title) in zip_longest(old, new, fillvalue=("", None, "nothing")):
        if before != after:
            message = f"its rows are put together in another way, from `{title}` on"
            yield Reason(Verdict.KEEP, place or sides.place, message, before, after)
            return


def state_reasons(sides: Sides) -> Iterator[Reason]:
    """Differences in a query of Spark's streaming engine, judged by what its state store holds."""
    yield from _Walk(sides).steps(sides.old.root, sides.new.root, is_below=False)


class _Walk:
    """Both forms step by step; `is_below` means that a step above keeps rows."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def steps(self, old: Step, new: Step, is_below: bool) -> Iterator[Reason]:
        place = new.place or self._sides.place
        if (old.kind, len(old.inputs), old.moves) != (new.kind, len(new.inputs), new.moves):
            yield Reason(
                Verdict.RESET, place, f"there was a step `{old.kind}`, now it is `{new.kind}`", old.kind, new.kind
            )
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
        if is_below and not new.moves and self._is_in_state(old, new):
            verdict = Verdict.MIX
        if new.kind == "join" and new.is_stateful and any(map(_may_be_key, (*gone, *come))):
            verdict = Verdict.RESET  # Spark joins by it, wherever it is written
        for reason in _filters(gone, come, self._sides):
            yield Reason(verdict, *_rest(reason))

    def _is_in_state(self, *looked_up: Step) -> bool:
        """Whether columns of tables that are looked up are among those that steps keep."""
        scans = [each.name for step in looked_up for each in step.every() if each.kind == "scan"]
        roots = (self._sides.old.root, self._sides.new.root)
        stateful = [step for root in roots for step in root.every() if step.is_stateful]
        return any(_is_of(term, scans) for step in stateful for terms in step.parts.values() for term in terms)

    def _parts(self, old: Step, new: Step, is_below: bool, place: Place) -> Iterator[Reason]:
        if new.kind == "scan":
            yield from self._scan(old, new, is_below, place)
        elif new.kind in ("aggregate", "distinct"):
            found = [
                e
                for part in new.parts
                for e in self._state_columns(part, old.parts.get(part, ()), new.parts[part], place)
            ]
            yield from found or self._order(old, new, place)
        elif new.kind == "join" and new.is_stateful:
            yield from self._join(old, new, place)
        elif _words(old) != _words(new):
            verdict = Verdict.MIX if is_below else Verdict.KEEP
            verdict = Verdict.RESET if new.kind in ("union", "window") else verdict
            yield Reason(verdict, _first(old, new) or place, f"`{new.kind}` is another", _words(old), _words(new))

    def _scan(self, old: Step, new: Step, is_below: bool, place: Place) -> Iterator[Reason]:
        if old.name != new.name or (not new.moves and _words(old) != _words(new)):
            verdict = (Verdict.MIX if is_below else Verdict.KEEP) if not new.moves else Verdict.RESET
            yield Reason(verdict, place, f"it reads {new.name} where it read {old.name}", old.name, new.name)
        elif [e.key for e in old.parts.get("landing", ())] != [e.key for e in new.parts.get("landing", ())]:
            yield Reason(Verdict.RESET, place, f"{new.name} lands with another landing")

    def _watermark(self, old: Step, new: Step) -> Iterator[Reason]:
        """The delay may be another; the column is part of the state's format."""
        clauses, now = old.parts.get("watermark", ()), new.parts.get("watermark", ())
        if _keys(clauses) != _keys(now):
            before, after = (" ".join(_keys(each)) for each in (clauses, now))
            is_delay = bool(before and after) and before.rpartition(DELAY)[0] == after.rpartition(DELAY)[0]
            place = _place(clauses, now) or new.place or self._sides.place
            message = "the watermark is another; what was dropped as late stays so"
            yield Reason(Verdict.FORWARD if is_delay else Verdict.RESET, place, message, before, after)

    def _join(self, old: Step, new: Step, place: Place) -> Iterator[Reason]:
        for part in ("kind", "keys"):
            if _keys(old.parts[part]) != _keys(new.parts[part]):
                at = _place(old.parts[part], new.parts[part]) or place
                what = "the kind of join" if part == "kind" else "what the join is by"
                yield Reason(Verdict.RESET, at, f"{what} is another", _sql(old.parts[part]), _sql(new.parts[part]))
        if sorted(_keys(old.parts["on"])) != sorted(_keys(new.parts["on"])):
            message = "a condition of the join is another: rows it had let go are missing, others stay too long"
            at = _place(old.parts["on"], new.parts["on"]) or place
            yield Reason(Verdict.MIX, at, message, _sql(old.parts["on"]), _sql(new.parts["on"]))
        for part in ("left", "right"):
            yield from self._state_columns(part, old.parts[part], new.parts[part], place)

    def _state_columns(self, part: str, old: Sequence[Term], new: Sequence[Term], place: Place) -> Iterator[Reason]:
        """Columns of state, whose order and types Spark compares, but not their meaning."""
        if _keys(old) == _keys(new):
            return
        at = _place(old, new) or place
        if len(old) != len(new) or sorted(_keys(old)) == sorted(_keys(new)):
            message = f"{_PARTS[part]}: there are others, or they stand in another order"
            yield Reason(Verdict.RESET, at, message, _sql(old), _sql(new))
            return
        for before, after in zip(old, new, strict=True):
            if before.key != after.key:
                alike = self._state_type(part, before, self._sides.old_type)
                fits = alike is not None and alike == self._state_type(part, after, self._sides.new_type)
                verdict, what = (Verdict.MIX, "means") if fits else (Verdict.RESET, "has the type of")
                message = f"{_PARTS[part]}: state {what} something else"
                yield Reason(verdict, after.place(before) or at, message, before.sql, after.sql)

    def _order(self, old: Step, new: Step, place: Place) -> Iterator[Reason]:
        """State is in the order in which aggregates are named, by the aggregation or by the select right above it.

        Spark merges these two if it can; a condition over an aggregate prevents that.
        """
        before, after = _orders(self._sides.old, old), _orders(self._sides.new, new)
        columns = [_keys([*form.columns.values()]) for form in (self._sides.old, self._sides.new)]
        if before != after or (len(after) > 1 and columns[0] != columns[1]):
            message = f"{_PARTS['aggregates']}: the columns made of it name it in another order, and so may state"
            yield Reason(Verdict.RESET, place, message)

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


def _filters(gone: Sequence[Term], come: Sequence[Term], sides: Sides) -> Iterator[Reason]:
    old, new = _sql(gone), _sql(come)
    if come:
        place = next((each.place(gone[0] if gone else None) for each in come), None)
        yield Reason(Verdict.KEEP, place or sides.place, "other rows are taken", old, new)
    elif gone:
        yield Reason(Verdict.KEEP, sides.place, "more rows are taken: a condition is gone", old, new)


def _may_be_key(condition: Term) -> bool:
    """Whether a condition is an equality of columns."""
    tree = condition.tree.unnest()
    return isinstance(tree, (exp.EQ, exp.NullSafeEQ)) and all(any(atoms(side)) for side in (tree.left, tree.right))


def _rest(reason: Reason) -> tuple[Place, str, str, str]:
    return reason.place, reason.message, reason.old, reason.new


def _skeleton(step: Step) -> Iterator[tuple[str, Place | None, str]]:
    yield _words(step), step.place, f"{step.kind} {step.name}"
    for each in step.inputs:
        yield from _skeleton(each)


def _words(step: Step) -> str:
    without = ("watermark", *MADE)
    parts = [f"{part}: {sorted(_keys(terms))}" for part, terms in step.parts.items() if part not in without]
    return " ".join([step.kind, step.name, str(len(step.inputs)), *parts])


def _keys(terms: Sequence[Term]) -> list[str]:
    return [each.key for each in terms]


def _sql(terms: Sequence[Term]) -> str:
    return ", ".join(each.sql for each in terms)


def _first(old: Step, new: Step) -> Place | None:
    return next((at for part in new.parts if (at := _place(old.parts.get(part, ()), new.parts[part]))), None)


def _place(old: Sequence[Term], new: Sequence[Term]) -> Place | None:
    """Where the first term stands that was not there."""
    known = set(_keys(old))
    fresh = [each for each in new if each.key not in known]
    before = [each for each in old if each.key not in set(_keys(new))]
    return fresh[0].place(before[0] if before else None) if fresh else None
