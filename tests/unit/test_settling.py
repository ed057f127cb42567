"""Which publishers need a choice after a restore, by the tables as they lie there and by the records in Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import UsageError
from headrace.project import loader, resets
from headrace.project.model import Project
from headrace.project.resets import ResetNote
from headrace.publishing import settling
from headrace.publishing.positions import Standing
from headrace.publishing.progress import Progress, Recorded, Writer
from headrace.publishing.published_note import PublishedNote
from headrace.publishing.settling import Unrecorded
from headrace.store.delta_tables import id_of
from headrace.store.layout import Layout
from tests.unit.synthetic_table import SyntheticTable

ROOT = Path(__file__).parents[2]
TABLE = "gold.shipment_ready"


@pytest.fixture(scope="module")
def project() -> Project:
    return loader.load(ROOT, "test")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A table of two commits with two rows each."""
    layout = Layout(tmp_path)
    write(layout)
    return layout


def write(layout: Layout) -> None:
    path = layout.table(TABLE)
    assert isinstance(path, Path)
    path.parent.mkdir(parents=True, exist_ok=True)
    SyntheticTable.at(path).append(2)


def unfit(project: Project, layout: Layout, progress: Progress) -> list[Standing]:
    return [*settling.unfit(project, layout, {TABLE: Recorded(progress)})]


def test_what_was_sent_beyond_the_table_is_counted(project: Project, layout: Layout) -> None:
    table_id = id_of(layout.table(TABLE))
    assert unfit(project, layout, Progress(table_id, 3, rows=4)) == []
    (standing,) = unfit(project, layout, Progress(table_id, 4, 1, rows=6))
    assert (standing.rows, standing.lost) == (4, 3)


def test_table_that_is_not_there_needs_no_choice_before_it_is_made(project: Project, tmp_path: Path) -> None:
    assert unfit(project, Layout(tmp_path), Progress("x", 4)) == []
    found = {TABLE: Recorded(Progress("x", 4, rows=7))}
    assert [each.lost for each in settling.without_table(project, Layout(tmp_path), found)] == [7]


def test_table_after_a_reset_is_not_another_one(project: Project, layout: Layout) -> None:
    sent = Progress(id_of(layout.table(TABLE)), 3, rows=4)
    for _ in range(2):  # also after a second one, before anything was sent of the first one's table
        resets.reset(layout, "shipping", [layout.table(TABLE), layout.checkpoint("shipping")], ResetNote())
        write(layout)
        assert unfit(project, layout, sent) == []
    assert len(unfit(project, layout, Progress("another", 1))) == 1


@pytest.mark.parametrize(("is_backup", "lost"), [(True, 5), (False, None)])
def test_rows_of_another_table_are_counted_for_a_backup(
    project: Project, layout: Layout, is_backup: bool, lost: int | None
) -> None:
    """It is one of this project, wherever it is put; another data directory may hold other rows."""
    found = {TABLE: Recorded(Progress("another", 9, rows=9), Writer("node1", 7, "/srv/former", "run"))}
    (standing,) = settling.unfit(project, layout, found, is_backup)
    assert standing.lost == lost


def test_rows_that_an_old_record_does_not_count_cannot_be_skipped(project: Project, layout: Layout) -> None:
    found = unfit(project, layout, Progress(id_of(layout.table(TABLE)), 9, rows=None))
    settling.refuse_unknown(found, "again")
    with pytest.raises(UsageError, match="--publish again"):
        settling.refuse_unknown(found, "skip")


def noted(project: Project, layout: Layout, progress: Progress | None = None) -> list[Unrecorded]:
    """The publishers of which Kafka has no record, where a backup may hold such a one."""
    found = {TABLE: json.loads(progress.to_json())} if progress else {}
    return [*settling.unrecorded(project, layout, {}, found)]


def test_publisher_on_another_kafka_goes_on_where_its_backup_was_taken(project: Project, layout: Layout) -> None:
    assert noted(project, layout) == []  # it was never published: its model says what becomes of the rows
    PublishedNote(layout.root, "shipment_ready").note("headrace-progress")
    sent, table_id = Progress(id_of(layout.table(TABLE)), 2, 1, rows=2), id_of(layout.table(TABLE))
    (found,) = noted(project, layout, sent)
    assert (found.settled("skip"), found.settled("again")) == (sent, Progress(table_id))
    for known in (None, Progress("another", 1)):
        (found,) = noted(project, layout, known)
        assert (found.settled("skip"), found.settled("again")) == (Progress(table_id, 3, rows=4), Progress(table_id))


def test_publisher_that_kafka_knows_is_not_asked_for(project: Project, layout: Layout) -> None:
    PublishedNote(layout.root, "shipment_ready").note("headrace-progress")
    assert [*settling.unrecorded(project, layout, {TABLE: Recorded(Progress("x"))}, {})] == []
