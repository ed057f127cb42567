"""Reads through views, the order of queries, cycles."""

from __future__ import annotations

from dataclasses import replace

from headrace.errors import Place
from headrace.project import graph
from headrace.project.model import DataTest, Input, Kind, Model


def model(name: str, *reads: str, query: str | None = None, kind: Kind = "append", run: str = "micro_batch") -> Model:
    """A model of silver; `*x` reads a stream of silver.x."""
    path = f"sql/{name}.sql"
    inputs = tuple(
        Input(f"silver.{read.lstrip('*')}", read.startswith("*"), 0, 0, Place(path, line), False)
        for line, read in enumerate(reads, 1)
    )
    own_query = None if kind == "view" else query or name
    return Model("silver", name, "d", path, "", "", kind, run, own_query, inputs)  # type: ignore[arg-type]


def names(models: list[Model]) -> list[tuple[str, list[str]]]:
    return [(query.name, [member.name for member in query.models]) for query in graph.queries(models)]


def cycles(models: list[Model]) -> list[tuple[str, str]]:
    return [(str(finding.place), finding.message) for finding in graph.cycle_findings(models)]


def test_models_of_a_query_stand_after_what_they_stream():
    models = [model("a", "*b", query="q"), model("b", "*c", query="q"), model("c", query="q")]
    assert names(models) == [("q", ["c", "b", "a"])]


def test_relationships_are_looked_up_in_models_before():
    test = DataTest("t", "relationships", "`x` is not null", column="x", to="silver.b", field="x")
    models = [replace(model("a", query="q"), tests=(test,)), model("b", query="q")]
    assert names(models) == [("q", ["b", "a"])]


def test_relationship_to_a_reader_changes_no_order():
    test = DataTest("t", "relationships", "`x` is not null", column="x", to="silver.b", field="x")
    models = [replace(model("a", query="q"), tests=(test,)), model("b", "*a", query="q")]
    assert names(models) == [("q", ["a", "b"])]


def test_queries_stand_after_those_they_read():
    assert names([model("a", "b"), model("b", "*c"), model("c")]) == [("c", ["c"]), ("b", ["b"]), ("a", ["a"])]


def test_views_are_inlined_and_no_query():
    models = [model("a", "*v"), model("v", "*w", kind="view"), model("w", "*z", kind="view"), model("z")]
    assert names(models) == [("z", ["z"]), ("a", ["a"])]


def test_reads_go_through_views():
    models = graph.by_table([model("a", "*v", "x"), model("v", "*y", "z", kind="view")])
    read = graph.reads(models["silver.a"], models)
    assert {(one.table, one.stream, str(one.place)) for one in read} == {
        ("silver.x", False, "sql/a.sql:2:1"),
        ("silver.y", True, "sql/v.sql:1:1"),
        ("silver.z", False, "sql/v.sql:2:1"),
    }


def test_view_read_as_a_snapshot_streams_nothing():
    models = graph.by_table([model("a", "v"), model("v", "*y", kind="view")])
    assert [read.stream for read in graph.reads(models["silver.a"], models)] == [False]


def test_state_of_own_query_is_no_cycle():
    assert cycles([model("a", "a", "b", query="q"), model("b", "*a", query="q")]) == []


def test_state_read_through_a_view_is_no_cycle():
    assert cycles([model("a", "*v", query="q"), model("v", "a", kind="view")]) == []


def test_cycle_names_every_model_and_place():
    ((place, message),) = cycles(
        [model("a", "*b", query="q"), model("b", "x", "*c", query="q"), model("c", "*a", query="q")]
    )
    assert place == "sql/a.sql:1:1"
    for edge in ("silver.a reads silver.b (sql/a.sql:1:1)", "silver.b reads silver.c (sql/b.sql:2:1)"):
        assert edge in message
    assert "silver.c reads silver.a (sql/c.sql:1:1)" in message


def test_cycles_of_separate_models_are_all_found():
    models = [model("a", "*b"), model("b", "*a"), model("c", "*d"), model("d", "c")]
    assert [place for place, _ in cycles(models)] == ["sql/a.sql:1:1", "sql/c.sql:1:1"]


def test_stream_of_itself_is_a_cycle():
    assert [place for place, _ in cycles([model("a", "*a")])] == ["sql/a.sql:1:1"]


def test_views_that_read_each_other_are_a_cycle():
    assert len(cycles([model("v", "w", kind="view"), model("w", "v", kind="view"), model("a", "*v")])) == 1


def test_queries_that_wait_for_each_other_are_a_cycle():
    models = [model("a", "*b", query="p"), model("b", query="q"), model("c", query="p"), model("d", "*c", query="q")]
    assert [place for place, _ in cycles(models)] == ["sql/a.sql:1:1"]
