"""Hand-written records, each with its reject reason or its data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from headrace.errors import Place
from headrace.project.model import Field, Topic
from tests.spark.judging import RECORD_TIME, Record

HERE = Place("things.yml")


@dataclass(frozen=True)
class Case:
    """A record, and its reason or its data; members that are not named are null."""

    name: str
    topic: Topic
    record: Record
    reason: str | None
    data: Any = None


def topic(name: str, *fields: str, **more: Any) -> Topic:
    """A topic of fields written as `name type`; those with `!` at the end are required."""
    pairs = [field.rstrip("!").split(" ", 1) for field in fields]
    made = [Field(n, kind, field.endswith("!")) for (n, kind), field in zip(pairs, fields, strict=True)]
    return Topic(name, name, HERE, fields=tuple(made), **more)


THING = topic(
    *("thing", "id string!", "n int", "big bigint", "small smallint", "tiny tinyint", "x double", "f float"),
    *("ok boolean", "seen timestamp", "local timestamp_ntz", "day date", "tags array<string>"),
    *("of struct<a: int, at: timestamp>", "list array<struct<id: bigint, name: string>>"),
)
LOOSE = topic(
    *("loose", "id string!", "money decimal(10,2)", "counts map<string, int>", "days map<string, date>"),
    *("any variant", "prices array<decimal(38,10)>"),
)
NEEDY = topic("needy", "of struct<a: int>!", "list array<int>!", "any variant!")
ISO = topic("iso", "at timestamp", event_time="at")
MILLIS = topic("millis", "at bigint", event_time="at")
SECONDS = topic("seconds", "of struct<at: double>", event_time="of.at", event_time_unit="s")
MICROS = topic("micros", "at bigint", event_time="data.at", event_time_unit="us")
BARE_SECONDS = topic("bare_seconds", scalar="int", event_time="data", event_time_unit="s")
LOCAL = topic("local", "at string", event_time="to_timestamp(at, 'dd/MM/yyyy HH:mm') /* as the till says */ -- so")
NESTED = topic(
    *("nested", "of struct<day: date, ts: bigint>", "seen timestamp"),
    event_time="coalesce(timestamp_seconds(data.of.ts), data.seen, of.day, struct(seen).seen)",
    reject=(("early", "data.of.ts < 1767225600"),),
)
OPEN = topic("open", "n int", null_key=True, null_value=True)
RULED = topic(
    *("ruled", "id string", "n int"),
    reject=(("key_mismatch", "id <> key"), ("too_small", "10 / n > 5"), ("no_number", "int(id) = 7")),
)
COUNT = topic("count", scalar="bigint")
WORD = topic("word", scalar="string")
RATIO = topic("ratio", scalar="double")
FLAG = topic("flag", scalar="boolean")
PRICE = topic("price", scalar="decimal(10,2)")
MOMENT = topic("moment", scalar="timestamp")
ROW = topic("row", scalar="array<int>")
ANY = topic("any", scalar="variant")
OURS = topic("ours", "v int", "_bad string", "_bad_ string")  # names that reading itself uses


def _time(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]


def _with_nulls(kind: Topic, data: Any) -> Any:
    return {**{field.name: None for field in kind.fields}, **data} if kind.fields and data is not None else data


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def reads(kind: Topic, name: str, value: bytes | str | None, data: Any, **record: Any) -> Case:
    """A record that can be used."""
    return Case(name, kind, Record(_bytes(value), **record), None, _with_nulls(kind, data))


def refuses(kind: Topic, reason: str, **values: bytes | str | None) -> Iterable[Case]:
    """Records that cannot be used, for one reason."""
    return (Case(name, kind, Record(_bytes(value)), reason) for name, value in values.items())


def things(reason: str, **members: str) -> Iterable[Case]:
    """As `refuses`, with these members besides a valid id."""
    return refuses(THING, reason, **{name: f'{{"id": "a", {text}}}' for name, text in members.items()})


def loose(reason: str, **members: str) -> Iterable[Case]:
    return refuses(LOOSE, reason, **{name: f'{{"id": "a", {text}}}' for name, text in members.items()})


def thing(name: str, members: str, **data: Any) -> Case:
    """A valid thing with some members besides its id."""
    return reads(THING, name, f'{{"id": "a", {members}}}', {"id": "a", **data})


def loosely(name: str, members: str, **data: Any) -> Case:
    return reads(LOOSE, name, f'{{"id": "a", {members}}}', {"id": "a", **data})


def seen(name: str, text: str, moment: datetime) -> Case:
    return thing(f"seen_{name}", f'"seen": "{text}"', seen=moment)


_HUGE = "ä" * 500_000
_DEEP = f'{{"id": "a", "more": {"[" * 400}{"]" * 400}}}'
_TOO_DEEP = f'{{"id": "a", "more": {"[" * 5000}{"]" * 5000}}}'

NO_JSON = [
    *refuses(ISO, "not_json", blank_in_null='{"at":n ull}', blanks_in_null='{ "at" : nu l l }'),
    *refuses(OURS, "not_json", blank_in_nulls='{"v":null,"_bad":nul l,"_bad_":null}'),
    *refuses(
        *(THING, "not_json"),
        empty="",
        blank="  \n",
        null="null",
        number="5",
        text='"a"',
        array="[]",
        array_of_one='[{"id": "a"}]',
        word="yes",
        truncated='{"id": "a"',
        cut_in_a_text='{"id": "a',
        cut_after_a_comma='{"id": "a",',
        cut_in_a_letter='{"id": "ä"}'.encode()[:9],
        member_without_value='{"id": }',
        trailing_text='{"id": "a"} x',
        trailing_brace='{"id": "a"}}',
        trailing_bracket='{"id": "a"}]',
        two_documents='{"id": "a"}{"id": "b"}',
        two_lines='{"id": "a"}\n{"id": "b"}',
        comma_between='{"id": "a"}, {"id": "b"}',
        out_of_the_brackets='{"id": "a"}], [{"id": "b"}',
        out_of_the_braces='{"id": "a"}, "w": {"id": "b"}',
        second_v='{"id": "a"}, "v": {"id": "b"}',
        out_of_both='{"id": "a"}]}, {"v": [{"id": "b"}',
        closing_both='{"id": "a"}}]',
        single_quotes="{'id': 'a'}",
        no_quotes="{id: 1}",
        comment='{"id": "a" /* note */}',
        comment_after='{"id": "a"} // note',
        byte_order_mark=b'\xef\xbb\xbf{"id": "a"}',
        utf_16='{"id": "a"}'.encode("utf-16"),
        utf_16_without_mark='{"id": "a"}'.encode("utf-16-le"),
        no_utf_8=b'{"id": "\xff"}',
        overlong=b'{"id": "\xc0\x80"}',
        surrogate_bytes=b'{"id": "\xed\xa0\x80"}',
        half_a_pair=r'{"id": "\ud800"}',
        half_in_a_name=r'{"id": "a", "\udc00": 1}',
        pair_turned=r'{"id": "\udc00\ud800"}',
        escape_of_no_letter=r'{"id": "\x"}',
        escape_too_short=r'{"id": "\u12"}',
        line_break_in_text='{"id": "a\nb"}',
        nul_in_text=b'{"id": "a\x00b"}',
        nul_after=b'{"id": "a"}\x00',
        form_feed='{"id": "a"}\f',
        hard_blank='{"id": "a"}\u00a0',
        too_deep=_TOO_DEEP,
    ),
    *things(
        "not_json",
        nan='"x": NaN',
        infinity='"x": -Infinity',
        nan_unknown='"more": NaN',
        leading_zero='"n": 007',
        leading_plus='"n": +1',
        leading_point='"x": .5',
        trailing_point='"x": 5.',
        no_exponent='"x": 1e',
        hexadecimal='"n": 0x10',
        minus='"n": -',
        python_word='"ok": True',
        undefined='"n": undefined',
        comma_at_the_end='"n": 1,',
        two_commas='"n": 1,, "x": 1',
        no_colon='"n" 1',
        no_comma='"n": 1 "x": 1',
        comma_in_list='"tags": ["a",]',
        list_in_braces='"tags": ["a"}',
    ),
    *refuses(COUNT, "not_json", bare_two="1 2", bare_text="five", bare_nothing="", bare_zero="01", bare_list="1, 2"),
    *refuses(COUNT, "not_json", bare_out="1}, {1", bare_v='1, "v": 2', bare_nan="NaN", bare_cut="-"),
    *refuses(WORD, "not_json", unquoted="tea", half_quoted='"tea', two_words='"a" "b"', quoted_out='"a"}, {"v": "b"'),
    *refuses(FLAG, "not_json", capital="TRUE", cut_flag="tru"),
    *refuses(ANY, "not_json", any_nan="NaN", any_cut="[1", any_two="1 2"),
]

MISSING = [
    *refuses(
        *(THING, "missing_field"),
        no_id='{"n": 1}',
        no_member="{}",
        null_id='{"id": null}',
        other_case='{"ID": "a"}',
        name_with_blank='{" id": "a"}',
        id_further_down='{"of": {"id": "a"}}',
    ),
    *refuses(
        *(NEEDY, "missing_field"),
        no_object='{"list": [], "any": 1}',
        null_object='{"of": null, "list": [], "any": 1}',
        null_list='{"of": {}, "list": null, "any": 1}',
        null_variant='{"of": {}, "list": [], "any": null}',
    ),
]

WRONG_TYPE = [
    *things(
        "wrong_type",
        text_for_int='"n": "100"',
        text_for_bigint='"big": "100"',
        text_for_double='"x": "1.5"',
        text_nan='"x": "NaN"',
        text_infinity='"x": "Infinity"',
        text_for_boolean='"ok": "true"',
        empty_for_int='"n": ""',
        fraction='"n": 10.5',
        whole_fraction='"n": 10.0',
        exponent='"n": 1e2',
        big_exponent='"big": 1E+2',
        int_over='"n": 2147483648',
        int_under='"n": -2147483649',
        bigint_over='"big": 9223372036854775808',
        bigint_under='"big": -9223372036854775809',
        smallint_over='"small": 32768',
        tinyint_over='"tiny": 128',
        tinyint_wrapped='"tiny": 256',
        tinyint_under='"tiny": -129',
        tinyint_far_over='"tiny": 70000',
        double_over='"x": 1e400',
        double_under='"x": -1e400',
        float_over='"f": 1e39',
        number_for_text='"tags": [1]',
        boolean_for_int='"n": true',
        number_for_boolean='"ok": 1',
        object_for_int='"n": {}',
        list_for_int='"n": [1]',
        text_for_list='"tags": "a"',
        object_for_list='"tags": {"a": 1}',
        list_for_object='"of": []',
        text_for_object='"of": "{}"',
        empty_text_for_object='"of": ""',
        inside_object='"of": {"a": "1"}',
        inside_list='"list": [{"id": 1}, {"id": "2"}]',
        list_of_numbers='"list": [1]',
        boolean_for_time='"seen": true',
        object_for_time='"seen": {}',
        list_for_date='"day": ["2026-01-31"]',
        empty_object_for_boolean='"ok": {}',
    ),
    *refuses(
        *(THING, "wrong_type"),
        number_id='{"id": 1}',
        decimal_id='{"id": 1.10}',
        boolean_id='{"id": true}',
        object_id='{"id": {"id": "a"}}',
        list_id='{"id": ["a"]}',
    ),
    *loose(
        "wrong_type",
        text_for_money='"money": "1.10"',
        third_digit='"money": 1.005',
        money_over='"money": 123456789.00',
        money_without_end='"money": 1e999999999',
        money_underflow='"money": 1e-999999999',
        boolean_for_money='"money": true',
        text_in_map='"counts": {"a": "1"}',
        over_in_map='"counts": {"a": 1, "b": 3000000000}',
        list_for_map='"counts": []',
        text_in_prices='"prices": [1, "2"]',
    ),
    *refuses(COUNT, "wrong_type", bare_quoted='"5"', bare_fraction="5.0", bare_null="null", bare_over="1" * 20),
    *refuses(COUNT, "wrong_type", bare_object="{}", bare_array="[5]", bare_exponent="1e2", bare_true="true"),
    *refuses(WORD, "wrong_type", word_number="5", word_null="null", word_object='{"a": 1}', word_list='["a"]'),
    *refuses(RATIO, "wrong_type", ratio_over="1e400", ratio_text='"NaN"'),
    *refuses(FLAG, "wrong_type", flag_text='"true"', flag_number="0"),
    *refuses(PRICE, "wrong_type", price_text='"1"', price_digits="1.001", price_null="null", price_endless="1e1000000"),
    *refuses(ROW, "wrong_type", row_number="1", row_text='["1"]', row_null="null"),
    *refuses(ANY, "wrong_type", any_null="null"),
]

DUPLICATE = [
    *things(
        "duplicate_field",
        twice='"n": 1, "n": 2',
        twice_the_same='"n": 1, "n": 1',
        required_twice='"id": "a"',
        null_first='"n": null, "n": 1',
        null_last='"n": 1, "n": null',
        unknown_twice='"more": 1, "more": 2',
        far_apart='"n": 1, "x": 1, "of": {}, "n": 1',
        nested='"of": {"a": 1, "a": 2}',
        in_a_list='"list": [{"id": 1}, {"id": 2, "id": 2}]',
        in_unknown='"more": {"deep": [{"a": 1, "a": 1}]}',
        escaped=r'"\u006e": 1, "n": 1',
        escaped_inside=r'"of": {"a": 1, "\u0061": 1}',
        escaped_unknown=r'"m\/": 1, "m/": 1',
        empty_name='"": 1, "": 1',
    ),
    *loose("duplicate_field", map_twice='"counts": {"a": 1, "a": 1}', variant_twice='"any": {"a": 1, "a": 1}'),
    *loose("duplicate_field", map_nested='"any": [[{"a": {"b": 1, "b": 1}}]]'),
    *refuses(NEEDY, "duplicate_field", needed_twice='{"of": {}, "list": [], "any": {"a": 1, "a": 1}}'),
    *refuses(ANY, "duplicate_field", any_twice='{"a": 1, "a": 1}'),
]

_SHAPELESS = {
    "words": "yesterday",
    "now": "now",
    "epoch": "epoch",
    "empty": "",
    "year": "2026",
    "month": "2026-01",
    "compact": "20260131",
    "short_day": "2026-1-31",
    "slashes": "2026/01/31",
    "hour_only": "2026-01-31T10",
    "minute_short": "2026-01-31T10:0",
    "ten_digits": "2026-01-31T10:00:00.1234567890",
    "point_only": "2026-01-31T10:00:00.",
    "comma": "2026-01-31T10:00:00,5",
    "lower_case": "2026-01-31t10:00:00z",
    "zone_name": "2026-01-31T10:00:00[Europe/Paris]",
    "zone_word": "2026-01-31T10:00:00 UTC",
    "zone_hour": "2026-01-31T10:00:00+02",
    "blank_before": " 2026-01-31",
    "blank_after": "2026-01-31 ",
    "line_break": r"2026-01-31\n",
    "wide_digits": r"\uff12\uff10\uff12\uff16-01-31",
    "plus_year": "+10000-01-01",
    "five_digit_year": "10000-01-01",
    "minus_year": "-0001-01-01",
    "year_zero": "0000-01-01",
    "day_30_february": "2026-02-30",
    "no_leap_year": "2026-02-29",
    "month_13": "2026-13-01",
    "day_0": "2026-01-00",
    "hour_24": "2026-01-31T24:00:00",
    "minute_60": "2026-01-31T10:60:00",
    "leap_second": "2016-12-31T23:59:60Z",
    "zone_19": "2026-01-31T10:00:00+19:00",
    "zone_minute_60": "2026-01-31T10:00:00+01:60",
    "date_and_zone": "2026-01-31Z",
    "millis": "1767225600000",
}

BAD_TIMESTAMP = [
    *refuses(LOCAL, "bad_timestamp", not_of_the_format='{"at": "2026-01-31"}'),
    *refuses(NESTED, "bad_timestamp", too_large_to_compute='{"of": {"ts": 9223372036854775807}}'),
    *things("bad_timestamp", **{f"seen_{name}": f'"seen": "{text}"' for name, text in _SHAPELESS.items()}),
    *things(
        "bad_timestamp",
        zone_for_local='"local": "2026-01-31T10:00:00Z"',
        clock_for_date='"day": "2026-01-31T00:00:00"',
        no_date='"day": "31.01.2026"',
        inside_an_object='"of": {"at": "soon"}',
    ),
    *loose("bad_timestamp", in_a_map='"days": {"a": "2026-01-31", "b": "soon"}'),
    *refuses(MOMENT, "bad_timestamp", bare_soon='"soon"'),
]

OUT_OF_RANGE = [
    *refuses(SECONDS, "time_out_of_range", seconds_of_any_size='{"of": {"at": 1e300}}'),
    *refuses(MICROS, "time_out_of_range", micros_beyond='{"at": 9223372036854775807}', millis='{"at": 1767225600000}'),
    *refuses(LOCAL, "time_out_of_range", early_by_a_format='{"at": "31/12/1999 00:00"}'),
    *things(
        "time_out_of_range",
        epoch_seconds='"seen": 1767225600',
        epoch_millis='"seen": 1767225600000',
        epoch_micros='"seen": 1767225600000000',
        epoch_over='"seen": 9223372036854775807',
        epoch_beyond='"seen": 92233720368547758070',
        epoch_fraction='"seen": 1767225600.5',
        epoch_exponent='"seen": 1e12',
        number_for_local='"local": 0',
        number_for_date='"day": 20000',
        number_inside='"of": {"at": 1767225600000}',
    ),
    *loose("time_out_of_range", number_in_a_map='"days": {"a": 5}'),
    *refuses(
        *(ISO, "time_out_of_range"),
        before_2000='{"at": "1999-12-31T23:59:59.999999Z"}',
        before_2000_by_zone='{"at": "2000-01-01T00:00:00+00:01"}',
        day_and_more='{"at": "2026-06-02T00:00:00.000001Z"}',
        far_future='{"at": "9999-12-31T23:59:59Z"}',
        long_ago='{"at": "0001-01-02"}',
        iso_as_millis='{"at": 1767225600000}',
    ),
    *refuses(
        *(MILLIS, "time_out_of_range"),
        seconds='{"at": 1767225600}',
        micros='{"at": 1767225600000000}',
        before='{"at": 946684799999}',
        after='{"at": 1780358400001}',
        zero='{"at": 0}',
        negative='{"at": -1}',
        largest='{"at": 9223372036854775807}',
        smallest='{"at": -9223372036854775808}',
    ),
    *refuses(MOMENT, "time_out_of_range", bare_millis="1767225600000"),
    Case(
        "record_too_old", ISO, Record(b"{}", timestamp=datetime(1999, 1, 1, tzinfo=timezone.utc)), "time_out_of_range"
    ),
    Case(
        "record_too_new", OPEN, Record(None, timestamp=datetime(2027, 1, 1, tzinfo=timezone.utc)), "time_out_of_range"
    ),
]

KEYS = [
    Case("no_key", THING, Record(b'{"id": "a"}', key=None), "null_key"),
    Case("no_value", THING, Record(None), "null_value"),
    Case("neither", THING, Record(None, key=None), "null_key"),
    Case("key_no_text", THING, Record(b'{"id": "a"}', key=b"\xff\xfe"), "bad_key"),
    Case("key_overlong", THING, Record(b'{"id": "a"}', key=b"\xc0\x80"), "bad_key"),
    Case("key_surrogate", THING, Record(b'{"id": "a"}', key=b"\xed\xa0\x80"), "bad_key"),
    Case("key_cut", THING, Record(b'{"id": "a"}', key="ä".encode()[:1]), "bad_key"),
    reads(OPEN, "key_of_any_kind", '{"n": 1}', {"n": 1}, key=bytes([0, 0, 0, 200])),
    reads(THING, "key_empty", '{"id": "a"}', {"id": "a"}, key=b""),
    reads(THING, "key_beyond_ascii", '{"id": "a"}', {"id": "a"}, key="ключ \x00 😀".encode()),
    reads(OPEN, "no_key_allowed", '{"n": 1}', {"n": 1}, key=None),
    reads(OPEN, "no_value_allowed", None, None),
    reads(OPEN, "neither_allowed", None, None, key=None),
    reads(OURS, "names_of_ours", '{"v": 1, "_bad": "a", "_bad_": "b"}', {"v": 1, "_bad": "a", "_bad_": "b"}),
    reads(OURS, "none_of_ours", "{}", {}),
    *refuses(OURS, "not_json", word_null_for_ours="null", no_json_for_ours="{", more_than_ours="{} {}"),
    *refuses(OURS, "not_json", list_for_ours="[{}]", number_for_ours="1"),
    *refuses(OPEN, "not_json", word_null_is_no_null_value="null", empty_is_no_null_value=""),
]

RULES = [
    *refuses(NESTED, "early", field_of_data='{"of": {"ts": 1767225599}}'),
    *refuses(RULED, "key_mismatch", other_key='{"id": "j", "n": 1}'),
    *refuses(RULED, "too_small", small='{"id": "k", "n": 1}'),
    Case("number_for_id", RULED, Record(b'{"id": "7"}', key=b"7"), "no_number"),
    reads(RULED, "rules_pass", '{"id": "k", "n": 2}', {"id": "k", "n": 2}),
    reads(RULED, "null_breaks_no_rule", "{}", {}),
    reads(RULED, "what_cannot_be_computed_breaks_no_rule", '{"id": "k", "n": 0}', {"id": "k", "n": 0}),
]

READ = [
    thing(
        "all_numbers",
        '"n": -1, "big": 2, "small": 3, "tiny": 4, "x": 5, "f": 0.5',
        n=-1,
        big=2,
        small=3,
        tiny=4,
        x=5,
        f=0.5,
    ),
    thing("largest_int", '"n": 2147483647, "tiny": 127', n=2**31 - 1, tiny=127),
    thing("smallest_bigint", '"big": -9223372036854775808, "small": -32768', big=-(2**63), small=-(2**15)),
    thing("minus_zero", '"n": -0, "x": -0.0', n=0, x=0),
    thing("double_exponent", '"x": 1.5E+3', x=1500),
    thing("double_many_digits", '"x": 0.1000000000000000055511151231257827', x=0.1),
    thing("double_from_large_whole", f'"x": {"9" * 30}', x=1e30),
    thing("double_underflow", '"x": 1e-400', x=0),
    thing("booleans", '"ok": false', ok=False),
    thing("nulls", '"n": null, "tags": null, "of": null, "seen": null'),
    thing("null_inside", '"of": {"a": null, "at": null}', of={"a": None, "at": None}),
    thing(
        "empty_parts",
        '"tags": [], "of": {}, "list": [{}]',
        tags=[],
        of={"a": None, "at": None},
        list=[{"id": None, "name": None}],
    ),
    thing("null_items", '"tags": [null, "a", null], "list": [null]', tags=[None, "a", None], list=[None]),
    thing("unknown_fields", '"more": {"a": [1, "x", {}]}, "N": 5, "n": 1', n=1),
    thing("unknown_beside_null", '"N": "x", "of": {"A": "x", "a": 1}', of={"a": 1, "at": None}),
    thing("unknown_like_ours", '"v": 1, "_bad": "x", "_": 1, "id ": 1'),
    thing("unknown_over_all_bounds", '"more": 1e400, "most": 123456789012345678901234567890123456789012'),
    thing("escaped_name", r'"\u006e": 5', n=5),
    thing("deep_pair", r'"tags": ["\ud83d\ude00", "😀"]', tags=["😀", "😀"]),
    thing("escapes", r'"tags": ["\"\\\/\b\f\n\r\t\u0000\u00e4"]', tags=['"\\/\b\f\n\r\t\0ä']),
    thing("escaped_backslash_before_u", r'"tags": ["\\ud800", "\\\\u12"]', tags=["\\ud800", "\\\\u12"]),
    thing("texts_like_others", '"tags": ["", " ", "null", "{}", "1"]', tags=["", " ", "null", "{}", "1"]),
    thing("rare_letters", '"tags": ["\u2028\ufeff\uffff\u202e", "\x7f"]', tags=["\u2028\ufeff\uffff\u202e", "\x7f"]),
    reads(THING, "empty_id", '{"id": ""}', {"id": ""}),
    reads(THING, "blank_id", '{"id": " "}', {"id": " "}),
    reads(THING, "blanks_in_text", '{ "id" :  "a  b" }', {"id": "a  b"}),
    reads(THING, "blanks_about", '\r\n\t {\t"id"\r:\n"a" }\n ', {"id": "a"}),
    reads(THING, "compact", '{"id":"a","n":1}', {"id": "a", "n": 1}),
    reads(THING, "any_order", '{"n": 1, "id": "a"}', {"id": "a", "n": 1}),
    reads(THING, "huge_text", f'{{"id": "{_HUGE}"}}', {"id": _HUGE}),
    reads(THING, "deep", _DEEP, {"id": "a"}),
    reads(
        NEEDY, "required_parts", '{"of": {}, "list": [null], "any": 0}', {"of": {"a": None}, "list": [None], "any": 0}
    ),
    loosely("money", '"money": -1.10', money=Decimal("-1.10")),
    loosely("money_whole", '"money": 99999999', money=Decimal(99999999)),
    loosely("money_zeros", '"money": 1.1000', money=Decimal("1.1")),
    loosely("money_exponent", '"money": 1e2', money=Decimal(100)),
    loosely("prices", f'"prices": [{"9" * 28}.0000000001, null]', prices=[Decimal("9" * 28 + ".0000000001"), None]),
    loosely("map", '"counts": {"a": 1, "b": null, "A": 2, "": 3}', counts={"a": 1, "b": None, "A": 2, "": 3}),
    loosely("map_of_days", '"days": {"a": "2026-01-31", "b": null}', days={"a": date(2026, 1, 31), "b": None}),
    loosely("variant", '"any": {"a": [1, "x", null, true]}', any={"a": [1, "x", None, True]}),
    seen("day", "2026-01-31", _time(2026, 1, 31)),
    seen("minute", "2026-01-31T10:05", _time(2026, 1, 31, 10, 5)),
    seen("minute_zulu", "2026-01-31T10:05Z", _time(2026, 1, 31, 10, 5)),
    seen("minute_zone", "2026-01-31T10:05+01:30", _time(2026, 1, 31, 8, 35)),
    seen("blank_between", "2026-01-31 10:05:06", _time(2026, 1, 31, 10, 5, 6)),
    seen("one_digit", "2026-01-31T10:05:06.5Z", _time(2026, 1, 31, 10, 5, 6, 500_000)),
    seen("nine_digits", "2026-01-31T10:05:06.123456789", _time(2026, 1, 31, 10, 5, 6, 123_456)),
    seen("nine_nines", "2026-12-31T23:59:59.999999999Z", _time(2026, 12, 31, 23, 59, 59, 999_999)),
    seen("zone", "2026-01-31T00:30:00+02:00", _time(2026, 1, 30, 22, 30)),
    seen("zone_no_colon", "2026-01-31T00:30:00-0200", _time(2026, 1, 31, 2, 30)),
    seen("zone_largest", "2026-01-31T00:00:00-18:00", _time(2026, 1, 31, 18)),
    seen("leap_day", "2024-02-29", _time(2024, 2, 29)),
    seen("summer_gap", "2026-03-29T02:30:00", _time(2026, 3, 29, 2, 30)),
    seen("last_moment", "9999-12-31T23:59:59.999999Z", _time(9999, 12, 31, 23, 59, 59, 999_999)),
    seen("before_1582", "1500-02-28T00:00:00Z", _time(1500, 2, 28)),
    thing("local_time", '"local": "2026-01-31T10:05:06.7"', local=_time(2026, 1, 31, 10, 5, 6, 700_000)),
    thing("day", '"day": "2026-01-31"', day=date(2026, 1, 31)),
    thing("time_inside", '"of": {"at": "2026-01-31T01:00+01:00"}', of={"a": None, "at": _time(2026, 1, 31)}),
    reads(COUNT, "bare_integer", "5", 5),
    reads(COUNT, "bare_with_blanks", " \n-5\t", -5),
    reads(COUNT, "bare_largest", "9223372036854775807", 2**63 - 1),
    reads(WORD, "bare_string", '"tea"', "tea"),
    reads(WORD, "bare_empty", '""', ""),
    reads(WORD, "bare_with_quotes", r'"a\"}, {\"v\": \"b"', 'a"}, {"v": "b'),
    reads(RATIO, "bare_double", "1e3", 1000),
    reads(FLAG, "bare_boolean", "false", False),
    reads(PRICE, "bare_decimal", "1.10", Decimal("1.10")),
    reads(MOMENT, "bare_time", '"2026-01-31T10:00:00Z"', _time(2026, 1, 31, 10)),
    reads(ROW, "bare_row", "[1, null, 2]", [1, None, 2]),
    reads(ANY, "bare_variant", '[1, {"a": "b"}]', [1, {"a": "b"}]),
]

CASES = [*NO_JSON, *MISSING, *WRONG_TYPE, *DUPLICATE, *BAD_TIMESTAMP, *OUT_OF_RANGE, *KEYS, *RULES, *READ]

_OLD = datetime(1999, 1, 1, tzinfo=timezone.utc)
EVENT_TIMES = [
    ("of_the_record", THING, Record(b'{"id": "a"}'), RECORD_TIME),
    ("of_a_null_value", OPEN, Record(None), RECORD_TIME),
    ("absent", ISO, Record(b"{}"), RECORD_TIME),
    ("null", MILLIS, Record(b'{"at": null}'), RECORD_TIME),
    ("body_goes_before_record", ISO, Record(b'{"at": "2026-01-31"}', timestamp=_OLD), datetime(2026, 1, 31)),
    ("first_moment", ISO, Record(b'{"at": "2000-01-01T00:00:00Z"}'), datetime(2000, 1, 1)),
    ("last_moment", ISO, Record(b'{"at": "2026-06-02T00:00:00Z"}'), datetime(2026, 6, 2)),
    ("micros", ISO, Record(b'{"at": "2026-01-31T10:00:00.123456789"}'), datetime(2026, 1, 31, 10, 0, 0, 123_456)),
    ("zone", ISO, Record(b'{"at": "2026-01-31T00:00+01:00"}'), datetime(2026, 1, 30, 23)),
    ("millis", MILLIS, Record(b'{"at": 1767225600123}'), datetime(2026, 1, 1, 0, 0, 0, 123_000)),
    ("first_millis", MILLIS, Record(b'{"at": 946684800000}'), datetime(2000, 1, 1)),
    ("last_millis", MILLIS, Record(b'{"at": 1780358400000}'), datetime(2026, 6, 2)),
    ("nested_seconds", SECONDS, Record(b'{"of": {"at": 1767225600.123456}}'), datetime(2026, 1, 1, 0, 0, 0, 123_456)),
    ("nothing_around", SECONDS, Record(b'{"of": null}'), RECORD_TIME),
    ("micros_of_data", MICROS, Record(b'{"at": 1767225600123456}'), datetime(2026, 1, 1, 0, 0, 0, 123_456)),
    ("bare_seconds", BARE_SECONDS, Record(b"1767225600"), datetime(2026, 1, 1)),
    ("by_a_format", LOCAL, Record(b'{"at": "31/01/2026 10:20"}'), datetime(2026, 1, 31, 10, 20)),
    ("null_by_a_format", LOCAL, Record(b'{"at": null}'), RECORD_TIME),
    ("sql", NESTED, Record(b'{"of": {"ts": 1767225600}}'), datetime(2026, 1, 1)),
    ("sql_of_a_time", NESTED, Record(b'{"seen": "2026-01-31T10:00Z"}'), datetime(2026, 1, 31, 10)),
    ("sql_of_a_date", NESTED, Record(b'{"of": {"day": "2026-01-31"}}'), datetime(2026, 1, 31)),
    ("sql_of_nothing", NESTED, Record(b"{}"), RECORD_TIME),
]
"""Name, topic, record and the event time it gets, in UTC."""
