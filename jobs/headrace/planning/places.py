"""The place of each reason: where the user's edit is that it comes from, and what brings that into the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from headrace.errors import Place
from headrace.planning.edits import Edit, Edits
from headrace.planning.forms import terms
from headrace.planning.forms.terms import Atom
from headrace.planning.stretches import Span, holds
from headrace.planning.verdict import Reason
from headrace.project.model import Model

Upstream = Callable[[str, str | None], Collection[Place]]
"""Where a column of a table that is read was edited or, with None, its rows."""


class Places:
    """Moves reasons to the edits that they come from; of several the first counts, a model's own before others."""

    def __init__(self, edits: Edits, upstream: Upstream) -> None:
        self._edits = edits
        self._upstream = upstream

    def moved(self, reason: Reason, table: str, old: Model | None = None, new: Model | None = None) -> Reason:
        """The reason where the edit is; unchanged, if no edit of a text reaches the model."""
        edits = self._edits.of(table)
        found = next(filter(None, self._candidates(reason, edits, old, new)), None)
        if found is None:
            return reason
        edit = min(found, key=edits.index)
        is_there = bool(reason.evidence.key) and holds(edit.stretch.exact, reason.place)
        place = reason.place if is_there else edit.place
        through = self.through(edit.place, table)
        message = f"{reason.message}; read here through {through}" if through else reason.message
        return replace(reason, place=place, message=message)

    def through(self, place: Place, table: str) -> str | None:
        """By what an edit at a place is read, if not in the model's own text."""
        found = next((each for each in self._edits.of(table) if each.place == place), None)
        return found.through or None if found else None

    def _candidates(
        self, reason: Reason, edits: Sequence[Edit], old: Model | None, new: Model | None
    ) -> Iterator[list[Edit]]:
        """The edits that a reason may come from, likely ones first."""
        evidence = reason.evidence
        if evidence.key:
            yield _of_key(evidence.key, edits, old, new)
        if evidence.table:
            yield [each for each in edits if each.table == evidence.table]
        now, was = ([*_nodes(found)] for found in (evidence.new, evidence.old))
        for span in (_exact, _around):
            written = [place for node in now for place in _written(node)]
            yield [each for each in edits if any(holds(span(each), place) for place in (*written, *evidence.at))]
        yield [each for each in edits if any(self._is_of(node, each) for node in (*now, *was))]
        gone = [place for node in was for place in _written(node)]
        yield [each for each in edits if any(holds(each.stretch.was, place) for place in gone)]
        near = [each for each in edits if each.place.path == reason.place.path]
        yield [min(near, key=lambda each: _distance(each.place, reason.place))] if near else []
        yield [*edits[:1]]

    def _is_of(self, node: exp.Expr, edit: Edit) -> bool:
        """Whether a node stands for an edited variable, or for a column or rows of another table that were edited."""
        if edit.variable and node.meta.get("variable") == edit.variable:
            return True
        atom: Atom | None = node.meta.get("atom")
        if atom is not None and atom.is_edited:
            return (edit.table, edit.column) == (atom.table, atom.column) or edit.place in self._upstream(
                atom.table, atom.column
            )
        rows_of = node.meta.get("rows_of")
        return rows_of is not None and edit.place in self._upstream(rows_of, None)


def _nodes(found: Sequence[terms.Term]) -> Iterator[exp.Expr]:
    for each in found:
        yield from terms.every(each.tree)


def _written(node: exp.Expr) -> Iterator[Place]:
    """Where a node is written, and where what it stands for is named."""
    if node.meta.get("place") is not None:
        yield node.meta["place"]
    yield from node.meta.get("named", ())


def _exact(edit: Edit) -> Span:
    return edit.stretch.exact


def _around(edit: Edit) -> Span:
    return edit.stretch.around


def _distance(one: Place, other: Place) -> tuple[int, int]:
    return abs(one.line - other.line), abs(one.column - other.column)


def _of_key(key: str, edits: Sequence[Edit], old: Model | None, new: Model | None) -> list[Edit]:
    """The edits within a key of a header, of what it names, or of a setting of that name."""
    if key == "judged":
        return [each for each in edits if each.column not in ("topic", "event_time", "seed", "idle_after")]
    named = [each for each in edits if each.column == key]
    if old is None or new is None:
        return named
    block, was = _block(key, new.header_places), _block(key, old.header_places)
    inside = [each for each in edits if each.table == new.table and block and _meets(each.stretch.exact, block)]
    gone = [each for each in edits if each.table == new.table and was and holds(each.stretch.was, was[0])]
    return inside or (gone if not block else []) or named


def _block(key: str, places: Mapping[str, Place]) -> Span | None:
    """From the first line of a key to the line before the next key."""
    if key not in places:
        return None
    start = places[key]
    after = [place.line for name, place in places.items() if "." not in name and place.line > start.line]
    return replace(start, column=1), Place(start.path, min(after, default=1 << 20) - 1, 1 << 20)


def _meets(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
