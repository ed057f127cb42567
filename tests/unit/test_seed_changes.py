"""What an edited seed file lands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import Place
from headrace.project import seed_changes
from headrace.project.model import Seed, Topic

Lines = list[tuple[str, str]]


def topic(lines: Lines, null_value: bool = True) -> Topic:
    seeds = tuple(Seed(number, key, value) for number, (key, value) in enumerate(lines, 2))
    return Topic("t", "t", Place("t.yml"), null_value=null_value, seeds=seeds)


@pytest.mark.parametrize(
    ("lines", "landed", "expected"),
    [
        ([("a", "1")], {}, [(2, "a", "1")]),
        ([("a", "1")], {"a": ["1"]}, []),
        ([("a", "1"), ("b", "2")], {"a": ["1"]}, [(3, "b", "2")]),
        ([("a", "2")], {"a": ["1"]}, [(2, "a", "2")]),
        ([("a", '{"x": 1, "y": 2}')], {"a": ['{"y":2,"x":1}']}, []),
        ([("a", "1.50")], {"a": ["1.5"]}, [(2, "a", "1.50")]),
        ([("a", "1"), ("a", "2")], {"a": ["1"]}, [(2, "a", "1"), (3, "a", "2")]),
        ([("a", "1")], {"a": ["1"], "b": ["2"]}, [(3, "b", None)]),
        ([("a", "1")], {"a": ["1"], "b": [None]}, []),
        ([("a", "1")], {"a": [None]}, [(2, "a", "1")]),
    ],
)
def test_keys_that_differ_land(lines: Lines, landed: seed_changes.Landed, expected: list[object]) -> None:
    found = seed_changes.of(topic(lines), landed).seeds
    assert [(seed.line, seed.key, seed.value) for seed in found] == expected


def test_key_that_is_gone_stays_where_nothing_can_end_it() -> None:
    found = seed_changes.of(topic([("a", "2"), ("c", "1")], null_value=False), {"a": ["1"], "b": ["2"]})
    assert (len(found.seeds), found.new, found.changed, found.gone, found.remaining) == (2, 1, 1, 0, ("b",))


FILES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("12")), max_size=5)


@given(FILES, FILES)
def test_what_landed_is_then_what_the_file_says(before: Lines, after: Lines) -> None:
    landed: dict[str, list[str | None]] = {}
    for lines in (before, after):
        found: dict[str, list[str | None]] = {}
        for seed in seed_changes.of(topic(lines), landed).seeds:
            found.setdefault(seed.key, []).append(seed.value)
        landed |= found
        current = {key: values for key, values in landed.items() if values != [None]}
        assert current == {key: [value for other, value in lines if other == key] for key, _ in lines}
        assert seed_changes.of(topic(lines), landed).seeds == ()


def test_one_digest_for_one_content() -> None:
    assert seed_changes.digest(topic([("a", "1")]).seeds) == seed_changes.digest(topic([("a", "1")]).seeds)
    assert seed_changes.digest(topic([("a", "1")]).seeds) != seed_changes.digest(topic([("a", "2")]).seeds)
