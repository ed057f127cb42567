"""The joins of models: what moves on either side, and what bounds the time between the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.errors import Place
from headrace.project.flows.draft import Draft, streaming_flows
from headrace.project.flows.flow import Flow
from headrace.project.sql.selects import conjuncts

_RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True)
class FlowJoin:
    """One join of a select: `left` are the aliases before it, `right` is the one it adds."""

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
        """Return whether any of some relations is a stream."""
        return any(self.flow.is_moving(alias, self.scope) for alias in aliases)

    def is_watermarked(self, *aliases: str) -> bool:
        """Return whether any of some relations has a watermark."""
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
        return [part for each in found if each is not None for part in conjuncts(each)]

    def equalities(self) -> list[exp.EQ | exp.NullSafeEQ]:
        """Return those of the conditions that are equalities."""
        return [each for each in self.conditions() if isinstance(each, (exp.EQ, exp.NullSafeEQ))]

    def columns_of(self, alias: str) -> list[exp.Column]:
        """Return the columns of one relation that equalities compare with something."""
        compared = (side for each in self.equalities() for side in (each.left, each.right))
        columns = (each for each in compared if isinstance(each, exp.Column))
        return [each for each in columns if self.flow.tracing.owner(each, self.scope) == alias.lower()]

    def sides(self, condition: exp.Expr) -> set[str]:
        """Return which sides a condition refers to."""
        owners = {self.flow.tracing.owner(column, self.scope) for column in condition.find_all(exp.Column)}
        right = {self.right.lower()}
        return {"right" if owner in right else "left" for owner in owners if owner is not None}

    def has_equality(self) -> bool:
        """Return whether an equality connects both sides."""
        if self.join.args.get("using") or self.join.method.lower() == "natural":
            return True
        return any(isinstance(each, exp.EQ) and len(self.sides(each)) > 1 for each in self.conditions())

    def has_time_bound(self) -> bool:
        """Return whether a range, or an equality of times or windows, bounds how far apart rows may be."""
        if any(isinstance(each, _RANGES) and len(self.sides(each)) > 1 for each in self.conditions()):
            return True
        equal = [each for each in self.conditions() if isinstance(each, exp.EQ) and len(self.sides(each)) > 1]
        times = [self.flow.is_time(part) for each in equal for part in (each.left, each.right)]
        using = [exp.column(name.name) for name in self.join.args.get("using") or ()]
        return any(time is not False for time in times) or any("window" in name.name.lower() for name in using)

    def ends_kept_rows(self) -> bool:
        """Return whether Spark learns that a kept row gets no partner: the times of both watermarks bound each other.

        It looks for a bound between the columns of the two watermarks. Without one on the side that is kept, or with
        one that is not a column of the condition, it stores such a row permanently, and emits it never.
        """
        if self.join.args.get("using") or self.join.method.lower() == "natural":
            return self.has_time_bound()
        needed = {"left": {"right"}, "right": {"left"}}.get(self.side, {"left", "right"})
        bound = {side for each in self.conditions() for side in self._bounded_by(each)}
        return needed <= bound

    def _bounded_by(self, condition: exp.Expr) -> set[str]:
        """Which sides a condition keeps from being later than the other side allows, by event times of both."""
        both = {"left", "right"}
        if self.sides(condition) != both:
            return set()
        match condition:
            case exp.EQ():
                columns = [*condition.find_all(exp.Column)]
                return both if any(self.flow.is_time(each) is not False for each in columns) else set()
            case exp.Between(this=value, args={"low": low, "high": high}):
                pairs = [(low, value), (value, high)]
            case exp.LT() | exp.LTE():
                pairs = [(condition.left, condition.right)]
            case exp.GT() | exp.GTE():
                pairs = [(condition.right, condition.left)]
            case _:
                return set()
        return {side for earlier, later in pairs for side in self._earlier(earlier, later)}

    def _earlier(self, earlier: exp.Expr, later: exp.Expr) -> set[str]:
        """Which side has the time that is not later than the other side's."""
        if not (self._has_event_time("left", earlier, later) and self._has_event_time("right", earlier, later)):
            return set()
        ones = self.sides(earlier), self.sides(later)
        return ones[0] if all(len(one) == 1 for one in ones) and ones[0] != ones[1] else {"left", "right"}

    def _has_event_time(self, side: str, *values: exp.Expr) -> bool:
        columns = [column for value in values for column in value.find_all(exp.Column) if self.sides(column) == {side}]
        return any(self.flow.is_event_time(each) or not self.flow.tracing.sources(each) for each in columns)


def of_streaming_models(draft: Draft) -> Iterator[FlowJoin]:
    """Yield all joins of streaming models."""
    for model, flow in streaming_flows(draft):
        for scope in flow.selects:
            yield from joins_of(flow, scope, model.output_mode == "update")


def joins_of(flow: Flow, scope: Scope, update: bool = False) -> Iterator[FlowJoin]:
    """Yield the joins of one select in the order in which they are written."""
    joins = scope.expression.args.get("joins") or ()
    first = scope.expression.args.get("from_")
    before = [first.this.alias_or_name] if first is not None else []
    for join in joins:
        name = join.this.alias_or_name
        if isinstance(join.this, (exp.Table, exp.Subquery)) and name in scope.sources:
            yield FlowJoin(flow, scope, join, tuple(before), name, update)
        before.append(name)


def of_streams(draft: Draft) -> Iterator[FlowJoin]:
    """Yield the joins of two streams."""
    yield from (join for join in of_streaming_models(draft) if join.moves(*join.left) and join.moves(join.right))
