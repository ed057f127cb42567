"""What the groups and windows of a micro-batch model go on from: the stored rows that the rows of a batch look up.

A fold over all rows is computed batch by batch if the stored rows are looked up by what a group or a window divides by,
one for each, and if they go into the result. Where only what is new is kept, there is nothing to go on from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.flows.equivalences import Key, Part, same, within
from headrace.project.flows.movement import Movement, StateJoin
from headrace.project.flows.own_rows import OwnRows
from headrace.project.flows.row_keys import RowKeys
from headrace.project.sql.selects import find_all, group_keys, groups, keys_and_order


class Folds:
    """Answers for one model."""

    def __init__(self, movement: Movement, row_keys: RowKeys) -> None:
        self._movement = movement
        self._own_rows = OwnRows(movement)
        self._row_keys = row_keys

    def go_on(self, scope: Scope, keys: tuple[Key, ...], picks: bool = False) -> bool:
        """Return whether the rows of a select are joined by these keys with what was stored of them before the batch.

        Where one row of several is picked, known rows must be left out; otherwise the stored rows must be added to.
        """
        return any(self._goes_on(scope, keys, picks, each) for each in self._movement.state_joins)

    def _goes_on(self, scope: Scope, keys: tuple[Key, ...], picks: bool, known: StateJoin) -> bool:
        if known.is_own and not (self._own_rows.are_left_out() if picks else self._is_used(known)):
            return False
        if id(scope) in known.waiting:
            return False
        if known.keys is None or frozenset() in known.keys or frozenset() in keys:
            return True
        return within(known.keys, keys) and self.are_added_up(known.keys)

    def _is_used(self, known: StateJoin) -> bool:
        return self._own_rows.are_used() and not self._own_rows.are_left_out_by(known)

    def are_added_up(self, keys: tuple[Key, ...] | None) -> bool:
        """Return whether a group or a window divides the rows of the batch by just these keys."""
        if keys is None or frozenset() in keys:
            return bool(self._divisions)
        return any(same(keys, self._movement.equivalences.keys(*each)) for each in self._divisions)

    def are_kept_once(self, keys: tuple[Key, ...] | None) -> bool:
        """Return whether of the rows that look up stored ones by these keys only the first is ever added."""
        if not self._movement.model.once_per:
            return False
        kept = self._movement.equivalences.output(self._movement.model.once_per)
        return keys is None or frozenset() in keys or within(kept, keys)

    def find_several(self, known: StateJoin) -> bool:
        """Return whether a row of an append model is joined with several stored rows, and stays so."""
        if self._movement.model.materialized != "append" or known.join is None:
            return False
        if known.join.side == "semi" or self._own_rows.are_left_out_by(known):
            return False
        if any(self._movement.equivalences.is_per_event(*each) for each in self._divisions):
            return False
        return not self._row_keys.finds_one(known.join, known.stored)

    @cached_property
    def _divisions(self) -> list[tuple[Part, Sequence[exp.Expr]]]:
        """What all groups and windows over rows of the batch divide by."""
        found: list[tuple[Part, Sequence[exp.Expr]]] = []
        for part in self._movement.moving_parts:
            for scope in part.flow.selects:
                if self._movement.combined(part, scope).new:
                    found += [(part, group_keys(scope))] if groups(scope) else []
                    found += [(part, keys_and_order(scope, each)[0]) for each in find_all(scope, exp.Window)]
        return found
