"""A topic's JSON body as Spark SQL: its type, how it is read, and what may be wrong inside it.

Everything here makes SQL text about the column `value` or about a place within what was read from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from headrace.errors import Finding, InvalidProject
from headrace.project.literals import quoted
from headrace.project.model import Topic
from headrace.spark.columns import type_of

REASONS = (
    "null_key",
    "null_value",
    "bad_key",
    "too_large",
    "not_json",
    "missing_field",
    "wrong_type",
    "duplicate_field",
    "bad_timestamp",
    "time_out_of_range",
)
"""Reject reasons by precedence: the first that applies is reported; a topic's own come after."""

FAULTS = {reason: str(number) for number, reason in enumerate(REASONS, start=1)}
"""The reasons as numbers in SQL: of several faults the smallest counts."""

LONGEST_TEXT = 20_000_000
"""Characters: Spark reads no JSON that contains a longer text."""

VALUE = "cast(value as string)"
WRAPPED = f"concat('{{\"v\":', {VALUE}, '}}')"
"""The value in a wrapping that makes every JSON type readable: `from_json` wants a struct."""

FRACTIONS = (DecimalType, DoubleType, FloatType)
TIMES = (TimestampType, TimestampNTZType, DateType)
_TEXTS = (StringType, *TIMES)
_TOKENS = (*_TEXTS, DecimalType)
_OTHERS = (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, VariantType, MapType)

_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?"
_SHAPES = {"date": _DAY, "timestamp_ntz": f"{_DAY}({_CLOCK})?"}
_SHAPES["timestamp"] = f"{_DAY}({_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_PLACE = re.compile(r"(\w+|`([^`]|``)+`)([.](\w+|`([^`]|``)+`))*")
"""An expression that may be repeated at no cost: a column or a variable, or a field inside it."""
_YEARS = "timestamp'0001-01-02 00:00:00Z' and timestamp'9999-12-31 23:59:59.999999Z'"  # what Python can collect
_BAD = "_bad"

Fault = Callable[[DataType, str], str | None]


def body_type(topic: Topic) -> DataType:
    """Return the type of a topic's value; one that JSON cannot be checked against is refused."""
    body = type_of(topic.ddl)
    for kind in _parts(body):
        if not isinstance(kind, (*_TOKENS, *_OTHERS)):
            message = f"topic {topic.name}: a {kind.simpleString()} cannot be read from JSON. Use string."
            raise InvalidProject([Finding(topic.place, "unsupported-type", message)])
    return body


def document(body: DataType) -> str:
    """The text that is parsed: an object's as it is, since wrapping it costs a tenth of the parsing."""
    return VALUE if isinstance(body, StructType) else WRAPPED


def read(body: DataType) -> str:
    """The body, its times still as text. An object is read from any text: what follows it is ignored."""
    members = _ddl(body, _text_type)
    if isinstance(body, StructType):
        return _from_json(VALUE, members, _unused(_BAD, body.names))
    return f"{_from_json(WRAPPED, f'v {members}')}.v"


def written(body: DataType, place: str, options: str = "") -> str:
    """What was read at a place as `document` would have it."""
    whole = _brief(body, place) if isinstance(body, StructType) else f"named_struct('v', {place})"
    return f"to_json({', '.join(filter(None, (whole, options)))})"


def tokens(body: DataType) -> str:
    """As `read`, with variants that show what each token was, and `_bad` if a token cannot be taken at all."""
    return _from_json(WRAPPED, f"v {_ddl(body, _token_type)}, {_BAD} string")


def lenient(document: str, members: str) -> str:
    """Any JSON as the named members, with `_bad` if it is none."""
    return _from_json(document, f"{members}, {_BAD} string")


def is_present(kind: DataType, place: str) -> str:
    """Whether something other than null was read."""
    return f"schema_of_variant({place}) <> 'VOID'" if isinstance(kind, VariantType) else f"{place} is not null"


def safe_to_read(body: DataType) -> str | None:
    """A condition for bodies with decimals: Spark would write a number such as 1e999999999 out in full."""
    return f"{VALUE} not rlike '[eE][+-]?0*[1-9][0-9]{{2}}'" if holds(body, DecimalType) else None


def typed(body: DataType, place: str) -> str:
    """What was read at a place, with its times parsed from text."""
    if not holds(body, TIMES):
        return place
    match body:
        case ArrayType():
            return f"transform({place}, _each -> {typed(body.elementType, '_each')})"
        case MapType():
            return f"transform_values({place}, (_name, _each) -> {typed(body.valueType, '_each')})"
        case StructType():
            if not _PLACE.fullmatch(place):
                return let("_of", place, typed(body, "_of"))
            return _rebuilt(body, place, typed)
    return _time(body, place)


def worst(body: DataType, place: str, fault: Fault) -> str | None:
    """The smallest fault at any depth of a place; None where no fault is possible."""
    match body:
        case ArrayType():
            inner = worst(body.elementType, "_each", fault)
            return inner and f"array_min(transform({place}, _each -> {inner}))"
        case MapType():
            inner = worst(body.valueType, "_each", fault)
            return inner and f"array_min(transform(map_values({place}), _each -> {inner}))"
        case StructType():
            found = [worst(field.dataType, f"{place}.{name(field.name)}", fault) for field in body.fields]
            faults = list(filter(None, found))
            return f"least({', '.join(faults)})" if len(faults) > 1 else "".join(faults) or None
    return fault(body, place)


def text_fault(kind: DataType, text: str) -> str | None:
    """The fault of a time's text that is not ISO 8601, or is outside years 1 to 9999; null if there is none."""
    if not isinstance(kind, TIMES):
        return None
    iso = f"{text} rlike r'^{_SHAPES[kind.simpleString()]}\\z'"
    good = f"{iso} and coalesce({_time(kind, text)} between {_YEARS}, false)"
    return f"if({text} is null or {good}, null, {FAULTS['bad_timestamp']})"


def token_fault(kind: DataType, token: str) -> str | None:
    """The fault of a token of the wrong type, or of a number that its type cannot hold; null if there is none."""
    wrong, good = FAULTS["wrong_type"], None
    match kind:
        case FloatType() | DoubleType():
            good = f"abs({token}) < double('infinity')"
        case ByteType():
            good = f"{token} between -128 and 127"
        case StringType():
            good = f"schema_of_variant({token}) in ('STRING', 'VOID')"
        case DecimalType():
            good = let("_sort", f"schema_of_variant({token})", _exact(kind, token))
        case TimestampType() | TimestampNTZType() | DateType():
            text = let("_text", f"try_variant_get({token}, '$', 'string')", text_fault(kind, "_text") or "")
            number = "_sort in ('BIGINT', 'DOUBLE') or _sort like 'DECIMAL%'"
            by_sort = f"when {number} then {FAULTS['time_out_of_range']} when _sort <> 'VOID' then {wrong} end"
            return let("_sort", f"schema_of_variant({token})", f"case when _sort = 'STRING' then {text} {by_sort}")
    return good and f"if({token} is null or {good}, null, {wrong})"


def holds(body: DataType, kinds: type[DataType] | tuple[type[DataType], ...]) -> bool:
    """Whether a type has such a part at any depth."""
    return any(isinstance(kind, kinds) for kind in _parts(body))


def let(variable: str, value: str, result: str) -> str:
    """Compute `value` once and name it in `result`: the fold of no elements, the one cheap way in an expression."""
    return f"aggregate(array(), {value}, (_same, _each) -> _same, {variable} -> {result})"


def name(identifier: str) -> str:
    """A quoted SQL identifier."""
    return f"`{identifier.replace('`', '``')}`"


def _brief(kind: DataType, place: str) -> str:
    """The same, with the decimals outside of lists as variants: those are written without zeros at their ends."""
    if isinstance(kind, DecimalType):
        return f"cast({place} as variant)"
    return _rebuilt(kind, place, _brief) if isinstance(kind, StructType) and holds(kind, DecimalType) else place


def _rebuilt(kind: StructType, place: str, member: Callable[[DataType, str], str]) -> str:
    """A struct of what `member` makes of each member's type and place; null where the struct at the place is."""
    members = [f"{quoted(f.name)}, {member(f.dataType, f'{place}.{name(f.name)}')}" for f in kind.fields]
    return f"if({place} is null, null, named_struct({', '.join(members)}))"


def _exact(kind: DecimalType, token: str) -> str:
    # A variant holds a number with an exponent as a double; zero is then an underflow.
    scales = "|".join(map(str, range(kind.scale + 1)))
    fitted, double = (f"try_variant_get({token}, '$', '{sort}')" for sort in (kind.simpleString(), "double"))
    plain = f"_sort = 'BIGINT' or _sort rlike '^DECIMAL.[0-9]+,({scales})[)]'"
    floating = f"_sort = 'DOUBLE' and {double} <> 0 and double({fitted}) = {double}"
    return f"_sort = 'VOID' or {fitted} is not null and ({plain} or {floating})"


def _time(kind: DataType, text: str) -> str:
    if not isinstance(kind, TimestampType):
        return f"try_cast({text} as {kind.simpleString()})"
    # Java writes 12:00Z for a full minute; Spark wants the seconds before a zone.
    full = f"overlay({text} placing ':00' from 17 for 0)"
    return f"coalesce(try_cast({text} as timestamp), try_cast({full} as timestamp))"


def _parts(kind: DataType) -> Iterable[DataType]:
    """The maps and scalars of a type."""
    match kind:
        case ArrayType():
            yield from _parts(kind.elementType)
        case MapType(keyType=StringType()):
            yield from (kind, *_parts(kind.valueType))
        case StructType():
            for field in kind.fields:
                yield from _parts(field.dataType)
        case MapType():
            yield kind.keyType
        case _:
            yield kind


def _from_json(document: str, members: str, bad: str = _BAD) -> str:
    """`bad` names the member that takes a text that is no JSON, if there is such a member."""
    off = "'allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false'"
    return f"from_json({document}, {quoted(members)}, map({off}, 'columnNameOfCorruptRecord', {quoted(bad)}))"


def _unused(name: str, names: Iterable[str]) -> str:
    """A name that is none of these."""
    taken = {*names}
    return next(found for found in (name + "_" * more for more in count()) if found not in taken)


def _ddl(kind: DataType, leaf: Callable[[DataType], str]) -> str:
    match kind:
        case ArrayType():
            return f"array<{_ddl(kind.elementType, leaf)}>"
        case MapType():
            return f"map<string, {_ddl(kind.valueType, leaf)}>"
        case StructType():
            return f"struct<{', '.join(f'{name(f.name)}: {_ddl(f.dataType, leaf)}' for f in kind.fields)}>"
    return leaf(kind)


def _text_type(kind: DataType) -> str:
    return "string" if isinstance(kind, _TEXTS) else kind.simpleString()


def _token_type(kind: DataType) -> str:
    match kind:
        case ByteType():
            return "smallint"  # a byte would wrap
        case VariantType():
            return "string"  # takes anything, also repeated fields, which are another fault
    return "variant" if isinstance(kind, _TOKENS) else kind.simpleString()
