"""Which rows the relations of a micro-batch model hold: rows of the batch, rows from before it, or both.

A model that runs per micro-batch sees its streams as the rows that are new. What came before them it only knows from
tables that its query has filled: its own, those built from it, and those that it streams as well. The text of a model
is analysed with the views that it reads inlined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from headrace.project import graph
from headrace.project.flows.equivalences import Equivalences, Key, Part
from headrace.project.flows.flow import Flow
from headrace.project.flows.joins import FlowJoin, joins_of
from headrace.project.model import Model
from headrace.project.sql.scopes import table_name
from headrace.project.sql.selects import equalities, looked_into


@dataclass(frozen=True)
class Rows:
    """What a relation holds: rows of the batch, rows that the model itself has stored, older rows of another table.

    `own` is the model's own table or one that is built from it, `past` one that the model streams as well.
    """

    new: bool = False
    own: bool = False
    past: bool = False

    @property
    def before(self) -> bool:
        """Return whether there are rows from before the batch among them."""
        return self.own or self.past

    @property
    def only_new(self) -> bool:
        """Return whether these are rows of the batch and no others."""
        return self.new and not self.before

    def united(self, other: Rows) -> Rows:
        """Return what both hold together."""
        return Rows(self.new or other.new, self.own or other.own, self.past or other.past)

    def joined(self, other: Rows, side: str) -> Rows:
        """Return whose rows a join returns: an outer join those of its side, an inner one those that move."""
        if side in ("left", "semi", "anti"):
            return Rows(self.new or other.new, self.own, self.past)
        if side == "right":
            return other.joined(self, "left")
        moving = [each for each in (self, other) if each.new]
        return reduce(_met, moving) if moving else self.united(other)


def _met(left: Rows, right: Rows) -> Rows:
    return Rows(True, left.own or right.own, left.past and right.past)


STILL = Rows()


@dataclass(frozen=True)
class StateJoin:
    """A place where rows of the batch meet rows from before it; `keys` are what they meet by, None if uncertain.

    `is_lookup` is true where there are only rows from before the batch on the other side, `is_own` where these are what
    the model itself has stored. `waiting` are the selects that bring rows of the batch to the other side. `join` is
    the join, if it is one, and `stored` the alias of its other side.
    """

    part: Part
    node: exp.Expr
    keys: tuple[Key, ...] | None
    is_lookup: bool
    is_own: bool
    waiting: frozenset[int] = frozenset()
    join: FlowJoin | None = None
    stored: str = ""


class Movement:
    """Answers for one model; `flows` are the texts of all models by table."""

    def __init__(self, model: Model, models: Mapping[str, Model], flows: Mapping[str, Flow]) -> None:
        self.model = model
        self._models = models
        self._flows = flows
        self._combined: dict[tuple[Part, Scope], Rows] = {}

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The model's own text, and those of the views that it reads, each moving or looked up."""
        found: dict[tuple[str, bool], Part] = {}
        waiting = [(self.model.table, True)]
        while waiting:
            table, moves = waiting.pop()
            if (table, moves) in found:
                continue
            flow = self._flows[table]
            found[table, moves] = Part(flow, moves)
            for read in flow.file.model.inputs:
                if self._is_view(read.table):
                    waiting.append((read.table, moves and read.stream))
        return tuple(found.values())

    @property
    def moving_parts(self) -> Iterator[Part]:
        """The texts whose streams move."""
        yield from (part for part in self.parts if part.moves)

    def of_scope(self, part: Part, scope: Scope) -> Rows:
        """Return what a CTE, a subquery or a whole text holds."""
        if scope.set_operation_scopes:
            branches = [self.of_scope(part, branch) for branch in scope.set_operation_scopes]
            return reduce(Rows.united, branches)
        return self.combined(part, scope)

    def combined(self, part: Part, scope: Scope) -> Rows:
        """Return what all relations of a select hold together; cached, as each rule and each reader above needs it."""
        if (part, scope) not in self._combined:
            self._combined[part, scope] = self._combine(part, scope)
        return self._combined[part, scope]

    def _combine(self, part: Part, scope: Scope) -> Rows:
        first = [alias for alias, _ in scope.references if alias in scope.sources][:1]
        rows = self.of_alias(part, scope, first[0]) if first else STILL
        for join in joins_of(part.flow, scope):
            rows = rows.joined(self.of_alias(part, scope, join.right), join.side)
        return rows

    def of_alias(self, part: Part, scope: Scope, alias: str) -> Rows:
        """Return what one relation of a select holds."""
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            return self.of_scope(part, source)
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            return self._of_table(part, source)
        return STILL

    def of_aliases(self, part: Part, scope: Scope, aliases: tuple[str, ...]) -> Rows:
        """Return what some relations of a select hold together, as far as they are joined."""
        rows = self.of_alias(part, scope, aliases[0]) if aliases else STILL
        for join in joins_of(part.flow, scope):
            if join.right in aliases[1:]:
                rows = rows.joined(self.of_alias(part, scope, join.right), join.side)
        return rows

    def streams(self, part: Part, scope: Scope) -> frozenset[str]:
        """Return the tables that a CTE, a subquery or a whole text streams."""
        found = set[str]()
        for branch in scope.set_operation_scopes or ():
            found |= self.streams(part, branch)
        for alias in () if scope.set_operation_scopes else [alias for alias, _ in scope.references]:
            found |= self.streams_of_alias(part, scope, alias)
        return frozenset(found)

    def streams_of_alias(self, part: Part, scope: Scope, alias: str) -> frozenset[str]:
        """Return the tables that one relation of a select streams."""
        source = scope.sources.get(alias)
        if isinstance(source, Scope):
            return self.streams(part, source)
        if not isinstance(source, exp.Table) or not (part.moves and part.flow.is_streamed(source)):
            return frozenset()
        table = table_name(source)
        if not self._is_view(table):
            return frozenset({table})
        scopes = self._flows[table].tracing.scopes
        return self.streams(Part(self._flows[table], True), scopes[-1]) if scopes else frozenset()

    def deletes(self, tables: Iterable[str]) -> bool:
        """Return whether any of some tables loses rows."""
        models = (self._models[table] for table in tables if table in self._models)
        return any(model.delete_when or model.close_when for model in models)

    def _upstream(self, table: str) -> frozenset[str]:
        """A table, and those that it is ultimately derived from by streams."""
        found, waiting = {table}, [table]
        while waiting:
            model = self._models.get(waiting.pop())
            for read in graph.reads(model, self._models) if model is not None else ():
                if read.stream and read.table not in found:
                    found.add(read.table)
                    waiting.append(read.table)
        return frozenset(found)

    @property
    def own_tables(self) -> set[str]:
        """The model's own table, and those of its query that are built from it."""
        return {table for table, rows in self._stored.items() if rows.own}

    @cached_property
    def equivalences(self) -> Equivalences:
        """What the model's values are derived from."""
        return Equivalences(self.parts)

    def _of_table(self, part: Part, node: exp.Table) -> Rows:
        table = table_name(node)
        streamed = part.moves and part.flow.is_streamed(node)
        if self._is_view(table):
            view = Part(self._flows[table], streamed)
            scopes = view.flow.tracing.scopes
            return self.of_scope(view, scopes[-1]) if scopes else STILL
        return Rows(new=True) if streamed else self._stored.get(table, STILL)

    @cached_property
    def _stored(self) -> dict[str, Rows]:
        """What tables hold, of those from which the model may know what came before the batch."""
        found = {self.model.table: Rows(own=True)}
        streamed = {read.table for read in graph.reads(self.model, self._models) if read.stream}
        origins = self._origins(self.model.table)
        for table, model in self._models.items():
            if model.query == self.model.query and table not in found and not self._is_view(table):
                if table in self._built_from_it:
                    found[table] = Rows(own=True)
                elif table in streamed or self._origins(table) <= origins:
                    found[table] = Rows(past=True)
        return {**{table: Rows(past=True) for table in streamed}, **found}

    @cached_property
    def _built_from_it(self) -> set[str]:
        """The tables of the query that are derived from this one."""
        found, waiting = set[str](), [self.model.table]
        while waiting:
            table = waiting.pop()
            for other in self._models.values():
                streams = other.query == self.model.query and any(
                    read.stream and read.table == table for read in graph.reads(other, self._models)
                )
                if streams and not self._is_view(other.table) and other.table not in found:
                    found.add(other.table)
                    waiting.append(other.table)
        return found

    def _origins(self, table: str) -> frozenset[str]:
        """The bronze tables that a stored table is ultimately derived from."""
        return self._upstream(table) - self._models.keys()

    def _is_view(self, table: str) -> bool:
        model = self._models.get(table)
        return model is not None and model.materialized == "view"

    @cached_property
    def state_joins(self) -> tuple[StateJoin, ...]:
        """All places where rows of the batch meet what the model knows from before."""
        return tuple(
            found
            for part in self.moving_parts
            for scope in part.flow.selects
            for found in (*self._joined(part, scope), *self._looked_into(part, scope))
        )

    def _joined(self, part: Part, scope: Scope) -> Iterator[StateJoin]:
        for join in joins_of(part.flow, scope):
            left, right = self.of_aliases(part, scope, join.left), self.of_alias(part, scope, join.right)
            for moving, other, is_right in ((left, right, False), (right, left, True)):
                if moving.new and other.before:
                    keys = self._met_by(part, join, is_right)
                    is_lookup = not other.new
                    waiting = self._selects(part, scope, join.left if is_right else (join.right,))
                    stored = join.left[0] if is_right else join.right
                    is_own = is_lookup and other.own
                    yield StateJoin(part, join.join.this, keys, is_lookup, is_own, waiting, join, stored)

    def _selects(self, part: Part, scope: Scope, aliases: Iterable[str]) -> frozenset[int]:
        """The selects, by `id`, whose rows come to some relations of a select."""
        found = set[int]()
        waiting = [(part, scope.sources.get(alias)) for alias in aliases]
        while waiting:
            part, source = waiting.pop()
            if isinstance(source, exp.Table):
                table = table_name(source)
                if not self._is_view(table):
                    continue
                part = Part(self._flows[table], part.moves and part.flow.is_streamed(source))
                source = part.flow.tracing.scopes[-1] if part.flow.tracing.scopes else None
            if isinstance(source, Scope) and id(source) not in found:
                found.add(id(source))
                waiting += [(part, each) for each in source.set_operation_scopes or ()]
                waiting += [(part, source.sources.get(alias)) for alias, _ in source.references]
        return frozenset(found)

    def _met_by(self, part: Part, join: FlowJoin, is_right: bool) -> tuple[Key, ...] | None:
        """What the moving side of a join meets the other by."""
        if join.join.args.get("using") or join.join.method.lower() == "natural":
            return None
        sides = {"right"} if is_right else {"left"}
        pairs = [(each.left, each.right) for each in join.equalities()]
        moving = [one for pair in pairs for one in pair if join.sides(one) == sides and len(_columns(pair)) > 1]
        return self.equivalences.keys(part, moving)

    def _looked_into(self, part: Part, scope: Scope) -> Iterator[StateJoin]:
        """Subqueries over rows from before the batch, in a select over rows of the batch."""
        if not self.combined(part, scope).new:
            return
        for inner in looked_into(scope):
            rows = self.of_scope(part, inner)
            if rows.before:
                is_lookup = not rows.new and self.combined(part, scope).only_new
                keys = self._looked_for(part, inner)
                yield StateJoin(part, inner.expression, keys, is_lookup, is_lookup and rows.own)

    def _looked_for(self, part: Part, inner: Scope) -> tuple[Key, ...] | None:
        """What a subquery is asked by."""
        sides = [side for equality in equalities(inner) for side in (equality.left, equality.right)]
        asked = inner.expression.find_ancestor(exp.In, exp.Exists)
        if isinstance(asked, exp.In):
            value = asked.this.unnest()
            sides += value.expressions if isinstance(value, exp.Tuple) else [value]
        return self.equivalences.keys(part, [each for each in sides if isinstance(each, exp.Column)])


def _columns(pair: tuple[exp.Expr, exp.Expr]) -> list[exp.Column]:
    return [column for side in pair for column in side.find_all(exp.Column)]
