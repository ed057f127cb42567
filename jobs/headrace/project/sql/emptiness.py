"""When a query returns no rows: what its text shows of that, depending on which of its inputs are empty.

This is what Spark's own optimizer would find out (`PropagateEmptyRelation`), without planning anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from sqlglot import exp

from headrace.project.model import Input
from headrace.project.sql import dialect, tables
from headrace.project.sql.dialect import Statement

IsEmpty = Callable[[Input], bool]
"""Whether an input has no rows; false where that is not known."""

Emptiness = Callable[[IsEmpty], bool]
"""Whether a query certainly returns no rows, with its inputs as they are."""

AGGREGATES = frozenset(
    {"any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k", "approx_top_k_accumulate"}
    | {"approx_top_k_combine", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "collect_list"}
    | {"collect_set", "corr", "count", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every", "first"}
    | {"first_value", "grouping", "grouping_id", "histogram_numeric", "kurtosis", "last", "last_value", "listagg"}
    | {"max", "max_by", "mean", "measure", "median", "min", "min_by", "mode", "percentile", "percentile_approx"}
    | {"percentile_cont", "percentile_disc", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2"}
    | {"regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "stddev", "stddev_pop"}
    | {"stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance", "vector_avg", "vector_sum"}
)
"""Spark's functions that make one row of all rows, apart from those with `_agg` in their names."""


@lru_cache(maxsize=2000)
def of(text: str, path: str) -> Emptiness:
    """Read the query of a model file."""
    statement = dialect.parse(text, path)
    return _Reader(statement).query(statement.tree, {})


def is_aggregate(name: str) -> bool:
    """Return whether a function of Spark's returns a row for no rows."""
    return name.lower() in AGGREGATES or "_agg" in name.lower()


class _Reader:
    def __init__(self, statement: Statement) -> None:
        self._statement = statement

    def query(self, node: exp.Expr, known: Mapping[str, Emptiness]) -> Emptiness:
        """`known` are the CTEs that the query may name."""
        for cte in getattr(node, "ctes", ()):
            known = {**known, cte.alias.lower(): self.query(cte.this, known)}
        match node:
            case exp.Subquery():
                return self._joined(self.query(node.this, known), node, known)
            case exp.Union():
                return _all(self.query(node.this, known), self.query(node.expression, known))
            case exp.Intersect():
                return _any(self.query(node.this, known), self.query(node.expression, known))
            case exp.Except():
                return self.query(node.this, known)
            case exp.Select() if (first := node.args.get("from_")) and not self._makes_a_row(node):
                return self._joined(self._relation(first.this, known), node, known)
        return _never

    def _relation(self, node: exp.Expr, known: Mapping[str, Emptiness]) -> Emptiness:
        if isinstance(node, exp.Subquery):
            return self.query(node, known)
        if not isinstance(node, exp.Table) or isinstance(node.this, exp.Func):
            return _never
        if not node.db and node.name.lower() in known:  # also what the parser makes of a pipe
            return self._joined(known[node.name.lower()], node, known)
        if not tables.is_stored(node, self._statement):
            return _never
        return self._joined(_has_none(tables.input_of(node, self._statement)), node, known)

    def _joined(self, left: Emptiness, node: exp.Expr, known: Mapping[str, Emptiness]) -> Emptiness:
        """What stands on the left with all that a node joins to it."""
        if node.args.get("pivots"):
            return _never
        for join in node.args.get("joins") or ():
            right, side, kind = self._relation(join.this, known), join.side.upper(), join.kind.upper()
            if kind == "SEMI" or side not in ("LEFT", "RIGHT", "FULL"):
                left = _any(left, right) if kind != "ANTI" else left
            elif side != "LEFT":
                left = right if side == "RIGHT" else _all(left, right)
        return left

    def _makes_a_row(self, select: exp.Select) -> bool:
        """Whether it has a row for no rows: an aggregate over all of them, or over sets of which one is that."""
        group = select.args.get("group")
        if group is not None:
            plain = {name for name, value in group.args.items() if value} == {"expressions"}
            return not plain or any(isinstance(each, (exp.Tuple, exp.Cube, exp.Rollup)) for each in group.expressions)
        return select.args.get("having") is not None or any(
            self._is_aggregate(call) and call.parent_select is select for call in select.find_all(exp.Func)
        )

    def _is_aggregate(self, call: exp.Func) -> bool:
        node: exp.Expr = call
        while isinstance(node.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
            node = node.parent
        if isinstance(node.parent, exp.Window) and node.arg_key == "this":
            return False  # the window's function, and not an expression inside its specification
        start, end = call.meta.get("start"), call.meta.get("end")
        typed = "" if start is None or end is None else self._statement.text[start : end + 1].strip("`")
        return isinstance(call, exp.AggFunc) or is_aggregate(typed or call.name or call.sql_name())


def _has_none(ref: Input) -> Emptiness:
    return lambda is_empty: is_empty(ref)


def _never(_: IsEmpty) -> bool:
    return False


def _all(*parts: Emptiness) -> Emptiness:
    return lambda is_empty: all(part(is_empty) for part in parts)


def _any(*parts: Emptiness) -> Emptiness:
    return lambda is_empty: any(part(is_empty) for part in parts)
