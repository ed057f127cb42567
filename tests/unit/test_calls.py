"""Made-up halves of calls."""

import json
from itertools import islice

import pytest

from headrace.commands.producing import _one_half
from headrace.demo.calls import ANALYTICS, METRICS, analytics, demo, metrics
from headrace.demo.records import Record
from headrace.errors import UsageError

START = 1_767_261_600_000


def some(run_id: str = "r", seed: int = 1) -> list[Record]:
    return list(islice(demo(run_id, seed, START), 200))


def test_same_seed_same_halves() -> None:
    assert some() == some()


def test_other_seed_other_halves() -> None:
    assert some(seed=1) != some(seed=2)


def test_run_has_its_own_users() -> None:
    halves = [json.loads(record.value or "") for record in some("mine")]
    assert all(half[user].endswith("-mine") for half in halves for user in ("user1", "user2"))


def test_both_kinds_of_halves_come() -> None:
    assert {record.topic for record in some()} == {ANALYTICS, METRICS}


def test_one_half_is_written_in_words() -> None:
    assert _one_half(("analytics", "a", "b", "brief")) == analytics("a", "b", "brief")
    assert _one_half(("metrics", "a", "b", "9 s")) == metrics("a", "b", "9 s")


@pytest.mark.parametrize("words", [("analytics", "a", "b"), ("other", "a", "b", "c"), ("metrics",)])
def test_wrong_words_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        _one_half(words)
