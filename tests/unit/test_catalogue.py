"""The page about a project, and its artifacts in dbt's form."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from headrace.catalogue import artifacts, drawing, origins, page
from headrace.commands import running
from headrace.planning import declared, known
from headrace.planning.declared import Declared
from headrace.project.model import Project
from headrace.reading.freshness import freshness
from headrace.reading.status import ProjectStatus, QueryStatus, RunnerStatus
from headrace.store.layout import Layout
from tests.unit.test_cli import ended

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """What a browser would see: ids, links, loads, text, and whether each tag that opens closes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [found["href"]] if found.get("href") else []
        self.loads += [str(found[name]) for name in ("src", "srcset", "data") if name in found]
        self.loads += [tag] if tag in ("link", "iframe", "object") else []
        self.open += [tag] if tag not in VOID else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def project(project_files) -> Project:
    project_files.edit("sql/gold/shipping/shipment_ready.sql", "once_per:", "owner: Ann <b>\nonce_per:")
    return project_files.load()


def rendered(project: Project, **facts: object) -> str:
    return page.render(project, origins.read(project), page.Facts(at=NOW, **facts))  # type: ignore[arg-type]


def test_page_is_whole_and_loads_nothing(project):
    text = rendered(project)
    seen = Page(text)
    assert (seen.open, seen.loads, [link for link in seen.links if not link.startswith("#")]) == ([], [], [])
    assert re.findall(r"@import|url\(|https?://", text) == []


def test_every_link_of_the_page_leads_to_a_table(project):
    seen = Page(rendered(project))
    tables = {model.table for model in project.models} | {"bronze.orders", "bronze.manufactured"}
    assert ({link.removeprefix("#") for link in seen.links}, tables - {*seen.ids}) == (tables, set())


def test_page_shows_sql_columns_owner_tests_and_freshness(project):
    tests = [{"model": "gold.shipment_ready", "name": "goes_out", "description": "It goes out."}]
    types = {"gold.shipment_ready": {"order_id": "string"}}
    seen = Page(rendered(project, tests=tests, types=types, fresh={"gold.shipment_ready": NOW}))
    words = (
        "item_count > :limit",
        "Ann <b>",
        "goes_out",
        "string",
        "2026-01-01 00:00:00 UTC",
        "silver.open_orders.order_id",
    )
    text = " ".join(seen.text.split())
    assert [word for word in words if word not in text] == []


def test_boxes_do_not_overlap_and_lines_go_right():
    picture = drawing.draw({"a": (), "b": ("a",), "c": ("a", "b"), "d": ("d", "b"), "e": ()})
    corners = {(box.x, box.y) for box in picture.boxes}
    places = {box.name: box.x for box in picture.boxes}
    assert (len(corners), len(picture.lines)) == (5, 5)  # from a to c by a place between them
    assert places["a"] < places["b"] < places["c"] == places["d"]


def test_circle_through_own_state_can_be_drawn():
    picture = drawing.draw({"a": ("b",), "b": ("a",)})
    assert len(picture.boxes) == 2


def test_manifest_has_the_form_of_dbt(project):
    manifest = artifacts.manifest(project)
    node = manifest["nodes"]["model.small.gold_shipment_ready"]
    assert manifest["metadata"]["dbt_schema_version"].endswith("/manifest/v12.json")
    assert (node["resource_type"], node["schema"], node["name"]) == ("model", "gold", "shipment_ready")
    assert (node["raw_code"], node["original_file_path"]) == (project.model("gold.shipment_ready").text, node["path"])


def test_manifest_maps_parents_and_children(project):
    manifest = artifacts.manifest(project)
    parents, children = manifest["parent_map"], manifest["child_map"]
    assert parents["model.small.silver_orders"] == ["source.small.shipping.orders"]
    assert parents["model.small.silver_open_orders"] == ["model.small.silver_orders"]  # not itself
    assert children["model.small.silver_open_orders"] == ["model.small.gold_shipment_ready"]
    assert children["model.small.gold_shipment_ready"] == ["exposure.small.shipping"]
    assert {name for each in parents.values() for name in each} <= parents.keys() == children.keys()


def test_manifest_has_sources_and_columns(project):
    manifest = artifacts.manifest(project)
    source = manifest["sources"]["source.small.shipping.orders"]
    assert (source["identifier"], source["columns"]["id"]["data_type"]) == ("orders", "string")
    assert [*manifest["nodes"]["model.small.gold_shipment_ready"]["columns"]] == ["order_id", "_arrival"]


def test_run_results_have_the_form_of_dbt():
    results = [artifacts.Result("model.x.a", "error", 1.5, 3, "it broke")]
    document = artifacts.run_results(results, 2.0)
    (result,) = document["results"]
    assert document["metadata"]["dbt_schema_version"].endswith("/run-results/v6.json")
    assert (result["status"], result["message"], result["execution_time"]) == ("error", "it broke", 1.5)
    assert (result["adapter_response"], document["elapsed_time"]) == ({"rows_affected": 3}, 2.0)


def test_run_records_how_each_model_ended(project):
    landing, group = QueryStatus("ingest_shipping", "landing"), QueryStatus("shipping", "micro_batch", "failed", rows=7)
    status = ProjectStatus(RunnerStatus("small", "local"), NOW, (landing, replace(group, last_error="it broke")))
    running._record(project, status, 2.5)
    written = json.loads((project.target.data_dir / "target/run_results.json").read_text("utf-8"))
    assert [(result["unique_id"], result["status"], result["message"]) for result in written["results"]] == [
        ("model.small.gold_shipment_ready", "error", "it broke"),
        ("model.small.silver_open_orders", "error", "it broke"),
    ]


def test_docs_writes_page_and_manifest(project_files, tmp_path):
    case = "model: gold.shipment_ready\ngiven: [{orders: [{key: a, value: {id: a, items: []}}]}]\nexpect: {rows: []}\n"
    project_files.write("tests/models/shipment_ready/nothing.yml", case)
    project_files.write("tests/models/shipment_ready/broken.yml", "model: [")
    out = tmp_path / "public"
    assert ended("-C", str(project_files.root), "docs", "--out", str(out)) == 0
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert [*manifest["unit_tests"]] == ["unit_test.small.shipment_ready.nothing"]
    assert "1 test<" in (out / "index.html").read_text("utf-8")


def test_freshness_is_the_time_of_the_last_commit(store):
    before = datetime.now(timezone.utc).replace(microsecond=0)
    store.land("shipping", 1, ("orders", 0, "a", None))
    store.append("gold.unkeyed", "1 as n")
    fresh = freshness(store.project, store.layout)
    assert fresh.keys() == {"bronze.orders", "bronze.manufactured", "gold.unkeyed"}
    assert all(before <= time for time in fresh.values())


def test_types_of_the_last_run_are_shown(project_files, tmp_path):
    project, layout = project_files.load(), Layout(project_files.root / "data")
    ran = Declared.of(project, {"gold.shipment_ready": {"order_id": "string", "k": "array<tinyint>"}})
    declared.write(layout, ran, ["shipping"], {})
    page = tmp_path / "out/index.html"
    ended("-C", str(project_files.root), "docs", "--out", str(page.parent))
    assert "array&lt;tinyint&gt;" in page.read_text("utf-8")


def test_types_that_spark_has_found_since_are_shown(project_files, tmp_path):
    kinds = {"type": "struct", "fields": [{"name": "a", "type": {"type": "array", "elementType": "long"}}]}
    columns = {"fields": [{"name": "order_id", "type": "string"}, {"name": "k", "type": kinds}]}
    known.store(project_files.load(), {"gold.shipment_ready": columns})
    ended("-C", str(project_files.root), "docs", "--out", str(tmp_path / "out"))
    assert "struct&lt;a:array&lt;bigint&gt;&gt;" in (tmp_path / "out/index.html").read_text("utf-8")
