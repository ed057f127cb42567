"""Conditions in one form, in three-valued logic: each is true, false or null for the same rows as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from headrace.planning.forms import terms
from headrace.planning.forms.durations import TypeOf
from headrace.planning.forms.functions import may_fail, noted
from headrace.planning.forms.types import INTEGERS, is_repeatable

_DENIED: tuple[tuple[type[exp.Binary], type[exp.Binary]], ...] = (
    (exp.GT, exp.LTE),
    (exp.GTE, exp.LT),
    (exp.LT, exp.GTE),
    (exp.LTE, exp.GT),
    (exp.EQ, exp.NEQ),
    (exp.NEQ, exp.EQ),
)
"""What is said by `not` of a comparison; both are null where one side is, and NaN is greater than all numbers."""

COMPARED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)


def in_one_form(node: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """A NOT, AND, OR or IN, whose parts are in one form already."""
    if isinstance(node, exp.Not):
        return _denied(node, type_of)
    if isinstance(node, exp.In):
        return _membership(node.this, node.expressions, type_of) or node
    return _joined(node, type_of) if isinstance(node, (exp.And, exp.Or)) else node


def narrowing(found: Sequence[exp.Expr], type_of: TypeOf) -> list[exp.Expr]:
    """Conditions that must all be true: `a is not null` says nothing beside `a > b`."""
    return not_implied([condition(each, type_of) for each in found])


def not_implied(asked: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Those of some conditions that do not follow from the others."""
    if any(map(may_fail, asked)):
        return [*asked]
    compared = {terms.key(side) for each in asked if isinstance(each, COMPARED) for side in (each.left, each.right)}
    return [each for each in asked if not (compared and _never_null(each) in compared)]


def never_null(asked: Sequence[exp.Expr]) -> frozenset[str]:
    """What is not null in the rows for which some conditions are all true."""
    compared = {terms.key(side) for each in asked if isinstance(each, COMPARED) for side in (each.left, each.right)}
    return frozenset({*compared, *(found for each in asked if (found := _never_null(each)) is not None)})


def asks_for_null(condition: exp.Expr) -> bool:
    """Whether a condition is `a is null`, which is never null itself."""
    return isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)


def _never_null(condition: exp.Expr) -> str | None:
    """What a condition says to be not null."""
    inner = condition.unnest()
    asked = inner.this.unnest() if isinstance(inner, exp.Not) else None
    return terms.key(asked.this) if asked is not None and asks_for_null(asked) else None


def condition(tree: exp.Expr, type_of: TypeOf) -> exp.Expr:
    """What is only asked whether it is true: `coalesce(a, false)` is `a`, if that is a truth value."""
    inner = tree.unnest()
    if isinstance(inner, (exp.And, exp.Or)):
        parts = [*_parts(inner, type(inner))]
        made = [condition(each, type_of) for each in parts]
        made = not_implied(made) if isinstance(inner, exp.And) else made
        is_same = len(made) == len(parts) and all(one is other for one, other in zip(made, parts, strict=True))
        return tree if is_same else in_one_form(_both(type(inner), made), type_of)
    if isinstance(inner, exp.NullSafeEQ) and any(
        isinstance(e.unnest(), exp.Literal) for e in (inner.left, inner.right)
    ):
        return noted(exp.EQ(this=inner.this, expression=inner.expression), type_of)
    is_plain = isinstance(inner, exp.Coalesce) and len(inner.expressions) == 1 and type_of(inner.this) == "boolean"
    other = inner.expressions[0].unnest() if is_plain else None
    return inner.this if isinstance(other, exp.Boolean) and not other.this else tree


def _denied(node: exp.Not, type_of: TypeOf) -> exp.Expr:
    """`not (a > b)` is `a <= b`, `not not a` is `a`, and `not (a and b)` is `not a or not b`."""
    inner = node.this.unnest()
    if isinstance(inner, exp.Boolean):
        return exp.Boolean(this=not inner.this)
    for kind, opposite in _DENIED:
        if type(inner) is kind:
            return noted(opposite(this=inner.this, expression=inner.expression), type_of)
    if isinstance(inner, exp.Not):
        found: exp.Expr = inner.this.unnest()
        return found if type_of(found) == "boolean" else node
    if isinstance(inner, (exp.And, exp.Or)):
        kind = exp.Or if isinstance(inner, exp.And) else exp.And
        parts = [in_one_form(exp.Not(this=each), type_of) for each in (inner.this, inner.expression)]
        return in_one_form(_both(kind, parts), type_of)
    return node


def _joined(node: exp.And | exp.Or, type_of: TypeOf) -> exp.Expr:
    """`a = 1 or a = 2` is `a in (1, 2)`, and `a <> 1 and a <> 2` is `a not in (1, 2)`."""
    found: dict[str, list[exp.Expr]] = {}
    others: list[exp.Expr] = []
    for part in _parts(node, type(node)):
        members = _members(part, isinstance(node, exp.And))
        if members is None or _membership(*members, type_of) is None:
            others.append(part)
        else:
            found.setdefault(terms.key(members[0]), []).extend(
                exp.EQ(this=members[0], expression=e) for e in members[1]
            )
    is_one = len(found) == 1 and not others  # of which all are asked the same, whether that fails or not
    are_free = is_one or not any(map(may_fail, node.iter_expressions()))
    if not are_free or not any(len(each) > 1 for each in found.values()):
        return node
    made = [_of(each, isinstance(node, exp.And), type_of) for each in found.values()]
    return _both(type(node), [*others, *made])


def _of(equalities: Sequence[exp.Expr], is_denied: bool, type_of: TypeOf) -> exp.Expr:
    values = {terms.key(each.expression): each.expression for each in equalities}
    made = _membership(equalities[0].this, [*values.values()], type_of) or equalities[0]
    return in_one_form(exp.Not(this=made), type_of) if is_denied else made


def _members(part: exp.Expr, is_denied: bool) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """The expression that a condition compares with values, and these."""
    part = part.unnest()
    if is_denied and isinstance(part, exp.Not) and isinstance(part.this.unnest(), exp.In):
        part, is_denied = part.this.unnest(), False
    elif is_denied and isinstance(part, exp.In):
        return None
    if isinstance(part, exp.In):
        return part.this, part.expressions
    if not isinstance(part, exp.NEQ if is_denied else exp.EQ):
        return None
    sides = [part.this, part.expression]
    constant = [each for each in sides if isinstance(each.unnest(), exp.Literal)]
    if len(constant) != 1:
        return None
    (other,) = (each for each in sides if each is not constant[0])
    return other, constant


def _membership(of: exp.Expr, values: Sequence[exp.Expr], type_of: TypeOf) -> exp.Expr | None:
    """An IN over values of the very type, so that Spark compares with each as with all; None if that is not certain."""
    literals = [each.unnest() for each in values]
    if not literals or not all(isinstance(each, exp.Literal) for each in literals) or not is_repeatable(of):
        return None
    type_, are_texts = type_of(of), {bool(each.is_string) for each in literals}
    fits = are_texts == {True} if type_ == "string" else are_texts == {False} and type_ in INTEGERS
    if not fits or not all(each.is_string or each.name.isdecimal() for each in literals):
        return None
    if len(literals) == 1:
        return noted(exp.EQ(this=of, expression=literals[0]), type_of)
    return noted(exp.In(this=of, expressions=literals), type_of)


def _parts(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    inner = node.unnest()
    if type(inner) is kind:
        yield from _parts(inner.args["this"], kind)
        yield from _parts(inner.args["expression"], kind)
    else:
        yield node


def _both(kind: type[exp.Connector], parts: Sequence[exp.Expr]) -> exp.Expr:
    made = parts[0]
    for each in parts[1:]:
        made = kind(this=bracketed(made), expression=bracketed(each))
    return made


def bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Connector) else node
