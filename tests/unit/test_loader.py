"""Loading a whole project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import UsageError
from headrace.project.loader import load

ORDERS = "sql/silver/shipping/orders.sql"
OPEN = "sql/silver/shipping/open_orders.sql"
READY = "sql/gold/shipping/shipment_ready.sql"


def test_project_is_resolved(project_files):
    project = project_files.load()
    assert (project.name, project.target.name, project.vars) == ("small", "local", {"limit": 2})
    assert [model.table for model in project.models] == ["gold.shipment_ready", "silver.open_orders", "silver.orders"]
    (query,) = project.queries
    assert (query.name, query.engine) == ("shipping", "micro_batch")
    assert [model.table for model in query.models] == ["silver.open_orders", "gold.shipment_ready"]


def test_model_has_what_its_file_says(project_files):
    model = project_files.load().model("gold.shipment_ready")
    assert (model.domain, model.path, model.materialized, model.run) == ("shipping", READY, "append", "micro_batch")
    assert (model.once_per, model.parameters, model.tags) == (("order_id",), ("limit",), ("shipping",))
    assert model.output_columns == ("order_id", "_arrival")
    assert model.publish is not None and model.publish.topic == "shipping"
    assert model.text == (project_files.root / READY).read_text(encoding="utf-8")


def test_view_has_no_query(project_files):
    assert project_files.load().model("silver.orders").query is None


def test_model_with_a_watermark_is_a_query_of_its_own(project_files):
    project_files.edit(READY, "silver.open_orders\n", "bronze.orders watermark timestamp delay of interval 1 minute\n")
    project_files.edit(READY, "order_id, _arrival", "key as order_id, _arrival")
    project_files.edit(READY, "item_count", "offset")
    project_files.edit(READY, "once_per: order_id\n", "")
    model = project_files.load().model("gold.shipment_ready")
    assert (model.run, model.query) == ("streaming", "shipment_ready")


def test_model_of_a_watermarked_view_streams_too(project_files):
    project_files.edit(ORDERS, "bronze.orders", "bronze.orders watermark timestamp delay of interval 1 minute")
    project_files.edit(READY, "silver.open_orders", "silver.orders")
    project_files.edit(READY, "once_per: order_id\n", "")
    (project_files.root / OPEN).unlink()
    assert project_files.load().model("gold.shipment_ready").run == "streaming"


def test_header_overrides_the_folder(project_files):
    project_files.edit(READY, "once_per:", "query: mine\nonce_per:")
    assert project_files.load().model("gold.shipment_ready").query == "mine"


def test_null_query_leaves_the_group(project_files):
    project_files.edit(READY, "once_per:", "query: null\nonce_per:")
    assert project_files.load().model("gold.shipment_ready").query == "shipment_ready"


def test_vars_of_the_target_win(project_files):
    project_files.edit(READY, ":limit", ":limit + :more")
    project_files.write("conf/local.yml", "vars: {limit: 5, more: 1}\n")
    assert project_files.load().vars == {"limit": 5, "more": 1}


def test_findings_of_all_files_come_in_file_order(project_files):
    project_files.edit("manifest.yml", "{limit: 2}", "{limit: {a: 1}}")
    project_files.write("conf/local.yml", "dta_dir: x\n")
    project_files.edit("sql/bronze/shipping.yml", "timestamp", "timstamp")
    project_files.edit(READY, "select order_id", "selct order_id")
    project_files.edit(OPEN, "upsert", "upsret")
    assert project_files.findings() == [
        "conf/local.yml:1:1 unknown-key",
        "manifest.yml:7:15 bad-value",
        "sql/bronze/shipping.yml:5:46 bad-value",
        f"{READY}:7:1 syntax",
        f"{OPEN}:4:15 bad-value",
    ]


def test_header_and_query_are_found_together(project_files):
    project_files.edit(READY, "once_per:", "once_pre:")
    project_files.edit(READY, "from stream", "form stream")
    assert project_files.findings() == [f"{READY}:4:1 unknown-key", f"{READY}:8:1 syntax"]


def test_broken_model_is_not_missed_by_its_readers(project_files):
    project_files.edit(OPEN, "upsert", "upsret")
    project_files.edit(READY, ":limit", ":limits")
    assert project_files.findings() == [f"{READY}:9:20 missing-parameter", f"{OPEN}:4:15 bad-value"]


def test_broken_bronze_file_is_not_missed_by_its_readers(project_files):
    project_files.write("sql/bronze/shipping.yml", "landing: [\n")
    assert project_files.findings() == ["sql/bronze/shipping.yml:2:1 syntax"]


def test_broken_target_hides_no_parameter(project_files):
    project_files.write("conf/local.yml", "vars: 1\n")
    project_files.edit(READY, ":limit", ":other")
    assert project_files.findings() == ["conf/local.yml:1:7 bad-value"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("sql/silver/orders.sql", "bad-path"),
        ("sql/platinum/shipping/orders.sql", "bad-path"),
        ("sql/bronze/shipping/orders.sql", "bad-path"),
        ("sql/orders.sql", "bad-path"),
        ("sql/silver/shipping/Orders.sql", "bad-name"),
        ("sql/silver/shipping/my-orders.sql", "bad-name"),
        ("sql/silver/Shipping/other.sql", "bad-name"),
        ("sql/silver/shipping/" + "x" * 64 + ".sql", "bad-name"),
    ],
)
def test_file_has_a_place_and_a_name(project_files, path, code):
    project_files.write(path, "/* One row. */ select key from stream bronze.orders")
    assert project_files.findings() == [f"{path}:1:1 {code}"]


def test_folders_in_a_domain_are_free(project_files):
    project_files.write("sql/gold/shipping/deep/er/new.sql", "/* One row. */ select key from stream bronze.orders")
    assert project_files.load().model("gold.new").domain == "shipping"


def test_kind_of_a_model_must_be_declared(project_files):
    project_files.edit("manifest.yml", "  gold: {+materialized: append}\n", "")
    assert project_files.findings() == [f"{READY}:1:1 missing-key"]


def test_file_that_is_no_text_is_a_finding(project_files):
    (project_files.root / READY).write_bytes(b"\xff\xfe")
    assert [finding for finding in project_files.findings() if READY in finding] == [f"{READY}:1:1 unreadable"]


@pytest.mark.parametrize("kind", ["folder", "lost link", "loop", "pipe"])
@pytest.mark.parametrize("name", [READY, "sql/gold/shipping/more.sql", "macros/more.sql", "sql/bronze/more.yml"])
def test_what_looks_like_a_file_and_is_none_is_found(project_files, kind, name):
    """A model that cannot be read must not be missing without a word, and whoever reads a pipe waits for ever."""
    file = project_files.root / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    make = {"folder": file.mkdir, "pipe": lambda: os.mkfifo(file)}
    make.get(kind, lambda: file.symlink_to({"loop": file.name}.get(kind, "nowhere")))()
    assert [finding for finding in project_files.findings() if name in finding] == [f"{name}:1:1 unreadable"]


def test_unknown_target_is_a_usage_error(project_files):
    with pytest.raises(UsageError):
        load(project_files.root, "prod")


def test_project_of_this_repository_is_valid(monkeypatch):
    monkeypatch.delenv("HEADRACE_KAFKA_BOOTSTRAP", raising=False)
    project = load(Path(__file__).parents[2], "test")
    assert {landing.name for landing in project.landings} >= {"shipping", "sales"}


def test_suffix_of_a_target_is_part_of_what_it_publishes(project_files):
    project_files.write("conf/dev.yml", "like: local\nsuffix: _ann\n")
    project = load(project_files.root, "dev")
    published = {model.publish.topic for model in project.models if model.publish}
    assert (published, {topic.topic for topic in project.landings[0].topics}) == (
        {"shipping_ann"},
        {"orders", "manufactured"},
    )
