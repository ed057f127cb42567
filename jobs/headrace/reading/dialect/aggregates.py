"""Aggregates and window functions that are known to agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.reading.dialect.casts import cast, same
from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.functions import truth
from headrace.reading.dialect.operators import average
from headrace.reading.dialect.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, Type, array, decimal, duck
from headrace.reading.dialect.values import Value, whole

Aggregate = Callable[[Sequence[Value], bool, str], Value]
"""Takes the arguments, whether only distinct ones count, and what follows the call: FILTER and OVER."""


def _count(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    word = "DISTINCT " if distinct else ""
    if not arguments:
        return Value(f"count(*){tail}", BIGINT)
    if any(not value.type.is_plain for value in arguments) and distinct:
        raise NotKnown("count of distinct nested values")
    if len(arguments) == 1:
        return Value(f"count({word}{arguments[0].sql}){tail}", BIGINT)
    absent = " OR ".join(f"{value.sql} IS NULL" for value in arguments)
    row = f"row({', '.join(value.sql for value in arguments)})"
    return Value(f"count({word}CASE WHEN {absent} THEN NULL ELSE {row} END){tail}", BIGINT)


def _sum(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    (value,) = arguments
    word = "DISTINCT " if distinct else ""
    if value.type.is_integral:
        kind = BIGINT
    elif value.type.is_decimal:
        precision, scale = value.type.numbers
        kind = decimal(min(precision + 10, 38), scale)
    elif value.type == DOUBLE:
        kind = DOUBLE
    else:
        raise NotKnown(f"a sum of {value.type}")
    return Value(f"CAST(sum({word}{value.sql}){tail} AS {duck(kind)})", kind)


def _avg(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    (value,) = arguments
    if value.type.is_decimal:
        return _exact_avg(value, distinct, tail)
    if not (value.type.is_integral or value.type == DOUBLE):
        raise NotKnown(f"an average of {value.type}")
    word = "DISTINCT " if distinct else ""
    return Value(f"avg({word}{cast(value, DOUBLE).sql}){tail}", DOUBLE)


def _exact_avg(value: Value, distinct: bool, tail: str) -> Value:
    precision, scale = value.type.numbers
    total, counted = _sum([value], distinct, tail), _count([value], distinct, tail)
    return average(total, counted.sql, decimal(precision + 4, scale + 4))


def _extreme(name: str) -> Aggregate:
    def rule(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
        (value,) = arguments
        if not value.type.is_plain:
            raise NotKnown(f"{name} of {value.type}")
        return Value(f"{name}({value.sql}){tail}", value.type)

    return rule


def _count_if(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    (value,) = arguments
    if distinct:
        raise NotKnown("count_if of distinct values")
    return Value(f"count(CASE WHEN {truth(value).sql} THEN 1 END){tail}", BIGINT)


def _logical(name: str) -> Aggregate:
    def rule(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
        (value,) = arguments
        return Value(f"{name}({truth(value).sql}){tail}", BOOLEAN)

    return rule


def collected(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    """`collect_list`, whose order is undefined: only for results that do not depend on it."""
    (value,) = arguments
    if tail or not value.type.is_plain or value.type == NULL:
        raise NotKnown(f"collect_list of {value.type}")
    word = "DISTINCT " if distinct else ""
    kind = array(value.type)
    sql = f"coalesce(list({word}{value.sql}) FILTER ({value.sql} IS NOT NULL), CAST([] AS {duck(kind)}))"
    return Value(sql, kind)


AGGREGATES: Mapping[str, Aggregate] = {
    "any": _logical("bool_or"),
    "avg": _avg,
    "bool_and": _logical("bool_and"),
    "bool_or": _logical("bool_or"),
    "count": _count,
    "count_if": _count_if,
    "every": _logical("bool_and"),
    "max": _extreme("max"),
    "mean": _avg,
    "min": _extreme("min"),
    "some": _logical("bool_or"),
    "sum": _sum,
}


def _numbered(name: str, kind: Type) -> Aggregate:
    def rule(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
        if arguments or "ORDER BY" not in tail:
            raise NotKnown(f"{name} without an order")
        return Value(f"CAST({name}(){tail} AS {duck(kind)})", kind)

    return rule


def _ntile(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
    (value,) = arguments
    if "ORDER BY" not in tail or whole(value, "a number of parts") < 1:
        raise NotKnown("ntile without an order")
    return Value(f"CAST(ntile({value.literal}){tail} AS INTEGER)", INT)


def _neighbour(name: str) -> Aggregate:
    def rule(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
        if "ORDER BY" not in tail or not 1 <= len(arguments) <= 3:
            raise NotKnown(f"{name} without an order")
        away = whole(arguments[1], "a distance") if len(arguments) > 1 else 1
        if len(arguments) < 3:
            return Value(f"{name}({arguments[0].sql}, {away}){tail}", arguments[0].type)
        value, default = same([arguments[0], arguments[2]])
        if value.type != arguments[0].type:
            raise NotKnown(f"{name} of {arguments[0].type} with a default of {arguments[2].type}")
        return Value(f"{name}({value.sql}, {away}, {default.sql}){tail}", value.type)

    return rule


def _edge(name: str) -> Aggregate:
    def rule(arguments: Sequence[Value], distinct: bool, tail: str) -> Value:
        if "ORDER BY" not in tail or len(arguments) != 1:
            raise NotKnown(f"{name} without an order")
        return Value(f"{name}({arguments[0].sql}){tail}", arguments[0].type)

    return rule


WINDOWED: Mapping[str, Aggregate] = {
    "cume_dist": _numbered("cume_dist", DOUBLE),
    "dense_rank": _numbered("dense_rank", INT),
    "first_value": _edge("first_value"),
    "lag": _neighbour("lag"),
    "last_value": _edge("last_value"),
    "lead": _neighbour("lead"),
    "ntile": _ntile,
    "percent_rank": _numbered("percent_rank", DOUBLE),
    "rank": _numbered("rank", INT),
    "row_number": _numbered("row_number", INT),
}
"""Functions of a window only."""
