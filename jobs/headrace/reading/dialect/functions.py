"""Functions that are known to agree, by the names that Spark has for them; each takes values and gives one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from headrace.reading.dialect import patterns
from headrace.reading.dialect.casts import cast, same, to_text
from headrace.reading.dialect.complaints import NotKnown
from headrace.reading.dialect.operators import arithmetic, compare
from headrace.reading.dialect.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    array,
    decimal,
    duck,
    quoted,
)
from headrace.reading.dialect.values import Value, quoted_text, text, whole, written

Rule = Callable[..., Value]


def _call(name: str, *arguments: Value) -> str:
    return f"{name}({', '.join(value.sql for value in arguments)})"


def _typed(name: str, kinds: Sequence[Type], to: Type) -> Rule:
    """A function of DuckDB whose arguments are cast to some types."""

    def rule(*arguments: Value) -> Value:
        if len(arguments) != len(kinds):
            raise NotKnown(f"a call with {len(arguments)} arguments")
        return Value(_call(name, *map(_implicit, arguments, kinds)), to)

    return rule


def _implicit(value: Value, to: Type) -> Value:
    """An argument as the type that its function takes; only what Spark casts by itself."""
    kind = value.type
    if kind == STRING and to.is_numeric and value.literal is None:
        raise NotKnown(f"a string where a {to} is wanted")
    if to == INT and (kind == BIGINT or kind.is_decimal or kind.is_fractional):
        raise NotKnown(f"a {kind} where an int is wanted")
    return cast(value, to)


def _moment(value: Value) -> Value:
    if value.type == STRING and value.literal is None:
        raise NotKnown("a string where a time is wanted")
    return cast(value, TIMESTAMP) if value.type != DATE else value


def _part(field: str, add: str = "") -> Rule:
    def rule(value: Value) -> Value:
        return Value(f"CAST((date_part('{field}', {_moment(value).sql}){add}) AS INTEGER)", INT)

    return rule


def _clock(field: str) -> Rule:
    def rule(value: Value) -> Value:
        return Value(f"CAST(date_part('{field}', {cast(_moment(value), TIMESTAMP).sql}) AS INTEGER)", INT)

    return rule


PARTS: Mapping[str, Rule] = {
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "week": _part("week"),
    "day": _part("day"),
    "dayofweek": _part("dow", " + 1"),
    "doy": _part("doy"),
    "hour": _clock("hour"),
    "minute": _clock("minute"),
}
"""Fields of `extract`."""

_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mm", "mon"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    **{unit: unit for unit in ("hour", "minute", "second", "millisecond", "microsecond")},
}


def _date_trunc(unit: Value, moment: Value) -> Value:
    name = _unit(unit)
    return Value(f"CAST(date_trunc('{name}', {cast(_moment(moment), TIMESTAMP).sql}) AS TIMESTAMP)", TIMESTAMP)


def _trunc(day: Value, unit: Value) -> Value:
    name = _unit(unit)
    if name not in ("year", "quarter", "month", "week") or not day.type.is_time:
        raise NotKnown(f"trunc to {name}")
    return Value(f"CAST(date_trunc('{name}', {cast(day, DATE).sql}) AS DATE)", DATE)


def _unit(value: Value) -> str:
    name = written(value, "a unit").lower()
    if name not in _UNITS:
        raise NotKnown(f"the unit {name}")
    return _UNITS[name]


def _day(value: Value) -> Value:
    if value.type == STRING and value.literal is None:
        raise NotKnown("a string where a date is wanted")
    return cast(value, DATE)


def _date_add(day: Value, days: Value) -> Value:
    return arithmetic("add", _day(day), _implicit(days, INT))


def _date_sub(day: Value, days: Value) -> Value:
    return arithmetic("subtract", _day(day), _implicit(days, INT))


def _datediff(end: Value, start: Value) -> Value:
    return Value(f"CAST(({_day(end).sql} - {_day(start).sql}) AS INTEGER)", INT)


def _add_months(day: Value, months: Value) -> Value:
    return Value(f"CAST(({_day(day).sql} + to_months({_implicit(months, INT).sql})) AS DATE)", DATE)


def _to_date(value: Value, *form: Value) -> Value:
    if not form:
        return cast(value, DATE)
    return cast(_read(value, form[0]), DATE)


def _to_timestamp(value: Value, *form: Value) -> Value:
    return _read(value, form[0]) if form else cast(value, TIMESTAMP)


def _read(value: Value, form: Value) -> Value:
    if value.type != STRING:
        raise NotKnown(f"a format for a {value.type}")
    pattern, shape = patterns.read_format(written(form, "a format"))
    return Value(f"spark_read({value.sql}, {quoted_text(shape)}, {quoted_text(pattern)})", TIMESTAMP)


def _date_format(value: Value, form: Value) -> Value:
    pattern = patterns.written_format(written(form, "a format"))
    return Value(f"spark_written({cast(_moment(value), TIMESTAMP).sql}, {quoted_text(pattern)})", STRING)


def _from_unixtime(value: Value) -> Value:
    moment = cast(_implicit(value, BIGINT), TIMESTAMP)
    return Value(f"spark_written({moment.sql}, '%Y-%m-%d %H:%M:%S')", STRING)


def _unix_timestamp(value: Value) -> Value:
    return Value(f"(epoch_us({cast(_moment(value), TIMESTAMP).sql}) // 1000000)", BIGINT)  # towards 0, unlike a cast


def _of_epoch(factor: int) -> Rule:
    def rule(value: Value) -> Value:
        if not value.type.is_integral:
            raise NotKnown(f"a time of {value.type}")
        return Value(f"spark_moment(CAST({value.sql} AS HUGEINT) * {factor})", TIMESTAMP)

    return rule


def _to_epoch(divisor: int) -> Rule:
    def rule(value: Value) -> Value:
        if value.type != TIMESTAMP:
            raise NotKnown(f"a number of a {value.type}")
        return Value(f"spark_floor_div(epoch_us({value.sql}), {divisor})", BIGINT)

    return rule


def _concat(*arguments: Value) -> Value:
    if not arguments:
        return text("")
    if any(value.type.name == "array" for value in arguments):
        return _joined(arguments)
    return Value("(" + " || ".join(to_text(value).sql for value in arguments) + ")", STRING)


def _joined(arrays: Sequence[Value]) -> Value:
    if len({value.type for value in arrays}) > 1:
        raise NotKnown("concat of arrays of several types")
    absent = " OR ".join(f"{value.sql} IS NULL" for value in arrays)
    return Value(f"CASE WHEN {absent} THEN NULL ELSE {' || '.join(value.sql for value in arrays)} END", arrays[0].type)


def _concat_ws(*arguments: Value) -> Value:
    return Value(_call("concat_ws", *map(to_text, arguments)), STRING) if len(arguments) > 1 else _no("concat_ws")


def _no(what: str) -> Value:
    raise NotKnown(what)


def substring(value: Value, start: Value, *length: Value) -> Value:
    most = _implicit(length[0], INT).sql if length else "2147483647"
    return Value(f"spark_substring({to_text(value).sql}, {_implicit(start, INT).sql}, {most})", STRING)


def _length(value: Value) -> Value:
    return Value(f"CAST(length({to_text(value).sql}) AS INTEGER)", INT)


def _left(value: Value, count: Value) -> Value:
    return Value(f"spark_substring({to_text(value).sql}, 1, {_implicit(count, INT).sql})", STRING)


def _right(value: Value, count: Value) -> Value:
    return Value(f"spark_right({to_text(value).sql}, {_implicit(count, INT).sql})", STRING)


def position(wanted: Value, within: Value) -> Value:
    return Value(f"spark_instr({to_text(within).sql}, {to_text(wanted).sql})", INT)


def _pad(name: str) -> Rule:
    def rule(value: Value, count: Value, *fill: Value) -> Value:
        pad = written(fill[0], "a fill") if fill else " "
        most = whole(count, "a length")
        if not pad or most < 0:
            raise NotKnown("a length below 0, or no fill,")
        return Value(f"{name}({to_text(value).sql}, {most}, {quoted_text(pad)})", STRING)

    return rule


def _trim(name: str) -> Rule:
    def rule(value: Value) -> Value:
        return Value(f"{name}({to_text(value).sql}, ' ')", STRING)

    return rule


def trimmed(value: Value, side: str, letters: str) -> Value:
    """`trim(both 'x' from y)`."""
    name = {"BOTH": "trim", "": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    return Value(f"{name}({to_text(value).sql}, {quoted_text(letters)})", STRING)


def _repeat(value: Value, count: Value) -> Value:
    return Value(f"repeat({to_text(value).sql}, greatest({_implicit(count, INT).sql}, 0))", STRING)


def _replace(value: Value, wanted: Value, *instead: Value) -> Value:
    if not written(wanted, "what is replaced"):
        raise NotKnown("replace of an empty text")
    put = to_text(instead[0]) if instead else text("")
    return Value(_call("replace", to_text(value), wanted, put), STRING)


def _split(value: Value, by: Value) -> Value:
    pattern = _filled(by)
    name = "string_split" if patterns.plain(pattern) else "string_split_regex"
    found = pattern if name == "string_split" else patterns.regex(pattern)
    return Value(f"{name}({_ended(value, pattern)}, {quoted_text(found)})", array(STRING))


def _split_part(value: Value, by: Value, at: Value) -> Value:
    number = whole(at, "a number of a part")
    if not number or not written(by, "a separator"):
        raise NotKnown("split_part by nothing, or its part 0,")
    return Value(f"split_part({to_text(value).sql}, {by.sql}, {number})", STRING)


def _filled(pattern: Value) -> str:
    found = written(pattern, "a regular expression")
    if patterns.regex(found) and patterns.matches_nothing(found):
        raise NotKnown(f"the regular expression {found}, which also matches nothing,")
    return found if found else _no("an empty regular expression").sql


def _ended(value: Value, pattern: str) -> str:
    """The text to search; where the pattern has a `$`, none that ends with a line's end."""
    sql = to_text(value).sql
    return f"spark_one_line({sql})" if patterns.has_end(pattern) else sql


def matches(value: Value, pattern: Value) -> Value:
    found = written(pattern, "a regular expression")
    sql = f"regexp_matches({_ended(value, found)}, {quoted_text(patterns.regex(found))})"
    return Value(sql, BOOLEAN)


def _regexp_replace(value: Value, pattern: Value, instead: Value) -> Value:
    found = _filled(pattern)
    put = patterns.replacement(written(instead, "a replacement"), patterns.groups(found))
    arguments = (_ended(value, found), quoted_text(patterns.regex(found)), quoted_text(put), "'g'")
    return Value(f"regexp_replace({', '.join(arguments)})", STRING)


def _regexp_extract(value: Value, pattern: Value, *group: Value) -> Value:
    found = written(pattern, "a regular expression")
    number = whole(group[0], "a number of a group") if group else 1
    if not 0 <= number <= patterns.groups(found):
        raise NotKnown(f"group {number} of {found}")
    sql = f"regexp_extract({_ended(value, found)}, {quoted_text(patterns.regex(found))}, {number})"
    return Value(sql, STRING)


def like(value: Value, pattern: Value, escape: str, any_case: bool) -> Value:
    found = patterns.like(written(pattern, "a pattern"), escape)
    subject, shape = to_text(value).sql, quoted_text(found)
    if any_case:
        subject, shape = f"spark_lower({subject})", f"spark_lower({shape})"
    return Value(f"({subject} LIKE {shape} ESCAPE {quoted_text(escape)})", BOOLEAN)


def _abs(value: Value) -> Value:
    _number(value)
    return Value(f"CAST(abs({value.sql}) AS {duck(value.type)})", value.type)


def _number(value: Value) -> Value:
    return value if value.type.is_numeric and value.type.name != "float" else _no(f"a number of a {value.type}")


def _edge(name: str) -> Rule:
    def rule(value: Value) -> Value:
        kind = _number(value).type
        if kind.is_integral:
            return cast(value, BIGINT)
        if kind == DOUBLE:
            return Value(f"spark_whole_double({name}({value.sql}))", BIGINT)
        to = decimal(kind.numbers[0] - kind.numbers[1] + 1, 0)
        return Value(f"CAST({name}({value.sql}) AS {duck(to)})", to)

    return rule


def _round(value: Value, *digits: Value) -> Value:
    kind, places = _number(value).type, whole(digits[0], "a number of digits") if digits else 0
    if not 0 <= places <= 7:
        raise NotKnown(f"round to {places} digits")
    if kind.is_integral:
        return value
    if kind == DOUBLE:
        return Value(f"spark_round({value.sql}, {places})", DOUBLE)
    precision, scale = kind.numbers
    result_scale = min(scale, places)
    to = decimal(min(precision - scale + 1 + result_scale, 38), result_scale)
    return Value(f"CAST(round({value.sql}, {result_scale}) AS {duck(to)})", to)


def _logarithm(base: str) -> Rule:
    def rule(value: Value) -> Value:
        return Value(f"spark_ln({cast(_number(value), DOUBLE).sql}){base}", DOUBLE)

    return rule


def _log(*arguments: Value) -> Value:
    if len(arguments) == 1:
        return _logarithm("")(*arguments)
    base, value = (cast(_number(each), DOUBLE).sql for each in arguments)
    return Value(f"(spark_ln({value}) / spark_ln({base}))", DOUBLE)


def _of_double(name: str) -> Rule:
    def rule(*arguments: Value) -> Value:
        return Value(_call(name, *(cast(_number(value), DOUBLE) for value in arguments)), DOUBLE)

    return rule


def _coalesce(*arguments: Value) -> Value:
    found = same([*arguments])
    return Value(_call("coalesce", *found), found[0].type)


def _two(rule: Rule) -> Rule:
    return lambda one, other: rule(one, other)


def choose(condition: Value, then: Value, otherwise: Value) -> Value:
    then, otherwise = same([then, otherwise])
    return Value(f"CASE WHEN {truth(condition).sql} THEN {then.sql} ELSE {otherwise.sql} END", then.type)


def truth(value: Value) -> Value:
    """A value that must be a condition."""
    if value.type.name not in ("boolean", "null"):
        raise NotKnown(f"a {value.type} for a condition")
    return cast(value, BOOLEAN)


def _nvl2(value: Value, then: Value, otherwise: Value) -> Value:
    return choose(Value(f"({value.sql} IS NOT NULL)", BOOLEAN), then, otherwise)


def _nullif(one: Value, other: Value) -> Value:
    equal = compare("=", one, other)
    return Value(f"CASE WHEN {equal.sql} THEN NULL ELSE {one.sql} END", one.type)


def _extreme(name: str) -> Rule:
    def rule(*arguments: Value) -> Value:
        found = same([*arguments])
        if len(found) < 2 or not found[0].type.is_plain:
            raise NotKnown(f"{name} of {found[0].type}")
        return Value(_call(name, *found), found[0].type)

    return rule


def _pmod(left: Value, right: Value) -> Value:
    found = arithmetic("remainder", left, right)
    if not found.type.is_integral:
        raise NotKnown(f"pmod of {found.type}")
    divisor = cast(right, found.type)
    return Value(f"CAST(spark_pmod({found.sql}, {divisor.sql}) AS {duck(found.type)})", found.type)


def _size(value: Value) -> Value:
    match value.type.name:
        case "array":
            return Value(f"CAST(len({value.sql}) AS INTEGER)", INT)
        case "map":
            return Value(f"CAST(cardinality({value.sql}) AS INTEGER)", INT)
    return _no(f"the size of a {value.type}")


def _array(*arguments: Value) -> Value:
    if not arguments:
        raise NotKnown("an array of nothing")
    found = same([*arguments])
    if found[0].type.name == "null":
        raise NotKnown("an array of nulls")
    return Value(f"[{', '.join(value.sql for value in found)}]", array(found[0].type))


def _list(value: Value) -> Value:
    if value.type.name != "array" or not value.type.element.is_plain:
        raise NotKnown(f"a {value.type} for an array of plain values")
    return value


def _element(value: Value, wanted: Value) -> tuple[str, str]:
    kind = _list(value).type.element
    if kind != wanted.type and not (kind.is_numeric and wanted.type.is_integral and kind.is_integral):
        raise NotKnown(f"a {wanted.type} in an array of {kind}")
    if kind.is_integral:
        kinds = sorted((kind, wanted.type), key=lambda each: ("tinyint", "smallint", "int", "bigint").index(each.name))
        return cast_list(value, kinds[1]), cast(wanted, kinds[1]).sql
    return value.sql, wanted.sql


def cast_list(value: Value, to: Type) -> str:
    return value.sql if value.type.element == to else f"CAST({value.sql} AS {duck(to)}[])"


def _array_contains(value: Value, wanted: Value) -> Value:
    return Value(f"spark_contains({', '.join(_element(value, wanted))})", BOOLEAN)


def _array_position(value: Value, wanted: Value) -> Value:
    return Value(f"spark_position({', '.join(_element(value, wanted))})", BIGINT)


def _array_join(value: Value, by: Value) -> Value:
    if _list(value).type.element != STRING:
        raise NotKnown(f"array_join of {value.type.element}")
    return Value(f"spark_join({value.sql}, {to_text(by).sql})", STRING)


def _sort_array(value: Value, *up: Value) -> Value:
    down = up and up[0].sql == "FALSE"
    if up and up[0].sql not in ("TRUE", "FALSE"):
        raise NotKnown("a direction that is not written out")
    order = "'DESC', 'NULLS LAST'" if down else "'ASC', 'NULLS FIRST'"
    return Value(f"list_sort({_list(value).sql}, {order})", value.type)


def _of_list(name: str) -> Rule:
    def rule(value: Value) -> Value:
        return Value(f"{name}({_list(value).sql})", value.type.element)

    return rule


def item(value: Value, at: Value, name: str) -> Value:
    """An element: `[i]` counts from 0, element_at from 1; Spark's ANSI mode takes no place that there is not."""
    if value.type.name == "map":
        key = value.type.parts[0][1]
        if not key.is_plain:
            raise NotKnown(f"a map by {key}")
        wanted = cast(at, key) if at.type == key or (at.type.is_integral and key.is_integral) else _no("another key")
        return Value(f"map_extract_value({value.sql}, {wanted.sql})", value.type.element)
    if value.type.name != "array" or not at.type.is_integral:
        raise NotKnown(f"an element of a {value.type} by a {at.type}")
    return Value(f"{name}({value.sql}, {cast(at, BIGINT).sql})", value.type.element)


def _keys(value: Value) -> Value:
    return Value(f"map_keys({value.sql})", array(value.type.parts[0][1])) if value.type.name == "map" else _no("a key")


def _values(value: Value) -> Value:
    return Value(f"map_values({value.sql})", array(value.type.element)) if value.type.name == "map" else _no("a value")


def _map(*arguments: Value) -> Value:
    if not arguments or len(arguments) % 2:
        raise NotKnown("map of an odd number of arguments")
    keys, values = same([*arguments[::2]]), same([*arguments[1::2]])
    pairs = ", ".join(f"{key.sql}: {value.sql}" for key, value in zip(keys, values, strict=True))
    kind = Type("map", (), (("key", keys[0].type), ("value", values[0].type)))
    return Value(f"CAST(MAP {{{pairs}}} AS {duck(kind)})", kind)


def _named_struct(*arguments: Value) -> Value:
    names = [written(value, "a name") for value in arguments[::2]]
    return struct(names, arguments[1::2])


def struct(names: Sequence[str], values: Sequence[Value]) -> Value:
    if not values or len(names) != len(values):
        raise NotKnown("a struct of this form")
    fields = ", ".join(f"{quoted(name)} := {value.sql}" for name, value in zip(names, values, strict=True))
    kind = Type("struct", (), tuple(zip(names, (value.type for value in values), strict=True)))
    return Value(f"struct_pack({fields})", kind)


def _is_null(value: Value) -> Value:
    return Value(f"({value.sql} IS NULL)", BOOLEAN)


def _make_date(*arguments: Value) -> Value:
    return Value(_call("make_date", *(cast(_implicit(each, INT), BIGINT) for each in arguments)), DATE)


def _as(kind: Type) -> Rule:
    return lambda value: cast(value, kind)


def _sha2(value: Value, bits: Value) -> Value:
    if bits.literal != 256:
        raise NotKnown("sha2 of other than 256 bits")
    return Value(f"sha256({to_text(value).sql})", STRING)


_ONE, _TWO = (STRING,), (STRING, STRING)

FUNCTIONS: Mapping[str, Rule] = {
    "abs": _abs,
    "add_months": _add_months,
    "array": _array,
    "array_contains": _array_contains,
    "array_join": _array_join,
    "array_max": _of_list("list_max"),
    "array_min": _of_list("list_min"),
    "array_position": _array_position,
    "array_size": _size,
    "bigint": _as(BIGINT),
    "boolean": _as(BOOLEAN),
    "btrim": _trim("trim"),
    "cardinality": _size,
    "ceil": _edge("ceil"),
    "ceiling": _edge("ceil"),
    "char_length": _length,
    "character_length": _length,
    "coalesce": _coalesce,
    "concat": _concat,
    "concat_ws": _concat_ws,
    "contains": _typed("contains", _TWO, BOOLEAN),
    "date": _as(DATE),
    "date_add": _date_add,
    "date_diff": _datediff,
    "date_format": _date_format,
    "date_sub": _date_sub,
    "date_trunc": _date_trunc,
    "dateadd": _date_add,
    "datediff": _datediff,
    "day": _part("day"),
    "dayofmonth": _part("day"),
    "dayofweek": _part("dow", " + 1"),
    "dayofyear": _part("doy"),
    "double": _as(DOUBLE),
    "element_at": lambda value, at: item(value, at, "spark_element_at"),
    "endswith": _typed("suffix", _TWO, BOOLEAN),
    "exp": _of_double("exp"),
    "floor": _edge("floor"),
    "from_unixtime": _from_unixtime,
    "get": lambda value, at: item(value, at, "spark_get") if value.type.name == "array" else _no("get of a map"),
    "greatest": _extreme("greatest"),
    "hour": _clock("hour"),
    "if": choose,
    "iff": choose,
    "ifnull": _two(_coalesce),
    "initcap": _typed("spark_initcap", _ONE, STRING),
    "instr": lambda within, wanted: position(wanted, within),
    "int": _as(INT),
    "isnotnull": lambda value: Value(f"({value.sql} IS NOT NULL)", BOOLEAN),
    "isnan": lambda value: Value(f"coalesce(isnan({cast(_number(value), DOUBLE).sql}), FALSE)", BOOLEAN),
    "isnull": _is_null,
    "lcase": _typed("spark_lower", _ONE, STRING),
    "least": _extreme("least"),
    "left": _left,
    "len": _length,
    "length": _length,
    "ln": _logarithm(""),
    "locate": _two(position),
    "log": _log,
    "log10": _of_double("spark_log10"),
    "log2": _logarithm(" / ln(2.0::DOUBLE)"),
    "lower": _typed("spark_lower", _ONE, STRING),
    "lpad": _pad("lpad"),
    "ltrim": _trim("ltrim"),
    "make_date": _make_date,
    "map": _map,
    "map_contains_key": lambda value, key: Value(
        f"spark_contains({_keys(value).sql}, {cast(key, value.type.parts[0][1]).sql})", BOOLEAN
    ),
    "map_keys": _keys,
    "map_values": _values,
    "md5": _typed("md5", _ONE, STRING),
    "minute": _clock("minute"),
    "mod": lambda left, right: arithmetic("remainder", left, right),
    "month": _part("month"),
    "named_struct": _named_struct,
    "negative": lambda value: arithmetic("subtract", cast(Value("0", INT, 0), value.type), value),
    "nullif": _nullif,
    "nvl": _two(_coalesce),
    "nvl2": _nvl2,
    "pmod": _pmod,
    "position": _two(position),
    "pow": _of_double("pow"),
    "power": _of_double("pow"),
    "quarter": _part("quarter"),
    "regexp": matches,
    "regexp_extract": _regexp_extract,
    "regexp_like": matches,
    "regexp_replace": _regexp_replace,
    "repeat": _repeat,
    "replace": _replace,
    "reverse": _typed("spark_reverse", _ONE, STRING),
    "right": _right,
    "rlike": matches,
    "round": _round,
    "rpad": _pad("rpad"),
    "rtrim": _trim("rtrim"),
    "second": _clock("second"),
    "sha2": _sha2,
    "sign": _of_double("spark_sign"),
    "signum": _of_double("spark_sign"),
    "size": _size,
    "sort_array": _sort_array,
    "split": _split,
    "split_part": _split_part,
    "sqrt": _of_double("spark_sqrt"),
    "startswith": _typed("starts_with", _TWO, BOOLEAN),
    "string": _as(STRING),
    "substr": substring,
    "substring": substring,
    "timestamp": _as(TIMESTAMP),
    "timestamp_micros": _of_epoch(1),
    "timestamp_millis": _of_epoch(1000),
    "timestamp_seconds": _of_epoch(1_000_000),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "trim": _trim("trim"),
    "trunc": _trunc,
    "ucase": _typed("spark_upper", _ONE, STRING),
    "unix_date": lambda value: _datediff(value, Value("DATE '1970-01-01'", DATE)),
    "unix_micros": _to_epoch(1),
    "unix_millis": _to_epoch(1000),
    "unix_seconds": _to_epoch(1_000_000),
    "unix_timestamp": _unix_timestamp,
    "upper": _typed("spark_upper", _ONE, STRING),
    "weekday": _part("isodow", " - 1"),
    "weekofyear": _part("week"),
    "year": _part("year"),
}
"""The functions that are supported; all others are left to Spark."""
