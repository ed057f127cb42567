"""The names by which Spark's streaming engine knows streams: one for each read, and the same after an edit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.streaming.source_names import Read, assigned, numbered

STEPS = "bronze.steps"
VIEWS, CARTS, BUYS = (Read(STEPS, (f"silver.{name}",)) for name in ("views", "carts", "buys"))


def names(*reads: Read, known: dict[str, str] | None = None) -> list[str]:
    found = assigned([*numbered(reads)], known or {})
    return [found[read.key] for read in numbered(reads)]


def test_only_read_of_a_table_has_its_name() -> None:
    assert names(VIEWS, Read("silver.sales")) == ["bronze_steps", "silver_sales"]


def test_each_further_read_has_a_name_of_its_own() -> None:
    assert names(VIEWS, CARTS, VIEWS) == ["bronze_steps", "bronze_steps__2", "bronze_steps__3"]


def test_reads_keep_their_names_when_one_comes_before() -> None:
    before = assigned([*numbered([VIEWS, CARTS])], {})
    assert names(BUYS, VIEWS, CARTS, known=before) == ["bronze_steps__3", "bronze_steps", "bronze_steps__2"]


def test_read_through_another_view_goes_on_where_the_former_was() -> None:
    before = assigned([*numbered([VIEWS, CARTS])], {})
    assert names(VIEWS, BUYS, known=before) == ["bronze_steps", "bronze_steps__2"]


@pytest.mark.parametrize("reads", [[VIEWS], [Read(STEPS)], [Read("silver.views_ticks")]])
def test_checkpoint_without_a_note_goes_on(reads: list[Read]) -> None:
    assert names(*reads) == [reads[0].table.replace(".", "_")]


@given(st.lists(st.lists(st.sampled_from([VIEWS, CARTS, BUYS, Read(STEPS), Read("silver.b")]), max_size=5), max_size=5))
def test_no_two_reads_share_a_name_after_any_edits(edits: list[list[Read]]) -> None:
    known: dict[str, str] = {}
    for reads in edits:
        found = assigned([*numbered(reads)], known)
        assert len({*found.values()}) == len(reads)
        assert {key: found[key] for key in known.keys() & found.keys()} == {
            key: known[key] for key in known.keys() & found.keys()
        }
        known = found
