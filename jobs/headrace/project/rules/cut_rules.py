"""Rules about micro-batch models whose rows would depend on how events were cut into batches.

A model that runs per micro-batch is a statement about all rows, but runs over those that are new. A row may depend on
rows with another arrival only through what the model or its query has stored of them, or if it is the same whichever
batch they came in. Everything else gives other rows in three batches than in one, and is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding
from headrace.project import graph
from headrace.project.flows.draft import Draft
from headrace.project.flows.equivalences import Key, Part, same, within
from headrace.project.flows.folds import Folds
from headrace.project.flows.joins import FlowJoin, joins_of
from headrace.project.flows.movement import Movement, Rows
from headrace.project.flows.row_keys import RowKeys
from headrace.project.model import Model
from headrace.project.rules.stream_rules import SET_OPERATIONS
from headrace.project.sql.scopes import table_name
from headrace.project.sql.selects import (
    aggregates,
    equalities,
    filters,
    find_all,
    group_keys,
    groups,
    is_number,
    keeps_first,
    keeps_one,
    keys_and_order,
    looked_into,
    looks_ahead,
    ordered_by,
    starts_late,
    united_with,
)
from headrace.project.sql.tracing import Made

GROUPED = (
    "sees only the rows of its batch, so a group gives a row for each batch that has some of it; make it an upsert in "
    "Spark's streaming engine (`materialized: upsert`, `run: streaming`, `output_mode: update`), or add what the "
    "model's own table held before the batch"
)
DISTINCT = (
    "drops only what comes twice in one batch; take it out, keep `_arrival`, and say `once_per: {keys}` in the header"
)
RANKED = (
    "sees only the rows of its batch, so it starts over with each; for the largest of all use `materialized: snapshot` "
    "or a window of time, for what came before join the model's own table and order by `_arrival`"
)
ORDERED = "goes on from what was kept before the batch, so it needs the order in which rows came: order by `_arrival`"
AHEAD = (
    "looks at rows that come later, of which a batch has only some; keep the row in an upsert and decide when the "
    "later one comes"
)
BEHIND = (
    "looks at some of the rows before, of which the batch has only its own; keep what it needs of them in an upsert, "
    "or begin with `unbounded preceding`"
)
COUNTED = (
    "counts the one row that is stored of a key, not the rows that it stands for; store the number, and take `sum` of "
    "it and of 1 for each new row"
)
LEFT_OUT = (
    "decides which rows there are, and goes on without those that it leaves out in the next batch, as they are not "
    "stored; keep all rows here, and leave some out in a model that streams this one"
)
AGAIN = "adds the model's own rows once more with each batch; leave them out of the result, or say `once_per`"
LIMITED = (
    "takes so many rows of each batch; for the first of all use `materialized: snapshot`, which reads the table whole, "
    "or a window of time"
)
JOINED = (
    "two streams meet only where both rows come in one batch; bound the time between them with a WATERMARK on both, or "
    "keep in an upsert what waits for the other side"
)
ANTI_JOINED = (
    "a row that is answered in a later batch has no answer in this one; keep what waits in an upsert and decide at a "
    "deadline, or join within a time with a WATERMARK on both"
)
BEFORE_OR_AFTER = (
    "which rows of the table a row meets depends on the batch they came in; compare their arrivals, "
    "`and {right}._arrival < {left}._arrival`"
)
DELETED = "a row that was deleted in the same batch is among these, in the next one it is not; look up its versions"
LOOKED_INTO = (
    "the subquery finds only rows of this batch; join instead, with what was kept of them in an upsert, or with a "
    "WATERMARK on both"
)
COMPARED = "compares only the rows of one batch; {advice}"
LOOKUP = (
    "holds what was there before the batch, so rows that come together do not see each other; number or sum them by "
    "the same key (`over (partition by ... order by _arrival)`), or say `once_per`"
)
SEVERAL = (
    "may hold several rows for one, all of which are taken, and rows that come together do not see each other; take "
    "the newest of each key: `max_by(x, _arrival) ... group by key`, or `materialized: upsert`"
)
LOOKUP_OF_STREAMED = (
    f"{LOOKUP}; to find the earlier rows, take both together, `select ... from stream x union all select ... from x`, "
    "and compare their `_arrival`"
)

COUNTS = (exp.Count, exp.CountIf)
TOTALS = (*COUNTS, exp.Sum, exp.Avg)


def cut_dependent(draft: Draft) -> Iterator[Finding]:
    """No row depends on the batch in which others came."""
    found, row_keys = set[Finding](), RowKeys(draft.models, draft.flows)
    if any(graph.cycle_findings(draft.models.values())):
        return
    for model in draft.models.values():
        is_stored = model.run == "micro_batch" and model.materialized in ("append", "upsert")
        if is_stored and all(read.table in draft.tables for read in graph.reads(model, draft.models)):
            found |= {*_Judge(model, Movement(model, draft.models, draft.flows), row_keys).findings()}
    yield from sorted(found, key=lambda finding: finding.place)


class _Judge:
    """The judgement on one model."""

    def __init__(self, model: Model, movement: Movement, row_keys: RowKeys) -> None:
        self._model = model
        self._movement = movement
        self._folds = Folds(movement, row_keys)

    def findings(self) -> Iterator[Finding]:
        """Everything in the model, and in the views that it reads, that depends on the cut."""
        for part in self._movement.moving_parts:
            for scope in part.flow.tracing.scopes:
                if isinstance(scope.expression, exp.Select):
                    yield from self._of_select(part, scope)
                else:
                    yield from self._of_set_operation(part, scope)
        yield from self._lookups()
        yield from self._added_again()

    def _of_select(self, part: Part, scope: Scope) -> Iterator[Finding]:
        rows = self._movement.combined(part, scope)
        if rows.new:
            if id(scope) not in self._asked_per_row:  # there, what counts is what each row finds
                yield from self._grouped(part, scope, rows)
                yield from self._limited(part, scope)
            yield from self._ranked(part, scope, rows)
            yield from self._joined(part, scope)
        yield from self._subqueries(part, scope)

    # groups

    def _grouped(self, part: Part, scope: Scope, rows: Rows) -> Iterator[Finding]:
        keys = group_keys(scope)
        if not groups(scope) or self._movement.equivalences.is_per_event(part, keys):
            return
        calls = [*aggregates(scope)]
        if rows.own and self._is_kept_by(part, keys):
            counts = [each for each in calls if self._reads_itself and isinstance(each, COUNTS)]
            yield from (self._finding(part, each, f"`count` {COUNTED}") for each in counts)
            return
        if rows.past and not rows.own and self._model.materialized == "upsert":
            return
        own = self._keys(part, keys)
        if rows.only_new and self._repeats(part, scope, keys):
            return
        if rows.only_new and self._folds.go_on(scope, own, picks=not calls):
            yield from (self._finding(part, each, f"the total {LEFT_OUT}") for each in calls if self._is_asked(each))
            return
        if scope.expression.args.get("distinct"):
            names = ", ".join(each.alias_or_name for each in scope.expression.args["expressions"])
            yield self._finding(part, scope.expression, "`distinct` " + DISTINCT.format(keys=f"[{names}]"))
        else:
            where = scope.expression.args.get("group") or next(aggregates(scope))
            word = "`group by`" if scope.expression.args.get("group") else "an aggregate"
            yield self._finding(part, where, f"{word} {GROUPED}")

    def _is_kept_by(self, part: Part, keys: list[exp.Expr]) -> bool:
        """Return whether there is at most one stored row for what rows of the batch and stored ones are divided by."""
        if not self._reads_itself:
            return True  # what stored rows there are is for the other models of a circle to say
        kept = self._movement.equivalences.output(self._model.unique_key)
        return bool(kept) and within(kept, self._keys(part, keys))

    @property
    def _reads_itself(self) -> bool:
        return any(read.table == self._model.table for read in self._model.inputs)

    def _repeats(self, part: Part, scope: Scope, keys: list[exp.Expr]) -> bool:
        """Return whether further rows of a group change nothing: the header keeps its first, or its newest."""
        own = self._keys(part, keys)
        key = self._model.once_per or self._model.unique_key
        if not key or not same(own, self._movement.equivalences.output(key)):
            return False
        picks = (exp.ArgMin, exp.Min) if self._model.once_per else (exp.ArgMax, exp.Max)
        return all(isinstance(call, picks) and self._is_arrival(part, ordered_by(call)) for call in aggregates(scope))

    # windows

    def _ranked(self, part: Part, scope: Scope, rows: Rows) -> Iterator[Finding]:
        for window in find_all(scope, exp.Window):
            keys, order = keys_and_order(scope, window)
            if self._movement.equivalences.is_per_event(part, keys):
                continue
            if rows.own and self._is_kept_by(part, keys):
                why = self._of_what_waits(window)
            else:
                why = self._of_window(part, scope, rows, window, keys, order)
            if why is not None:
                yield self._finding(part, window, f"`over (...)` {why}")

    def _of_what_waits(self, window: exp.Window) -> str | None:
        """What is wrong with a window over the rows of the batch and the one that is stored of each key."""
        if not self._reads_itself:
            return None
        if is_number(window):
            picks = self._filters_by(window)
            return None if picks and all(map(keeps_one, picks)) else COUNTED
        return COUNTED if isinstance(window.this, COUNTS) else None

    def _of_window(
        self, part: Part, scope: Scope, rows: Rows, window: exp.Window, keys: list[exp.Expr], order: list[exp.Ordered]
    ) -> str | None:
        if (rows.only_new or rows.own) and looks_ahead(window):
            return AHEAD
        if rows.only_new and starts_late(window):
            return BEHIND
        if self._picks(part, window, keys, order):
            return None
        in_order = bool(order) and self._is_arrival(part, order[0].this) and not order[0].args.get("desc")
        picks = bool(self._filters_by(window))
        known = rows.past or (rows.own and not picks) or self._folds.go_on(scope, self._keys(part, keys), picks)
        if known and in_order:
            return LEFT_OUT if rows.only_new and self._is_asked(window) else None
        if rows.past and self._model.materialized == "upsert":
            return None
        return ORDERED if known else RANKED

    def _is_asked(self, call: exp.Expr) -> bool:
        """Return whether a total decides which rows there are; of those beyond a number nothing has to be known."""
        is_count = call.find(*COUNTS) is not None
        return call.find(*TOTALS) is not None and any(
            self._holds(part, each, call)
            for part, each in self._conditions
            if not (is_count and isinstance(each, (exp.LT, exp.LTE)))
        )

    @cached_property
    def _conditions(self) -> list[tuple[Part, exp.Expr]]:
        """All conditions that decide which rows there are, apart from those of joins."""
        parts = self._movement.moving_parts
        return [(part, each) for part in parts for scope in part.flow.selects for each in filters(scope)]

    def _holds(self, part: Part, condition: exp.Expr, call: exp.Expr) -> bool:
        made = [
            end.expression
            for column in condition.find_all(exp.Column)
            for _, end in part.flow.all_ends(column)
            if isinstance(end, Made)
        ]
        return any(each is call for found in (condition, *made) for each in found.walk())

    def _picks(self, part: Part, window: exp.Window, keys: list[exp.Expr], order: list[exp.Ordered]) -> bool:
        """Return whether a window numbers rows of which the header keeps one: the first, or the newest."""
        key = self._model.once_per or self._model.unique_key
        if not isinstance(window.this, exp.RowNumber) or not key or not order:
            return False
        first = not order[0].args.get("desc")
        if not first and any(join.is_own for join in self._movement.state_joins):
            return False  # what the rows left out would have changed is lost
        by_arrival = self._is_arrival(part, order[0].this)
        is_due = (first if self._model.once_per else not first) and all(map(keeps_first, self._filters_by(window)))
        return by_arrival and is_due and same(self._keys(part, keys), self._movement.equivalences.output(key))

    def _filters_by(self, window: exp.Window) -> list[exp.Expr]:
        """The conditions that pick rows by the number that a window gives them."""
        if not is_number(window):
            return []
        found = []
        for part, condition in self._conditions:
            ends = [end for side in condition.iter_expressions() for _, end in part.flow.all_ends(side)]
            if any(isinstance(end, Made) and end.expression is window for end in ends):
                found.append(condition)
        return found

    def _limited(self, part: Part, scope: Scope) -> Iterator[Finding]:
        query: exp.Expr | None = scope.expression
        while isinstance(query, (exp.Select, exp.Subquery)):
            for name in ("limit", "offset"):
                clause = query.args.get(name)
                if clause is not None and clause.expression.name.lower() != "all":
                    yield self._finding(part, clause, f"`{name}` {LIMITED}")
            query = query.parent

    # what is joined

    def _joined(self, part: Part, scope: Scope) -> Iterator[Finding]:
        for join in joins_of(part.flow, scope):
            left = self._movement.of_aliases(part, scope, join.left)
            right = self._movement.of_alias(part, scope, join.right)
            if not (left.new and right.new) or self._is_same_event(part, join):
                continue
            if (left.own or right.own) and self._keeps_what_waits:
                continue
            if left.before or right.before:
                if not self._is_recomputed(part, scope, join) and not self._compares_times(part, join):
                    words = BEFORE_OR_AFTER.format(left=join.left[0], right=join.right)
                    yield self._finding(part, join.join.this, words)
                elif not self._is_recomputed(part, scope, join) and self._meets_deleted(part, join):
                    yield self._finding(part, join.join.this, DELETED)
            elif not self._folds.go_on(scope, self._join_keys(part, join)):
                yield self._finding(part, join.join.this, ANTI_JOINED if join.side == "anti" else JOINED)

    @property
    def _keeps_what_waits(self) -> bool:
        """Return whether rows that met nothing yet are stored; an append model has those alone that met something."""
        return self._model.materialized == "upsert" or not self._reads_itself

    def _meets_deleted(self, part: Part, join: FlowJoin) -> bool:
        """Return whether a row may meet one of an upsert that was deleted before it came, without looking at that."""
        known = [each for each in (*join.left, join.right) if self._movement.of_alias(part, join.scope, each).past]
        tables = {table for alias in known for table in self._movement.streams_of_alias(part, join.scope, alias)}
        return self._movement.deletes(tables) and not any(
            column.name.lower() == "_deleted"
            for each in self._movement.moving_parts
            for scope in each.flow.selects
            for column in find_all(scope, exp.Column)
        )

    def _is_same_event(self, part: Part, join: FlowJoin) -> bool:
        """Return whether both rows of a join come from one event."""
        if any(each.name.lower() == "_arrival" for each in join.join.args.get("using") or ()):
            return True
        return any(
            self._is_arrival(part, each.left) and self._is_arrival(part, each.right) for each in join.equalities()
        )

    def _is_recomputed(self, part: Part, scope: Scope, join: FlowJoin) -> bool:
        """Return whether each arriving row of the known side recomputes the rows of an upsert that it goes into."""
        if self._model.materialized != "upsert":
            return False
        known, touching = frozenset[str](), frozenset[str]()
        for select in united_with(part.flow.tracing.scopes, scope):
            for alias, _ in select.references:
                rows = self._movement.of_alias(part, select, alias)
                tables = self._movement.streams_of_alias(part, select, alias)
                if rows.only_new:
                    touching |= tables
                elif select is scope and alias in (*join.left, join.right):
                    known |= tables
        return known <= touching

    def _compares_times(self, part: Part, join: FlowJoin) -> bool:
        for condition in join.conditions():
            for each in condition.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between):
                sides = [side for side in each.iter_expressions() if self._movement.equivalences.has_time(part, side)]
                if len(join.sides(each)) > 1 and sides:
                    return True
        return False

    def _join_keys(self, part: Part, join: FlowJoin) -> tuple[Key, ...]:
        return self._keys(part, [each.left for each in join.equalities()])

    def _subqueries(self, part: Part, scope: Scope) -> Iterator[Finding]:
        for inner in looked_into(scope):
            rows = self._movement.of_scope(part, inner)
            if rows.only_new and not self._is_same_arrival(part, inner):
                yield self._finding(part, inner.expression, LOOKED_INTO)
            elif self._is_unordered(part, inner, rows):
                words = BEFORE_OR_AFTER.format(left=scope.references[0][0], right=inner.references[0][0])
                yield self._finding(part, inner.expression, words)

    def _is_unordered(self, part: Part, inner: Scope, rows: Rows) -> bool:
        """Return whether a subquery finds rows from before the batch and of it, whichever came first."""
        if not (rows.new and rows.past) or rows.own or self._model.materialized == "upsert" or not inner.references:
            return False
        ordering = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
        found = (each for condition in filters(inner) for each in condition.find_all(*ordering))
        return not any(self._is_of_both(part, inner, each) for each in found) and not self._is_same_arrival(part, inner)

    def _is_of_both(self, part: Part, inner: Scope, comparison: exp.Expr) -> bool:
        """Return whether the time of a row in a subquery is compared with one of the row outside."""
        owners = {part.flow.tracing.owner(column, inner) for column in comparison.find_all(exp.Column)}
        is_of_time = any(self._movement.equivalences.has_time(part, side) for side in comparison.iter_expressions())
        return is_of_time and None in owners and len(owners) > 1

    @cached_property
    def _asked_per_row(self) -> set[int]:
        """The subqueries that are computed for each row of a select."""
        scopes = (scope for part in self._movement.moving_parts for scope in part.flow.selects)
        return {id(inner) for scope in scopes for inner in looked_into(scope)}

    def _is_same_arrival(self, part: Part, scope: Scope) -> bool:
        return any(
            self._is_arrival(part, each.left) and self._is_arrival(part, each.right) for each in equalities(scope)
        )

    def _of_set_operation(self, part: Part, scope: Scope) -> Iterator[Finding]:
        operation = scope.expression
        rows = self._movement.of_scope(part, scope)
        is_union_all = isinstance(operation, exp.Union) and operation.args.get("distinct") is False
        if not isinstance(operation, exp.SetOperation) or is_union_all or not rows.only_new:
            return
        names = tuple(operation.named_selects)
        if "_arrival" in map(str.lower, names) or (names and {*names} <= {*self._model.once_per}):
            return
        word = SET_OPERATIONS.get(type(operation), "union")
        advice = f"write `union all`, and `once_per: [{', '.join(names)}]` in the header"
        if word != "union":
            advice = "keep what waits for the other side in an upsert, or join within a time with a WATERMARK on both"
        yield self._finding(part, operation, f"`{word}` {COMPARED.format(advice=advice)}")

    # what was stored before the batch

    def _lookups(self) -> Iterator[Finding]:
        """What was stored before the batch is combined with the rows of the batch, in the order in which they came."""
        for join in self._movement.state_joins:
            if not join.is_lookup or (join.is_own and self._folds.are_kept_once(join.keys)):
                continue
            if not self._folds.are_added_up(join.keys):
                words = LOOKUP if join.is_own else LOOKUP_OF_STREAMED
                yield self._finding(join.part, join.node, f"the table {words}")
            elif join.is_own and self._folds.find_several(join):
                yield self._finding(join.part, join.node, f"the table {SEVERAL}")

    def _added_again(self) -> Iterator[Finding]:
        """An append model leaves out again what it has put beside the rows of the batch of its own."""
        if self._model.materialized == "append" and not self._model.once_per:
            part = next(self._movement.moving_parts)
            yield from (self._finding(part, each, f"`union all` {AGAIN}") for each in self._unfiltered(part))

    def _unfiltered(self, part: Part) -> Iterator[exp.Expr]:
        """The reads of the model's own table whose rows come through to the result, and nothing leaves out any."""
        waiting = [*part.flow.tracing.scopes[-1:]]
        while waiting:
            scope = waiting.pop()
            if scope.set_operation_scopes:
                waiting += scope.set_operation_scopes
                continue
            rows = self._movement.combined(part, scope)
            chosen = any(filters(scope)) or any(join.side != "left" for join in joins_of(part.flow, scope))
            if not rows.own or groups(scope) or (rows.new and chosen):
                continue
            for alias, node in scope.references[:1]:
                source = scope.sources.get(alias)
                if isinstance(source, Scope):
                    waiting.append(source)
                elif isinstance(source, exp.Table) and table_name(source) == self._model.table and not rows.new:
                    yield node

    def _keys(self, part: Part, expressions: Sequence[exp.Expr]) -> tuple[Key, ...]:
        return self._movement.equivalences.keys(part, expressions)

    def _is_arrival(self, part: Part, expression: exp.Expr | None) -> bool:
        return expression is not None and self._movement.equivalences.is_arrival(part, expression)

    def _finding(self, part: Part, node: exp.Expr, message: str) -> Finding:
        return Finding(part.flow.place(node), "cut-dependent", message)
