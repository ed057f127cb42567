"""Classification: each landed record is usable or has one reject reason, in plain Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
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
    TimestampType,
)

from headrace.errors import Finding, InvalidProject
from headrace.project.model import Topic

REASONS = (
    "null_key",
    "null_value",
    "bad_key",
    "not_json",
    "missing_field",
    "wrong_type",
    "duplicate_field",
    "bad_timestamp",
    "time_out_of_range",
)
"""Reject reasons in the order in which the first that applies is given; a topic's own come after."""

_FAULTS = {reason: number for number, reason in enumerate(REASONS, start=1)}
_EARLIEST = "timestamp'2000-01-01 00:00:00Z'"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ZONE = "(Z|[+-][0-9]{2}:?[0-9]{2})?"
_MOMENT = f"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,9}})?)?{_ZONE})?"
_YEARS = "timestamp'0001-01-01 00:00:00Z' and timestamp'9999-12-31 23:59:59.999999Z'"
_STRICT = "map('allowNonNumericNumbers', 'false', 'allowSingleQuotes', 'false', 'columnNameOfCorruptRecord', '_bad')"
_PAIRED_ESCAPE = (
    r"r'\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[^u])'"
)
_TIMES = (TimestampType, DateType)
_AS_TEXT = (StringType, *_TIMES)
_AS_TOKEN = (*_AS_TEXT, DecimalType)
_AS_THEMSELVES = (BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)


def classify(frame: DataFrame, topics: Iterable[Topic], landed_at: datetime | Column) -> DataFrame:
    """Give Kafka's rows the columns of a landing: text, bytes that are no text, event time, reject reason.

    A rejected row has no event time. No input makes the query fail.
    """
    verdict = F.lit(None).cast("struct<event_time: timestamp, reject_reason: string>")
    for topic in topics:
        verdict = F.when(F.col("topic") == topic.topic, F.expr(_verdict(topic))).otherwise(verdict)
    return (
        frame.withColumns(
            {
                "key": F.expr("make_valid_utf8(cast(key as string))"),
                "value": F.expr("make_valid_utf8(cast(value as string))"),
                "_key_bytes": F.expr("if(is_valid_utf8(cast(key as string)), null, key)"),
                "_value_bytes": F.expr("if(is_valid_utf8(cast(value as string)), null, value)"),
                "landed_at": landed_at if isinstance(landed_at, Column) else F.lit(landed_at),
            }
        )
        .withColumn("_verdict", verdict)
        .withColumns({"event_time": F.col("_verdict.event_time"), "reject_reason": F.col("_verdict.reject_reason")})
        .drop("_verdict")
    )


def parsed(topic: Topic) -> Column:
    """Return the typed `data` of a usable row, read from its stored `value`; null where that is null."""
    return F.expr(_typed(_body(topic), f"{_read(topic)}.v"))


def _verdict(topic: Topic) -> str:
    """One struct of event time and reason; the dear checks run only for rows that look unusual."""
    cases = [] if topic.null_key else [("key is null", "null_key")]
    cases += [] if topic.null_value else [("value is null", "null_value")]
    cases += [("_key_bytes is not null", "bad_key"), ("_value_bytes is not null", "not_json")]
    whens = " ".join(f"when {condition} then {_rejected(_quoted(reason))}" for condition, reason in cases)
    return f"case {whens} else {_judged(topic)} end"


def _judged(topic: Topic) -> str:
    data, safe = _read(topic), _safe_to_read(_body(topic))
    in_range = f"coalesce(event_time between {_EARLIEST} and landed_at + interval 1 day, false)"
    usable = _let("_rule", _broken_rule(topic), f"if(_rule is null, {_result('event_time')}, {_rejected('_rule')})")
    timely = f"if({in_range}, {usable}, {_rejected(_quoted('time_out_of_range'))})"
    dated = _let("event_time", _event_time(topic), timely)
    if safe is not None:  # what was not read for fear of its numbers has been judged by now
        dated = _let("_data", f"coalesce(_data, {data})", dated)
    reasons = ", ".join(map(_quoted, REASONS))
    verdict = f"if(_fault is null, {dated}, {_rejected(f'element_at(array({reasons}), _fault)')})"
    return _let("_data", f"if({safe}, {data}, null)" if safe else data, _let("_fault", _fault(topic), verdict))


def _result(event_time: str, reason: str = "cast(null as string)") -> str:
    return f"named_struct('event_time', {event_time}, 'reject_reason', {reason})"


def _rejected(reason: str) -> str:
    return _result("cast(null as timestamp)", reason)


def _fault(topic: Topic) -> str:
    """Number of the first fault in `value`, null if there is none.

    A text that reads back as itself, but for blanks, is one whole document without a repeated field and with
    the types that are due; so only others are looked at token by token.
    """
    body = _body(topic)
    given = " and ".join(_required(topic, "_data.v"))
    times = _worst(body, "_data.v", _text_fault) or "cast(null as int)"
    plain = f"coalesce({_reads_back(body)} and {given}, false)"
    return f"case when value is null then null when {plain} then {times} else {_token_faults(topic)} end"


def _required(topic: Topic, place: str) -> list[str]:
    names = [f"{place}.{_name(field.name)}" for field in topic.fields if field.required]
    return [f"{name} is not null" for name in (names if topic.scalar is None else [place])] or ["true"]


def _reads_back(body: DataType) -> str:
    if _holds(body, MapType):  # Spark's maps keep repeated keys
        return "false"
    written = ("to_json(_data)", "to_json(_data, map('ignoreNullFields', 'false'))")
    squeezed = ", ".join(f"replace({text}, ' ', '')" for text in written)
    return f"replace({_document()}, ' ', '') in ({squeezed})"


def _token_faults(topic: Topic) -> str:
    """The strict reading: in two brackets of different kind, so that no text can close one and pass."""
    body = _body(topic)
    given = " and ".join(_required(topic, "_data.v"))
    null_scalar = "false" if topic.scalar is None else "_data.v is null"
    worst = _worst(body, "_tokens.v", _token_fault) or "cast(null as int)"
    tokens = f"if(_tokens._bad is not null or {null_scalar}, {_FAULTS['wrong_type']}, {worst})"
    clean = f"coalesce(_strict and _worst is null and {given}, false)"
    found = f"if({clean}, null, {_diagnosis(topic)})"
    strict = _let("_strict", "try_parse_json(concat('[', value, ']')) is not null", found)
    return _let("_tokens", _from_json(_document(), _ddl(body, _token_type)), _let("_worst", tokens, strict))


def _diagnosis(topic: Topic) -> str:
    names = [field.name for field in topic.fields if field.required] or [field.name for field in topic.fields]
    shape = "string" if topic.scalar else f"struct<{', '.join(f'{_name(name)}: string' for name in names)}>"
    missing = " or ".join(f"_raw.v[0].{_name(f.name)} is null" for f in topic.fields if f.required) or "false"
    no_object = "false" if topic.scalar else "_raw.v[0] is null"
    unread = f"{_from_json(_document(), 'string')}._bad is not null"
    unpaired = f"contains(regexp_replace(value, {_PAIRED_ESCAPE}, ''), r'\\')"
    not_json = f"_raw._bad is not null or size(_raw.v) <> 1 or {no_object} or {unread} or {unpaired}"
    return _let(
        "_raw",
        _from_json("concat('{\"v\":[', value, ']}')", f"array<{shape}>"),
        f"case when {not_json} then {_FAULTS['not_json']} when {missing} then {_FAULTS['missing_field']}"
        f" when _worst = {_FAULTS['wrong_type']} then _worst"
        f" when not _strict then {_FAULTS['duplicate_field']} else _worst end",
    )


def _worst(kind: DataType, place: str, fault: Callable[[DataType, str], str | None]) -> str | None:
    """The lowest fault number at any depth of a value; None where no fault is possible."""
    match kind:
        case ArrayType():
            inner = _worst(kind.elementType, "_each", fault)
            return inner and f"array_min(transform({place}, _each -> {inner}))"
        case MapType():
            inner = _worst(kind.valueType, "_each", fault)
            return inner and f"array_min(transform(map_values({place}), _each -> {inner}))"
        case StructType():
            found = [_worst(field.dataType, f"{place}.{_name(field.name)}", fault) for field in kind.fields]
            faults = ", ".join(filter(None, found))
            return f"array_min(array({faults}))" if faults else None
    return fault(kind, place)


def _text_fault(kind: DataType, text: str) -> str | None:
    if not isinstance(kind, _TIMES):
        return None
    shape = _MOMENT if isinstance(kind, TimestampType) else _DAY
    good = f"{text} rlike r'^{shape}\\z' and coalesce({_time(kind, text)} between {_YEARS}, false)"
    return f"if({text} is null or ({good}), null, {_FAULTS['bad_timestamp']})"


def _token_fault(kind: DataType, token: str) -> str | None:
    wrong, sort = _FAULTS["wrong_type"], f"schema_of_variant({token})"
    match kind:
        case StringType():
            return f"if({sort} in ('STRING', 'VOID') or {token} is null, null, {wrong})"
        case TimestampType() | DateType():
            text = _text_fault(kind, f"try_variant_get({token}, '$', 'string')")
            number = f"{sort} in ('BIGINT', 'DOUBLE') or {sort} like 'DECIMAL%'"
            return (
                f"case when {sort} = 'STRING' then {text} when {sort} = 'VOID' or {token} is null then null"
                f" when {number} then {_FAULTS['time_out_of_range']} else {wrong} end"
            )
        case DecimalType():
            return f"if({sort} = 'VOID' or {token} is null or ({_exact(kind, token, sort)}), null, {wrong})"
        case FloatType() | DoubleType():
            return f"if(abs({token}) = double('infinity'), {wrong}, null)"
        case ByteType():
            return f"if({token} between -128 and 127 or {token} is null, null, {wrong})"
    return None


def _exact(kind: DecimalType, token: str, sort: str) -> str:
    """Whether a number fits a decimal without rounding; one with an exponent is a double here, zero an underflow."""
    scales = "|".join(map(str, range(kind.scale + 1)))
    fitted = f"try_variant_get({token}, '$', '{kind.simpleString()}')"
    double = f"try_variant_get({token}, '$', 'double')"
    by_kind = f"{sort} = 'DOUBLE' and {double} <> 0 and double({fitted}) = {double}"
    by_scale = f"{sort} = 'BIGINT' or {sort} rlike '^DECIMAL.[0-9]+,({scales})[)]'"
    return f"{fitted} is not null and ({by_scale} or {by_kind})"


def _safe_to_read(body: DataType) -> str | None:
    """A guard for decimals: Spark would write a number such as 1e999999999 out in full."""
    return "value not rlike '[eE][+-]?[0-9]{3}'" if _holds(body, DecimalType) else None


def _event_time(topic: Topic) -> str:
    for field in topic.fields:
        if field.name == topic.event_time:
            place = f"_data.v.{_name(field.name)}"
            body = DataType.fromDDL(field.type)
            latest = "253402300799999"  # clamped, a number of any size is only out of range
            millis = f"timestamp_millis(greatest(0, least({place}, {latest})))"
            return f"if({place} is null, timestamp, {_typed(body, place) if _holds(body, _TIMES) else millis})"
    return "timestamp"


def _broken_rule(topic: Topic) -> str:
    """Name of the first reject rule that holds; a rule that cannot be computed does not hold."""
    if not topic.reject:
        return "cast(null as string)"
    whens = " ".join(f"when {_holds_true(predicate)} then {_quoted(name)}" for name, predicate in topic.reject)
    rules = f"case {whens} end"
    for field in topic.fields:  # a variable named as the field hides the landing column of that name
        if any(re.search(rf"\b{re.escape(field.name)}\b", text, re.IGNORECASE) for _, text in topic.reject):
            value = _typed(DataType.fromDDL(field.type), f"_data.v.{_name(field.name)}")
            rules = _let(_name(field.name), value, rules)
    return rules


def _holds_true(predicate: str) -> str:
    # try_add on a date gives null whatever its operand raises
    return f"try_add(date'1970-01-01', if(({predicate}\n), 1, 0)) > date'1970-01-01'"


def _body(topic: Topic) -> DataType:
    """The type of a topic's value; a type without a strict reading is refused."""
    body = DataType.fromDDL(topic.ddl)
    for kind in _parts(body):
        if not isinstance(kind, (MapType, *_AS_TOKEN, *_AS_THEMSELVES)):
            message = f"topic {topic.name}: type {kind.simpleString()} cannot be read from JSON. Use string."
            raise InvalidProject([Finding(topic.place, "unsupported-type", message)])
    return body


def _parts(kind: DataType) -> Iterable[DataType]:
    """The maps and scalars of a type."""
    match kind:
        case ArrayType():
            yield from _parts(kind.elementType)
        case MapType():
            yield from (kind, kind.keyType, *_parts(kind.valueType))
        case StructType():
            for field in kind.fields:
                yield from _parts(field.dataType)
        case _:
            yield kind


def _holds(body: DataType, kinds: type[DataType] | tuple[type[DataType], ...]) -> bool:
    return any(isinstance(kind, kinds) for kind in _parts(body))


def _read(topic: Topic) -> str:
    """The value as a struct with the member `v`, times still as text."""
    return f"from_json({_document()}, {_quoted('v ' + _ddl(_body(topic), _text_type))}, {_STRICT})"


def _typed(kind: DataType, place: str) -> str:
    """The value with its times read from text."""
    if not _holds(kind, _TIMES):
        return place
    match kind:
        case ArrayType():
            return f"transform({place}, _each -> {_typed(kind.elementType, '_each')})"
        case MapType():
            return f"transform_values({place}, (_key, _each) -> {_typed(kind.valueType, '_each')})"
        case StructType():
            members = [f"{_quoted(f.name)}, {_typed(f.dataType, f'{place}.{_name(f.name)}')}" for f in kind.fields]
            return f"if({place} is null, null, named_struct({', '.join(members)}))"
    return _time(kind, place)


def _time(kind: DataType, text: str) -> str:
    # Spark reads no zone after minutes, as Java writes it
    full = f"if(substr({text}, 17, 1) in ('Z', '+', '-'), overlay({text} placing ':00' from 17 for 0), {text})"
    return f"try_cast({full} as timestamp)" if isinstance(kind, TimestampType) else f"try_cast({text} as date)"


def _from_json(text: str, type_: str) -> str:
    return f"from_json({text}, {_quoted(f'v {type_}, _bad string')}, {_STRICT})"


def _document() -> str:
    return "concat('{\"v\":', value, '}')"


def _ddl(kind: DataType, leaf: Callable[[DataType], str]) -> str:
    match kind:
        case ArrayType():
            return f"array<{_ddl(kind.elementType, leaf)}>"
        case MapType():
            return f"map<string, {_ddl(kind.valueType, leaf)}>"
        case StructType():
            return f"struct<{', '.join(f'{_name(f.name)}: {_ddl(f.dataType, leaf)}' for f in kind.fields)}>"
    return leaf(kind)


def _text_type(kind: DataType) -> str:
    return "string" if isinstance(kind, _AS_TEXT) else kind.simpleString()


def _token_type(kind: DataType) -> str:
    """A variant keeps what the token was; a byte would wrap."""
    if isinstance(kind, _AS_TOKEN):
        return "variant"
    return "smallint" if isinstance(kind, ByteType) else kind.simpleString()


def _let(name: str, value: str, body: str) -> str:
    """Compute `value` once per row and name it in `body`: SQL has no other way within one expression."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
