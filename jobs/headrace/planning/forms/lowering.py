"""Lowering a model to its canonical form: its select becomes steps, CTEs and views are inlined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from headrace.errors import InvalidProject, Place
from headrace.planning import sql_settings
from headrace.planning.declared import Declared
from headrace.planning.forms import aggregates, arrivals, terms, truths
from headrace.planning.forms.columns import all_of, clauses, merged, null_beside, own, passed, sides, word
from headrace.planning.forms.grouping import Grouping, makes
from headrace.planning.forms.scope import (
    Columns,
    File,
    NotUnderstood,
    Resolver,
    Rows,
    Scope,
    called,
    certain,
    first_place,
    starred,
    written,
)
from headrace.planning.forms.scope import with_children as _with
from headrace.planning.forms.steps import Form, Read, Step, pruned
from headrace.planning.forms.terms import Atom, Term, guarded, term
from headrace.planning.forms.types import NUMBERS, TypeOf, of_atoms, type_of
from headrace.project.flows import versions
from headrace.project.model import LANDING_COLUMNS, Input, Model
from headrace.project.sql.selects import conjuncts

_MOST_STEPS = 300

# Parts of a node that are understood; any other could change the query's meaning.
_SELECT = (
    *("kind", "hint", "with_", "expressions", "distinct", "from_", "joins", "laterals"),
    *("where", "group", "having", "qualify", "windows"),
)
_SOURCE = ("this", "db", "catalog", "alias")
_JOIN = ("this", "on", "using", "method", "side", "kind")
_SET_OPERATION = ("this", "expression", "distinct", "with_")

_CLOCK = ("landed_at", "event_time", "is_tick", "_arrival")
_LANDED = (*(name for name, _ in LANDING_COLUMNS), "data", "_arrival")

IsEdited = Callable[[str, str | None, bool], bool]
"""Whether a column of a table, or with None which rows it has, means something else than it did.

The last argument is whether the table is streamed, rather than looked up.
"""

Numbers = Callable[[str, int], int]
"""The number of a step, by its kind (a scan's table) and its place among those of its kind in the text."""

Named = list[tuple[str, exp.Expr]]


def as_written(_: str, place: int) -> int:
    """Steps numbered as they follow each other in the text."""
    return place


def unnumbered(_: str, __: int) -> int:
    """Steps of one kind that have all the same name."""
    return 1


def lower(
    declared: Declared,
    model: Model,
    column_type: TypeOf,
    is_edited: IsEdited = lambda *_: False,
    sorts: bool = False,
    numbers: Numbers = as_written,
    joins_queries: bool = False,
) -> Form:
    """The canonical form of a model, in which edited columns of tables are other columns.

    Columns that are not edited must have the same `column_type` in two forms that are compared. With `sorts`, the
    branches of each `union all` stand in an order that does not depend on how the text orders them. With
    `joins_queries`, conditions that ask for rows of a query, such as `exists`, are the joins as which Spark runs them.
    """
    try:
        return _Lowering(declared, model, column_type, is_edited, sorts, numbers, joins_queries).form()
    except (InvalidProject, RecursionError, AttributeError, TypeError, ValueError, LookupError) as error:
        raise NotUnderstood("this query") from error


class _Lowering:
    def __init__(
        self,
        declared: Declared,
        model: Model,
        column_type: TypeOf,
        is_edited: IsEdited,
        sorts: bool,
        numbers: Numbers,
        joins_queries: bool,
    ) -> None:
        self._declared = declared
        self._model = model
        self._column_type = column_type
        self._is_edited = is_edited
        self._sorts = sorts
        self._numbers = numbers
        self._joins_queries = joins_queries
        self._type = partial(type_of, column=of_atoms(column_type))
        self._resolver = Resolver(declared, self._query, self._type, model.run == "streaming")
        self._counts: dict[str, int] = {}
        self._clauses: set[Place | None] = set()
        self._scans = 0
        self._scanned: dict[tuple[str, bool], Place] = {}

    def form(self) -> Form:
        if setting := sql_settings.reading_otherwise(self._declared.settings):
            raise NotUnderstood(f"a query under {setting.key}", setting.place)
        rows = self._model_rows(self._model, moves=True)
        if self._clauses:
            raise NotUnderstood("WATERMARK after a subquery or a CTE", next(iter(self._clauses)))
        outputs = {name: term(tree) for name, tree in rows.columns.items()}
        root = pruned(rows.step, frozenset(atom.name for atom in terms.deep(*rows.columns.values())))
        named = [*outputs.values(), *root.terms()]
        columns = frozenset(atom for each in named for atom in each.columns)
        return Form(root, outputs, tuple(self._reads(columns)))

    def _reads(self, columns: frozenset[Atom]) -> Iterator[Read]:
        for (table, moves), place in self._scanned.items():
            yield Read(table, moves, frozenset(atom.column for atom in columns if atom.table == table), place)

    def _model_rows(self, model: Model, moves: bool) -> Rows:
        statement = certain(model.text, model.path)
        self._clauses |= {statement.place(clause[0].start) for clause in statement.left_out}
        return self._query(statement.tree, Scope(File(statement, model.inputs, moves)))

    def _query(self, tree: exp.Expr, scope: Scope) -> Rows:
        scope = _with_ctes(tree, scope)
        if isinstance(tree, exp.Subquery):
            _refuse_others(tree, (*_SOURCE, "with_"), scope)
            return self._query(tree.this, scope)
        if isinstance(tree, exp.Select):
            return self._select(tree, scope)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, scope)
        raise scope.unsupported(tree, f"`{type(tree).__name__.lower()}`")

    # one select

    def _select(self, tree: exp.Select, scope: Scope) -> Rows:
        _refuse_others(tree, _SELECT, scope)
        tree = _with_windows(tree)
        step, scope = self._from(tree, scope)
        step = self._where(step, tree.args.get("where"), scope)
        named = [*self._projections(tree, scope)]
        scope = replace(scope, aliases={name.lower(): each for name, each in named if name})
        resolved = [(name, self._resolver.resolve(each, scope)) for name, each in named]
        having = self._conditions(tree.args.get("having"), scope)
        if tree.args.get("group") or tree.args.get("having") or _has("aggregate", resolved, []):
            step, resolved, having = self._grouped(step, tree.args.get("group"), scope, resolved, having)
        step = _filtered(step, having)
        qualify = self._conditions(tree.args.get("qualify"), replace(scope, is_of_qualify=True))
        step, resolved, qualify = self._over(step, resolved, qualify)
        step = _filtered(step, qualify)
        step, resolved = self._exploded(step, resolved)
        columns = {(name or f"_{at}").lower(): called(each, name) for at, (name, each) in enumerate(resolved)}
        if len(columns) < len(resolved):
            raise scope.unsupported(tree, "two columns of one name")
        return self._distinct(step, columns) if tree.args.get("distinct") else Rows(step, columns)

    def _where(self, step: Step, clause: exp.Expr | None, scope: Scope) -> Step:
        if clause is None or not self._joins_queries:
            return _filtered(step, self._conditions(clause, scope))
        rest = list[exp.Expr]()
        for each in conjuncts(clause.this):
            joined = self._joined(step, each, scope)
            step = joined or step
            rest += [] if joined else [each]
        return _filtered(step, self._conditions(exp.Where(this=exp.and_(*rest)), scope)) if rest else step

    def _joined(self, step: Step, condition: exp.Expr, scope: Scope) -> Step | None:
        """The step joined with the rows for which a condition asks: `exists`, `not exists`, or `in` with a query."""
        is_denied = isinstance(condition, exp.Not)
        asked = condition.this.unnest() if is_denied else condition
        query = asked.this if isinstance(asked, exp.Exists) else asked.args.get("query")
        if not isinstance(query, exp.Query) or (is_denied and not isinstance(asked, exp.Exists)):
            return None
        rows = self._query(query, Scope(scope.file, scope.ctes, outer=scope))
        on = self._membership(asked, rows, scope)
        if on is None or not rows.step.is_closed:
            return None
        kind, place = "left anti" if is_denied else "left semi", first_place(condition, scope.file.statement)
        parts = {"kind": (word(kind, place),), "keys": (), "on": tuple(guarded(on))}
        return Step("join", f"join{self._number('join')}", parts, (step, rows.step), (), step.moves, place)

    def _membership(self, asked: exp.Expr, rows: Rows, scope: Scope) -> list[exp.Expr] | None:
        """What IN compares, if both are of one type, so that it does so as `=`; EXISTS compares nothing."""
        if isinstance(asked, exp.Exists):
            return []
        value, of = self._resolver.resolve(asked.this, scope), [*rows.columns.values()]
        types = {self._type(each) for each in (value, *of)}
        return [self._resolver.equality(value, *of)] if len(of) == 1 and len(types) == 1 and None not in types else None

    def _conditions(self, clause: exp.Expr | None, scope: Scope) -> list[exp.Expr]:
        return self._resolver.conditions(clause.this, scope) if clause is not None else []

    def _projections(self, tree: exp.Select, scope: Scope) -> Iterator[tuple[str, exp.Expr]]:
        for each in tree.expressions:
            if each.is_star:
                yield from starred(each, scope)
            elif isinstance(each, exp.Aliases):
                for at, name in enumerate(each.expressions):  # a function that makes rows of several columns
                    yield name.name, exp.Dot(this=each.this, expression=exp.Identifier(this=str(at)))
            elif isinstance(each, exp.Alias):
                yield each.alias, each.this
            else:
                yield each.alias_or_name if isinstance(each, (exp.Column, exp.Dot)) else "", each

    # tables and joins

    def _from(self, tree: exp.Select, scope: Scope) -> tuple[Step, Scope]:
        source = tree.args.get("from_")
        if source is None:
            return Step("values", f"values{self._number('values')}"), scope
        step, scope = self._source(source.this, replace(scope, sources=(), used=()))
        for join in tree.args.get("joins") or ():
            step, scope = self._join(step, join, scope)
        for lateral in tree.args.get("laterals") or ():
            step, scope = self._lateral(step, lateral, scope)
        return step, scope

    def _source(self, node: exp.Expr, scope: Scope) -> tuple[Step, Scope]:
        _refuse_others(node, _SOURCE, scope)
        if isinstance(node, exp.Table):
            rows = self._table(node, scope)
        elif isinstance(node, exp.Subquery):
            rows = self._query(node.this, replace(scope, sources=(), used=()))
        else:
            raise scope.unsupported(node, f"`{type(node).__name__.lower()}` as a table")
        alias, columns = node.args.get("alias"), rows.columns
        if alias is not None and alias.args.get("columns"):
            names = [each.name for each in alias.args["columns"]]
            pairs = zip(names, columns.values(), strict=True)
            columns = {each.lower(): called(tree, each) for each, tree in pairs}
        return rows.step, replace(scope, sources=(*scope.sources, (node.alias_or_name.lower(), columns)))

    def _table(self, node: exp.Table, scope: Scope) -> Rows:
        if not node.db and node.name.lower() in scope.ctes:
            tree, inner = scope.ctes[node.name.lower()]
            return _named(self._query(tree, inner), first_place(node, scope.file.statement))
        start = node.parts[0].meta.get("start", -1)
        ref = next((each for each in scope.file.inputs if each.start <= start < each.end), None)
        if ref is None:
            raise scope.unsupported(node, "a function as a table")
        moves, view = ref.stream and scope.file.moves, self._declared.by_table.get(ref.table)
        if view is not None and view.materialized == "view":
            rows = self._model_rows(view, moves)
        else:
            rows = self._scan(ref, moves)
        rows = _named(rows, ref.place)
        further = clauses(ref, rows.columns, scope, self._declared.vars)
        if not further:
            return rows
        self._clauses -= {each.place() for each in further}
        parts = {**rows.step.parts, "watermark": (*rows.step.parts.get("watermark", ()), *further)}
        filters = tuple(replace(each, key=f"{each.key} before its watermark") for each in rows.step.filters)
        return Rows(replace(rows.step, parts=parts, filters=filters), rows.columns)

    def _scan(self, ref: Input, moves: bool) -> Rows:
        number, table = self._number(ref.table), ref.table
        self._scans += 1
        if self._scans > _MOST_STEPS:
            raise NotUnderstood("a query of so many steps", ref.place)
        name = table if number == 1 else f"{table}#{number}"
        self._scanned.setdefault((table, moves), ref.place)
        known = self._columns_of(ref, moves)
        if known is None:
            raise NotUnderstood(f"`{table}`, whose columns are not certain,", ref.place)
        how = "stream" if moves else "versions" if ref.versions else "table"
        parts = {"read": (word(how, ref.place, unique=self._unique_key(table) if how == "table" else ()),)}
        if landing := self._declared.landing(table):
            parts["landing"] = (word(landing.name, ref.place),)
        edited = self._is_edited(table, None, moves)
        filters = (word(f"rows of {table} as edited", ref.place, rows_of=table),) if edited else ()
        columns = {each.lower(): called(self._stored(name, table, each.lower(), moves), each) for each in known}
        return Rows(Step("scan", name, parts, (), filters, moves, ref.place), columns)

    def _unique_key(self, table: str) -> tuple[str, ...]:
        """By which columns a table that is looked up has one row each."""
        model = self._declared.by_table.get(table)
        return tuple(each.lower() for each in model.unique_key) if model and model.materialized == "upsert" else ()

    def _columns_of(self, ref: Input, moves: bool) -> tuple[str, ...] | None:
        table = ref.table
        if table in self._declared.topics:
            return _LANDED
        if table in self._declared.clocks:
            return _CLOCK
        model = self._declared.by_table.get(table)
        if model is None or model.output_columns is None:
            return None
        if ref.versions:
            return (*model.output_columns, *versions.COLUMNS)
        is_log = model.materialized == "upsert" and moves
        return (*model.output_columns, "_deleted") if is_log else model.output_columns

    def _stored(self, name: str, table: str, column: str, moves: bool) -> exp.Expr:
        edited: frozenset[str] = frozenset()
        if column == "data" and table in self._declared.topics:
            _, topic = self._declared.topics[table]
            fields = (f"data.{each.name}" for each in topic.fields)
            edited = frozenset(each for each in fields if self._is_edited(table, each, moves))
        mark = terms.EDITED if self._is_edited(table, column, moves) else ""
        return terms.column(Atom("column", f"{name}.{column}{mark}", table, column, edited=edited))

    def _join(self, left: Step, join: exp.Join, scope: Scope) -> tuple[Step, Scope]:
        words = [str(join.args.get(part) or "").lower() for part in ("method", "side", "kind")]
        if isinstance(join.this, exp.Lateral) and {*words} <= {"", "cross"} and not join.args.get("on"):
            return self._lateral(left, join.this, scope)
        if words[0] or not isinstance(join.this, (exp.Table, exp.Subquery)):
            raise scope.unsupported(join, "this kind of join")
        _refuse_others(join, _JOIN, scope)
        kind = " ".join(word for word in words if word and word != "outer") or "inner"
        kind = f"left {kind}" if kind in ("semi", "anti") else kind
        right, scope = self._source(join.this, scope)
        name, moves = f"join{self._number('join')}", left.moves or right.moves
        place = first_place(join.this, scope.file.statement)
        is_stateful = self._model.run == "streaming" and left.moves and right.moves
        if is_stateful:
            scope = replace(scope, sources=tuple(sides(name, scope.sources)))
        conditions = self._join_conditions(join, scope)
        keys = [each for each in conditions if is_stateful and _is_equality(each, name)]
        parts = {"kind": (word(kind, place),), "keys": tuple(keys)}
        parts["on"] = tuple(each for each in conditions if each not in keys)
        if is_stateful:
            parts |= {"left": all_of(scope.sources[:-1]), "right": all_of(scope.sources[-1:])}
        scope = _widened(scope, kind, left, right)
        if kind.endswith(("semi", "anti")):
            scope = replace(scope, sources=scope.sources[:-1])
        elif using := join.args.get("using"):
            scope = merged(scope, [each.name.lower() for each in using], kind, join)
        if kind == "right" and self._model.run != "streaming":  # a left join of the other side
            parts["kind"], left, right = (word("left", place),), right, left
        return Step("join", name, parts, (left, right), (), moves, place), scope

    def _join_conditions(self, join: exp.Join, scope: Scope) -> list[Term]:
        on = join.args.get("on")
        found = [*conjuncts(self._resolver.resolve(on, scope))] if on is not None else []
        for each in join.args.get("using") or ():
            both = (replace(scope, sources=sources) for sources in (scope.sources[:-1], scope.sources[-1:]))
            left, right = (self._resolver.resolve(exp.Column(this=each.copy()), one) for one in both)
            found.append(self._resolver.equality(left, right))
        return guarded(each for each in found if not _is_true(each))

    def _lateral(self, step: Step, lateral: exp.Lateral, scope: Scope) -> tuple[Step, Scope]:
        alias = lateral.args.get("alias")
        names = [each.name for each in alias.args.get("columns") or ()] if alias else []
        if alias is None or not names:
            raise scope.unsupported(lateral, "a lateral table without names of its columns")
        made, name = self._resolver.resolve(lateral.this, scope), f"explode{self._number('explode')}"
        if "generator" not in makes(made) or lateral.args.get("ordinality"):
            raise scope.unsupported(lateral, "this kind of lateral table")
        columns = {each.lower(): called(own(f"{name}.{at}", "generated", made), each) for at, each in enumerate(names)}
        place = first_place(lateral.this, scope.file.statement)
        kind = "lateral outer" if lateral.args.get("outer") else "lateral"
        parts = {"rows": (term(made),), "kind": (word(kind, place),)}
        step = Step("explode", name, parts, (step,), (), step.moves, place)
        return step, replace(scope, sources=(*scope.sources, (alias.name.lower(), columns)))

    # what makes rows of rows

    def _grouped(
        self, step: Step, group: exp.Group | None, scope: Scope, resolved: Named, having: list[exp.Expr]
    ) -> tuple[Step, Named, list[exp.Expr]]:
        keys = self._group_keys(group, scope, resolved) if group is not None else []
        counts_cases = bool(keys) and self._model.run != "streaming"  # no rows have no sum; state is another
        never_null = truths.never_null([each.tree for each in step.filters])
        grouping = Grouping(f"group{self._number('group')}", keys, scope, counts_cases, never_null)
        resolved = [(name, grouping.rewrite(each)) for name, each in resolved]  # state is in the order of first use
        having = [grouping.rewrite(each) for each in having]
        place = first_place(group, scope.file.statement) if group is not None else None
        parts = {"keys": tuple(map(term, keys)), "aggregates": tuple(map(term, grouping.made.values()))}
        return Step("aggregate", grouping.name, parts, (step,), (), step.moves, place or step.place), resolved, having

    def _group_keys(self, group: exp.Group, scope: Scope, resolved: Named) -> list[exp.Expr]:
        if any(value for part, value in group.args.items() if part not in ("expressions", "all")):
            raise scope.unsupported(group, "`rollup`, `cube` or `grouping sets`")
        if group.args.get("all"):
            return [each for _, each in resolved if "aggregate" not in makes(each)]
        return [self._group_key(each, scope, resolved) for each in group.expressions]

    def _group_key(self, node: exp.Expr, scope: Scope, resolved: Named) -> exp.Expr:
        if isinstance(node, exp.Literal) and not node.is_string:
            return resolved[int(node.name) - 1][1]
        return self._resolver.resolve(node, scope)

    def _distinct(self, step: Step, columns: Columns) -> Rows:
        name, keys = f"group{self._number('group')}", tuple(map(term, columns.values()))
        parts = {"keys": keys, "aggregates": ()}
        return Rows(Step("aggregate", name, parts, (step,), (), step.moves, step.place), passed(name, "key", columns))

    def _over(self, step: Step, named: Named, others: list[exp.Expr]) -> tuple[Step, Named, list[exp.Expr]]:
        if not _has("window", named, others):
            return step, named, others
        name, made = f"window{self._number('window')}", dict[str, exp.Expr]()

        def rewrite(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Window):
                node = aggregates.by_place(node) if self._has_places(node, step) else node
                return made.setdefault(terms.key(node), own(name, "window", node))
            return _with(node, rewrite)

        named = [(each, rewrite(tree)) for each, tree in named]
        others = [rewrite(each) for each in others]
        parts = {"over": tuple(map(term, made.values()))}
        return Step("window", name, parts, (step,), (), step.moves, step.place), named, others

    def _has_places(self, window: exp.Window, step: Step) -> bool:
        """Whether no two rows are alike in the order of a window."""
        order = window.args.get("order")
        asked = [each.this for each in order.expressions] if order is not None else []
        return any(arrivals.is_unique(each, step, self._records_of, self._type) for each in asked)

    def _records_of(self, table: str) -> frozenset[str] | None:
        """The topics of a table that has one row for each record of Kafka."""
        return self._declared.kafka_topics(table) if table.startswith("bronze.") else None

    def _exploded(self, step: Step, named: Named) -> tuple[Step, Named]:
        if not _has("generator", named, []):
            return step, named
        name, rows = f"explode{self._number('explode')}", dict[str, exp.Expr]()
        columns = Named()
        for each, tree in named:
            if "generator" in makes(tree):
                at, made = _generator(tree)
                rows[terms.key(made)] = made
                tree = own(f"{name}.{at}", "generated", made)
            columns.append((each, tree))
        parts = {"rows": tuple(map(term, rows.values())), "kind": (word("lateral", step.place),)}
        return Step("explode", name, parts, (step,), (), step.moves, step.place), columns

    def _set_operation(self, tree: exp.SetOperation, scope: Scope) -> Rows:
        _refuse_others(tree, _SET_OPERATION, scope)
        is_all = isinstance(tree, exp.Union) and tree.args.get("distinct") is False
        kind = type(tree).__name__.lower() + (" all" if tree.args.get("distinct") is False else "")
        kind = "union all" if isinstance(tree, exp.Union) else kind  # `union` is the distinct rows of that
        branches = [*_united(tree)] if is_all and self._sorts else [tree.this, tree.expression]
        order = sorted(branches, key=lambda each: self._alone(each, scope)) if is_all and self._sorts else branches
        rows = [self._query(each, scope) for each in order]
        names = next(made.columns for made, each in zip(rows, order, strict=True) if each is branches[0])
        name, columns = f"union{self._number('union')}", dict[str, exp.Expr]()
        for (each, one), *of in zip(names.items(), *(made.columns.values() for made in rows), strict=True):
            typed = self._of_one_type([*self._without_typed_nulls(of)])
            columns[each] = called(own(name, "union", *typed), written(one, each))
        steps = tuple(each.step for each in rows)
        place, moves = steps[-1].place, any(each.moves for each in steps)
        step = Step("union", name, {"kind": (word(kind, place),)}, steps, (), moves, place)
        return Rows(step, columns) if is_all else self._distinct(step, columns)

    def _without_typed_nulls(self, branches: list[exp.Expr]) -> Iterator[exp.Expr]:
        """A null needs no type where another branch has that: `cast(null as bigint)` is `null` beside one."""
        types = {self._type(each) for each in branches if not _is_typed_null(each)}
        for each in branches:
            type_ = self._type(each) if _is_typed_null(each) else None
            yield exp.null() if type_ in types and "<" not in (type_ or "<") else each

    def _of_one_type(self, branches: list[exp.Expr]) -> list[exp.Expr]:
        """Numbers as the union makes them: a whole one beside a double is a double, a cast says so or not."""
        types = {self._type(each) for each in branches} - {"void"}
        widest = max(types & {*NUMBERS}, key=NUMBERS.index, default=None)
        if widest is None or len(types) < 2 or not types <= {*NUMBERS}:
            return branches
        return [self._resolver.cast(each, widest) if self._type(each) in types else each for each in branches]

    def _alone(self, branch: exp.Expr, scope: Scope) -> str:
        """A branch of a union as words that do not depend on what the text has before it."""
        like = (self._declared, self._model, self._column_type, self._is_edited)
        by_itself = _Lowering(*like, True, unnumbered, self._joins_queries)
        rows = by_itself._query(branch, scope)
        return " ".join([*map(terms.key, rows.columns.values()), *rows.step.keys()])

    def _number(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._numbers(kind, self._counts[kind])


def _is_typed_null(tree: exp.Expr) -> bool:
    return isinstance(tree.unnest(), exp.Cast) and isinstance(tree.unnest().this.unnest(), exp.Null)


def _generator(tree: exp.Expr) -> tuple[int, exp.Expr]:
    """A function that makes rows, and which of its columns is meant."""
    is_one_of_several = isinstance(tree, exp.Dot) and tree.expression.name.isdecimal()
    return (int(tree.expression.name), tree.this) if is_one_of_several else (0, tree)


def _widened(scope: Scope, kind: str, left: Step, right: Step) -> Scope:
    """After an outer join, with nulls in the columns of a side that has no row for one of the other side."""
    kept, found = scope.sources[:-1], scope.sources[-1:]
    if kind in ("right", "full"):
        kept = null_beside(left.name, kept)
    if kind in ("left", "full"):
        found = null_beside(right.name, found)
    return replace(scope, sources=(*kept, *found))


def _named(rows: Rows, place: Place | None) -> Rows:
    """Rows with the place where a text takes them for a table."""
    places = (*rows.step.named, place) if place is not None else rows.step.named
    return Rows(replace(rows.step, named=places), rows.columns)


def _united(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The branches of a `union all`, also where several follow each other."""
    for side in (tree.this, tree.expression):
        is_all = isinstance(side, exp.Union) and side.args.get("distinct") is False
        is_plain = is_all and not any(value for part, value in side.args.items() if part not in ("this", "expression"))
        yield from _united(side) if is_plain else (side,)


def _with_ctes(tree: exp.Expr, scope: Scope) -> Scope:
    clause = tree.args.get("with_")
    if clause is None:
        return scope
    for each in clause.expressions:
        if clause.args.get("recursive") or (each.args.get("alias") and each.args["alias"].args.get("columns")):
            raise scope.unsupported(each, "a recursive CTE, or one that names its columns,")
        scope = replace(scope, ctes={**scope.ctes, each.alias.lower(): (each.this, scope)})
    return scope


def _refuse_others(node: exp.Expr, known: Collection[str], scope: Scope) -> None:
    for part, value in node.args.items():
        if value not in (None, False, []) and part not in known:
            raise scope.unsupported(node, f"`{part.rstrip('_').replace('_', ' ')}`")


def _with_windows(tree: exp.Select) -> exp.Select:
    """The select with the windows of its WINDOW clause put where they are named."""
    if not tree.args.get("windows"):
        return tree
    tree = tree.copy()
    named = {each.name.lower(): each for each in tree.args["windows"]}
    for node in tree.find_all(exp.Window):
        if node.alias.lower() in named and node.find_ancestor(exp.Select) is tree:
            node.replace(exp.Window(**_parts(node, named)))
    tree.set("windows", None)
    return tree


def _parts(window: exp.Window, named: Mapping[str, exp.Window]) -> dict[str, Any]:
    """The parts of a window, and of the one that it names."""
    own = {part: value for part, value in window.args.items() if value and part != "alias"}
    of = named.get(window.alias.lower())
    return {**_parts(of.copy(), named), **own} if of is not None else own


def _has(what: str, named: Named, others: list[exp.Expr]) -> bool:
    return any(what in makes(tree) for tree in (*others, *(tree for _, tree in named)))


def _filtered(step: Step, conditions: list[exp.Expr]) -> Step:
    narrowing = [each for each in conditions if not _is_true(each)]
    return replace(step, filters=tuple(guarded(narrowing, step.filters)))


def _is_true(condition: exp.Expr) -> bool:
    return isinstance(condition, exp.Boolean) and bool(condition.this)


def _is_equality(condition: Term, join: str) -> bool:
    if not isinstance(condition.tree, (exp.EQ, exp.NullSafeEQ)):
        return False
    sides = [
        {atom.name.startswith(f"{join}.left") for atom in terms.atoms(each)}
        for each in condition.tree.iter_expressions()
    ]
    return sorted(map(sorted, sides)) == [[False], [True]]
