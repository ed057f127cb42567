"""The columns of an aggregation, and the functions that need one."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headrace.planning.forms import aggregates, terms
from headrace.planning.forms.columns import own
from headrace.planning.forms.functions import AGGREGATES, GENERATORS
from headrace.planning.forms.scope import Scope, with_children

_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


class Grouping:
    """The columns of an aggregation: its keys, and the aggregates in the order in which they are first named.

    With `counts_cases`, `sum(case when a then 1 else 0 end)` is `count_if(a)`. `never_null` are expressions that no row
    has a null for: `count(a)` of one of them is `count(*)`.
    """

    def __init__(
        self,
        name: str,
        keys: list[exp.Expr],
        scope: Scope,
        counts_cases: bool = False,
        never_null: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.made: dict[str, exp.Expr] = {}
        self._keys = {terms.key(each): each for each in keys}
        self._scope = scope
        self._counts_cases = counts_cases
        self._never_null = never_null

    def rewrite(self, node: exp.Expr) -> exp.Expr:
        """The expression over keys and aggregates."""
        key = terms.key(node)
        if isinstance(node, exp.Column) and "atom" not in node.meta:
            starts = [each for each in self._keys if each.startswith(f"{node.name.lower()}(")]
            key = starts[0] if len(starts) == 1 else key
        if key in self._keys:
            return own(self.name, "key", self._keys[key])
        if isinstance(node, exp.Window):
            return with_children(node, lambda each: self._over(each) if each is node.this else self.rewrite(each))
        if _is_aggregate(node):
            node = aggregates.counted(node) if self._counts_cases else node
            node = aggregates.of_all(node, self._never_null)
            key = terms.key(node)
            return self.made.setdefault(key, own(self.name, "aggregate", node))
        if "atom" in node.meta:
            raise self._scope.unsupported(node, f"`{node.name}`, neither grouped nor aggregated,")
        return with_children(node, self.rewrite)

    def _over(self, function: exp.Expr) -> exp.Expr:
        """A function over a window of groups, which is no aggregate of the rows of a group; its arguments may be."""
        wrapped = function.this if isinstance(function, _WRAPPERS) else None
        return with_children(function, lambda each: self._over(each) if each is wrapped else self.rewrite(each))


def makes(tree: exp.Expr) -> frozenset[str]:
    """What needs a step of its own in a resolved expression: `aggregate`, `window` or `generator`."""
    if "atom" in tree.meta:
        return frozenset()
    if "makes" not in tree.meta:
        tree.meta["makes"] = frozenset(_made(tree))
    return tree.meta["makes"]  # type: ignore[no-any-return]


def _made(tree: exp.Expr) -> Iterator[str]:
    below = tree.iter_expressions()
    if isinstance(tree, exp.Window):
        yield "window"
        below = _around(tree)
    elif _is_aggregate(tree):
        yield "aggregate"
    elif _is_generator(tree):
        yield "generator"
    for each in below:
        yield from makes(each)


def _around(window: exp.Window) -> Iterator[exp.Expr]:
    """What stands in a window function, without the function itself, which makes a row of each row."""
    function = window.this
    while isinstance(function, _WRAPPERS):
        yield from (each for each in function.iter_expressions() if each is not function.this)
        function = function.this
    yield from function.iter_expressions()
    yield from (each for each in window.iter_expressions() if each is not window.this)


def _is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, _WRAPPERS):
        return isinstance(node.this, exp.Expr) and _is_aggregate(node.this)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in AGGREGATES
    return isinstance(node, exp.AggFunc)


def _is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in GENERATORS
    return isinstance(node, exp.UDTF) or type(node).__name__ in ("Inline", "Stack")
