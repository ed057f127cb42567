"""Which lookups of versions need only those that hold while a batch arrives: joins as of the arrival of its own rows.

All others need every version, also past ones. Where that is uncertain, a lookup counts as one of those.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project.flows.draft import Draft
from headrace.project.flows.flow import Flow
from headrace.project.flows.versions import VALID_TO
from headrace.project.model import Input, Model
from headrace.project.sql.selects import conjuncts
from headrace.project.sql.tracing import Source, Stored

_PARTS = frozenset({"with_", "expressions", "from_", "kind", "hint", "operation_modifiers"})
"""What a select may have that takes columns of one relation, and nothing more."""


def marked(draft: Draft) -> Draft:
    """The draft, in which references to versions are marked if they need the past."""
    return replace(draft, files=tuple(replace(file, model=_marked(file.model, draft)) for file in draft.files))


def _marked(model: Model, draft: Draft) -> Model:
    if not any(ref.versions for ref in model.inputs):
        return model
    inputs = (replace(ref, past=ref.versions and not _is_of_now(ref, model, draft)) for ref in model.inputs)
    return replace(model, inputs=tuple(inputs))


def _is_of_now(ref: Input, model: Model, draft: Draft) -> bool:
    """Whether each row of a reference is joined as of the arrival of a row of the batch."""
    flow, of = draft.flows[model.table], draft.models[ref.table]
    reading = [
        (scope, alias)
        for scope in flow.tracing.scopes
        for alias, _ in scope.references
        if isinstance(source := scope.sources.get(alias), exp.Table) and _start(source) == ref.start
    ]
    if of.query != model.query or len(reading) != 1:
        return False
    return _AsOf(draft, flow, model.query).is_bound(*reading[0])


def _start(table: exp.Table) -> int:
    return int(table.parts[0].meta.get("start", -1))


@dataclass(frozen=True)
class _AsOf:
    """Analyses how one model uses the versions of a table of its query."""

    draft: Draft
    flow: Flow
    query: str | None

    def is_bound(self, scope: Scope, alias: str) -> bool:
        """Whether a scope joins a relation as of its rows, or passes it on to scopes that all do."""
        join = next((each for each in scope.expression.args.get("joins") or () if each.alias_or_name == alias), None)
        if join is not None:
            on, is_preserved = join.args.get("on"), join.side.upper() in ("RIGHT", "FULL")
            return on is not None and not is_preserved and any(map(self._ends_later, conjuncts(on)))
        readers = [
            (each, name)
            for each in self.flow.tracing.scopes
            for name, _ in each.references
            if each.sources.get(name) is scope
        ]
        return _is_passed(scope) and bool(readers) and all(self.is_bound(each, name) for each, name in readers)

    def _ends_later(self, condition: exp.Expr) -> bool:
        """Whether a condition is `<end> is null or <arrival> <= <end>`, in either order."""
        if not isinstance(condition, exp.Or):
            return False
        parts = [condition.this.unnest(), condition.expression.unnest()]
        nulls = [each.this for each in parts if isinstance(each, exp.Is) and isinstance(each.expression, exp.Null)]
        return any(map(self._is_end, nulls)) and any(map(self._is_before_end, parts))

    def _is_before_end(self, condition: exp.Expr) -> bool:
        if isinstance(condition, (exp.LT, exp.LTE)):
            arrival, end = condition.this, condition.expression
        elif isinstance(condition, (exp.GT, exp.GTE)):
            end, arrival = condition.this, condition.expression
        else:
            return False
        return self._is_end(end) and self._have_just_arrived(self.flow, self.flow.tracing.ends(arrival))

    def _is_end(self, value: exp.Expr) -> bool:
        ends = [*self.flow.tracing.ends(value)]
        return bool(ends) and all(isinstance(each, Stored) and each.column.lower() == VALID_TO for each in ends)

    def _have_just_arrived(self, flow: Flow, ends: Iterable[Source]) -> bool:
        """Whether values are arrivals of rows of the batch: of sources, or of what this query computes from such."""
        found = [*ends]
        return bool(found) and all(self._has_just_arrived(flow, each) for each in found)

    def _has_just_arrived(self, flow: Flow, source: Source) -> bool:
        if not isinstance(source, Stored) or not flow.is_streamed(source.node):
            return False
        if source.table in self.draft.topics:
            return source.column.lower() == "_arrival"
        other = self.draft.models.get(source.table)
        if other is None or other is flow.file.model or (other.materialized != "view" and other.query != self.query):
            return False
        further = self.draft.flows[other.table]
        return self._have_just_arrived(further, further.ends_of(source.column))


def _is_passed(scope: Scope) -> bool:
    """Whether a select takes columns of one relation, and nothing more."""
    used = {part for part, value in scope.expression.args.items() if value}
    return used <= _PARTS and len(scope.references) == 1 and not scope.expression.find(exp.Window, exp.AggFunc)
