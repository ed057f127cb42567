"""Edits of a query that leave its meaning as it is: whatever verdict but SAME one of them gets is a false alarm."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random

from sqlglot import exp

from tests.plan.generated.trees import column, condition, conditions, one_of, replaced, selects

Change = Callable[[exp.Expr, Random], exp.Expr | None]
"""Edits a tree in place; None where there is nothing to edit."""

_MIRRORED = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ, exp.NEQ: exp.NEQ}
_OPPOSITE = {exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ}


def write_again(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Only the layout, the case of keywords and the places of comments are others."""
    return tree


def commute(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Turn the operands of `+`, `*`, `and`, `or`, `=` round."""
    node = one_of(tree, random, exp.Add, exp.Mul, exp.And, exp.Or, exp.EQ, exp.NullSafeEQ)
    return node and replaced(tree, node, type(node)(this=_enclosed(node.expression), expression=_enclosed(node.this)))


def mirror(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `a < b` as `b > a`."""
    node = one_of(tree, random, *_MIRRORED)
    return node and replaced(
        tree, node, _MIRRORED[type(node)](this=_enclosed(node.expression), expression=_enclosed(node.this))
    )


def deny_twice(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `a < b` as `not (a >= b)`."""
    node = one_of(tree, random, *_OPPOSITE)
    opposite = node and _OPPOSITE[type(node)](this=node.this.copy(), expression=node.expression.copy())
    return node and replaced(tree, node, exp.Not(this=exp.paren(opposite)))


def not_not(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Deny a comparison twice in words."""
    node = condition(tree, random)
    return node and replaced(tree, node, exp.Not(this=exp.paren(exp.Not(this=exp.paren(node.copy())))))


def de_morgan(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `a and b` as `not (not a or not b)`."""
    node = one_of(tree, random, exp.And, exp.Or)
    if node is None:
        return None
    sides = [exp.Not(this=exp.paren(each.copy())) for each in (node.this, node.expression)]
    other = exp.Or if isinstance(node, exp.And) else exp.And
    return replaced(tree, node, exp.Not(this=exp.paren(other(this=sides[0], expression=sides[1]))))


def if_as_case(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `if(a, b, c)` as a case."""
    found = [each for each in tree.find_all(exp.If) if not isinstance(each.parent, exp.Case)]
    node = random.choice(found) if found else None
    if node is None:
        return None
    branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
    otherwise = node.args.get("false")
    return replaced(tree, node, exp.Case(ifs=[branch], default=otherwise and otherwise.copy()))


def case_as_if(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write a case of one branch as `if(a, b, c)`."""
    found = [each for each in tree.find_all(exp.Case) if each.this is None and len(each.args["ifs"]) == 1]
    node = random.choice(found) if found else None
    if node is None:
        return None
    (branch,), otherwise = node.args["ifs"], node.args.get("default") or exp.null()
    return replaced(tree, node, exp.func("if", branch.this.copy(), branch.args["true"].copy(), otherwise.copy()))


def split_between(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `a between b and c` as two comparisons."""
    node = one_of(tree, random, exp.Between)
    if node is None:
        return None
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    return replaced(
        tree, node, exp.paren(exp.and_(low, exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())))
    )


def other_order_of_in(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Turn a list of `in` round."""
    found = [each for each in tree.find_all(exp.In) if len(each.expressions) > 1]
    if not found:
        return None
    node = random.choice(found)
    node.set("expressions", [*reversed(node.expressions)])
    return tree


def count_ones(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `count(*)` as `count(1)`."""
    found = [each for each in tree.find_all(exp.Count) if isinstance(each.this, exp.Star)]
    if not found:
        return None
    random.choice(found).set("this", exp.Literal.number(1))
    return tree


def count_where(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `count_if(a)` as `count(*) filter (where a)`."""
    node = one_of(tree, random, exp.CountIf)
    return node and replaced(
        tree, node, exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=node.this.copy()))
    )


def add_true(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Add a condition that always holds."""
    found = selects(tree)
    return random.choice(found).where(exp.true(), copy=False) and tree


def wrap_table(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Read a CTE through a subquery."""
    node = _of_cte(tree, random)
    if node is None:
        return None
    inner = exp.select("*").from_(exp.to_table(node.name))
    return replaced(tree, node, inner.subquery(node.alias_or_name))


def wrap_all(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Select everything from the last CTE through one more."""
    last = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or last is None or not tree.args.get("with_"):
        return None
    name = last.this.name
    tree.args["with_"].append(
        "expressions",
        exp.CTE(this=exp.select("*").from_(name), alias=exp.TableAlias(this=exp.to_identifier("final_rows"))),
    )
    last.this.replace(exp.alias_(exp.to_table("final_rows"), name, table=True))
    return tree


def rename_cte(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Give a CTE another name, and its readers the old one as an alias."""
    ctes = _ctes(tree)
    if not ctes:
        return None
    cte = random.choice(ctes)
    old, new = cte.alias, f"{cte.alias}_renamed"
    if any(table.name.lower() == old.lower() and table.db for table in tree.find_all(exp.Table)):
        return None
    for table in [*tree.find_all(exp.Table)]:
        if table.name.lower() == old.lower() and not table.db:
            table.replace(exp.alias_(exp.to_table(new), table.alias_or_name, table=True))
    cte.args["alias"].set("this", exp.to_identifier(new))
    return tree


def inline_cte(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Put a CTE that is read once where it is read."""
    tables = [table for table in tree.find_all(exp.Table) if not table.db]
    once = [cte for cte in _ctes(tree) if sum(table.name == cte.alias for table in tables) == 1]
    if not once or len(_ctes(tree)) < 2:
        return None
    cte = random.choice(once)
    (table,) = [each for each in tables if each.name == cte.alias]
    table.replace(cte.this.copy().subquery(table.alias_or_name))
    cte.pop()
    return tree


def qualify_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Name the table of a column, where there is only one."""
    found = [
        (each, select.args["from_"].this.alias_or_name)
        for select in selects(tree)
        if not select.args.get("joins") and isinstance(select.args["from_"].this, exp.Table)
        for each in (*select.expressions, *filter(None, [select.args.get("where")]))
        if "__streamed_" not in select.args["from_"].this.alias_or_name
    ]
    plain = [
        (node, name)
        for each, name in found
        for node in ([each] if isinstance(each, exp.Column) else [*each.find_all(exp.Column)])
        if not node.table and not node.find_ancestor(exp.Lambda) and isinstance(node.this, exp.Identifier)
    ]
    if not plain:
        return None
    node, name = random.choice(plain)
    node.set("table", exp.to_identifier(name))
    return tree


def quote_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Put a column into back quotes."""
    node = column(tree, random)
    if node is not None:
        node.this.set("quoted", True)
    return node and tree


def coalesce_twice(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Write `coalesce(a, b)` as `coalesce(a, coalesce(b))`."""
    node = one_of(tree, random, exp.Coalesce)
    if node is None or not node.expressions:
        return None
    *rest, last = node.expressions
    node.set("expressions", [*rest, exp.Coalesce(this=last.copy(), expressions=[])])
    return tree


def enclose(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Put brackets around a condition."""
    node = condition(tree, random)
    return node and replaced(tree, node, exp.paren(node.copy()))


def other_order_of_conditions(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Turn the conditions of a `where` or `on` round."""
    found = [each for each in conditions(tree) if isinstance(each, exp.And)]
    if not found:
        return None
    node = random.choice(found)
    return replaced(tree, node, exp.and_(*reversed([each.copy() for each in node.flatten()])))


def other_order_of_ctes(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Swap two neighbouring CTEs that do not read each other."""
    ctes = _ctes(tree)
    pairs = [
        (one, two) for one, two in pairwise(ctes) if all(table.name != one.alias for table in two.find_all(exp.Table))
    ]
    if not pairs:
        return None
    one, two = random.choice(pairs)
    first, second = one.copy(), two.copy()
    one.replace(second)
    two.replace(first)
    return tree


def comment(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Add a comment to a column."""
    node = column(tree, random)
    if node is not None:
        node.add_comments([" why it is so: it's the shop's wish "])
    return node and tree


NEUTRAL: tuple[Change, ...] = (
    write_again,
    commute,
    mirror,
    deny_twice,
    not_not,
    de_morgan,
    if_as_case,
    case_as_if,
    split_between,
    other_order_of_in,
    count_ones,
    count_where,
    add_true,
    wrap_table,
    wrap_all,
    rename_cte,
    inline_cte,
    qualify_column,
    quote_column,
    coalesce_twice,
    enclose,
    other_order_of_conditions,
    other_order_of_ctes,
    comment,
)


def _ctes(tree: exp.Expr) -> list[exp.CTE]:
    found = tree.args.get("with_")
    return [*found.expressions] if found else []


def _of_cte(tree: exp.Expr, random: Random) -> exp.Table | None:
    names = {cte.alias for cte in _ctes(tree)}
    found = [table for table in tree.find_all(exp.Table) if not table.db and table.name in names]
    return random.choice(found) if found else None


def _enclosed(node: exp.Expr) -> exp.Expr:
    return exp.paren(node.copy()) if isinstance(node, exp.Binary) else node.copy()
