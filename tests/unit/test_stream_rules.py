"""What cannot run as a stream, what keeps its state permanently, and what house rules refuse."""

from __future__ import annotations

import pytest

from headrace.project import loader

NEW = "sql/gold/shipping/new.sql"
MARK = "watermark event_time delay of interval 1 minute"
LEFT = f"with l as (select key, event_time from stream bronze.orders {MARK}),"
RIGHT = f"r as (select key, event_time from stream bronze.manufactured {MARK})"
BARE_LEFT = "with l as (select key, event_time from stream bronze.orders),"
BARE_RIGHT = "r as (select key, event_time from stream bronze.manufactured)"
OTHER_LEFT = (
    f"with l as (select key, event_time as happened_at, landed_at as event_time from stream bronze.orders {MARK}),"
)
UNNAMED_LEFT = f"with l as (select key, data.orderDate as event_time from stream bronze.orders {MARK}),"
VIEWED_LEFT = (
    "with l as (select k as key, at as event_time from (select key as k, event_time as at from stream bronze.orders "
    f"{MARK})),"
)
MADE = "watermark to_timestamp(value) as at delay of interval 1 minute"
MADE_LEFT = f"with l as (select key, at as event_time from stream bronze.orders {MADE}),"
MADE_RIGHT = f"r as (select key, at as event_time from stream bronze.manufactured {MADE})"
STATIC_RIGHT = "r as (select key, event_time from bronze.manufactured)"
STATIC_LEFT = "with l as (select key, event_time from bronze.orders),"
LANDED = "with l as (select key, landed_at from stream bronze.orders watermark landed_at delay of interval 1 minute)"
BOUND = "l.key = r.key and r.event_time between l.event_time - interval 1 hour and l.event_time"
APPEND, UPDATE = "run: streaming", "run: streaming\noutput_mode: update"
WINDOW = "window(event_time, '1 minute')"


def one(query: str) -> str:
    return f"with l as (select key, event_time, landed_at, data from stream bronze.orders {MARK}) {query}"


def two(join: str, on: str = BOUND, left: str = LEFT, right: str = RIGHT) -> str:
    return f"{left} {right} select l.key from l {join} r on {on}"


SHAPES: list[tuple[str, str, list[str]]] = [
    (one(f"select key, count(*) as n from l group by key, {WINDOW}"), APPEND, []),
    (one(f"select key, w.start as s from (select *, {WINDOW} as w from l) group by key, w"), APPEND, []),
    (one(f"select key, {WINDOW} as w, count(*) as n from l group by all"), APPEND, []),
    (one("select key, max(event_time) as latest from l group by all"), APPEND, ["cannot-stream"]),
    (one("select key, event_time from l group by key, event_time"), APPEND, []),
    (one("select distinct key, event_time from l"), APPEND, []),
    (one(f"select distinct key, {WINDOW} as w from l"), UPDATE, []),
    (one("select distinct key from l"), APPEND, ["cannot-stream"]),
    (one("select key, count(*) as n from l group by key"), APPEND, ["cannot-stream"]),
    (one("select key, count(*) as n from l group by key"), UPDATE, ["unbounded-state"]),
    (one("select count(*) as n from l"), UPDATE, ["unbounded-state"]),
    (f"select key, count(*) as n from stream bronze.orders group by key, {WINDOW}", UPDATE, ["unbounded-state"]),
    (f"select key, count(*) as n from stream bronze.orders group by key, {WINDOW}", APPEND, ["cannot-stream"]),
    (two("join"), APPEND, []),
    (two("join"), UPDATE, []),
    (two("join", "l.key = r.key and l.event_time = r.event_time"), APPEND, []),
    (two("join", "l.key = r.key"), APPEND, ["unbounded-join"]),
    (two("join", left=BARE_LEFT, right=BARE_RIGHT), APPEND, ["unbounded-join"]),
    (f"{LEFT} {RIGHT} select l.key from l join r using (key)", APPEND, ["unbounded-join"]),
    (two("join", "r.event_time >= l.event_time"), APPEND, ["cannot-stream"]),
    (two("join", "l.key = r.key", right=STATIC_RIGHT), APPEND, []),
    (two("left join"), APPEND, []),
    (two("left join", left=BARE_LEFT), APPEND, ["outer-join"]),
    (two("left join", left=OTHER_LEFT), APPEND, ["outer-join"]),
    (two("left join", left=UNNAMED_LEFT), APPEND, ["outer-join"]),
    (two("left join", "l.key = r.key and r.event_time >= l.event_time and r.event_time < l.event_time"), APPEND, []),
    (two("left join", "l.key = r.key and r.event_time >= l.event_time"), APPEND, ["outer-join"]),
    (two("left join", "l.key = r.key and l.event_time = r.event_time"), APPEND, []),
    (two("left join", left=VIEWED_LEFT), APPEND, []),
    (two("left join", right=BARE_RIGHT), APPEND, ["outer-join"]),
    (two("left join", "l.key = r.key"), APPEND, ["outer-join"]),
    (two("left join"), UPDATE, ["cannot-stream"]),
    (two("left join", left=MADE_LEFT), APPEND, []),
    (two("left join", left=MADE_LEFT, right=MADE_RIGHT), APPEND, []),
    (two("right join"), APPEND, []),
    (two("right join", right=BARE_RIGHT), APPEND, ["outer-join"]),
    (two("right join", left=BARE_LEFT), APPEND, ["outer-join"]),
    (two("full join"), APPEND, []),
    (two("full join", "l.key = r.key and r.event_time <= l.event_time + interval 1 hour"), APPEND, ["outer-join"]),
    (two("full join", left=BARE_LEFT), APPEND, ["outer-join"]),
    (two("full join", left=BARE_LEFT, right=BARE_RIGHT), APPEND, ["outer-join"]),
    (two("left semi join"), UPDATE, []),
    (two("left semi join", right=BARE_RIGHT), APPEND, ["outer-join"]),
    (two("left anti join"), APPEND, ["cannot-stream"]),
    (two("left anti join", "l.key = r.key", right=STATIC_RIGHT), APPEND, []),
    (two("left join", "l.key = r.key", left=STATIC_LEFT), APPEND, ["cannot-stream"]),
    (two("right join", "l.key = r.key", right=STATIC_RIGHT), APPEND, ["cannot-stream"]),
    (two("full join", "l.key = r.key", right=STATIC_RIGHT), APPEND, ["cannot-stream"]),
    (f"{LEFT} {RIGHT} select key, event_time from l", APPEND, ["unused-stream"]),
    (f"{LEFT} {RIGHT}, s as (select key from r) select key from l", APPEND, ["unused-stream", "unused-stream"]),
    (f"{LEFT} {BARE_RIGHT} select key from l", APPEND, ["unused-stream"]),
    (f"{LEFT} {STATIC_RIGHT} select key from l", APPEND, []),
    (f"{LEFT} {RIGHT} select key from (select key from l union all select key from r)", APPEND, []),
    (f"{LEFT} {RIGHT}, s as (select key from r) select key from l union all (select key from s)", APPEND, []),
    (f"{LEFT} {RIGHT} select key from (with t as (select key from r) select key from t)", APPEND, ["unused-stream"]),
    (one("select lag(key) over (partition by key order by event_time) as n from l"), APPEND, ["cannot-stream"]),
    (one("select key from l order by key"), APPEND, ["cannot-stream"]),
    (one("select key from l limit 5"), UPDATE, ["cannot-stream"]),
    (one("select key from l limit 5"), APPEND, []),
    (one(f"select count(distinct key) as n from l group by {WINDOW}"), APPEND, ["cannot-stream"]),
    (f"{LEFT} {RIGHT} select key from l where key in (select key from r)", APPEND, ["cannot-stream"]),
    (f"{LEFT} {STATIC_RIGHT} select key from l where key in (select key from r)", APPEND, []),
    (f"{LEFT} {RIGHT} select key from l intersect select key from r", APPEND, ["cannot-stream"]),
    (f"{LEFT} {RIGHT} select key from l union all select key from r", APPEND, []),
    (one("select session_window(event_time, '1 minute') as w from l group by 1"), APPEND, ["cannot-stream"]),
    (one("select key from l group by key, session_window(event_time, '1 minute')"), APPEND, []),
    (one("select key from l group by key, session_window(event_time, '1 minute')"), UPDATE, ["cannot-stream"]),
    (one("select key, current_timestamp as at from l"), APPEND, ["current-time"]),
    (one("select key, uuid() as id from l"), APPEND, ["non-deterministic"]),
    (f"{LANDED} select key from l group by key, window(landed_at, '1 minute')", APPEND, ["processing-time"]),
    (one("select 1 as one from l group by window(landed_at, '1 day')"), APPEND, ["cannot-stream", "processing-time"]),
    ("select window(now(), '1 minute') as w from stream bronze.orders", APPEND, ["current-time", "processing-time"]),
    (one("select concat(key, '-', data.id) as key, event_time from l"), APPEND, []),
]  # fmt: skip
"""Query, header keys, and what is found; the Spark tests hold it against Spark's own verdict."""

FAILS_LATER = (
    two("join", "r.event_time >= l.event_time"),
    one("select session_window(event_time, '1 minute') as w from l group by 1"),
)
"""Shapes that Spark starts and that fail at the first row."""

NEVER_EMITTED = (
    *(two("left join", left=left) for left in (BARE_LEFT, OTHER_LEFT, UNNAMED_LEFT)),
    two("right join", right=BARE_RIGHT),
    two("full join", left=BARE_LEFT),
    two("full join", "l.key = r.key and r.event_time <= l.event_time + interval 1 hour"),
)
"""Shapes that Spark starts and whose rows without a partner it never emits."""

THREE = f"{LEFT} {RIGHT}, s as (select key, event_time as at from stream bronze.orders {MARK})"
CHAIN = f"{THREE} select {{0}} from l join r on {BOUND} join s on r.key = s.key and {{1}}"
AFTER = "s.at between r.event_time and r.event_time + interval 1 hour"
PLAIN = "timestamp_micros(unix_micros(event_time))"
TWO_TIMES: list[tuple[str, str | None]] = [
    (CHAIN.format("l.key, s.at", AFTER), None),
    (CHAIN.format("l.key, l.event_time", AFTER), None),
    (CHAIN.format("l.key", f"{AFTER} and s.at > l.event_time"), "`l.event_time`"),
    (CHAIN.format("l.key, unix_micros(l.event_time) as at", AFTER), None),
    (f"{CHAIN.format('l.key', AFTER)} where l.event_time > timestamp'2020-01-01'", None),
    (CHAIN.format("*", AFTER), None),
    (CHAIN.replace("select key, event_time from stream bronze.orders",
                   f"select key, event_time, {PLAIN} as at from stream bronze.orders")
     .format("l.key, l.at", AFTER), None),
    (f"{LEFT} {RIGHT} select l.event_time as a, r.event_time as b from l join r on {BOUND}", None),
    (f"{LEFT} {RIGHT} select l.event_time as a, r.event_time as b from l join r on {BOUND} group by 1, 2",
     "`l.event_time` and `r.event_time`"),
    (f"{LEFT} {RIGHT} select distinct l.event_time as a, r.event_time as b from l join r on {BOUND}",
     "`l.event_time` and `r.event_time`"),
    (f"{LEFT} {RIGHT} select l.event_time as a, max(r.event_time) as b from l join r on {BOUND} group by 1", None),
    (one(f"select event_time, count(*) as n from l group by event_time, {WINDOW}"),
     "`window(event_time, '1 minute')` and `event_time`"),
    (one(f"select {WINDOW}.start as s, {WINDOW}.end as e, count(*) as n from l group by {WINDOW}"), None),
]  # fmt: skip
"""Models whose steps with state have one event time, or those that are too many."""


@pytest.mark.parametrize(("query", "message"), TWO_TIMES)
def test_step_with_state_has_one_event_time(project_files, query, message):
    project_files.write(NEW, f"/*\nOne row.\n\nrun: streaming\n*/\n{query}\n")
    found = loader.survey(project_files.root, "local").findings
    assert [(each.code, str(message) in each.message) for each in found] == [("cannot-stream", True)] * bool(message)


def codes(project_files, query: str, keys: str) -> list[str]:
    project_files.write(NEW, f"/*\nOne row.\n\n{keys}\n*/\n{query}\n")
    return [finding.split(" ")[1] for finding in project_files.findings()]


@pytest.mark.parametrize(("query", "keys", "expected"), SHAPES)
def test_streaming_model_is_judged(project_files, query, keys, expected):
    assert codes(project_files, query, keys) == expected


@pytest.mark.parametrize(
    ("column", "keys", "expected"),
    [
        ("concat(order_id, '-', item_count)", "once_per: k", ["concatenated-key"]),
        ("order_id || '-' || item_count", "once_per: k", ["concatenated-key"]),
        ("concat_ws('-', order_id, item_count)", "publish: {topic: t, key: k, value: {k: k}}", ["concatenated-key"]),
        ("concat('order-', order_id)", "once_per: k", []),
        ("to_json(array(order_id, item_count))", "once_per: k", []),
        ("concat(order_id, '-', item_count)", "once_per: order_id", []),
    ],
)
def test_key_is_a_list_of_columns(project_files, column, keys, expected):
    query = f"with o as (select order_id, {column} as k, _arrival from stream silver.orders) select * from o"
    assert codes(project_files, query, f"materialized: append\n{keys}") == expected


@pytest.mark.parametrize(
    "query",
    [
        "select max(_arrival) over (partition by concat(order_id, '-', item_count)) as m from stream silver.orders",
        "select count(*) as n from stream silver.orders group by order_id || '-' || item_count",
        "select a.order_id from stream silver.orders as a join silver.open_orders as b"
        " on concat(a.order_id, '-', a.item_count) = b.order_id",
    ],
)
def test_key_in_the_text_is_a_list_of_columns(project_files, query):
    assert "concatenated-key" in codes(project_files, query, "")


def test_second_watermark_is_found_through_a_view(project_files):
    project_files.write(
        "sql/silver/shipping/marked.sql",
        f"/*\nOne row.\n*/\nselect key, event_time as at from stream bronze.orders {MARK}",
    )
    text = "/*\nOne row.\n*/\nselect key from stream silver.marked watermark at delay of interval 2 minutes"
    project_files.write(NEW, text)
    assert project_files.findings() == [f"{NEW}:4:38 second-watermark"]


def test_window_and_watermark_of_a_view_bound_the_state(project_files):
    view = f"/*\nOne row.\n*/\nselect key, {WINDOW} as w from stream bronze.orders {MARK}"
    project_files.write("sql/silver/shipping/marked.sql", view)
    assert codes(project_files, "select key, count(*) as n from stream silver.marked group by key, w", "") == []


@pytest.mark.parametrize(
    ("allow", "expected"),
    [
        ("allow: {unbounded-state: one row per key for ever}", []),
        ("allow: {unbounded-state: yes it is}\ntags: x", []),
        ("allow: {unbounded-state: because}", ["bad-value"]),
        ("allow: {unbounded-sate: one row per key for ever}", ["bad-value"]),
        ("allow: {cannot-stream: I want it all}", ["bad-value"]),
        ("allow: {unbounded-state: one row per key, current-time: it is never read}", ["needless-allow"]),
    ],
)
def test_header_allows_with_a_reason(project_files, allow, expected):
    query = one("select key, count(*) as n from l group by key")
    assert codes(project_files, query, f"{UPDATE}\n{allow}") == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("columns: {order_id: string}", []),
        ("columns: {order_id: string}\nextra_columns: refuse", ["contract"]),
        ("columns: {order_id: string, item_count: int}\nextra_columns: refuse", []),
        ("extra_columns: refuse", ["missing-key"]),
        ("extra_columns: allow", []),
    ],
)
def test_contract_may_be_closed(project_files, keys, expected):
    query = "select order_id, item_count, _arrival from stream silver.orders"
    assert codes(project_files, query, keys) == expected


def test_other_models_are_judged_beside_a_broken_one(project_files):
    project_files.edit("sql/silver/shipping/open_orders.sql", "upsert", "upsret")
    assert codes(project_files, two("join", "l.key = r.key"), APPEND)[:1] == ["unbounded-join"]
