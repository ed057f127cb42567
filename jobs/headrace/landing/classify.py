"""The verdict on each landed record: usable, or the one reason why not, in plain Spark SQL.

Most records are proven good by reading them back: a text that is written as it was read, but for blanks, is one
whole document without a repeated field, and every token has the type that is due. Only others are looked at closely.
To look closely takes much code, so many records get a quick check first: a plan without that code, which leaves open
what it cannot decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.functions import lit
from pyspark.sql.types import DataType, MapType, StructType, TimestampType, VariantType

from headrace.landing.body import (
    FAULTS,
    FRACTIONS,
    LONGEST_TEXT,
    REASONS,
    VALUE,
    WRAPPED,
    body_type,
    document,
    holds,
    is_present,
    lenient,
    let,
    name,
    read,
    safe_to_read,
    text_fault,
    token_fault,
    tokens,
    typed,
    worst,
    written,
)
from headrace.project.declarations import event_times
from headrace.project.declarations.event_times import PARTS, WHOLE, FieldTime, SqlTime
from headrace.project.literals import quoted
from headrace.project.model import Topic
from headrace.project.sql.expressions import columns_of, with_values

UNSURE = "_unsure"
"""Name of the column that marks the rows that a quick check has left open."""

_EARLIEST = "timestamp'2000-01-01 00:00:00Z'"
_LATEST_SECONDS = 253_402_300_799  # 9999-12-31
_NO_TIME = "timestamp'0001-01-01 00:00:00Z'"
_SHORT = {"s": "seconds", "ms": "millis", "us": "micros"}
_ON_THE_WAY = ("_document", "_written", "_reads_back", "_fault", "_event_time", "_verdict")
_RECORDS = "_records"
_NO_FAULT = "cast(null as int)"
_UNSURE_FAULT = 1_000_000  # there are not as many reasons
_REJECTED = "_verdict < 0"
_MISSING = "missing_field"
_STRICT = f"try_parse_json(concat('[', {VALUE}, ']')) is not null"
# What is looked for begins with one sign, and looks behind after it: most places are passed by at once.
_LAST_ZEROS = r"[.](?<=[0-9][.])0+(?![0-9])|([.](?<=[0-9][.])[0-9]*[1-9])0+(?![0-9])"
_ZERO_OF_MANY_DIGITS = r"|E-(?<=[^0-9.]0E-)[0-9]+(?![0-9])"
_PAIRED_ESCAPES = (
    r"r'\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[^u])'"
)


def classify(
    frame: DataFrame, topics: Sequence[Topic], landed_at: datetime | Column, closely: bool = True
) -> DataFrame:
    """Give Kafka's rows the columns of a landing: text, bytes that are no text, times and the reject reason.

    A rejected row has no event time. No record makes the query fail. Beside them stands the typed `data` of usable
    rows, in a column for each topic (see `data_column`). With a quick check (not `closely`) the column `UNSURE` marks
    the rows that `look_closely` must see.
    """
    reasons = (*REASONS, *dict.fromkeys(rule for topic in topics for rule, _ in topic.reject))
    landed = landed_at if isinstance(landed_at, Column) else lit(landed_at)
    records = frame.withColumn("landed_at", landed)
    records.createOrReplaceTempView(_RECORDS)
    judged, known = _RECORDS, {*records.columns}
    for step in filter(None, _steps(topics, reasons, closely)):
        made = ", ".join(f"{sql} as {name(column)}" for column, sql in step.items())
        judged, known = f"(select {_all_but(known & step.keys())}, {made} from {judged})", known | step.keys()
    # One text, as Spark looks at all of a plan again with each step that is added to a frame.
    return frame.sparkSession.sql(f"select {_all_but([*_ON_THE_WAY, *map(_body, topics)])} from {judged}")


def look_closely(rows: DataFrame, topics: Sequence[Topic]) -> DataFrame:
    """Decide on what a quick check has left open in the rows of a landing."""
    unsure = rows.where(UNSURE).withColumns({column: F.expr(as_it_came(column)) for column in ("key", "value")})
    found = classify(unsure, topics, F.col("landed_at"))
    return rows.where(f"not {UNSURE}").unionByName(found.select(*rows.columns)).drop(UNSURE)


def as_it_came(column: str) -> str:
    """The bytes of a landed key or value, as SQL."""
    return f"coalesce(_{column}_bytes, cast({column} as binary))"


def _all_but(columns: Iterable[str]) -> str:
    left_out = ", ".join(map(name, sorted(columns)))
    return f"* except ({left_out})" if left_out else "*"


def _steps(topics: Sequence[Topic], reasons: Sequence[str], closely: bool) -> Iterator[Mapping[str, str]]:
    """The columns that are computed one after the other: each step sees those before it."""
    yield {
        "_document": _by_topic(topics, lambda topic: document(body_type(topic))),
        **{_body(topic): _if_of(topic, _read_safely(topic)) for topic in topics},
    }
    yield {"_written": _by_topic(topics, lambda topic: written(body_type(topic), _place(topic)))}
    yield {"_reads_back": _by_topic(topics, _reads_back)}
    yield {"_fault": _by_topic(topics, lambda topic: _fault(topic, closely))}
    yield {_body(topic): _read_at_last(topic) for topic in topics if closely and safe_to_read(body_type(topic))}
    yield {"_event_time": _by_topic(topics, _event_time)}
    yield {"_verdict": _by_topic(topics, lambda topic: _verdict(topic, reasons))}
    yield {
        **_columns(topics, reasons),
        **{data_column(topic): _data(topic) for topic in topics},
        **({} if closely else {UNSURE: f"_verdict = -{_UNSURE_FAULT}"}),
    }


def data_column(topic: Topic) -> str:
    """Name of the column that holds what `parsed` gives of a topic's usable rows."""
    return f"_data_of_{topic.name}"


def parsed(topic: Topic) -> Column:
    """Return the typed `data` of a usable row, read from its stored `value`; null where that is null."""
    body = body_type(topic)
    return F.expr(typed(body, read(body)))


def _body(topic: Topic) -> str:
    """Name of the column that holds what was read of a topic's rows."""
    return f"_body_of_{topic.name}"


def _place(topic: Topic) -> str:
    return name(_body(topic))


def _read_safely(topic: Topic) -> str:
    body = body_type(topic)
    safe = safe_to_read(body)
    return f"if({safe}, {read(body)}, null)" if safe else read(body)


def _read_at_last(topic: Topic) -> str:
    """What was not read at first because of its numbers has been checked by now."""
    return f"coalesce({_place(topic)}, {_if_of(topic, f'if(_fault is null, {read(body_type(topic))}, null)')})"


def _data(topic: Topic) -> str:
    return _if_of(topic, f"if(_verdict < 0, null, {typed(body_type(topic), _place(topic))})")


def _if_of(topic: Topic, value: str) -> str:
    return f"if(topic = {quoted(topic.topic)}, {value}, null)"


def _by_topic(topics: Iterable[Topic], value: Callable[[Topic], str]) -> str:
    values = {topic.topic: value(topic) for topic in topics}
    if len({*values.values()}) == 1:
        return next(iter(values.values()))
    return f"case topic {' '.join(f'when {quoted(topic)} then {one}' for topic, one in values.items())} end"


def _columns(topics: Sequence[Topic], reasons: Sequence[str]) -> dict[str, str]:
    """What a verdict says: event time in microseconds, or a reason's number below zero."""
    any_key = ", ".join(quoted(topic.topic) for topic in topics if topic.null_key)
    unsure = {"key": f"(_verdict < 0 or topic in ({any_key}))" if any_key else _REJECTED, "value": _REJECTED}
    columns = {
        "event_time": "timestamp_micros(nullif(greatest(_verdict, 0), 0))",
        "reject_reason": f"get(array({', '.join(map(quoted, reasons))}), int(-1 - least(_verdict, 0)))",
    }
    for column, condition in unsure.items():  # else they are known to be text
        text = f"cast({column} as string)"
        columns[column] = f"if({condition}, make_valid_utf8({text}), {text})"
        columns[f"_{column}_bytes"] = f"if({condition} and try_validate_utf8({text}) is null, {column}, null)"
    return columns


def _verdict(topic: Topic, reasons: Sequence[str]) -> str:
    """Event time in microseconds, or a reason's number below zero."""
    early_or_late = f"not coalesce(_event_time between {_EARLIEST} and landed_at + interval 1 day, false)"
    cases = [("_event_time is null", "bad_timestamp")] if isinstance(event_times.of(topic), SqlTime) else []
    outside = _first([*cases, (early_or_late, "time_out_of_range")], reasons)
    return f"coalesce(-_fault, {outside}, {_broken_rule(topic, reasons)}, unix_micros(_event_time))"


def _first(cases: Iterable[tuple[str, str]], reasons: Sequence[str]) -> str:
    """The verdict on the first of some conditions that holds, null if none does."""
    whens = " ".join(f"when {condition} then {-1 - reasons.index(reason)}L" for condition, reason in cases)
    return f"case {whens} end" if whens else "cast(null as bigint)"


def _fault(topic: Topic, closely: bool) -> str:
    """Number of the first fault in a record, null if there is none."""
    body = body_type(topic)
    cases = [] if topic.null_key else [("key is null", "null_key")]  # else any key will do
    cases += [] if topic.null_value else [("value is null", "null_value")]
    cases += [] if topic.null_key else [("try_validate_utf8(cast(key as string)) is null", "bad_key")]
    lacking = f"if({_lacks(topic, _place(topic))}, {FAULTS[_MISSING]}, null)"
    return (
        f"case {' '.join(f'when {condition} then {FAULTS[reason]}' for condition, reason in cases)}"
        f" when value is null then null"
        f" when _reads_back then coalesce({lacking}, {worst(body, _place(topic), text_fault) or _NO_FAULT})"
        f" else {_close_look(topic, body, lacking) if closely else _UNSURE_FAULT} end"
    )


def _is_of_presence(topic: Topic, reason: str, rule: str) -> bool:
    """Whether a rule only says which fields must be there: it is judged where missing fields are."""
    return reason == _MISSING and {*columns_of(rule)} <= {field.name for field in topic.fields}


def _lacks(topic: Topic, place: str) -> str:
    """Whether fields are missing by the topic's own rule."""
    values = {field.name: f"{place}.{name(field.name)}" for field in topic.fields}
    rules = [rule for reason, rule in topic.reject if _is_of_presence(topic, reason, rule)]
    return " or ".join(_holds_true(_filled(rule, values)) for rule in rules) or "false"


def _has_required(topic: Topic, body: DataType) -> str:
    """Whether all that is required was read."""
    members = {member.name: member.dataType for member in body.fields} if isinstance(body, StructType) else {}
    required, place = [f.name for f in topic.fields if f.required], _place(topic)
    return " and ".join([is_present(body, place), *(is_present(members[f], f"{place}.{name(f)}") for f in required)])


def _reads_back(topic: Topic) -> str:
    """Whether all that is required was read, and the text contains nothing else."""
    body = body_type(topic)
    if holds(body, MapType):  # Spark's maps keep repeated keys
        return "false"
    with_nulls = written(body, _place(topic), "map('ignoreNullFields', 'false')")
    alike = f"_document = _written or {_blankless('_document')} in ({_blankless('_written')}, {_blankless(with_nulls)})"
    if holds(body, FRACTIONS):
        bare = f"{_bare_numbers('_document', False)} in "
        bare += f"({_bare_numbers('_written', True)}, {_bare_numbers(with_nulls, True)})"
        alike += f" or is_valid_utf8(_document) and {bare}"
    return f"{_has_required(topic, body)} and {_is_not_void(topic, body)} and ({alike})"


def _is_not_void(topic: Topic, body: DataType) -> str:
    """Whether any member was read. Of invalid JSON none is, and without blanks it may look like nulls: `n ull`."""
    if not isinstance(body, StructType) or any(field.required for field in topic.fields):
        return "true"
    return f"({' or '.join(is_present(f.dataType, f'{_place(topic)}.{name(f.name)}') for f in body.fields) or 'true'})"


def _blankless(text: str) -> str:
    return f"replace({text}, ' ', '')"


def _bare_numbers(text: str, is_written: bool) -> str:
    """Blankless, and fractions without the zeros at their ends: in lists Spark writes a decimal with all its digits.

    Of text only: bytes that are none would all become the same sign.
    """
    zeros, marks = (f"{_LAST_ZEROS}{_ZERO_OF_MANY_DIGITS}", (".", "E-")) if is_written else (_LAST_ZEROS, (".",))
    blankless, may_hold = _blankless(text), " or ".join(f"contains({text}, '{mark}')" for mark in marks)
    return f"if({may_hold}, regexp_replace({blankless}, r'(?=[.E])({zeros})', '$2'), {blankless})"


def _close_look(topic: Topic, body: DataType, lacking: str) -> str:
    """The check token by token, in two kinds of brackets: no text can close both of them and go on."""
    # a variant is not read where a field in it is repeated, its token is
    scalar = "_tokens.v" if isinstance(body, VariantType) else _place(topic)
    null_scalar = f"{scalar} is null" if topic.scalar else "false"
    inside = worst(body, "_tokens.v", token_fault) or _NO_FAULT
    found = f"if(_tokens._bad is not null or {null_scalar}, {FAULTS['wrong_type']}, {inside})"
    # of any text, an object is read that may have no members
    sound = f"_worst is null and _tokens.v is not null and {_has_required(topic, body)} and {_STRICT}"
    verdict = let("_tokens", tokens(body), let("_worst", found, f"if({sound}, {lacking}, {_diagnosis(topic)})"))
    return f"if(try_validate_utf8({VALUE}) is null, {FAULTS['not_json']}, {verdict})"


def _diagnosis(topic: Topic) -> str:
    """The first reason why a record did not pass; all of the checks may be false alarms."""
    required = [f"_raw.v[0].{name(field.name)} is null" for field in topic.fields if field.required]
    members = ", ".join(f"{name(field.name)}: string" for field in topic.fields)
    shape = f"struct<{members}>" if members else "string"
    no_object = "_raw.v[0] is null" if topic.fields else "false"
    missing = " or ".join([*required, _lacks(topic, "_raw.v[0]")])
    unpaired = f"contains(regexp_replace({VALUE}, {_PAIRED_ESCAPES}, ''), r'\\')"
    no_json = f"_raw._bad is not null or size(_raw.v) <> 1 or {no_object} or {unpaired}"
    unwrapped = f"{lenient(WRAPPED, 'v string')}._bad is not null"
    return let(
        "_raw",
        lenient(f"concat('{{\"v\":[', {VALUE}, ']}}')", f"v array<{shape}>"),
        f"case when octet_length(value) > {LONGEST_TEXT} then {FAULTS['too_large']}"
        f" when {no_json} or {unwrapped} then {FAULTS['not_json']}"
        f" when {missing} then {FAULTS['missing_field']}"
        f" when _worst = {FAULTS['wrong_type']} then _worst"
        f" when not {_STRICT} then {FAULTS['duplicate_field']} else _worst end",
    )


def _event_time(topic: Topic) -> str:
    match event_times.of(topic):
        case FieldTime(path, kind, unit):
            place = ".".join((_place(topic), *map(name, path)))
            time = _since_1970(place, kind, unit) if unit else typed(TimestampType(), place)
            return f"if({place} is null, timestamp, {time})"
        case SqlTime(text):
            return _computed(_filled(text, _columns_of_rules(topic)))
    return "timestamp"


def _since_1970(place: str, kind: str, unit: event_times.Unit) -> str:
    """A number as a time; clamped first, as one of any size is only out of range."""
    latest = f"{_LATEST_SECONDS * PARTS[unit] + PARTS[unit] - 1}"
    if kind in WHOLE:
        return f"timestamp_{_SHORT[unit]}(greatest(0, least({place}, {latest})))"
    micros = f"greatest(0, least(double({place}), {latest})) * {PARTS['us'] // PARTS[unit]}"
    return f"timestamp_micros(bigint(round({micros})))"


def _computed(time: str) -> str:
    """What an expression gives; null gives the record's time, what cannot be computed gives null."""
    # A sum that fails is null, so a time that is null has to be another one inside it.
    tried = f"try_add(coalesce(({time}\n), {_NO_TIME}), interval '0' second)"
    return let("_time", tried, f"if(_time = {_NO_TIME}, timestamp, _time)")


def _broken_rule(topic: Topic, reasons: Sequence[str]) -> str:
    """The verdict on the first rule that rejects; one that cannot be computed for a record does not."""
    values = {"event_time": "_event_time", **_columns_of_rules(topic)}
    rules = [(rule, text) for rule, text in topic.reject if not _is_of_presence(topic, rule, text)]
    return _first([(_holds_true(_filled(text, values)), rule) for rule, text in rules], reasons)


def _columns_of_rules(topic: Topic) -> dict[str, str]:
    """What the columns of the topic's own expressions stand for; others are the record's."""
    body = body_type(topic)
    members = body.fields if isinstance(body, StructType) else []
    fields = {member.name: typed(member.dataType, f"{_place(topic)}.{name(member.name)}") for member in members}
    return {"key": "cast(key as string)", "value": VALUE, "data": typed(body, _place(topic)), **fields}


def _filled(rule: str, values: Mapping[str, str]) -> str:
    """A rule with what its columns stand for."""
    filled = with_values(rule, values)
    if filled is None:
        named = {*map(str.lower, columns_of(rule))}
        used = [(column, value) for column, value in values.items() if column.lower() in named]
        return reduce(lambda text, value: let(name(value[0]), value[1], f"{text}\n"), used, rule)
    return filled


def _holds_true(predicate: str) -> str:
    # try_add of intervals is null whatever its operand raises; one that is built from parts keeps the optimizer from
    # taking both apart. A comment may end the predicate.
    return f"try_add(interval '0' day, make_dt_interval(if(({predicate}\n), 1, 0))) > interval '0' day"
