"""The verdict on each landed record: usable, or the one reason why not, in plain Spark SQL.

Most records are proven good by reading them back: a text that is written as it was read, but for blanks, is one
whole document without a repeated field, and every token has the type that is due. Only others are looked at closely.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType

from headrace.engine.body import (
    DOCUMENT,
    FAULTS,
    REASONS,
    TIMES,
    body_type,
    holds,
    lenient,
    let,
    name,
    quoted,
    read,
    safe_to_read,
    text_fault,
    token_fault,
    tokens,
    typed,
    worst,
)
from headrace.project.model import Topic

_EARLIEST = "timestamp'2000-01-01 00:00:00Z'"
_LATEST_MILLIS = "253402300799999"  # 9999-12-31; clamped to it, a number of any size is only out of range
_NO_FAULT = "cast(null as int)"
_PAIRED_ESCAPES = (
    r"r'\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[^u])'"
)


def classify(frame: DataFrame, topics: Iterable[Topic], landed_at: datetime | Column) -> DataFrame:
    """Give Kafka's rows the columns of a landing: text, bytes that are no text, times and the reject reason.

    A rejected row has no event time. No record makes the query fail.
    """
    verdict = F.lit(None).cast("struct<event_time: timestamp, reject_reason: string>")
    for topic in topics:
        verdict = F.when(F.col("topic") == topic.topic, F.expr(_verdict(topic))).otherwise(verdict)
    landed = landed_at if isinstance(landed_at, Column) else F.lit(landed_at)
    columns = {text: _text(text) for text in ("key", "value")}
    columns |= {f"_{text}_bytes": _bytes(text) for text in ("key", "value")}
    columns |= {part: f"_verdict.{part}" for part in ("event_time", "reject_reason")}
    judged = frame.withColumn("landed_at", landed).withColumn("_verdict", verdict)
    return judged.withColumns({column: F.expr(sql) for column, sql in columns.items()}).drop("_verdict")


def parsed(topic: Topic) -> Column:
    """Return the typed `data` of a usable row, read from its stored `value`; null where that is null."""
    body = body_type(topic)
    return F.expr(typed(body, f"{read(body)}.v"))


def _text(column: str) -> str:
    text = f"cast({column} as string)"
    return f"if(_verdict.reject_reason is null, {text}, make_valid_utf8({text}))"


def _bytes(column: str) -> str:
    return f"if(_verdict.reject_reason is null or is_valid_utf8(cast({column} as string)), null, {column})"


def _verdict(topic: Topic) -> str:
    """A struct of event time and reject reason, one of them null."""
    cases = [] if topic.null_key else [("key is null", "null_key")]
    cases += [] if topic.null_value else [("value is null", "null_value")]
    cases += [("not is_valid_utf8(cast(key as string))", "bad_key")]
    whens = " ".join(f"when {condition} then {_rejected(quoted(reason))}" for condition, reason in cases)
    texts = let("key", "cast(key as string)", let("value", "cast(value as string)", _judged(topic)))
    return f"case {whens} else {texts} end"


def _judged(topic: Topic) -> str:
    body = body_type(topic)
    data, safe = read(body), safe_to_read(body)
    usable = _dated(topic)
    if safe:  # what was not read at first for fear of its numbers has been checked by now
        data, usable = f"if({safe}, {data}, null)", let("_data", f"coalesce(_data, {data})", usable)
    reasons = ", ".join(map(quoted, REASONS))
    verdict = f"if(_fault is null, {usable}, {_rejected(f'element_at(array({reasons}), _fault)')})"
    return let("_data", data, let("_fault", _fault(topic, body), verdict))


def _dated(topic: Topic) -> str:
    in_time = f"coalesce(event_time between {_EARLIEST} and landed_at + interval 1 day, false)"
    ruled = f"if(_rule is null, {_result('event_time', 'null')}, {_rejected('_rule')})"
    timely = f"if({in_time}, {let('_rule', _broken_rule(topic), ruled)}, {_rejected(quoted('time_out_of_range'))})"
    return let("event_time", _event_time(topic), timely)


def _result(event_time: str, reason: str) -> str:
    return f"named_struct('event_time', cast({event_time} as timestamp), 'reject_reason', cast({reason} as string))"


def _rejected(reason: str) -> str:
    return _result("null", reason)


def _fault(topic: Topic, body: DataType) -> str:
    """Number of the first fault in `value`, null if there is none."""
    return (
        f"case when value is null then null"
        f" when {_given(topic)} and {_reads_back(body)} then {worst(body, '_data.v', text_fault) or _NO_FAULT}"
        f" when not is_valid_utf8(value) then {FAULTS['not_json']}"
        f" else {_close_look(topic, body)} end"
    )


def _given(topic: Topic) -> str:
    """Whether all that is required was read."""
    places = ["_data.v", *(f"_data.v.{name(field.name)}" for field in topic.fields if field.required)]
    return " and ".join(f"{place} is not null" for place in places)


def _reads_back(body: DataType) -> str:
    if holds(body, MapType):  # Spark's maps keep repeated keys
        return "false"
    written, nulls = "to_json(_data)", "to_json(_data, map('ignoreNullFields', 'false'))"
    blankless = f"replace({DOCUMENT}, ' ', '') in (replace(_written, ' ', ''), replace({nulls}, ' ', ''))"
    return let("_written", written, f"coalesce({DOCUMENT} = _written or {blankless}, false)")


def _close_look(topic: Topic, body: DataType) -> str:
    """The check token by token, in two kinds of brackets: no text can close both of them and go on."""
    null_scalar = "_data.v is null" if topic.scalar else "false"
    inside = worst(body, "_tokens.v", token_fault) or _NO_FAULT
    found = f"if(_tokens._bad is not null or {null_scalar}, {FAULTS['wrong_type']}, {inside})"
    verdict = f"if(_strict and _worst is null and {_given(topic)}, null, {_diagnosis(topic)})"
    strict = let("_strict", "try_parse_json(concat('[', value, ']')) is not null", verdict)
    return let("_tokens", tokens(body), let("_worst", found, strict))


def _diagnosis(topic: Topic) -> str:
    """The first reason why a record did not pass; all of them may be wrong alarms."""
    required = [name(field.name) for field in topic.fields if field.required]
    shape = f"struct<{', '.join(f'{field}: string' for field in required or ['_'])}>" if topic.fields else "string"
    no_object = "_raw.v[0] is null" if topic.fields else "false"
    missing = " or ".join(f"_raw.v[0].{field} is null" for field in required) or "false"
    unpaired = f"contains(regexp_replace(value, {_PAIRED_ESCAPES}, ''), r'\\')"
    no_json = f"_raw._bad is not null or size(_raw.v) <> 1 or {no_object} or {unpaired}"
    unwrapped = f"{lenient(DOCUMENT, 'v string')}._bad is not null"
    return let(
        "_raw",
        lenient("concat('{\"v\":[', value, ']}')", f"v array<{shape}>"),
        f"case when {no_json} or {unwrapped} then {FAULTS['not_json']}"
        f" when {missing} then {FAULTS['missing_field']}"
        f" when _worst = {FAULTS['wrong_type']} then _worst"
        f" when not _strict then {FAULTS['duplicate_field']} else _worst end",
    )


def _event_time(topic: Topic) -> str:
    for field in topic.fields:
        if field.name == topic.event_time:
            place, kind = f"_data.v.{name(field.name)}", DataType.fromDDL(field.type)
            millis = f"timestamp_millis(greatest(0, least({place}, {_LATEST_MILLIS})))"
            return f"if({place} is null, timestamp, {typed(kind, place) if isinstance(kind, TIMES) else millis})"
    return "timestamp"


def _broken_rule(topic: Topic) -> str:
    """Name of the first reject rule that holds; one that cannot be computed for a record does not hold."""
    rules = " ".join(f"when {_holds_true(predicate)} then {quoted(rule)}" for rule, predicate in topic.reject)
    result = f"case {rules} end" if rules else "cast(null as string)"
    for field in topic.fields:  # a variable named as the field hides the landing column of that name
        if any(re.search(rf"\b{re.escape(field.name)}\b", predicate, re.IGNORECASE) for _, predicate in topic.reject):
            result = let(name(field.name), typed(DataType.fromDDL(field.type), f"_data.v.{name(field.name)}"), result)
    return result


def _holds_true(predicate: str) -> str:
    # try_add on a date is null whatever its operand raises; a comment may end the predicate
    return f"try_add(date'1970-01-01', if(({predicate}\n), 1, 0)) > date'1970-01-01'"
