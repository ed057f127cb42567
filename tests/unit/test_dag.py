"""Orders and cycles of names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.project import dag

GRAPHS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True, max_size=4))


def test_order_puts_needs_first():
    assert dag.order({"c": ["b"], "b": ["a"], "a": [], "d": []}) == ("a", "d", "b", "c")


def test_cycle_starts_with_the_smallest_name():
    assert dag.cycles({"c": ["a"], "a": ["b"], "b": ["c"]}) == [("a", "b", "c")]


def test_cycles_of_separate_names_are_all_found():
    assert dag.cycles({"a": ["b"], "b": ["a"], "x": ["x"], "y": ["a"]}) == [("a", "b"), ("x",)]


@given(GRAPHS)
def test_graph_has_a_cycle_or_an_order(graph):
    cycles = dag.cycles(graph)
    for cycle in cycles:
        assert all(needed in graph[name] for name, needed in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    if not cycles:
        ordered = dag.order(graph)
        assert all(ordered.index(needed) < ordered.index(name) for name in graph for needed in graph[name])


def test_only_what_makes_no_circle_is_added():
    needs = {"a": ["landing"], "b": ["a"], "c": []}
    assert dag.added(needs, {"a": ["b", "c"], "c": ["a"]}) == {"a": ("c",), "c": ()}
    assert dag.added({}, {"a": ["b"], "b": ["a"]}) == {"a": ("b",), "b": ()}
