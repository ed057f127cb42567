"""Copies of another moment: put back as one set they go on, and anything else is refused before it loses a row."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.errors import InvalidProject
from headrace.store.commits import newest_version
from headrace.store.layout import Layout
from tests.kafka import outcome
from tests.kafka.events import made, order, sale
from tests.kafka.oracle import MANUFACTURED, ORDERS, SALES
from tests.kafka.stage import Stage

pytestmark = [pytest.mark.kafka, pytest.mark.long]

HOUR_AGO = int(time.time() * 1000) - 3_600_000


@pytest.fixture(scope="module")
def processed(stage: Stage) -> Iterator[Stage]:
    """A stage whose records have been processed once."""
    stage.create({ORDERS: 1, MANUFACTURED: 1, SALES: 1})
    stage.send([order("a", 1), made("a", 1), order("waiting", 1)])
    stage.send([sale("p", 2500)], HOUR_AGO)
    stage.process_all()
    yield stage


def ship(stage: Stage, *names: str, minute: int = 10) -> None:
    """Send orders that can be shipped, with some sales of a minute, and process them."""
    stage.send([event for name in names for event in (order(name, 1), made(name, 1))])
    stage.send([sale("p", 2500), sale("q", 1)], HOUR_AGO + minute * 60_000)
    stage.process_all()


@contextmanager
def older(folder: Path, copy: Path) -> Iterator[None]:
    """An older copy in the place of a folder, for as long as the block lasts."""
    newer = folder.with_name(f"{folder.name}-newer")
    folder.rename(newer)
    shutil.copytree(copy, folder)
    try:
        yield
    finally:
        shutil.rmtree(folder)
        newer.rename(folder)


def codes(refused: pytest.ExceptionInfo[InvalidProject]) -> set[str]:
    return {finding.code for finding in refused.value.findings}


def test_backup_is_restored_and_nothing_is_sent_twice(processed: Stage, tmp_path: Path) -> None:
    backup = str(tmp_path / "backup")
    assert processed.call("backup", backup).returncode == 0
    ship(processed, "b", "c")
    asked = processed.call("restore", backup, "--replace")
    assert (asked.returncode, "2 rows after that" in asked.stdout + asked.stderr) == (3, True), asked.stderr
    assert len(processed.rows("gold.shipment_ready")) == 3  # nothing was changed
    done = processed.call("restore", backup, "--replace", "--publish", "skip")
    assert (done.returncode, "gold.shipment_ready: 2 rows were sent" in done.stderr) == (0, True), done.stderr
    assert len(processed.rows("gold.shipment_ready")) == 1
    ship(processed, "d")
    assert outcome.found(processed) == outcome.expected(processed.acked)


def test_older_data_directory_is_refused_before_anything_lands(processed: Stage, tmp_path: Path) -> None:
    shutil.copytree(processed.data_dir, tmp_path / "older")
    ship(processed, "e")
    landed = Layout(processed.data_dir).landing("shipping")
    with older(processed.data_dir, tmp_path / "older"):
        before = newest_version(landed)
        with pytest.raises(InvalidProject) as refused:
            processed.failures()
        assert (codes(refused), newest_version(landed)) == ({"publish-ahead"}, before)
    ship(processed, "f")
    assert outcome.found(processed) == outcome.expected(processed.acked)


def test_older_streaming_checkpoint_is_refused(processed: Stage, tmp_path: Path) -> None:
    checkpoint = Layout(processed.data_dir).checkpoint("sales_per_minute")
    assert isinstance(checkpoint, Path)
    shutil.copytree(checkpoint, tmp_path / "older")
    ship(processed, minute=20)
    with older(checkpoint, tmp_path / "older"), pytest.raises(InvalidProject) as refused:
        processed.failures()
    assert codes(refused) == {"position-ahead"}


def test_second_data_directory_on_the_same_kafka_is_refused(processed: Stage, tmp_path: Path) -> None:
    with pytest.raises(InvalidProject) as refused:
        processed.failures(project=processed.project_of("test", tmp_path / "second"))
    assert codes(refused) == {"publish-elsewhere"}
    assert str(processed.data_dir) in str(refused.value)
    ship(processed, "g", minute=30)
    assert outcome.found(processed) == outcome.expected(processed.acked)
