"""A store that an environment variable names, such as an emulator of Azure: commits, leases, and two runs of a project.

`HEADRACE_TEST_STORE` is what a target says below `store:`, as JSON; the bucket is there. Each run takes a folder of its
own below the URL and leaves it there.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import Schema

from headrace.store import commits, delta_tables, durable, trees
from headrace.store.leases.object_store import EXPIRES, ObjectLease
from headrace.store.paths import ObjectPath, check, path_of
from tests.kafka.events import made, order
from tests.kafka.oracle import MANUFACTURED, ORDERS
from tests.s3.project import Machine, Site, Store, site

VARIABLE = "HEADRACE_TEST_STORE"

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.skipif(VARIABLE not in os.environ, reason=f"no store is named by {VARIABLE}"),
]

RUN = ("run", "--select", "shipping", "--available-now")
WRITERS = 8


@pytest.fixture(scope="module")
def store() -> Store:
    named = json.loads(os.environ[VARIABLE])
    return Store(f"{named['url']}/test-{uuid.uuid4().hex}", named["options"])


@pytest.fixture
def root(store: Store) -> ObjectPath:
    """A folder of its own for each test."""
    found = path_of(f"{store.url}/{uuid.uuid4().hex}", store.options)
    assert isinstance(found, ObjectPath)
    return found


def test_store_is_fit_for_a_run(root: ObjectPath) -> None:
    check(root)


def test_lease_is_refused_and_taken_over(root: ObjectPath) -> None:
    now = [0.0]
    holder, other = ObjectLease(root / "lease.json"), ObjectLease(root / "lease.json", lambda: now[0])
    assert (holder.take(), other.take(), holder.renew(), other.take()) == (True, False, None, False)
    now[0] += EXPIRES
    assert (other.take(), holder.renew()) == (True, f"{other._note.words} has taken it over")


def test_of_two_commits_of_a_version_one_wins(root: ObjectPath) -> None:
    schema = Schema.from_arrow(pa.schema([("id", pa.int64())]))
    assert [delta_tables.create_table(root, schema, {}) for _ in range(2)] == [True, False]
    with ThreadPoolExecutor(WRITERS) as pool:
        written = pool.map(lambda n: commits.put_entry(root, 1, [{"commitInfo": {"writer": n}}]), range(WRITERS))
        assert [*written].count(True) == 1
    delta_tables.create_checkpoint(root)
    assert (delta_tables.open_table(root).version(), commits.newest_version(root)) == (1, 1)


def test_objects_are_moved_and_deleted_whether_there_or_not(root: ObjectPath) -> None:
    for number in range(300):
        durable.write(root / "from" / f"{number}", "text")
    trees.move(root / "from", root / "to")
    (root / "to" / "0").unlink()
    (root / "to" / "0").unlink()
    root.bucket.delete([(root / "to" / name).key for name in ("none", "1", "none either", "2")])
    assert len([*(root / "to").files()]) == 297
    trees.remove(root / "to")
    assert [*root.files()] == []


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), store) as found:
        found.cluster.create({ORDERS: 1, MANUFACTURED: 1})
        yield found


@pytest.fixture(scope="module")
def moved(started: Site) -> Machine:
    """A machine that has gone on with what another began, which has lost all that it had."""
    first = started.machine("first")
    started.cluster.send([order("a", 1, 2), made("a", 1), order("b", 1), made("b", 1)])
    first.done(*RUN)
    shutil.rmtree(first.folder)
    started.cluster.send([made("a", 2), (ORDERS, "bad", "no json")])
    second = started.machine("second")
    second.done(*RUN)
    return second


def shipped(machine: Machine) -> list[str]:
    return sorted(row["order_id"] for row in machine.rows("show", "gold.shipment_ready"))


def test_every_order_is_shipped_once(started: Site, moved: Machine) -> None:
    assert shipped(moved) == ["a", "b"]
    assert sorted(str(record.key) for record in started.cluster.committed("shipping")) == ["a", "b"]


def test_commands_read_the_store(started: Site, moved: Machine, tmp_path: Path) -> None:
    elsewhere = started.machine("reader")
    assert elsewhere.rows("sql", "select count(*) as n from gold.shipment_ready") == [{"n": 2}]
    assert [group["reason"] for group in elsewhere.rows("dead-letters")] == ["not_json"]
    assert json.loads(elsewhere.done("status", "--json"))["project"]["state"] == "stopped"
    elsewhere.done("backup", str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "tables" / "gold" / "shipment_ready" / "_delta_log").is_dir()


def test_reset_leaves_nothing_behind(started: Site, moved: Machine) -> None:
    moved.done("maintain")
    moved.done("reset", "shipping", "--yes")
    assert shipped(moved) == []
    moved.done(*RUN)
    assert shipped(moved) == ["a", "b"]
    assert sorted(str(record.key) for record in started.cluster.committed("shipping")) == ["a", "b"]
