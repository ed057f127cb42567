"""Edits of a query that may change what it says: the plan must find out, and the engine shows whether it has."""

from __future__ import annotations

from random import Random

from sqlglot import exp

from tests.plan.generated.neutral import Change
from tests.plan.generated.texts import is_stream
from tests.plan.generated.trees import COMPARISONS, column, condition, conditions, conjuncts, one_of, replaced, selects

_AGGREGATES = ("sum", "max", "min", "count", "count_if", "avg", "first", "last", "collect_list", "collect_set")
_WINDOWED = ("row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value")
_TYPES = ("string", "bigint", "int", "double", "boolean", "timestamp", "decimal(38, 0)")
_JOINS = (("left", ""), ("", "inner"), ("right", ""), ("full", ""), ("left", "anti"), ("left", "semi"))


def literal(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another number or text."""
    node = one_of(tree, random, exp.Literal)
    if node is None:
        return None
    if node.is_string:
        others = [each.name for each in tree.find_all(exp.Literal) if each.is_string and each.name != node.name]
        node.set("this", random.choice([*others, f"{node.name}x", node.name.lower()]))
    else:
        node.set("this", str(int(float(node.name)) + random.choice((-1, 1, 2))))
    return tree


def type_of_literal(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The same number of another type."""
    found = [each for each in tree.find_all(exp.Literal) if not each.is_string]
    if not found:
        return None
    node = random.choice(found)
    node.set("this", node.name + random.choice((".0", "L", "D")))
    return tree


def comparison(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another comparison."""
    node = one_of(tree, random, *COMPARISONS)
    if node is None:
        return None
    other = random.choice([kind for kind in (*COMPARISONS, exp.NullSafeEQ) if not isinstance(node, kind)])
    return replaced(tree, node, other(this=node.this.copy(), expression=node.expression.copy()))


def arithmetic(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another operation."""
    node = one_of(tree, random, exp.Add, exp.Sub, exp.Mul)
    if node is None:
        return None
    other = random.choice([kind for kind in (exp.Add, exp.Sub, exp.Mul) if not isinstance(node, kind)])
    return replaced(tree, node, other(this=exp.paren(node.this.copy()), expression=exp.paren(node.expression.copy())))


def swap_operands(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The operands of `-` or of a comparison the other way round."""
    node = one_of(tree, random, exp.Sub, exp.LT, exp.LTE, exp.GT, exp.GTE)
    return node and replaced(
        tree, node, type(node)(this=exp.paren(node.expression.copy()), expression=exp.paren(node.this.copy()))
    )


def drop_condition(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One condition less."""
    found = conjuncts(tree)
    return replaced(tree, random.choice(found), exp.true()) if found else None


def add_condition(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One condition more, on a column that the select names."""
    found = [(each, [*each.find_all(exp.Column)]) for each in selects(tree)]
    found = [(each, columns) for each, columns in found if columns]
    if not found:
        return None
    select, columns = random.choice(found)
    name = random.choice(columns).copy()
    select.where(exp.Not(this=exp.Is(this=name, expression=exp.null())), copy=False)
    return tree


def and_or(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """`and` for `or`, and the other way round."""
    node = one_of(tree, random, exp.And, exp.Or)
    other = exp.Or if isinstance(node, exp.And) else exp.And
    return node and replaced(tree, node, exp.paren(other(this=node.this.copy(), expression=node.expression.copy())))


def deny(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The opposite of a condition."""
    node = condition(tree, random)
    return node and replaced(tree, node, exp.Not(this=exp.paren(node.copy())))


def null_is_false(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A condition that is unknown counts as false, or as true."""
    node = condition(tree, random)
    default = exp.true() if random.random() < 0.5 else exp.false()
    return node and replaced(tree, node, exp.Coalesce(this=node.copy(), expressions=[default]))


def swap_columns(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Two columns for each other."""
    found = [each for each in tree.find_all(exp.Column) if isinstance(each.this, exp.Identifier)]
    one, two = (random.choice(found), random.choice(found)) if found else (None, None)
    if one is None or two is None or one == two:
        return None
    first, second = one.copy(), two.copy()
    one.replace(second)
    two.replace(first)
    return tree


def other_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One column for another of its select."""
    found = [[each for each in select.find_all(exp.Column)] for select in selects(tree)]
    found = [columns for columns in found if len({each.name for each in columns}) > 1]
    if not found:
        return None
    columns = random.choice(found)
    one = random.choice(columns)
    two = random.choice([each for each in columns if each.name != one.name])
    is_output = isinstance(one.parent, exp.Select) and one.parent.args.get("from_") and one in one.parent.expressions
    return replaced(tree, one, exp.alias_(two.copy(), one.name) if is_output else two.copy())


def aggregate(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another aggregate function."""
    found = [
        each
        for each in tree.find_all(exp.Func)
        if each.sql_name().lower() in _AGGREGATES or each.name.lower() in _AGGREGATES
    ]
    found = [each for each in found if each.args.get("this") is not None]
    if not found:
        return None
    node = random.choice(found)
    argument = node.expressions[0] if isinstance(node, exp.Anonymous) and node.expressions else node.this
    if not isinstance(argument, exp.Expr):
        return None
    argument = exp.Literal.number(1) if isinstance(argument, exp.Star) else argument.copy()
    return replaced(tree, node, exp.Anonymous(this=random.choice(_AGGREGATES), expressions=[argument]))


def window_function(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another window function."""
    found = [
        each for each in tree.find_all(exp.Window) if isinstance(each.this, (exp.RowNumber, exp.Anonymous, exp.Rank))
    ]
    if not found:
        return None
    name = random.choice(("row_number", "rank", "dense_rank"))
    random.choice(found).set("this", exp.Anonymous(this=name, expressions=[]))
    return tree


def window_order(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A window in the opposite order."""
    found = [each for window in tree.find_all(exp.Window) for each in window.find_all(exp.Ordered)]
    if not found:
        return None
    node = random.choice(found)
    node.set("desc", not node.args.get("desc"))
    node.set("nulls_first", None)
    return tree


def window_partition(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One column less to partition by."""
    found = [each for each in tree.find_all(exp.Window) if each.args.get("partition_by")]
    if not found:
        return None
    node = random.choice(found)
    node.set("partition_by", node.args["partition_by"][1:])
    return tree


def window_frame(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another frame of a window, or the one that is meant without one, in words."""
    found = [each for each in tree.find_all(exp.Window) if each.args.get("order")]
    if not found:
        return None
    ends = random.choice((("CURRENT ROW", None), ("UNBOUNDED", "FOLLOWING"), ("1", "PRECEDING")))
    start = {"start": "UNBOUNDED", "start_side": "PRECEDING"}
    spec = exp.WindowSpec(kind=random.choice(("ROWS", "RANGE")), **start, end=ends[0], end_side=ends[1])
    random.choice(found).set("spec", spec)
    return tree


def join_kind(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another kind of join."""
    found = [each for each in tree.find_all(exp.Join) if each.args.get("on")]
    if not found:
        return None
    node, (side, kind) = random.choice(found), random.choice(_JOINS)
    node.set("side", side)
    node.set("kind", kind)
    return tree


def on_to_where(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A condition of a join in `where`."""
    found = [
        (select, join, each)
        for select in selects(tree)
        for join in select.args.get("joins") or ()
        if isinstance(join.args.get("on"), exp.And)
        for each in join.args["on"].flatten()
    ]
    if not found:
        return None
    select, join, each = random.choice(found)
    select.where(each.copy(), copy=False)
    join.set("on", exp.and_(*[other.copy() for other in join.args["on"].flatten() if other is not each]))
    return tree


def where_to_on(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The condition of `where` at a join."""
    found = [each for each in selects(tree) if each.args.get("where") and each.args.get("joins")]
    found = [each for each in found if each.args["joins"][0].args.get("on")]
    if not found:
        return None
    select = random.choice(found)
    select.args["joins"][0].on(select.args["where"].this.copy(), copy=False)
    select.set("where", None)
    return tree


def default(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another default, or none."""
    found = [each for each in tree.find_all(exp.Coalesce) if each.expressions]
    if not found:
        return None
    node = random.choice(found)
    if random.random() < 0.5:
        return replaced(tree, node, node.this.copy())
    node.set("expressions", [*node.expressions[:-1], node.this.copy()])
    return tree


def swap_branches(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The values of an `if` or `case` for each other."""
    found = [each for each in tree.find_all(exp.If) if each.args.get("false")]
    if not found:
        return None
    node = random.choice(found)
    true, false = node.args["true"].copy(), node.args["false"].copy()
    node.set("true", false)
    node.set("false", true)
    return tree


def drop_else(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Nothing where no branch holds."""
    found = [each for each in tree.find_all(exp.Case) if each.args.get("default")]
    if not found:
        return None
    random.choice(found).set("default", None)
    return tree


def cast(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A column of another type, or of its own."""
    node = column(tree, random)
    if node is None:
        return None
    made = exp.cast(node.copy(), random.choice(_TYPES), dialect="databricks")
    is_output = isinstance(node.parent, exp.Select) and any(node is each for each in node.parent.expressions)
    return replaced(tree, node, exp.alias_(made, node.name) if is_output else made)


def drop_cast(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """What is cast as it is."""
    node = one_of(tree, random, exp.Cast)
    return node and replaced(tree, node, exp.paren(node.this.copy()))


def distinct(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Only different rows."""
    found = selects(tree)
    random.choice(found).distinct(copy=False)
    return tree


def reorder_columns(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The columns of a select in another order."""
    found = [each for each in selects(tree) if len(each.expressions) > 1]
    if not found:
        return None
    select = random.choice(found)
    select.set("expressions", random.sample(select.expressions, len(select.expressions)))
    return tree


def drop_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One column less."""
    found = [each for each in selects(tree) if len(each.expressions) > 1]
    if not found:
        return None
    select = random.choice(found)
    gone = random.randrange(len(select.expressions))
    select.set("expressions", [each for at, each in enumerate(select.expressions) if at != gone])
    return tree


def add_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """One column more, a constant or a copy."""
    found = [each for each in selects(tree) if any(isinstance(one, exp.Column) for one in each.expressions)]
    if not found:
        return None
    select = random.choice(found)
    copied = random.choice([one for one in select.expressions if isinstance(one, exp.Column)]).copy()
    value = random.choice((copied, exp.Literal.number(1)))
    select.set("expressions", [*select.expressions, exp.alias_(value, "added")])
    return tree


def rename_column(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Another name for a column that is made here, wherever the model names it."""
    found = [each for each in tree.find_all(exp.Alias) if isinstance(each.parent, exp.Select)]
    if not found:
        return None
    old = random.choice(found).alias
    new = f"{old}_renamed" if random.random() < 0.7 else old.upper()
    for node in [*tree.find_all(exp.Identifier)]:
        if node.name == old:
            node.set("this", new)
    return tree


def drop_branch(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A branch of a union less."""
    node = one_of(tree, random, exp.Union)
    return node and replaced(tree, node, random.choice((node.this, node.expression)).copy())


def swap_union(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The branches of a union the other way round."""
    found = [each for each in tree.find_all(exp.Union) if not isinstance(each.this, exp.Union)]
    if not found:
        return None
    node = random.choice(found)
    one, two = node.this.copy(), node.expression.copy()
    node.set("this", two)
    node.set("expression", one)
    return tree


def repeat_branch(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """All rows of a select twice."""
    found = [each for each in tree.find_all(exp.CTE) if isinstance(each.this, exp.Select)]
    if not found:
        return None
    cte = random.choice(found)
    cte.set("this", exp.Union(this=cte.this.copy(), expression=cte.this.copy(), distinct=random.random() < 0.5))
    return tree


def union_kind(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """`union` for `union all`, and the other way round."""
    node = one_of(tree, random, exp.Union)
    if node is not None:
        node.set("distinct", not node.args.get("distinct"))
    return node and tree


def drop_qualify(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """All rows, where only some were wanted."""
    found = [each for each in selects(tree) if each.args.get("qualify")]
    if not found:
        return None
    random.choice(found).set("qualify", None)
    return tree


def group_order(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """The keys of a group in another order."""
    found = [each for each in tree.find_all(exp.Group) if len(each.expressions) > 1]
    if not found:
        return None
    node = random.choice(found)
    node.set("expressions", [*reversed(node.expressions)])
    return tree


def group_key(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A key of a group less."""
    found = [each for each in tree.find_all(exp.Group) if len(each.expressions) > 1]
    if not found:
        return None
    node = random.choice(found)
    gone = random.randrange(len(node.expressions))
    node.set("expressions", [each for at, each in enumerate(node.expressions) if at != gone])
    return tree


def having(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Only groups of more than one row."""
    found = [each for each in selects(tree) if each.args.get("group")]
    if not found:
        return None
    random.choice(found).having("count(*) > 1", copy=False)
    return tree


def filter_aggregate(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """Without the filter of an aggregate."""
    node = one_of(tree, random, exp.Filter)
    return node and replaced(tree, node, node.this.copy())


def not_moving(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """All rows of a table for those that stream."""
    found = [each for each in tree.find_all(exp.Table) if is_stream(each)]
    if len(found) < 2:
        return None
    node = random.choice(found)
    name = node.name.split("__streamed_")[0]
    return replaced(tree, node, exp.alias_(exp.table_(name, db=node.db), node.alias or name, table=True))


def upper(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """A column through a function of texts."""
    node = column(tree, random)
    if node is None:
        return None
    made = exp.func(random.choice(("upper", "trim")), node.copy())
    is_output = isinstance(node.parent, exp.Select) and any(node is each for each in node.parent.expressions)
    return replaced(tree, node, exp.alias_(made, node.name) if is_output else made)


def order_of_conditions(tree: exp.Expr, random: Random) -> exp.Expr | None:
    """`a and (b or c)` with the brackets elsewhere."""
    found = [each for each in conditions(tree) if each.find(exp.Paren)]
    if not found:
        return None
    paren = random.choice(found).find(exp.Paren)
    return paren and replaced(tree, paren, paren.this.copy())


CHANGING: tuple[Change, ...] = (
    literal,
    type_of_literal,
    comparison,
    arithmetic,
    swap_operands,
    drop_condition,
    add_condition,
    and_or,
    deny,
    null_is_false,
    swap_columns,
    other_column,
    aggregate,
    window_function,
    window_order,
    window_partition,
    window_frame,
    join_kind,
    on_to_where,
    where_to_on,
    default,
    swap_branches,
    drop_else,
    cast,
    drop_cast,
    distinct,
    reorder_columns,
    drop_column,
    add_column,
    rename_column,
    drop_branch,
    swap_union,
    repeat_branch,
    union_kind,
    drop_qualify,
    group_order,
    group_key,
    having,
    filter_aggregate,
    not_moving,
    upper,
    order_of_conditions,
)
