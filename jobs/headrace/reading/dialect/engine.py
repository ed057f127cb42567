"""The engine: DuckDB in memory, sandboxed, which reads nothing but the streams of rows passed to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
from arro3.core import RecordBatchReader

from headrace.reading.dialect.complaints import AT_RUN_TIME
from headrace.reading.dialect.types import Type, of_duck, quoted
from headrace.reading.rows import BadQuery, Rows, read
from headrace.store import damage

Stream = Callable[[], RecordBatchReader]
Columns = tuple[tuple[str, Type], ...]

_LIMITS: Mapping[str, str | bool | int] = {
    "threads": 2,
    "memory_limit": "1GB",
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}

_SHORT = "run it with --spark"
_MACROS = (
    f"unsure(what) AS error('{AT_RUN_TIME}' || what || ' is not known to give here what Spark gives')",
    "by_zero() AS error('[DIVIDE_BY_ZERO] division by zero: use try_divide, or nullif, to get null instead')",
    "invalid(v, kind) AS error('[CAST_INVALID_INPUT] ''' || v || ''' cannot be cast to ' || kind"
    " || ': use try_cast to get null instead')",
    "spark_divide(l, r) AS CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN r = 0 THEN by_zero() ELSE l / r END",
    "spark_remainder(l, r) AS CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN r = 0 THEN by_zero() ELSE l % r END",
    "spark_div(l, r) AS CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN r = 0 THEN by_zero() ELSE l // r END",
    "spark_pmod(m, r) AS CASE WHEN m < 0 THEN (m + r) % r ELSE m END",
    "spark_floor_div(n, d) AS (n - ((n % d) + d) % d) // d",
    "spark_half_up(n, d) AS CASE WHEN n IS NULL OR d IS NULL THEN NULL WHEN d = 0 THEN by_zero() ELSE"
    " (n // d) + CASE WHEN 2 * abs(n % d) >= abs(d) THEN CASE WHEN (n < 0) = (d < 0) THEN 1 ELSE -1 END ELSE 0 END END",
    "spark_unscaled(x) AS CAST(replace(CAST(x AS VARCHAR), '.', '') AS HUGEINT)",
    "spark_moment(us) AS CASE WHEN abs(us) >= 9e18 THEN unsure('a time of ' || us || ' microseconds')"
    " ELSE make_timestamp(CAST(us AS BIGINT)) END",
    "spark_seconds(t) AS spark_floor_div(epoch_us(t), 1000000)",
    r"spark_trimmed(s) AS regexp_replace(s, '^[\x00-\x20]+|[\x00-\x20]+$', '', 'g')",
    "spark_whole(s) AS CASE WHEN s IS NULL THEN NULL"
    " WHEN regexp_full_match(spark_trimmed(s), '[+-]?[0-9]+') THEN spark_trimmed(s)"
    " ELSE invalid(s, 'a whole number') END",
    "spark_whole_or_null(s) AS CASE WHEN regexp_full_match(spark_trimmed(s), '[+-]?[0-9]+') THEN spark_trimmed(s) END",
    r"spark_exact(s) AS CASE WHEN s IS NULL THEN NULL WHEN regexp_full_match(spark_trimmed(s),"
    r" '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)') THEN spark_trimmed(s)"
    r" WHEN regexp_full_match(spark_trimmed(s), '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+')"
    " THEN unsure('the decimal ' || s) ELSE invalid(s, 'decimal') END",
    r"spark_double(s) AS CAST(CASE WHEN s IS NULL THEN NULL WHEN regexp_full_match(spark_trimmed(s),"
    r" '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?') THEN spark_trimmed(s)"
    r" WHEN regexp_full_match(spark_trimmed(s), '(?i)[+-]?(inf|infinity|nan|[0-9.]+(e[+-]?[0-9]+)?[df]|0x.*)')"
    " THEN unsure('the double ' || s) ELSE invalid(s, 'double') END AS DOUBLE)",
    "spark_boolean(s) AS CASE WHEN s IS NULL THEN NULL"
    " WHEN lower(spark_trimmed(s)) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
    " WHEN lower(spark_trimmed(s)) IN ('f', 'false', 'n', 'no', '0') THEN FALSE ELSE invalid(s, 'boolean') END",
    r"spark_date(s) AS CAST(CASE WHEN s IS NULL THEN NULL"
    r" WHEN regexp_full_match(spark_trimmed(s), '[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?')"
    " THEN left(spark_trimmed(s), 10) WHEN regexp_matches(s, '[0-9]') THEN unsure('the date ' || s)"
    " ELSE invalid(s, 'date') END AS DATE)",
    r"spark_timestamp(s) AS CAST(CAST(CASE WHEN s IS NULL THEN NULL"
    r" WHEN regexp_full_match(s, '[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?)?') THEN s WHEN regexp_matches(s, '[0-9]') THEN unsure('the timestamp ' || s)"
    " ELSE invalid(s, 'timestamp') END AS TIMESTAMPTZ) AS TIMESTAMP)",
    "spark_date_text(d) AS CASE WHEN d IS NULL THEN NULL WHEN year(d) BETWEEN 0 AND 9999 THEN CAST(d AS VARCHAR)"
    " ELSE unsure('the text of a year beyond 9999') END",
    "spark_timestamp_text(t) AS CASE WHEN t IS NULL THEN NULL WHEN year(t) BETWEEN 0 AND 9999 THEN CAST(t AS VARCHAR)"
    " ELSE unsure('the text of a year beyond 9999') END",
    "spark_written(t, f) AS CASE WHEN t IS NULL THEN NULL WHEN year(t) BETWEEN 0 AND 9999 THEN strftime(t, f)"
    " ELSE unsure('the text of a year beyond 9999') END",
    "spark_read(s, shape, f) AS CASE WHEN s IS NULL THEN NULL WHEN regexp_full_match(s, shape) THEN strptime(s, f)"
    " ELSE error('[CANNOT_PARSE_TIMESTAMP] ''' || s || ''' is not of the format') END",
    "spark_start(s, p) AS CASE WHEN p > 0 THEN p::BIGINT - 1 WHEN p < 0 THEN length(s) + p::BIGINT ELSE 0 END",
    "spark_substring(s, p, n) AS CASE WHEN s IS NULL OR p IS NULL OR n IS NULL THEN NULL WHEN n <= 0 THEN ''"
    " ELSE substring(s, greatest(spark_start(s, p), 0) + 1,"
    " greatest(least(spark_start(s, p) + n::BIGINT, length(s)) - greatest(spark_start(s, p), 0), 0)) END",
    "spark_right(s, n) AS CASE WHEN s IS NULL OR n IS NULL THEN NULL WHEN n <= 0 THEN ''"
    " ELSE spark_substring(s, -n::BIGINT, 2147483647) END",
    "spark_instr(s, w) AS CAST(CASE WHEN w = '' AND s IS NOT NULL THEN 1 ELSE instr(s, w) END AS INTEGER)",
    "spark_upper(s) AS CASE WHEN regexp_matches(s, '[ßŉǰΐΰև\\x{1E96}-\\x{1E9A}\\x{1F50}-\\x{1FFC}ﬀ-ﬗ\\x{345}]')"
    " THEN unsure('upper of ' || s) ELSE upper(s) END",
    "spark_lower(s) AS CASE WHEN regexp_matches(s, '[İΣ]') THEN unsure('lower of ' || s) ELSE lower(s) END",
    "spark_initcap(s) AS CASE WHEN s IS NULL THEN NULL WHEN regexp_full_match(s, '[0-9A-Za-z ]*')"
    " THEN array_to_string(list_transform(string_split(lower(s), ' '), lambda w: upper(w[1:1]) || w[2:]), ' ')"
    " ELSE unsure('initcap of ' || s) END",
    r"spark_reverse(s) AS CASE WHEN s IS NULL THEN NULL WHEN regexp_full_match(s, '[\x01-\x09\x0b\x0c\x0e-\x7e]*')"
    " THEN reverse(s) ELSE unsure('reverse of ' || s) END",
    r"spark_one_line(s) AS CASE WHEN regexp_matches(s, '[\n\r\x{85}\x{2028}\x{2029}]\z')"
    " THEN unsure('`$` before the end of a line') ELSE s END",
    "spark_round(x, n) AS CASE WHEN x IS NULL THEN NULL WHEN isnan(x) OR isinf(x) THEN x WHEN abs(x) < 1e13"
    " THEN CAST(CAST(round(CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 24)), n) AS VARCHAR) AS DOUBLE)"
    " ELSE unsure('round of ' || x) END",
    "spark_whole_double(x) AS CASE WHEN isnan(x) OR abs(x) >= 9e18 THEN unsure('a whole number of ' || x)"
    " ELSE CAST(x AS BIGINT) END",
    "spark_ln(x) AS CASE WHEN x > 0 THEN ln(x) ELSE NULL END",
    "spark_log10(x) AS CASE WHEN x > 0 THEN log10(x) ELSE NULL END",
    "spark_sqrt(x) AS CASE WHEN x < 0 THEN 'NaN'::DOUBLE ELSE sqrt(x) END",
    "spark_sign(x) AS CASE WHEN isnan(x) THEN x ELSE CAST(sign(x) AS DOUBLE) END",
    "spark_contains(a, x) AS CASE WHEN a IS NULL OR x IS NULL THEN NULL WHEN list_contains(a, x) THEN TRUE"
    " WHEN list_count(a) < len(a) THEN NULL ELSE FALSE END",
    "spark_position(a, x) AS CASE WHEN a IS NULL OR x IS NULL THEN NULL"
    " ELSE coalesce(CAST(list_position(a, x) AS BIGINT), 0) END",
    "spark_join(a, sep) AS CASE WHEN a IS NULL OR sep IS NULL THEN NULL"
    " ELSE coalesce(array_to_string(list_filter(a, lambda e: e IS NOT NULL), sep), '') END",
    "no_element() AS error('[INVALID_ARRAY_INDEX] the array has no such element: use get() to get null instead')",
    "spark_get(a, i) AS CASE WHEN i >= 0 AND i < len(a) THEN list_extract(a, i + 1) ELSE NULL END",
    "spark_item(a, i) AS CASE WHEN a IS NULL OR i IS NULL THEN NULL WHEN i >= 0 AND i < len(a)"
    " THEN list_extract(a, i + 1) ELSE no_element() END",
    "spark_element_at(a, i) AS CASE WHEN a IS NULL OR i IS NULL THEN NULL WHEN i <> 0 AND abs(i) <= len(a)"
    " THEN list_extract(a, i) ELSE no_element() END",
)


_OUT_OF_TIME = "Unable to convert TIMESTAMPTZ"
_LAST_TIME = f"{AT_RUN_TIME}a time at the very end of what a timestamp holds is not known to give here what Spark gives"


class Engine:
    """A database in memory, with streams of rows by name; those in `stored` can be read more than once."""

    def __init__(self, streams: Mapping[str, Stream], stored: Collection[str] = ()) -> None:
        self._connection = duckdb.connect(":memory:", config=dict(_LIMITS))
        self._connection.execute("SET TimeZone = 'UTC'")
        for macro in _MACROS:
            self._connection.execute(f"CREATE MACRO {macro}")
        for name, stream in streams.items():
            # A bare stream: DuckDB would let pyarrow, where installed, filter the rows of one that can be read again.
            self._connection.register(f"{name}_once", stream().__arrow_c_stream__())
            kind = "TEMP TABLE" if name in stored else "TEMP VIEW"
            with _reported():
                self._connection.execute(f"CREATE {kind} {name} AS FROM {name}_once")
        self._connection.execute("SET lock_configuration = true")

    def columns(self, name: str) -> Columns:
        """The columns of a stream."""
        found = self._connection.sql(f"FROM {quoted(name)}")
        return tuple((column, of_duck(kind)) for column, kind in zip(found.columns, found.types, strict=True))

    def run(self, sql: str) -> Rows:
        """Run one query over the streams."""
        with _reported():
            reader = RecordBatchReader.from_stream(self._connection.sql(sql))
        rows = read(reader, one_line)
        return Rows(rows.columns, _keeping_open(rows.rows, self._connection), flat=rows.flat)


@contextmanager
def _reported() -> Iterator[None]:
    """Report in one line what DuckDB, or the reader of a stream, complains of."""
    try:
        yield
    except duckdb.Error as error:
        raise damage.found(str(error)) or BadQuery(one_line(error)) from None


def _keeping_open(rows: Iterator[Any], connection: object) -> Iterator[Any]:
    """The rows of a connection, which stays open while they are read."""
    yield from rows
    del connection


def one_line(error: Exception) -> str:
    """DuckDB's error in one line, without the SQL."""
    text = str(error).split("\n\nLINE ")[0].split("\n")[0]
    for prefix in ("Invalid Input Error: ", "Binder Error: ", "Conversion Error: ", "Out of Range Error: "):
        text = text.replace(prefix, "")
    text = _LAST_TIME if _OUT_OF_TIME in text else " ".join(text.split())
    return f"{text}: {_SHORT}" if text.startswith(AT_RUN_TIME) else text
