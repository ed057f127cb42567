"""The canonical form of a query: a tree of steps, and each output column as an expression over their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from headrace.errors import Place
from headrace.planning.forms.terms import Term, deep

MADE = ("aggregates", "over", "left", "right")
"""Parts that are columns which the step makes, or keeps, itself."""


_TITLES = {
    "aggregate": "`group by`",
    "explode": "`explode`",
    "join": "a join",
    "union": "`union all`",
    "values": "a row without a table",
    "window": "a window function",
}


@dataclass(frozen=True)
class Step:
    """One step over its inputs.

    `kind` is `scan`, `join`, `aggregate` (`distinct` is one), `window`, `explode`, `union` or `values`. `parts` are its
    lists of expressions by name; `filters` are conditions on its rows, in no order. `named` is where texts read it.
    """

    kind: str
    name: str
    parts: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)
    inputs: tuple[Step, ...] = ()
    filters: tuple[Term, ...] = ()
    moves: bool = False
    place: Place | None = field(default=None, compare=False)
    named: tuple[Place, ...] = field(default=(), compare=False)

    @property
    def title(self) -> str:
        """What it is called in SQL."""
        if self.kind == "aggregate" and not self.parts["aggregates"]:
            return "`distinct`"
        return self.name.partition("#")[0] if self.kind == "scan" else _TITLES.get(self.kind, self.kind)

    @property
    def is_stateful(self) -> bool:
        """Whether Spark's streaming engine keeps rows for it."""
        both = self.kind == "join" and len(self.inputs) == 2 and all(each.moves for each in self.inputs)
        return both or (self.kind in ("aggregate", "window") and self.moves)

    @property
    def is_closed(self) -> bool:
        """Whether it is made of its own columns alone, but for its conditions."""
        owners = [each.name for each in self.every()]
        made = (each for part in self.parts.values() for each in part)
        below = (each for step in self.inputs for each in step.terms())
        named = (atom.name for each in (*made, *below) for atom in each.atoms)
        return all(any(name.startswith(f"{owner}.") for owner in owners) for name in named)

    def every(self) -> Iterator[Step]:
        """This step and all below it."""
        yield self
        for each in self.inputs:
            yield from each.every()

    def terms(self) -> Iterator[Term]:
        """Every expression of this step and of all below it."""
        for each in self.every():
            yield from each.filters
            for terms in each.parts.values():
                yield from terms

    def keys(self) -> Iterator[str]:
        """The whole tree as words: two trees with the same words mean the same."""
        yield f"({self.kind} {self.name if self.kind == 'scan' else ''}"
        for part, terms in self.parts.items():
            yield f"{part}=[{', '.join(each.key for each in terms)}]"
        yield f"where {sorted(each.key for each in self.filters)}"
        for each in self.inputs:
            yield from each.keys()
        yield ")"

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The step as lines of text, its inputs indented."""
        indent = "  " * depth
        yield f"{indent}{self.title}"
        for part, terms in self.parts.items():
            yield from (f"{indent}  {part}: {term.sql}" for term in terms)
        yield from (f"{indent}  where: {term.sql}" for term in sorted(self.filters, key=lambda term: term.key))
        for each in self.inputs:
            yield from each.lines(depth + 1)


@dataclass(frozen=True)
class Read:
    """A stored table that a query reads, with the columns it uses."""

    table: str
    stream: bool
    columns: frozenset[str]
    place: Place


@dataclass(frozen=True)
class Form:
    """A whole query."""

    root: Step
    columns: Mapping[str, Term]
    reads: tuple[Read, ...]

    @property
    def scans(self) -> list[Step]:
        return [step for step in self.root.every() if step.kind == "scan"]

    @property
    def asks_queries(self) -> bool:
        """Whether a condition on its rows has a query in it, as `exists (select ...)` has."""
        return any(atom.kind == "query" for step in self.root.every() for each in step.filters for atom in each.atoms)

    def lines(self) -> list[str]:
        """The form as lines of text."""
        return [*(f"{name} = {term.sql}" for name, term in self.columns.items()), *self.root.lines()]


def pruned(step: Step, needed: frozenset[str]) -> Step:
    """The step with only those of its own columns that something above it names, as Spark would run it."""
    others = [terms for part, terms in step.parts.items() if part not in MADE]
    needed |= _names(each.tree for terms in (step.filters, *others) for each in terms)
    parts = {
        part: tuple(each for each in terms if part not in MADE or any(atom.name in needed for atom in each.atoms))
        for part, terms in step.parts.items()
    }
    needed |= _names(each.tree for terms in parts.values() for each in terms)
    return replace(step, parts=parts, inputs=tuple(pruned(each, needed) for each in step.inputs))


def _names(trees: Iterable[exp.Expr]) -> frozenset[str]:
    return frozenset(atom.name for atom in deep(*trees))
