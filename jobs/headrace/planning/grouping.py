"""The columns of an aggregation, and the functions that need one."""

from __future__ import annotations

from sqlglot import exp

from headrace.planning import terms
from headrace.planning.columns import own
from headrace.planning.functions import AGGREGATES, GENERATORS
from headrace.planning.scope import Scope, with_children


class Grouping:
    """The columns of an aggregation: its keys, and the aggregates in the order in which they are first named."""

    def __init__(self, name: str, keys: list[exp.Expr], scope: Scope) -> None:
        self.name = name
        self.made: dict[str, exp.Expr] = {}
        self._keys = {terms.key(each): each for each in keys}
        self._scope = scope

    def rewrite(self, node: exp.Expr) -> exp.Expr:
        """The expression over keys and aggregates."""
        told = terms.key(node)
        if isinstance(node, exp.Column) and "atom" not in node.meta:
            starts = [each for each in self._keys if each.startswith(f"{node.name.lower()}(")]
            told = starts[0] if len(starts) == 1 else told
        if told in self._keys:
            return own(self.name, "key", self._keys[told])
        if _is_aggregate(node):
            return self.made.setdefault(told, own(self.name, "aggregate", node))
        if "atom" in node.meta:
            raise self._scope.no(node, f"`{node.name}`, neither grouped nor aggregated,")
        return with_children(node, self.rewrite)


def has_aggregate(tree: exp.Expr) -> bool:
    """Whether an expression makes one row of many."""
    return any(_is_aggregate(node) and not _is_over(node) for node in tree.walk())


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        return isinstance(node.this, exp.Expr) and _is_aggregate(node.this)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in AGGREGATES
    return isinstance(node, exp.AggFunc)


def _is_over(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def is_generator(node: exp.Expr) -> bool:
    """Whether a function makes many rows of one."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in GENERATORS
    return isinstance(node, exp.UDTF) or type(node).__name__ in ("Inline", "Stack")
