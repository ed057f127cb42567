"""Operators without brackets that sqlglot puts together in another way than Spark does.

Spark has `||` on the level of `+` and `-`, one level for each of `<<`, `&`, `^` and `|`, and one for all comparisons,
which it takes from left to right. Below them are `in`, `like` and `between`. A minus before a number is part of it:
`-1::string` is '-1'.
"""

from __future__ import annotations

from sqlglot import exp

_LEVELS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.Not, exp.And, exp.Or),
    (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    (exp.BitwiseOr,),
    (exp.BitwiseXor,),
    (exp.BitwiseAnd,),
    (exp.BitwiseLeftShift, exp.BitwiseRightShift),
    (exp.Add, exp.Sub, exp.DPipe),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    (exp.Collate,),
)
"""From those that bind least on."""

_LEVEL = {kind: level for level, kinds in enumerate(_LEVELS) for kind in kinds}


def is_certain(node: exp.Expr) -> bool:
    """Whether Spark gives an operator the same operands as sqlglot."""
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Cast) and isinstance(node.this.this, exp.Literal):
        return not node.this.to.is_type(*exp.DataType.TEXT_TYPES)
    level = _LEVEL.get(type(node), 0)
    if not level or not isinstance(node, exp.Binary):
        return True
    left, right = (_LEVEL.get(type(each), len(_LEVELS)) for each in (node.this, node.expression))
    return left >= level and right > level
