"""Rows of a query, without a JVM."""

import json
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from headrace.reading.rows import BadQuery, query, to_json, to_text


def values(sql: str) -> Iterator[Any]:
    return (value for row in query(sql, {}, {}).rows for value in row.values())


def test_times_become_iso_in_utc() -> None:
    (moment,) = values("select arrow_cast('2026-01-01T10:00:00.5Z', 'Timestamp(Microsecond, Some(\"UTC\"))') as t")
    assert to_json(moment) == '"2026-01-01T10:00:00.500000Z"'


def test_time_without_zone_keeps_none() -> None:
    (moment,) = values("select arrow_cast('2026-01-01T10:00:00', 'Timestamp(Microsecond, None)') as t")
    assert to_json(moment) == '"2026-01-01T10:00:00"'


def test_time_beyond_python_stays_text() -> None:
    far = "arrow_cast(2534023008000000000, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    assert list(values(f"select {far} as t")) == ["+82269-12-29T00:00:00Z"]


ENDS = {
    -62135596800000001: "0000-12-31T23:59:59.999999Z",
    -62167219200000001: "-0001-12-31T23:59:59.999999Z",
    253402300800000000: "+10000-01-01T00:00:00Z",
    8210266876800000000: "+262143-01-01T00:00:00Z",
    2**63 - 1: "+294247-01-10T04:00:54.775807Z",
    -(2**63): "-290308-12-21T19:59:05.224192Z",
}
"""Microseconds since 1970, and the time that they are."""

NEAR = datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)


def moment(number: int) -> str:
    return f"arrow_cast(cast('{number}' as bigint), 'Timestamp(Microsecond, Some(\"UTC\"))')"


@pytest.mark.parametrize(("number", "text"), ENDS.items())
def test_times_of_any_year_are_texts(number: int, text: str) -> None:
    """Arrow's readers for Python know none beyond the year 262143, and took some of them for null."""
    rows = f"select {moment(number)} as t union all select {moment(1_000_000)} union all select null"
    assert sorted(values(rows), key=str) == sorted([text, NEAR, None], key=str)


@pytest.mark.parametrize("number", [253402300800000000, 2**63 - 1])
@pytest.mark.parametrize(
    ("sql", "shape"),
    [
        ("named_struct('a', {0}, 'b', 1)", lambda time: {"a": time, "b": 1}),
        ("make_array({0}, {1}, null)", lambda time: [time, NEAR, None]),
        ("make_array(named_struct('a', make_array({0})))", lambda time: [{"a": [time]}]),
        ("map(['k'], [{0}])", lambda time: {"k": time}),
    ],
)
def test_times_within_others_are_texts(number: int, sql: str, shape: Callable[[str], Any]) -> None:
    made = sql.format(moment(number), moment(1_000_000))
    assert list(values(f"select {made} as t")) == [shape(ENDS[number])]


def test_days_of_any_year_are_texts() -> None:
    days = ", ".join(f"({number})" for number in (3_000_000, -800_000, 0))
    found = list(values(f"select arrow_cast(arrow_cast(column1, 'Int32'), 'Date32') as d from (values {days})"))
    assert found == ["+10183-09-21", "-0221-09-04", date(1970, 1, 1)]


def test_decimals_are_exact_numbers() -> None:
    (number,) = values("select cast('12345678901234567890.10' as decimal(38, 2)) as d")
    assert to_json({"total": number}) == '{"total": 12345678901234567890.10}'


def test_decimal_has_no_exponent() -> None:
    assert to_json(Decimal("1E+3")) == "1000"


def test_bytes_become_base64() -> None:
    (data,) = values("select arrow_cast('abc', 'Binary') as b")
    assert to_json(data) == '"YWJj"'


def test_not_a_number_becomes_null() -> None:
    assert to_json([float("nan"), float("inf"), 1.5]) == "[null, null, 1.5]"


def test_struct_in_list_becomes_object() -> None:
    (items,) = values("select make_array(named_struct('id', 1, 'made_on', date '2026-01-02')) as items")
    assert json.loads(to_json(items)) == [{"id": 1, "made_on": "2026-01-02"}]


def test_map_becomes_object() -> None:
    (counts,) = values("select map(['a', 'b'], [1, null]) as m")
    assert to_json(counts) == '{"a": 1, "b": null}'


def test_quotes_and_umlauts_survive_json() -> None:
    text = 'a "quoted" ü\n\u2028'
    assert json.loads(to_json({text: text})) == {text: text}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "b"', 'a "b"'),
        (datetime(2026, 1, 1, tzinfo=timezone.utc), "2026-01-01T00:00:00Z"),
        (date(2026, 1, 1), "2026-01-01"),
        (["a"], '["a"]'),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        ("a\x1b]52;c;eA==\x07\x9bb\nc\u202e\ud800", "a\\x1b]52;c;eA==\\x07\\x9bb\\nc\\u202e\\ud800"),
        (["\x1b", "\x9b"], '["\\u001b", "\\x9b"]'),
    ],
)
def test_text_is_json_without_quotes(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_columns_keep_their_order() -> None:
    assert query("select 1 as b, 2 as a", {}, {}).columns == ("b", "a")


def test_view_is_found_by_dotted_name() -> None:
    rows = query("select n from gold.numbers", {}, {"gold.numbers": "select 7 as n"}).rows
    assert list(rows) == [{"n": 7}]


@pytest.mark.parametrize("sql", ["select nope", "select nope(1)", "select 1 +", "select cast('x' as int)"])
def test_bad_sql_is_reported_in_one_line(sql: str) -> None:
    with pytest.raises(BadQuery) as caught:
        query(sql, {}, {})
    assert "\n" not in str(caught.value)


def test_fault_at_run_time_is_bad_query() -> None:
    rows = query("select 1 / value as n from generate_series(0, 1)", {}, {}).rows
    with pytest.raises(BadQuery):
        list(rows)


def test_interval_is_refused() -> None:
    with pytest.raises(BadQuery, match="cast"):
        query("select interval 1 day as i", {}, {})
