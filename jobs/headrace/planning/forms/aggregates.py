"""Aggregates, and functions over windows, in one form each."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from headrace.planning.forms import terms, truths
from headrace.planning.forms.durations import TypeOf

_UNBOUNDED = {"start": "unbounded", "start_side": "preceding"}
_WHOLE = {"kind": "rows", **_UNBOUNDED, "end": "unbounded", "end_side": "following"}
_OF_TRUTHS = {"bool_and": exp.Min, "bool_or": exp.Max}
"""Aggregates of truth values that are others, as false is less than true."""


def count(node: exp.Expr) -> exp.Expr:
    """`count(1)` is `count(*)`, and `count(case when x then 1 end)` is `count_if(x)`."""
    counted = node.this.unnest()
    if node.expressions:
        return node
    if isinstance(counted, exp.Literal):
        return exp.Count(**{**node.args, "this": exp.Star()})
    branch = _only_branch(counted)
    if branch is None or not isinstance(branch.args["true"].unnest(), exp.Literal):
        return of_a_case(node)
    return count_if(exp.CountIf(this=branch.this))


def count_if(node: exp.Expr) -> exp.Expr:
    """`count_if(x)` is `count(*) filter (where x)`."""
    if isinstance(node.this, exp.Distinct):
        return node
    return filtered(exp.Filter(this=exp.Count(this=exp.Star(), big_int=True), expression=exp.Where(this=node.this)))


def filtered(node: exp.Expr) -> exp.Expr:
    """An aggregate of the rows for which `true` holds is one of all, and a count of those with a value is one of it."""
    condition = node.expression.this.unnest()
    inner = condition.this.unnest() if isinstance(condition, exp.Not) else condition
    has_value = inner is not condition and truths.asks_for_null(inner)
    if has_value and isinstance(node.this, exp.Count) and isinstance(node.this.this, exp.Star):
        return exp.Count(**{**node.this.args, "this": inner.this})
    return node.this if isinstance(condition, exp.Boolean) and condition.this else node


def counted(node: exp.Expr) -> exp.Expr:
    """`sum(case when a then 1 else 0 end)` of some rows is `count_if(a)`."""
    case = node.this.unnest() if type(node) is exp.Sum else None
    branches = case.args["ifs"] if isinstance(case, exp.Case) else []
    values = [each.args["true"] for each in branches] + [case.args.get("default") if case is not None else None]
    is_count = len(branches) == 1 and [each and terms.key(each) for each in values] == ["1", "0"]
    return count_if(exp.CountIf(this=branches[0].this)) if is_count else node


def of_all(node: exp.Expr, never_null: Collection[str]) -> exp.Expr:
    """`count(a)` is `count(*)` of rows that have no null in `a`."""
    if isinstance(node, exp.Filter):
        return exp.Filter(**{**node.args, "this": of_all(node.this, never_null)})
    is_of_all = isinstance(node, exp.Count) and not node.expressions and terms.key(node.this) in never_null
    return exp.Count(**{**node.args, "this": exp.Star()}) if is_of_all else node


def of_a_case(node: exp.Expr) -> exp.Expr:
    """`sum(case when x then a end)` is `sum(a) filter (where x)`: these aggregates pass nulls over."""
    value = node.expressions[0].unnest() if isinstance(node, exp.Anonymous) else node.this.unnest()
    branch = _only_branch(value)
    if branch is None or node.args.get("expressions") not in (None, [], [value]):
        return node
    of = branch.args["true"]
    made = type(node)(**{**node.args, **({"expressions": [of]} if isinstance(node, exp.Anonymous) else {"this": of})})
    return exp.Filter(this=made, expression=exp.Where(this=branch.this))


def of_truths(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """`bool_and(x)` is `min(x)` where `x` is a truth value; a text would be read as one."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _OF_TRUTHS or len(node.expressions) != 1:
        return node
    (value,) = node.expressions
    return _OF_TRUTHS[node.name.lower()](this=value) if type_of(value) == "boolean" else node


def lag(node: exp.Expr) -> exp.Expr:
    """`lag(a, 1, null)` is `lag(a)`."""
    given = {part: value for part, value in node.args.items() if value is not None}
    if isinstance(given.get("default"), exp.Null):
        del given["default"]
    if "default" not in given and isinstance(given.get("offset"), exp.Literal) and given["offset"].name == "1":
        del given["offset"]
    return node if given.keys() == {p for p, v in node.args.items() if v is not None} else type(node)(**given)


def window(node: exp.Expr) -> exp.Expr:
    """A window whose keys are in no order, without the frame that it has anyway."""
    keys = {terms.key(each): each for each in node.args.get("partition_by") or ()}
    made = _without_usual_frame(exp.Window(**{**node.args, "partition_by": [keys[each] for each in sorted(keys)]}))
    if not made.args.get("spec"):  # then a row itself is among those of its window
        made.set("this", counted(made.this))
    return made


def by_place(node: exp.Window) -> exp.Window:
    """A window in whose order no two rows are alike: up to the current row are the rows up to its place."""
    return _without_frame(node, {"kind": "rows", **_UNBOUNDED, "end": "current row"})


def frame(node: exp.Expr) -> exp.Expr:
    """Words without case; a frame ends at the current row unless it says where, and the whole has no kind."""
    given = {part: value for part, value in node.args.items() if value}
    words = {part: value.lower() for part, value in given.items() if isinstance(value, str)}
    found = {"end": "current row", **given, **words}
    return exp.WindowSpec(**(_WHOLE if {**found, "kind": "rows"} == _WHOLE else found))


def _only_branch(node: exp.Expr) -> exp.If | None:
    """The branch of `case when a then b end`; None of any other expression."""
    is_plain = isinstance(node, exp.Case) and node.this is None and not node.args.get("default")
    branches = node.args["ifs"] if is_plain else []
    return branches[0] if len(branches) == 1 else None


def _without_usual_frame(node: exp.Window) -> exp.Window:
    """A window with an order goes up to the current row, any other is the whole."""
    usual = {"kind": "range", **_UNBOUNDED, "end": "current row"} if node.args.get("order") else _WHOLE
    return _without_frame(node, usual)


def _without_frame(node: exp.Window, redundant: Mapping[str, str]) -> exp.Window:
    """A window without its frame, if that is a certain one."""
    spec = node.args.get("spec")
    if spec is None or {part: value for part, value in spec.args.items() if value} != redundant:
        return node
    return exp.Window(**{part: value for part, value in node.args.items() if part != "spec"})
