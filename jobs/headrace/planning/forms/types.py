"""Types of expressions, where they are certain without Spark; None where they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from sqlglot import exp

from headrace.planning.forms import terms
from headrace.planning.forms.functions import NEVER_FAILING, STRICT
from headrace.planning.forms.terms import Atom
from headrace.project.declarations.fieldtypes import SIMPLE

TypeOf = Callable[[Atom], str | None]
"""The type of a column, of a table or made by a step."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*INTEGERS, "double")
"""Types of numbers, each of which Spark takes for the next where both are there."""

EXACT = (*INTEGERS, "boolean", "date", "timestamp", "string")
"""Types of which two values are the same if they are equal; so are decimals."""

ARRIVALS = "struct<landing_batch:bigint,topic:string,partition:int,offset:bigint>"
"""The type of `_arrival`."""

_TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Boolean)
_TEXTS = (exp.Upper, exp.Lower, exp.Trim, exp.ConcatWs, exp.ArrayToString, exp.JSONFormat)
_TEXTS_OF_TEXTS = (exp.Concat, exp.Substring)
"""Functions that also take arrays or bytes, and then give such."""

_NUMBERS = (*INTEGERS, "float", "double")
_COUNTS = (exp.Count, exp.CountIf)
_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Length, exp.ArraySize)
_OF_ARGUMENT = (exp.Min, exp.Max, exp.Lag, exp.Lead)
_OF_FIRST = ("any_value", "first", "first_value", "last", "last_value", "nullif")
_OF_ARRAYS = ("array_distinct", "array_sort", "filter", "slice", "sort_array")
"""Functions that give elements of an array in one of the same type."""

_OF_ALL = ("greatest", "least")
_CALLS = {
    "bigint": "approx_count_distinct bit_count_agg crc32 unix_micros unix_millis unix_seconds unix_timestamp xxhash64",
    "boolean": "array_contains bool_and bool_or contains endswith exists forall isnan isnotnull isnull startswith",
    "date": "add_months current_date date_add date_sub last_day make_date next_day to_date trunc",
    "double": "acos asin atan corr cos exp ln power sin sqrt stddev_pop stddev_samp tan var_pop var_samp",
    "int": "ascii datediff dayofmonth dayofweek dayofyear hash hour instr minute month quarter second weekofyear year",
    "array<string>": "split",
    "string": "base64 date_format format_string from_unixtime get_json_object hex initcap md5 regexp_extract "
    "regexp_replace sha1 sha2 translate",
    "timestamp": "current_timestamp date_trunc from_utc_timestamp now timestamp_millis timestamp_seconds",
}
SPOKEN = ("string", "boolean", "date", "timestamp", *_NUMBERS)
"""Types whose values become text by themselves."""

_TYPES_OF_CALLS = {name: type_ for type_, names in _CALLS.items() for name in names.split()}
"""The types of functions that give the same one whatever they are called with."""

_WITH_UNITS = ("date_add", "datediff")
"""Functions that have another type where they are called with a unit."""

_OF_ARRAY = ("element_at", "get")
_LENGTHS = ("make_dt_interval", "make_interval", "make_ym_interval")
_OF_THE_CLOCK = ("current_date", "current_timestamp", "now")
CERTAIN = NEVER_FAILING | STRICT | {*_TYPES_OF_CALLS, *_OF_ARRAY, *_LENGTHS} - {*_OF_THE_CLOCK}
"""Functions that give the same value for the same arguments."""

_REPEATABLE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Cast, exp.DataType, exp.Dot, exp.Paren, exp.Neg, exp.Interval),
    *(exp.Add, exp.Sub, exp.Mul, exp.Var, exp.DataTypeParam, exp.Upper, exp.Lower, exp.Trim, exp.Coalesce),
)
"""What has the same value when it is computed twice."""

_STRICT = (
    *(exp.Cast, exp.TryCast, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Not),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Concat, exp.Substring, exp.Trim, exp.Length, exp.Ceil),
    *(exp.Upper, exp.Lower, exp.Abs, exp.Floor),
)
"""What is null wherever one of its operands is null; those that are derived from these are not."""

_OF_NEVER_NULL = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Or, exp.Not)
"""What is never null where none of its operands is."""

_WRAPPERS = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.ArgMax, exp.ArgMin)


_DECIMAL = re.compile(r"decimal(?:\((\d+)\))?")
"""A decimal without its scale, or without both numbers."""


def canonical(type_: str) -> str:
    """A type written without spaces, quotes and capitals, as Spark does in short."""
    text = re.sub(r"[\s`]", "", type_).lower()
    found = _DECIMAL.fullmatch(text)
    return f"decimal({found[1] or 10},0)" if found else SIMPLE.get(text, text)


def spelled(type_: str) -> str:
    """As `canonical`, with the case of the names of fields, which a table keeps."""
    return re.sub(r"[\s`]", "", type_) if "struct<" in type_.lower() else canonical(type_)


@lru_cache(maxsize=1024)
def _written(type_: exp.DataType) -> str:
    """The same few types are written in many casts, and to generate their SQL takes long."""
    return canonical(type_.sql(dialect="databricks"))


def of_atoms(column: TypeOf) -> TypeOf:
    """The types of all columns from those of tables; each is worked out once."""
    known: dict[str, str | None] = {}

    def found(atom: Atom) -> str | None:
        if atom.kind == "column":
            return column(atom)
        if atom.kind == "query":
            return None
        if atom.kind == "generated":
            (made,) = atom.made_of
            return _element(type_of(made.this, found)) if type(made) is exp.Explode else None
        if atom.name not in known:
            known[atom.name] = _common([type_of(each, found) for each in atom.made_of])
        return known[atom.name]

    return found


def type_of(tree: exp.Expr, column: TypeOf) -> str | None:
    """The type of a resolved expression."""
    tree = tree.unnest()
    if "atom" in tree.meta:
        return column(tree.meta["atom"])
    if isinstance(tree, exp.Cast):
        return _written(tree.to)
    if isinstance(tree, exp.Literal):
        return _literal(tree)
    if isinstance(tree, exp.Null):
        return "void"
    if isinstance(tree, _TRUTHS):
        return "boolean"
    if isinstance(tree, _TEXTS):
        return _text(tree)
    if isinstance(tree, _COUNTS):
        return "bigint"
    if isinstance(tree, _RANKS):
        return "int"
    if isinstance(tree, (*_OF_ARGUMENT, *_WRAPPERS)):
        return type_of(tree.this, column)
    if isinstance(tree, exp.Abs):  # of a text it is a number
        return found if (found := type_of(tree.this, column)) in _NUMBERS else None
    if isinstance(tree, exp.Bracket) and len(tree.expressions) == 1:
        return _element(type_of(tree.this, column))
    if isinstance(tree, exp.Dot):
        return _member(type_of(tree.this, column), tree.expression.name)
    return _computed(tree, column)


def is_exact(type_: str | None) -> bool:
    """Whether two values of a type are the same if they are equal."""
    return type_ in EXACT or (type_ or "").startswith("decimal")


def is_repeatable(tree: exp.Expr) -> bool:
    """Whether an expression has the same value when it is computed twice."""
    if "atom" in tree.meta:
        return True
    is_certain = isinstance(tree, exp.Anonymous) and tree.name.lower() in CERTAIN
    return (is_certain or isinstance(tree, _REPEATABLE)) and all(map(is_repeatable, tree.iter_expressions()))


def is_never_null(tree: exp.Expr) -> bool:
    """Whether Spark's schema certainly says that an expression is never null."""
    tree = tree.unnest()
    if "atom" in tree.meta:
        atom = tree.meta["atom"]
        if atom.kind in ("aggregate", "window"):
            return all(map(_is_count, atom.made_of))
        return bool(atom.made_of) and atom.kind in ("key", "side", "union") and all(map(is_never_null, atom.made_of))
    if isinstance(tree, (exp.Window, exp.Filter, exp.Count)):
        return _is_count(tree)
    if isinstance(tree, _OF_NEVER_NULL):
        return all(map(is_never_null, tree.iter_expressions()))
    if isinstance(tree, exp.Coalesce):
        return any(map(is_never_null, (tree.this, *tree.expressions)))
    if isinstance(tree, exp.Case):
        values = [each.args["true"] for each in tree.args["ifs"]] + [tree.args.get("default") or exp.null()]
        return all(map(is_never_null, values))
    return isinstance(tree, (exp.Literal, exp.Boolean, exp.Is, exp.NullSafeEQ))


def _is_count(made: exp.Expr) -> bool:
    """Whether a function of rows counts them, which is 0 of none."""
    while isinstance(made, (exp.Window, exp.Filter)):
        made = made.this
    return isinstance(made, exp.Count)


def is_null_of_nulls(tree: exp.Expr) -> bool:
    """Whether an expression is certainly null where all columns that it is made of are null."""
    tree = tree.unnest()
    if "atom" in tree.meta:
        return tree.meta["atom"].kind != "query" and not is_never_null(tree)
    if isinstance(tree, exp.Case):
        values = [each.args["true"] for each in tree.args["ifs"]] + [tree.args.get("default") or exp.null()]
        return all(map(is_null_of_nulls, values))
    if isinstance(tree, (exp.Coalesce, exp.And, exp.Or)):
        return all(map(is_null_of_nulls, tree.iter_expressions()))
    if isinstance(tree, exp.Dot) or (isinstance(tree, exp.In) and tree.args.get("query") is None):
        return is_null_of_nulls(tree.this)
    is_strict = type(tree) in _STRICT or (isinstance(tree, exp.Anonymous) and tree.name.lower() in STRICT)
    return isinstance(tree, exp.Null) or (is_strict and any(map(is_null_of_nulls, tree.iter_expressions())))


def _computed(tree: exp.Expr, column: TypeOf) -> str | None:
    if isinstance(tree, exp.Sum):
        return _sum(type_of(tree.this, column))
    if isinstance(tree, (exp.Add, exp.Sub)) and any(map(_is_duration, tree.iter_expressions())):
        others = [type_of(each, column) for each in tree.iter_expressions() if not _is_duration(each)]
        return "timestamp" if others == ["timestamp"] else None
    if isinstance(tree, (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Mod)):
        return _arithmetic([type_of(each, column) for each in tree.iter_expressions()])
    if isinstance(tree, exp.Div):
        return "double" if all(type_of(each, column) in _NUMBERS for each in tree.iter_expressions()) else None
    if isinstance(tree, exp.IntDiv):
        return "bigint"
    if isinstance(tree, _TEXTS_OF_TEXTS):
        return _text(tree) if all(type_of(each, column) in SPOKEN for each in _texts(tree)) else None
    if isinstance(tree, exp.Coalesce):
        return _common(type_of(each, column) for each in (tree.this, *tree.expressions))
    if isinstance(tree, exp.If):
        return _common(type_of(each, column) for each in (tree.args["true"], tree.args.get("false")) if each)
    if isinstance(tree, exp.Case):
        results = [each.args["true"] for each in tree.args["ifs"]] + [tree.args.get("default")]
        return _common(type_of(each, column) for each in results if each)
    return _called(tree, column) if isinstance(tree, exp.Anonymous) else None


def _is_duration(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Interval) or (isinstance(tree, exp.Anonymous) and tree.name.lower() in _LENGTHS)


def _called(call: exp.Anonymous, column: TypeOf) -> str | None:
    name, arguments = call.name.lower(), call.expressions
    if name in _OF_FIRST and arguments:
        return type_of(arguments[0], column)
    if name in _OF_ARRAYS and (type_of(arguments[0], column) or "").startswith("array<"):
        return type_of(arguments[0], column)
    if name == "round":  # of a text it is a number
        return found if (found := type_of(arguments[0], column)) in _NUMBERS else None
    if name in _OF_ALL:
        return _common([type_of(each, column) for each in arguments])
    if name == "avg":
        return "double" if type_of(arguments[0], column) in _NUMBERS else None
    if name in ("collect_list", "collect_set"):
        inner = type_of(arguments[0], column)
        return f"array<{inner}>" if inner and inner != "void" else None
    if name in _OF_ARRAY:
        return _element(type_of(arguments[0], column))
    if name in terms.WINDOWS:
        return "struct<start:timestamp,end:timestamp>"
    found = None if name in _WITH_UNITS and len(arguments) > 2 else _TYPES_OF_CALLS.get(name)
    return _text(call, found) if found in ("string", "array<string>") else found


def _element(of: str | None) -> str | None:
    """The type of the elements of an array."""
    return of[6:-1] if of is not None and of.startswith("array<") else None


def _text(tree: exp.Expr, type_: str = "string") -> str | None:
    """What a function makes of texts: one with a collation is of another type."""
    return None if tree.find(exp.Collate) else type_


def _texts(tree: exp.Expr) -> list[exp.Expr]:
    return [tree.this] if isinstance(tree, exp.Substring) else tree.expressions


def _literal(tree: exp.Literal) -> str | None:
    if tree.is_string:
        return "string"
    if tree.name.endswith(terms.OF_DOUBLE):
        return "double"
    if not tree.name.isdecimal():
        return None
    number = int(tree.name)  # the least int is written with a minus before a literal that is none
    return "int" if number < 2**31 else "bigint" if 2**31 < number < 2**63 else None


def _sum(of: str | None) -> str | None:
    if of in INTEGERS:
        return "bigint"
    if of in ("double", "float"):
        return "double"
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", of or "")
    return f"decimal({min(38, int(found[1]) + 10)},{found[2]})" if found else None


def _arithmetic(types: list[str | None]) -> str | None:
    if all(each in INTEGERS for each in types):
        return max(types, key=lambda each: INTEGERS.index(each or ""))
    is_simple = all(each in (*INTEGERS, "float", "double") for each in types)
    return "double" if is_simple and "double" in types else None


def _common(types: Iterable[str | None]) -> str | None:
    """The type that all have; null has every type."""
    found = {each for each in types if each != "void"}
    if len(found) > 1 and found <= {*INTEGERS}:
        return _arithmetic([*found])
    return found.pop() if len(found) == 1 else None


def _member(of: str | None, name: str) -> str | None:
    """The type of a field of a struct; of an array of structs, an array."""
    if of is None:
        return None
    if of.startswith("array<"):
        inner = _member(of[6:-1], name)
        return f"array<{inner}>" if inner else None
    if of.startswith("map<"):
        _, _, value = of[4:-1].partition(",")
        return value if of.startswith(("map<string,", "map<int,", "map<bigint,")) else None
    if not of.startswith("struct<"):
        return None
    return dict(_members(of[7:-1])).get(name.lower())


def _members(text: str) -> Iterable[tuple[str, str]]:
    depth, start = 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            name, _, type_ = text[start:at].partition(":")
            yield name, type_
            start = at + 1
