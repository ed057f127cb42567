"""Places in the tree of a query at which an edit can be made."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from sqlglot import exp

Node = TypeVar("Node", bound=exp.Expr)

COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.EQ, exp.NEQ)


def one_of(tree: exp.Expr, random: Random, *kinds: type[exp.Expr]) -> exp.Expr | None:
    """One node of some kinds."""
    found = [*tree.find_all(*kinds)]
    return random.choice(found) if found else None


def selects(tree: exp.Expr) -> list[exp.Select]:
    """The selects that read something."""
    return [select for select in tree.find_all(exp.Select) if select.args.get("from_")]


def conditions(tree: exp.Expr) -> list[exp.Expr]:
    """The conditions of `where`, `on`, `qualify` and `filter`."""
    clauses = tree.find_all(exp.Where, exp.Qualify)
    joins = (join.args.get("on") for join in tree.find_all(exp.Join))
    return [*(clause.this for clause in clauses), *(each for each in joins if each is not None)]


def conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    """The conditions, those joined by `and` one by one."""
    found = conditions(tree)
    return [
        each for condition in found for each in (condition.flatten() if isinstance(condition, exp.And) else [condition])
    ]


def condition(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One comparison, or one condition of a clause."""
    found = [*tree.find_all(*COMPARISONS, exp.Is), *conjuncts(tree)]
    return random.choice(found) if found else None


def column(tree: exp.Expr, random: Random) -> exp.Column | None:
    """One column that is named."""
    found = [each for each in tree.find_all(exp.Column) if isinstance(each.this, exp.Identifier)]
    return random.choice(found) if found else None


def replaced(tree: exp.Expr, old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """The tree with another node in the place of one."""
    if old is tree:
        return new
    old.replace(new)
    return tree
