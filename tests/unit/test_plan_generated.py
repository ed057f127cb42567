"""Random edits without Spark: a seed always makes the same edit, and what leaves the meaning of a query is SAME."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from headrace.planning.comparison import Comparison
from headrace.planning.declared import Declared
from headrace.planning.verdict import Verdict, worst
from tests.plan import corpus
from tests.plan.generated import domains, generator, texts
from tests.plan.generated.neutral import NEUTRAL, Change, coalesce_twice, de_morgan, deny_twice, not_not

NOT_UNDERSTOOD = (coalesce_twice, de_morgan, deny_twice, not_not)
"""Edits of which the plan does not know that they change nothing: it is too careful with them."""
DOMAINS = ("sales", "calls", "shipping", "clicks")


@pytest.mark.parametrize("change", [each for each in NEUTRAL if each not in NOT_UNDERSTOOD])
def test_edit_without_effect_is_same(change: Change, tmp_path: Path) -> None:
    domain, edited = _edited(change)
    old, new = (corpus.project(files, tmp_path / at) for at, files in (("old", domains.files(domain)), ("new", edited)))
    stored = [model.table for query in new.queries for model in query.models]
    found = Comparison(Declared.of(old), Declared.of(new)).outcomes(stored)
    reasons = tuple(reason for outcome in found.values() for reason in outcome.reasons)
    assert worst(reasons) is Verdict.SAME, reasons


@pytest.mark.parametrize(
    ("path", "old", "new", "verdict"),
    [
        ("sql/gold/clicks/view_counters.sql", "every: :snapshot_every", "every: 7", "KEEP"),
        ("manifest.yml", "snapshot_every: 5", "snapshot_every: 7", "KEEP"),
        ("sql/gold/clicks/view_counters.sql", "every: :snapshot_every", "every: 5", "SAME"),
    ],
)
def test_snapshots_at_other_times_are_other_rows(tmp_path: Path, path: str, old: str, new: str, verdict: str) -> None:
    files = domains.files("clicks")
    edited = {**files, path: files[path].replace(old, new)}
    before, after = (corpus.project(each, tmp_path / at) for at, each in (("old", files), ("new", edited)))
    found = Comparison(Declared.of(before), Declared.of(after)).outcomes(["gold.view_counters"])
    assert found["gold.view_counters"].verdict.name == verdict


def test_seed_always_makes_the_same_edit() -> None:
    assert [generator.edit(seed) for seed in range(20)] == [generator.edit(seed) for seed in range(20)]


def test_written_again_keeps_streams_and_watermarks() -> None:
    for path, text in domains.files("calls").items():
        if path.startswith("sql/") and path.endswith(".sql"):
            read = texts.read(text)
            again = texts.read(read.sql(read.tree))
            assert (again.header, again.streams, again.tree) == (read.header, read.streams, read.tree)


def _edited(change: Change) -> tuple[str, dict[str, str]]:
    """The first edit of a kind that some model allows."""
    for domain in DOMAINS:
        files = dict(domains.files(domain))
        for path in [each for each in files if each.startswith("sql/") and each.endswith(".sql")]:
            text = texts.read(files[path])
            tree = change(text.tree.copy(), Random(1))
            if tree is not None:
                return domain, {**files, path: text.sql(tree)}
    raise AssertionError(f"{change.__name__} fits no model")
