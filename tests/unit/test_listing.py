"""What `ls` shows of a project."""

from __future__ import annotations

from headrace.project import listing


def test_sources_come_before_models_in_running_order(project_files):
    rows = listing.describe(project_files.load())
    assert [(row["model"], row["kind"]) for row in rows] == [
        ("bronze.orders", "source"),
        ("bronze.manufactured", "source"),
        ("silver.orders", "view"),
        ("silver.open_orders", "upsert"),
        ("gold.shipment_ready", "append"),
    ]


def test_row_shows_what_flows_in_and_out(project_files):
    rows = {row["model"]: row for row in listing.describe(project_files.load())}
    fields = ("layer", "domain", "engine", "query", "inputs", "outputs")
    shown = {model: [row[field] for field in fields] for model, row in rows.items()}
    assert shown["bronze.orders"] == (
        ["bronze", "shipping", "landing", "ingest_shipping", ["kafka:orders"], ["bronze.orders"]]
    )
    assert shown["silver.orders"] == ["silver", "shipping", None, None, ["bronze.orders"], []]
    outputs = ["gold.shipment_ready", "kafka:shipping"]
    assert shown["gold.shipment_ready"] == (
        ["gold", "shipping", "micro_batch", "shipping", ["silver.open_orders"], outputs]
    )


def test_streams_are_distinguished_from_lookups(project_files):
    rows = {row["model"]: row for row in listing.describe(project_files.load())}
    assert rows["silver.open_orders"]["inputs"] == ["silver.orders", "silver.open_orders"]
    assert rows["silver.open_orders"]["streams"] == ["silver.orders"]


def test_column_that_names_the_topic_is_shown(project_files):
    path = "sql/gold/shipping/shipment_ready.sql"
    project_files.edit(path, "topic: shipping", "topic: {column: order_id}")
    assert listing.describe(project_files.load())[-1]["outputs"] == ["gold.shipment_ready", "kafka:{order_id}"]


def test_clock_is_listed_where_it_is_read(project_files):
    path = "sql/silver/shipping/late.sql"
    text = "/*\nLandings, one row each.\n*/\nselect landed_at, is_tick, _arrival from stream bronze.shipping_clock\n"
    project_files.write(path, text)
    rows = {row["model"]: row for row in listing.describe(project_files.load())}
    assert (rows["bronze.shipping_clock"]["kind"], rows["bronze.shipping_clock"]["inputs"]) == ("clock", [])
    assert rows["silver.late"]["streams"] == ["bronze.shipping_clock"]
