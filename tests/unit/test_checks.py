"""One small broken project per finding: its code and its place."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidProject

ORDERS = "sql/silver/shipping/orders.sql"
OPEN = "sql/silver/shipping/open_orders.sql"
SHIPPING = "sql/bronze/shipping.yml"
READY = "sql/gold/shipping/shipment_ready.sql"
NEW = "sql/gold/shipping/new.sql"


RELATED = "tests: {columns: {order_id: {relationships: "


def sql(query: str, keys: str = "") -> str:
    """A model file whose query starts in line 6 when its header has at most one key."""
    return f"/*\nOne row.\n\n{keys}\n*/\n{query}\n"


def messages(project_files) -> str:
    with pytest.raises(InvalidProject) as caught:
        project_files.load()
    return str(caught.value)


def test_valid_project_has_no_findings(project_files):
    assert project_files.findings() == []


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        (ORDERS, "bronze.orders", "bronze.order", "5:6 unknown-table"),
        (ORDERS, "stream bronze.orders", "stream orders", "5:6 unknown-table"),
        (ORDERS, "bronze.orders", "bronze.dead_letters", "5:6 not-allowed"),
        (OPEN, "join silver.open_orders on", "join silver.opn_orders as open_orders on", "17:15 unknown-table"),
        (ORDERS, "data.id", "data.idd", "4:13 unknown-column"),
        (ORDERS, "data.id", "dta.id", "4:8 unknown-column"),
        (ORDERS, "data.id", "_metadata.file_path", "4:8 unknown-column"),
        (READY, "item_count > ", "_Metadata.file_size > ", "9:7 unknown-column"),
        (OPEN, "sum(orders.item_count)", "sum(orders.item_cnt)", "13:20 unknown-column"),
        (OPEN, "open_orders.item_count, 0", "open_orders.items, 0", "14:32 unknown-column"),
        (READY, "item_count > ", "count > ", "9:7 unknown-column"),
        (READY, ":limit", ":limits", "9:20 missing-parameter"),
        (OPEN, "select order_id, item_count, _arrival from", "select * from", "8:12 star-from-table"),
        (READY, "from stream", "from", "7:1 missing-stream"),
        (ORDERS, "stream ", "", "8:48 missing-stream"),
        (READY, "once_per: order_id", "unique_key: order_id", "4:13 append-needs-no-unique-key"),
        (OPEN, "unique_key: order_id", "tags: x", "1:1 missing-key"),
        (OPEN, "        orders._arrival\n", "        1 as n\n", "5:13 no-order"),
        (OPEN, "unique_key: order_id", "unique_key: [order_id, product]", "5:24 unknown-column"),
        (READY, "once_per: order_id", "once_per: order", "4:11 unknown-column"),
        (READY, "key: order_id", "key: order", "5:33 unknown-column"),
        (READY, "orderId: order_id", "orderId: order", "5:60 unknown-column"),
        (READY, "topic: shipping", "topic: {column: where_to}", "5:27 unknown-column"),
        (READY, "publish:", "log: words\npublish:", "5:6 unknown-column"),
        (READY, "publish:", "keep: 30 days\npublish:", "5:7 keep-needs-rows"),
        (READY, "publish:", "keep: 5m\npublish:", "5:7 bad-value"),
        (READY, "publish:", "keep_history: 1s\npublish:", "5:15 bad-value"),
        (READY, "publish:", "columns: {words: string}\npublish:", "5:18 unknown-column"),
        (READY, "publish:", "tests: {columns: {ordr_id: unique}}\npublish:", "5:28 unknown-column"),
        (READY, "publish:", "tests: {rows: {good: words > 1}}\npublish:", "5:22 unknown-column"),
        (READY, "publish:", f"{RELATED}{{to: silver.open, field: x}}}}}}}}\npublish:", "5:29 unknown-table"),
        (READY, "publish:", f"{RELATED}{{to: silver.orders, field: x}}}}}}}}\npublish:", "5:29 unknown-table"),
        (READY, "publish:", f"{RELATED}{{to: silver.open_orders, field: id}}}}}}}}\npublish:", "5:77 unknown-column"),
        (READY, "publish:", f"{RELATED}{{to: bronze.orders, field: data.id}}}}}}}}\npublish:", "5:72 unknown-column"),
        (READY, "select order_id, _arrival", "select order_id, item_count + 1", "7:18 unnamed-column"),
        (READY, "select order_id, _arrival", "select order_id, null", "7:8 unnamed-column"),
        (OPEN, "coalesce(open_orders.item_count, 0) as item_count", "1", "13:9 unnamed-column"),
        (ORDERS, "size(data.items) as item_count", "size(data.items)", "4:29 unnamed-column"),
        (OPEN, "unique_key:", "delete_when: done\nunique_key:", "5:14 unknown-column"),
        (OPEN, "unique_key:", "close_when: size(missing) = 0\nunique_key:", "5:13 unknown-column"),
        (OPEN, "unique_key:", "delete_when: reflect('a', 'b') = order_id\nunique_key:", "5:14 not-allowed"),
        (OPEN, "unique_key:", "close_when: rand() > 0.5\nunique_key:", "5:13 non-deterministic"),
        (READY, "publish:", "log: concat('ready ', words)\npublish:", "5:6 unknown-column"),
        (READY, "publish:", "log: java_method('a', 'b', order_id)\npublish:", "5:6 not-allowed"),
        (READY, "publish:", "tests: {rows: {good: order_id < uuid()}}\npublish:", "5:22 non-deterministic"),
        (READY, "_arrival\nfrom", "now() as n\nfrom", "7:18 non-deterministic"),
        (READY, "_arrival\nfrom", "current_date as d\nfrom", "7:18 non-deterministic"),
        (READY, "_arrival\nfrom", "unix_timestamp() as d\nfrom", "7:18 non-deterministic"),
        (READY, "_arrival\nfrom", "CurDate() as d\nfrom", "7:18 non-deterministic"),
        (READY, "_arrival\nfrom", "timestamp 'now' as d\nfrom", "7:18 non-deterministic"),
        (READY, "_arrival\nfrom", "DATE ' Tomorrow UTC' as d\nfrom", "7:18 non-deterministic"),
        (SHIPPING, "id <> key", "rand() > 0.5", "7:28 non-deterministic"),
        (SHIPPING, "id <> key", "orderDate > now()", "7:28 non-deterministic"),
        (SHIPPING, "orderDate\n", "greatest(orderDate, curdate())\n", "6:17 non-deterministic"),
        (ORDERS, "size(data.items)", "rand()", "4:29 non-deterministic"),
        (READY, "once_per:", "output_mode: update\nonce_per:", "4:14 wrong-engine"),
        (READY, "value: {orderId: order_id}", "value: {json: order}", "5:57 unknown-column"),
        (READY, "publish:", "materialized: incremental\npublish:", "5:15 dbt-word"),
        (READY, "publish:", "materialized: table\npublish:", "5:15 dbt-word"),
        (READY, "publish:", "materialized: ephemeral\npublish:", "5:15 dbt-word"),
    ],
)
def test_edit_gives_one_finding(project_files, path, old, new, expected):
    project_files.edit(path, old, new)
    found = [finding.removeprefix(f"{path}:") for finding in project_files.findings()]
    assert expected in [finding.removeprefix(f"{OPEN}:") for finding in found]
    assert len(found) == 1


UNORDERED = "row_number() over (partition by order_id)"
SALES = "landing: sales\ntopics: {sales: {schema: {product: string}}}\n"
ROWS = "select order_id, _arrival from stream silver.orders"
SNAPSHOT = "select order_id, _arrival from silver.orders"
WATERMARKED = "select key, timestamp from stream bronze.orders watermark timestamp delay of interval 1 minute"
PUBLISH = "publish: {topic: t, key: order_id, value: {a: order_id}}"
KEY_IS_AN_ORDER = "columns: {key: {relationships: {to: silver.open_orders, field: order_id}}}"
UPSERT = "materialized: upsert\nunique_key: order_id"


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("sql/bronze/shipping.yml", "event_time:", "idle_after: :limt\n    event_time:", "6:17 missing-parameter"),
        ("sql/bronze/shipping.yml", "event_time:", "idle_after: :word\n    event_time:", "6:17 bad-value"),
        ("manifest.yml", "limit: 2", "idle_tick: often, limit: 2", "7:27 bad-value"),
        ("manifest.yml", "limit: 2", "idle_tick: 0, limit: 2", "7:27 bad-value"),
    ],
)
def test_duration_has_a_number(project_files, path, old, new, expected):
    project_files.edit("manifest.yml", "limit: 2", "word: w, no: null, limit: 2")
    project_files.edit(path, old, new)
    assert project_files.findings() == [f"{path}:{expected}"]


@pytest.mark.parametrize(("name", "expected"), [("limt", "missing-parameter"), ("no", "bad-value")])
def test_duration_of_memory_has_a_number(project_files, name, expected):
    project_files.edit("manifest.yml", "limit: 2", "no: null, limit: 2")
    own = "left anti join gold.new on orders.order_id = new.order_id"
    query = f"select orders.order_id, orders._arrival from stream silver.orders {own}"
    project_files.write(NEW, sql(query, f"{UPSERT}\nrun: streaming\nremember: :{name}"))
    assert [finding.split(" ")[1] for finding in project_files.findings()] == [expected]


def test_duration_of_a_target_is_reported_there(project_files):
    project_files.edit("manifest.yml", "limit: 2", "idle_tick: 5, limit: 2")
    project_files.write("conf/local.yml", "data_dir: data\nvars: {idle_tick: 5s}\n")
    assert project_files.findings() == ["conf/local.yml:2:8 bad-value"]


@pytest.mark.parametrize(
    ("query", "keys", "expected"),
    [
        (ROWS, "once_per: order_id", []),
        (ROWS, PUBLISH, []),
        (
            ROWS.replace(
                "_arrival", "first(item_count) over (partition by _arrival order by _arrival) as n, _arrival", 1
            ),
            "log: n",
            [],
        ),
        (ROWS.replace(", _arrival", ""), "log: order_id", ["no-order"]),
        (ROWS.replace("_arrival", "first(_arrival) as a"), "tags: x", ["cut-dependent", "non-deterministic"]),
        (ROWS.replace("_arrival", f"{UNORDERED} as n"), "tags: x", ["cut-dependent", "non-deterministic"]),
        (ROWS.replace("_arrival", "now() as n"), "run: streaming", ["current-time"]),
        (SNAPSHOT, "materialized: snapshot\nevery: 5", []),
        (SNAPSHOT, "materialized: snapshot\nevery: :limit", []),
        (SNAPSHOT.replace("_arrival", ":snapshot_at as at"), f"materialized: snapshot\nevery: 5\n{PUBLISH}", []),
        (SNAPSHOT, "materialized: snapshot", ["missing-key"]),
        (SNAPSHOT, "materialized: snapshot\nevery: 0", ["bad-value"]),
        (SNAPSHOT, "materialized: snapshot\nevery: true", ["bad-value"]),
        (SNAPSHOT, "materialized: snapshot\nevery: often", ["bad-value"]),
        (SNAPSHOT, "materialized: snapshot\nevery: :limits", ["missing-parameter"]),
        (ROWS, "materialized: snapshot\nevery: 5", ["wrong-engine"]),
        (ROWS, "every: 5", ["append-needs-no-every"]),
        (ROWS, "keep: 30 days", []),
        (SNAPSHOT, "materialized: snapshot\nevery: 5\nkeep: 1.5d\nkeep_history: 7 days", []),
        (ROWS, f"{UPSERT}\nkeep: 30 days", []),
        (ROWS, "materialized: view\nkeep: 30 days", ["view-needs-no-keep"]),
        (ROWS.replace("_arrival", ":snapshot_at as at"), "tags: x", ["missing-parameter"]),
        (WATERMARKED, "output_mode: update", []),
        (ROWS, f"materialized: view\n{PUBLISH}", ["view-needs-no-publish"]),
        (ROWS, "materialized: view\nonce_per: order_id", ["view-needs-no-once-per"]),
        (ROWS, "materialized: view\ntests: {columns: {order_id: unique}}", ["view-needs-no-tests"]),
        (WATERMARKED, f"tests: {{on_failure: dead_letter, {KEY_IS_AN_ORDER}}}", ["wrong-engine"]),
        (WATERMARKED, f"tests: {{on_failure: stop, {KEY_IS_AN_ORDER}}}", []),
        (ROWS, "close_when: order_id is null", ["append-needs-no-close-when"]),
        (ROWS, f"{UPSERT}\nonce_per: order_id", ["upsert-needs-no-once-per"]),
        (ROWS, "run: streaming\nonce_per: order_id", ["wrong-engine"]),
        (ROWS, "run: streaming\nlog: order_id", ["wrong-engine"]),
        (ROWS, "run: streaming\nclose_when: order_id is null", ["append-needs-no-close-when"]),
        (ROWS, "run: streaming\nremember: 60", ["append-needs-no-remember"]),
        (ROWS, "remember: 60", ["wrong-engine"]),
        (ROWS, "materialized: view\nrun: streaming", ["view-needs-no-run"]),
        (ROWS, "materialized: view\nremember: 60", ["view-needs-no-remember"]),
        (SNAPSHOT, "materialized: snapshot\nevery: 5\nremember: 60", ["snapshot-needs-no-remember"]),
        (f"{ROWS} tablesample (10 percent)", "tags: x", ["non-deterministic"]),
        (f"{ROWS} tablesample (10 percent) repeatable (1)", "tags: x", ["non-deterministic"]),
        (f"{ROWS} limit 5", "tags: x", ["cut-dependent", "non-deterministic"]),
        (f"{ROWS} offset 5", "tags: x", ["cut-dependent", "non-deterministic"]),
        (f"{SNAPSHOT} limit 5", "materialized: snapshot\nevery: 5", ["non-deterministic"]),
        (f"with a as ({ROWS} limit 5) select * from a", "materialized: view", ["non-deterministic"]),
        (f"{ROWS} order by _arrival limit 5", "tags: x", ["cut-dependent"]),
        (f"with a as (({ROWS} order by _arrival) limit 5) select * from a", "tags: x", ["cut-dependent"]),
        (f"{ROWS} limit all", "tags: x", []),
        (f"{ROWS} tablesample (10 percent)", "run: streaming", ["non-deterministic"]),
        (f"{ROWS} limit 5", "run: streaming", []),
        (SNAPSHOT, "materialized: snapshot\nevery: 5\nonce_per: order_id", ["snapshot-needs-no-once-per"]),
        (ROWS, f"{UPSERT}\nrun: streaming", []),
        (SNAPSHOT.replace(", _arrival", ""), UPSERT, ["no-order", "missing-stream"]),
        (WATERMARKED.replace("key", "key as order_id"), f"{UPSERT}\noutput_mode: update", []),
        (ROWS, f"{UPSERT}\nrun: streaming\nclose_when: order_id is null", ["wrong-engine"]),
        (SNAPSHOT, "materialized: snapshot\nevery: 5\nrun: micro_batch", ["snapshot-needs-no-run"]),
        (WATERMARKED, "run: micro_batch", ["wrong-engine"]),
        (WATERMARKED, "query: other", ["wrong-engine"]),
        (ROWS, PUBLISH.replace("topic: t", "topic: shipping"), ["two-publishers"]),
        (ROWS, "query: ingest_shipping", ["two-queries"]),
    ],
)
def test_new_model_is_judged(project_files, query, keys, expected):
    project_files.write(NEW, sql(query, keys))
    assert [finding.split(" ")[1] for finding in project_files.findings()] == expected


@pytest.mark.parametrize(
    "query",
    [
        "select order_id, item_count + 1, _arrival from stream silver.orders",
        "with a as (select order_id, item_count + 1, _arrival from stream silver.orders) select * from a",
        "(select order_id, item_count + 1, _arrival from stream silver.orders) union all "
        "select order_id, 1, _arrival from stream silver.orders",
    ],
)
def test_column_without_a_name_hides_no_other_finding(project_files, query):
    keys = "once_per: ordr_id\npublish: {topic: new, key: ordr_id, value: {a: itm}}\nquery: new"
    project_files.write(NEW, sql(query, keys))
    found = [finding.split(" ")[1] for finding in project_files.findings()]
    assert found == [*["unknown-column"] * 3, "unnamed-column"]
    assert "Did you mean order_id?" in messages(project_files)


@pytest.mark.parametrize("made", ["(item_count)", "cast(item_count as bigint)", "explode(array(1))", "a.item_count"])
def test_columns_that_spark_names_itself_are_fine(project_files, made):
    project_files.write(NEW, sql(f"select order_id, {made}, _arrival from stream silver.orders as a"))
    assert project_files.findings() == []


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("watermark timestmp delay of interval 1 minute", "6:65 unknown-column"),
        ("watermark date_trunc('hour', timestmp) as timestamp delay of interval 1 minute", "6:84 unknown-column"),
        ("as o watermark timestamp delay of interval 1 minute", "6:60 syntax"),
        ("watermark timestamp delay of interval 1 minute as o", None),
        ("watermark orders.timestamp delay of interval 1 minute", None),
        ("watermark date_trunc('hour', event_time) as timestamp delay of interval 1 minute as o", None),
    ],
)
def test_watermark_names_a_column_before_the_alias(project_files, clause, expected):
    window = "group by window(timestamp, '1 minute')"
    project_files.write(
        NEW,
        sql(f"with a as (select timestamp from stream bronze.orders {clause}) select count(*) as n from a {window}"),
    )
    assert project_files.findings() == ([f"{NEW}:{expected}"] if expected else [])


def test_watermark_of_a_view_is_looked_at_there(project_files):
    view = "select timestamp from stream bronze.orders watermark timestmp delay of interval 1 minute"
    project_files.write("sql/silver/other/marked.sql", sql(view))
    project_files.write(NEW, sql("select count(*) as n from stream silver.marked group by window(timestamp, '1 day')"))
    assert project_files.findings() == ["sql/silver/other/marked.sql:6:54 unknown-column"]


def test_table_has_one_writer(project_files):
    project_files.write("sql/gold/other/shipment_ready.sql", sql("select key from stream bronze.orders"))
    assert project_files.findings() == [f"{READY}:1:1 duplicate-model"]


def test_layers_may_share_a_name(project_files):
    project_files.write("sql/gold/shipping/orders.sql", sql("select order_id from stream silver.orders"))
    assert project_files.findings() == []


def test_models_of_one_name_do_not_share_a_query_unasked(project_files):
    text = sql("select order_id from stream silver.orders", "materialized: append")
    project_files.write("sql/silver/other/same.sql", text)
    project_files.write("sql/gold/other/same.sql", text)
    assert project_files.findings() == ["sql/silver/other/same.sql:1:1 two-queries"]


def test_streaming_model_and_group_do_not_share_a_name(project_files):
    project_files.write("sql/gold/other/shipping.sql", sql("select key from stream bronze.orders", "run: streaming"))
    assert [finding.split(" ")[1] for finding in project_files.findings()] == ["two-queries"]


def test_streams_of_a_query_land_together(project_files):
    project_files.write("sql/bronze/sales.yml", SALES)
    project_files.write(NEW, sql("select key from stream bronze.orders union all select key from stream bronze.sales"))
    assert project_files.findings() == [f"{NEW}:6:64 two-landings"]


@pytest.mark.parametrize("path", ["sql/gold/shipping/another.sql", "sql/gold/shipping/zz.sql"])
def test_stream_of_the_landing_that_fewer_models_stream_is_out_of_place(project_files, path):
    project_files.write("sql/bronze/sales.yml", SALES)
    project_files.write("sql/silver/sales/sales.sql", sql("select key, _arrival from stream bronze.sales"))
    project_files.write("sql/gold/shipping/more.sql", sql("select order_id from stream silver.orders"))
    project_files.write(path, sql("select key from stream silver.sales"))
    assert project_files.findings() == [f"{path}:6:17 two-landings"]
    assert "query shipping streams landing shipping too" in messages(project_files)


def test_snapshot_of_another_landing_is_fine(project_files):
    project_files.write("sql/bronze/sales.yml", SALES)
    project_files.write(
        NEW, sql("select orders.key from stream bronze.orders join bronze.sales on orders.key = sales.key")
    )
    assert project_files.findings() == []


def test_cycle_is_found(project_files):
    project_files.edit(
        ORDERS, "from stream bronze.orders", "from stream bronze.orders join silver.orders as o using (key)"
    )
    assert project_files.findings() == [f"{ORDERS}:5:32 cycle"]


def test_view_of_streaming_models_may_be_unstable(project_files):
    allowed = "allow: {current-time: only people read it}"
    project_files.write(
        "sql/silver/other/late.sql", sql("select key, timestamp, now() as n from stream bronze.orders", allowed)
    )
    watermark = "watermark timestamp delay of interval 1 minute"
    project_files.write(NEW, sql(f"select key, n from stream silver.late {watermark}"))
    assert project_files.findings() == []


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        (ORDERS, "bronze.orders", "bronze.order", "Did you mean bronze.orders?"),
        (ORDERS, "stream bronze.orders", "stream manufactured", "Write bronze.manufactured."),
        (ORDERS, "data.id", "data.idd", "Did you mean data.id?"),
        (READY, ":limit", ":limits", "Did you mean limit?"),
        (READY, "once_per: order_id", "once_per: order", "Did you mean order_id?"),
        (READY, "once_per:", "once_pre:", "Did you mean once_per?"),
        (READY, "publish:", f"{RELATED}{{to: bronze.orders, field: keys}}}}}}}}\npublish:", "Did you mean key?"),
    ],
)
def test_finding_suggests_the_nearest(project_files, path, old, new, words):
    project_files.edit(path, old, new)
    assert words in messages(project_files)
