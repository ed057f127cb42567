"""Rules about the state of models in Spark's streaming engine: what it keeps, and when it may forget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Finding, Place
from headrace.project.draft import Draft
from headrace.project.flow import Flow
from headrace.project.stream_rules import group_keys, streaming_flows

WATERMARK = "watermark <time> delay of interval <how late>"
_RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True)
class StreamJoin:
    """One join with a moving relation: `left` are the aliases before it, `right` is the one it adds."""

    flow: Flow
    scope: Scope
    join: exp.Join
    left: tuple[str, ...]
    right: str
    update: bool

    @property
    def side(self) -> str:
        """Return the kind of join: inner, left, right, full, semi or anti."""
        kind = str(self.join.args.get("kind") or "").lower()
        return kind if kind in ("semi", "anti") else str(self.join.side or "").lower() or "inner"

    def moves(self, *aliases: str) -> bool:
        """Say whether any of some relations is a stream."""
        return any(self.flow.is_moving(alias, self.scope) for alias in aliases)

    def is_watermarked(self, *aliases: str) -> bool:
        """Say whether any of some relations has a watermark."""
        return any(self.flow.is_watermarked(alias, self.scope) for alias in aliases)

    @property
    def place(self) -> Place:
        """Return where the joined relation stands."""
        return self.flow.place(self.join.this)

    def conditions(self) -> list[exp.Expr]:
        """Return the parts of the condition that must all hold; an inner join's may stand in WHERE too."""
        found = [self.join.args.get("on")]
        where = self.scope.expression.args.get("where")
        found += [where.this] if where is not None and self.side == "inner" else []
        return [part for each in found if each is not None for part in _conjuncts(each)]

    def sides(self, condition: exp.Expr) -> set[str]:
        """Return which sides a condition speaks of."""
        owners = {self.flow.tracing.owner(column, self.scope) for column in condition.find_all(exp.Column)}
        right = {self.right.lower()}
        return {"right" if owner in right else "left" for owner in owners if owner is not None}

    def has_equality(self) -> bool:
        """Say whether an equality ties both sides."""
        if self.join.args.get("using") or self.join.method.lower() == "natural":
            return True
        return any(isinstance(each, exp.EQ) and len(self.sides(each)) > 1 for each in self.conditions())

    def has_time_bound(self) -> bool:
        """Say whether a range, or an equality of times or windows, bounds how far apart rows may be."""
        if any(isinstance(each, _RANGES) and len(self.sides(each)) > 1 for each in self.conditions()):
            return True
        equal = [each for each in self.conditions() if isinstance(each, exp.EQ) and len(self.sides(each)) > 1]
        times = [self.flow.is_time(part) for each in equal for part in (each.left, each.right)]
        using = [exp.column(name.name) for name in self.join.args.get("using") or ()]
        return any(time is not False for time in times) or any("window" in name.name.lower() for name in using)


def unbounded_aggregates(draft: Draft) -> Iterator[Finding]:
    """A group ends at some time, else its state stays for ever."""
    for model, flow in streaming_flows(draft):
        for scope in flow.selects:
            if not _is_aggregate(scope) or not flow.moves(scope):
                continue
            code = "unbounded-state" if model.output_mode == "update" else "cannot-stream"
            if not flow.has_watermark(scope):
                message = f"without a watermark no group ever ends and its state grows for ever; write `{WATERMARK}`"
                yield Finding(flow.place(scope.expression), code, f"{message} after the stream")
            elif not any(flow.is_time(key) is not False for key in group_keys(scope)):
                message = (
                    "no group key is a window or the event time, so no group ever ends; group by `window(...)` too"
                )
                yield Finding(flow.place(scope.expression), code, f"{message}, or let it run per micro-batch")


def unbounded_joins(draft: Draft) -> Iterator[Finding]:
    """Two streams are joined within a time, else both are kept for ever."""
    for join in _stream_joins(draft):
        if not join.has_equality():
            message = "two streams without an equality between them fail at the first row; join on a key"
            yield Finding(join.place, "cannot-stream", message)
        elif join.side == "inner" and not (join.has_time_bound() and join.is_watermarked(*join.left, join.right)):
            message = "both streams are kept for ever; bound the time: `and r.time between l.time - interval 1 hour"
            yield Finding(
                join.place, "unbounded-join", f"{message} and l.time + interval 1 hour`, with a WATERMARK on both"
            )


def outer_joins(draft: Draft) -> Iterator[Finding]:
    """An outer join of streams knows when a partner can no longer come."""
    for join in _stream_joins(draft):
        needed = {"left": (join.right,), "semi": (join.right,), "right": join.left, "full": (*join.left, join.right)}
        if join.side == "anti":
            message = "`anti join` of two streams cannot run; write `left join ... where right.key is null` with a time"
            yield Finding(join.place, "cannot-stream", f"{message} bound, or let it run per micro-batch")
        elif join.side in ("left", "right", "full") and join.update:
            message = f"`{join.side} join` of two streams cannot run in update mode; write `output_mode: append`"
            yield Finding(join.place, "cannot-stream", message)
        elif join.side in needed and not (join.is_watermarked(*needed[join.side]) and join.has_time_bound()):
            which = {"right": "left", "full": "left or the right"}.get(join.side, "right")
            message = f"`{join.side} join` never knows that no partner comes; it needs a WATERMARK on the {which} side"
            yield Finding(join.place, "outer-join", f"{message} and a bound on the time between both")


def static_joins(draft: Draft) -> Iterator[Finding]:
    """A table beside a stream is looked up; it cannot wait for the stream."""
    for join in _joins(draft):
        left, right = join.moves(*join.left), join.moves(join.right)
        waits = {"left": not left and right, "right": left and not right, "full": left != right}
        if waits.get(join.side) or (join.side in ("semi", "anti") and not left and right):
            message = "every row of the table would have to wait for the end of the stream; put the stream on the side"
            yield Finding(join.place, "cannot-stream", f"{message} that is kept: `from stream ... left join table`")


def second_watermarks(draft: Draft) -> Iterator[Finding]:
    """A stream has one watermark, else it fails at the first row."""
    seen = set()
    for _, flow in streaming_flows(draft):
        for scope in flow.selects:
            for alias, clause in flow.clauses(scope):
                if clause.place not in seen and flow.was_watermarked(alias, scope):
                    seen.add(clause.place)
                    message = f"{alias} has a watermark already; take this one out, or the one in what it reads"
                    yield Finding(clause.place, "second-watermark", message)


def _joins(draft: Draft) -> Iterator[StreamJoin]:
    for model, flow in streaming_flows(draft):
        for scope in flow.selects:
            joins = scope.expression.args.get("joins") or ()
            first = scope.expression.args.get("from_")
            before = [first.this.alias_or_name] if first is not None else []
            for join in joins:
                name = join.this.alias_or_name
                if isinstance(join.this, (exp.Table, exp.Subquery)) and name in scope.sources:
                    yield StreamJoin(flow, scope, join, tuple(before), name, model.output_mode == "update")
                before.append(name)


def _stream_joins(draft: Draft) -> Iterator[StreamJoin]:
    yield from (join for join in _joins(draft) if join.moves(*join.left) and join.moves(join.right))


def _is_aggregate(scope: Scope) -> bool:
    select = scope.expression
    if select.args.get("group") or select.args.get("distinct"):
        return True
    return any(call.find_ancestor(exp.Window, exp.Select) is select for call in scope.find_all(exp.AggFunc))


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    condition = condition.unnest()
    return [*condition.flatten()] if isinstance(condition, exp.And) else [condition]
