"""A publisher's progress: what its record says, and whether it fits the table that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.project.model import Model, Publish
from headrace.publishing.positions import Choice, Standing
from headrace.publishing.progress import Progress, Recorded, Writer
from headrace.store.commits import Commit
from headrace.tables.positions import Extent

PUBLISH = Publish(key="name", value=(), topic="t")
MODEL = Model("gold", "a", "n", "a.sql", "", "", "append", "micro_batch", "a", (), publish=PUBLISH)
BY = Writer("node1", 7, "/srv/shop", "run")
ROWS = (2, 3)


ELSEWHERE = replace(BY, data="/srv/other")


def standing(progress: Progress, newest: int = 2, by: Writer | None = BY) -> Standing:
    """A record beside a table of two versions with rows, after the one that made it."""
    commits = [Commit(n + 1, {"batch": n, "rows": rows}, id=f"commit {n + 1}") for n, rows in enumerate(ROWS)]
    return Standing(MODEL, Recorded(progress, by), Extent(newest, "x"), lambda _: [Commit(0), *commits], BY)


def code(progress: Progress, replaced: tuple[str, ...] | None = ()) -> str | None:
    finding = standing(progress).finding(replaced)
    return finding.code if finding else None


@pytest.mark.parametrize(
    "progress",
    [
        Progress("x"),
        Progress("x", 4, 7, Progress("y", 2, 1), 5),
        Progress("x", 3, 0, rows=5, skip=4),
        Progress("x", 3, 0, rows=None),
        Progress("x", 3, 2, rows=5, commit="c"),
    ],
)
def test_record_says_the_same_again(progress: Progress) -> None:
    assert Recorded.from_json(progress.to_json(BY)) == Recorded(progress, BY)


def test_record_of_an_old_run_is_read() -> None:
    old = Recorded.from_json('{"table": "x", "version": 3, "position": 1}')
    assert old == Recorded(Progress("x", 3, 1, rows=None), None)


@pytest.mark.parametrize(
    ("progress", "found"),
    [
        (Progress("x", 3, rows=5), None),
        (Progress("x", 2, 3, rows=2), None),
        (Progress("x", 3, 1, rows=5), "publish-ahead"),
        (Progress("x", 4, rows=5), "publish-ahead"),
        (Progress("x", 3, 9, Progress("y"), 5), None),  # its position counts what the swapped table had not sent
        (Progress("y", 1), "publish-elsewhere"),
    ],
)
def test_progress_ahead_or_of_another_table_is_refused(progress: Progress, found: str | None) -> None:
    assert code(progress) == found


@pytest.mark.parametrize("replaced", [("y",), None])
def test_table_that_a_reset_removed_is_no_other(replaced: tuple[str, ...] | None) -> None:
    assert code(Progress("y", 1), replaced) is None


def test_finding_names_the_other_and_the_choices() -> None:
    finding = standing(Progress("x", 5, 1, rows=9)).finding()
    assert finding is not None
    said = finding.message
    assert all(
        word in said for word in ("5 rows after that", "node1", "/srv/shop", "--publish again", "--publish skip")
    )


def test_rows_that_are_lost_are_counted() -> None:
    assert standing(Progress("x", 4, 2, rows=9, skip=1)).lost == 7


def test_old_record_cannot_count_them() -> None:
    assert standing(Progress("x", 4, rows=None)).lost is None


CHOSEN: list[tuple[Progress, Writer, Choice, Progress]] = [
    (Progress("x", 5, 1, rows=9), BY, "again", Progress("x", 3, rows=5)),
    (Progress("x", 5, 1, rows=9), BY, "skip", Progress("x", 3, rows=5, skip=5)),
    (Progress("y", 5, rows=9), BY, "again", Progress("x")),
    (Progress("y", 5, 1, rows=9), BY, "skip", Progress("x", 3, rows=5, skip=5)),
    (Progress("y", 5, rows=3), BY, "skip", Progress("x", 2, 1, rows=2)),
    (Progress("y", 5, rows=9), ELSEWHERE, "again", Progress("x")),
    (Progress("y", 5, rows=9), ELSEWHERE, "skip", Progress("x", 3, rows=5)),
]


@pytest.mark.parametrize(("progress", "by", "choice", "settled"), CHOSEN)
def test_choice_settles_it(progress: Progress, by: Writer, choice: Choice, settled: Progress) -> None:
    assert standing(progress, by=by).settled(choice) == settled
    assert code(settled) is None


COPIES = [
    (Progress("x", 2, rows=2), None),
    (Progress("x", 3, rows=5), None),
    (Progress("x", 2, rows=None), None),
    (Progress("x", 2, 1, rows=3), "publish-elsewhere"),
    (Progress("x", 3, rows=4), "publish-elsewhere"),
    (Progress("x", 4, rows=4), "publish-ahead"),
]


@pytest.mark.parametrize("by", [ELSEWHERE, replace(BY, host="node2")])
@pytest.mark.parametrize(("progress", "found"), COPIES)
def test_progress_of_a_copy_that_went_its_own_way_is_refused(progress: Progress, found: str | None, by: Writer) -> None:
    """It has the table's id, and its versions stand for other rows."""
    finding = standing(progress, by=by).finding()
    assert (finding and finding.code) == found
    assert found != "publish-elsewhere" or "from a copy of these data" in str(finding)


@pytest.mark.parametrize("by", [BY, ELSEWHERE])
@pytest.mark.parametrize(
    ("commit", "found"), [("commit 2", None), ("another", "publish-elsewhere"), (None, None)], ids=str
)
def test_copy_whose_versions_hold_as_many_rows_is_refused(commit: str | None, found: str | None, by: Writer) -> None:
    """Where events come one by one each version has one row, in a copy too: it need not be the same one."""
    finding = standing(Progress("x", 2, 1, rows=2, commit=commit), by=by).finding()
    assert (finding and finding.code) == found


def test_commit_whose_entry_has_left_the_log_is_not_compared() -> None:
    past = Standing(
        MODEL,
        Recorded(Progress("x", 1, 1, rows=0, commit="gone"), ELSEWHERE),
        Extent(1, "x"),
        lambda _: [Commit(0), Commit(1, {"batch": 0, "rows": 2}, is_past=True)],
        BY,
    )
    assert past.finding() is None


def test_place_of_a_record_is_that_of_its_commit_only() -> None:
    sent = Progress("x", 2, 3, rows=2, commit="c")
    assert (sent.passed(3).commit, replace(sent, position=0, skip=9).skipped(3).commit) == (None, None)


def test_rows_that_a_copy_has_sent_are_counted() -> None:
    found = standing(Progress("x", 2, 1, rows=3), by=ELSEWHERE)
    assert (found.settled("skip"), found.settled("again")) == (Progress("x", 2, 2, rows=2), Progress("x"))


def test_store_that_machines_share_is_one() -> None:
    one = Writer("node1", 7, "s3://lake/shop", "run")
    assert one.is_over_data_of(replace(one, host="node2", run="next"))


@pytest.mark.parametrize("by", [BY, ELSEWHERE])
def test_rows_that_a_lost_data_directory_has_sent_are_counted_for_one_that_begins_again(by: Writer) -> None:
    """To send what it computes from now on would be to send all of it again."""
    begun = Standing(MODEL, Recorded(Progress("y", 5, 1, rows=9), by), Extent(0, "x"), lambda _: [Commit(0)], BY)
    assert (begun.lost, begun.settled("skip")) == (10, Progress("x", 1, skip=10))
    finding = begun.finding()
    assert finding is not None and "only those after the first 10 rows" in finding.message
    assert ("That was in these data" in finding.message) is (by == BY)


def test_rows_to_skip_may_lie_in_several_versions() -> None:
    begun = Progress("x", 3, rows=5, skip=4)
    second = begun.skipped(3)
    assert second == Progress("x", 4, rows=8, skip=1)
    assert second.skipped(3) == Progress("x", 4, 1, rows=8)
