"""The values that a project's SQL compares a field with: made-up events use them, so that conditions sometimes hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from headrace.errors import InvalidProject
from headrace.project.model import Project
from headrace.project.sql import dialect

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like)

_FIELDS = (exp.Column, exp.Dot)


class Compared:
    """Values by the name of a field, also of columns derived from it alone, whatever its spelling."""

    def __init__(self, trees: Iterator[exp.Expr], variables: Mapping[str, Any]) -> None:
        self._values: dict[str, list[Any]] = defaultdict(list)
        self._derived: dict[str, set[str]] = defaultdict(set)
        for tree in trees:
            for names, values in _comparisons(tree, variables):
                for name in names:
                    self._values[name] += values
            for name, alias in _aliases(tree):
                self._derived[name].add(alias)

    def with_(self, name: str) -> tuple[Any, ...]:
        """The values that a field is compared with, in the order of the text, each once."""
        found = [value for each in self._names(_stem(name)) for value in self._values.get(each, ())]
        return tuple({(type(value), value): value for value in found}.values())

    def _names(self, name: str) -> list[str]:
        known = [name]
        for each in known:  # grows during iteration
            known += sorted(self._derived[each] - {*known})
        return known


def compared(project: Project) -> Compared:
    """Read the models and the reject rules of a project; numbers are accompanied by their neighbours."""
    return Compared(_trees(project), project.vars)


def _trees(project: Project) -> Iterator[exp.Expr]:
    rules = [f"select {rule}" for landing in project.landings for topic in landing.topics for _, rule in topic.reject]
    for text in [*(model.text for model in project.models), *rules]:
        try:
            yield dialect.parse(text, "").tree
        except InvalidProject:
            continue  # reported by `check`; here it only gives no values


def _comparisons(tree: exp.Expr, variables: Mapping[str, Any]) -> Iterator[tuple[set[str], list[Any]]]:
    for node in tree.find_all(*_COMPARISONS):
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            yield _columns(one), [*_values(other, variables)]
    for within in tree.find_all(exp.In):
        yield _columns(within.this), [value for each in within.expressions for value in _values(each, variables)]
    for case in tree.find_all(exp.Case):
        if case.this is not None:
            yield _columns(case.this), [value for each in case.args["ifs"] for value in _values(each.this, variables)]


def _aliases(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    for node in tree.find_all(exp.Alias):
        names = _columns(node.this)
        if len(names) == 1:
            yield next(iter(names)), _stem(node.alias)


def _columns(node: exp.Expr) -> set[str]:
    return {_stem(each.name) for each in node.find_all(*_FIELDS)}


def _values(node: exp.Expr, variables: Mapping[str, Any]) -> Iterator[Any]:
    """The literals and parameters of an expression that has no column."""
    if node.find(*_FIELDS, exp.Query):
        return
    for each in node.find_all(exp.Literal, exp.Placeholder, exp.Parameter):
        value = _literal(each) if isinstance(each, exp.Literal) else variables.get(each.name)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, (int, float)) and not isinstance(one, bool):
                yield from (one - 1, one, one + 1)
            elif one is not None:
                yield one


def _literal(node: exp.Literal) -> Any:
    if node.is_string:
        return node.this
    return int(node.this) if node.this.isdigit() else float(node.this)


def _stem(name: str) -> str:
    """`orderId` and `order_id` are one name."""
    return name.replace("_", "").lower()
