"""The values of a project's variables in a query, as Spark gets them: each with its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from headrace.errors import Place
from headrace.project.literals import is_list


def bound(parameter: exp.Placeholder, value: Any, place: Place | None) -> exp.Expr:
    """What a parameter stands for: the text in an interval, the values in `in (:list)`, else the value."""
    if isinstance(parameter.parent, exp.Interval):
        made: exp.Expr = exp.Literal.string(str(value))
    elif is_list(value) and isinstance(parameter.parent, exp.In):
        made = exp.Tuple(expressions=[exp.convert(each) for each in value] or [exp.null()])
        made.meta["listed"] = True
    else:
        made = _typed(value)
    for each in made.walk():
        each.meta.update(place=place, variable=parameter.name)
    return made


def listed(node: exp.Expr) -> exp.Expr:
    """An IN over the values of a list, if that is what it has got."""
    if isinstance(node, exp.In) and any("listed" in each.meta for each in node.expressions):
        values = (each.expressions if "listed" in each.meta else [each] for each in node.expressions)
        node.set("expressions", [value for found in values for value in found])
    return node


def _typed(value: Any) -> exp.Expr:
    """A value as Spark binds it: a number with a point is a double, and would be a decimal as a literal."""
    if isinstance(value, Mapping):
        ((type_, text),) = value.items()
        return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(type_, dialect="databricks"))
    if isinstance(value, float):
        return exp.Cast(this=exp.convert(value), to=exp.DataType.build("double"))
    if is_list(value):
        return exp.Anonymous(this="array", expressions=[*map(_typed, value)])
    return exp.convert(value)
