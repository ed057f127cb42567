"""A folder of a real HDFS without a JVM on our side: files whole or not there, one winner, folders, lists, refusals."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Schema

from headrace.errors import EnvironmentFault, Locked
from headrace.mail import ledger
from headrace.mail.outcome import Place
from headrace.store import commits, delta_tables, durable, parquet, trees
from headrace.store.buckets import hdfs, namenode
from headrace.store.buckets.bucket import Version
from headrace.store.buckets.namenode import NameNode
from headrace.store.leases.object_store import EXPIRES, ObjectLease
from headrace.store.paths import ObjectPath, check, path_of
from headrace.store.removal import drafts
from tests.hdfs.cluster import HdfsCluster, serving

pytest.importorskip("hdfs_native", reason="hdfs-native is an extra, which is not installed here")

WRITERS = 8
RACES = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with serving(tmp_path_factory.mktemp("hdfs")) as started:
        yield started


@pytest.fixture
def root(cluster: HdfsCluster) -> ObjectPath:
    """A folder of its own for each test."""
    found = path_of(f"{cluster.url}/lake/{uuid.uuid4().hex}")
    assert isinstance(found, ObjectPath)
    return found


def names(root: ObjectPath) -> list[str]:
    return [each.key for each in root.files()]


def test_store_is_fit_for_a_run_and_left_empty(root: ObjectPath) -> None:
    check(root)
    assert names(root) == []


def test_of_eight_writers_one_creates_the_file(root: ObjectPath) -> None:
    def write(number: int) -> bool:
        try:
            durable.write_new(root / f"{number // WRITERS}", f"{number}")
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(WRITERS) as pool:
        won = [*pool.map(write, range(RACES * WRITERS))]
    winners = [number for number, is_first in enumerate(won) if is_first]
    assert [number // WRITERS for number in winners] == [*range(RACES)]
    assert [(root / f"{race}").read_text() for race in range(RACES)] == [f"{number}" for number in winners]
    assert len(names(root)) == RACES


def test_file_is_replaced_whole(root: ObjectPath) -> None:
    for text in ("first", "second"):
        durable.write(root / "a" / "status.json", text)
    assert ((root / "a" / "status.json").read_text(), names(root)) == ("second", ["a/status.json"])


def test_writer_that_dies_leaves_a_draft_only(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(NameNode, "rename", dies)
        patch.setattr(NameNode, "delete", dies)
        durable.write_new(root / "log" / "1.json", "text")
    assert not (root / "log" / "1.json").exists()
    assert drafts.sweep(root) == 0
    monkeypatch.setattr(drafts, "SAFE_SECONDS", -1.0)
    assert (drafts.sweep(root), names(root)) == (1, [])


@pytest.mark.parametrize("is_taken", [False, True])
def test_lost_answer_does_not_hide_the_winner(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    if is_taken:
        durable.write_new(root / "1.json", "another's")
    rename, asked = NameNode.rename, list[str]()

    def lost(self: NameNode, path: str, to: str, overwrite: bool = False) -> None:
        asked.append(to)
        if len(asked) == 1:
            try:
                rename(self, path, to, overwrite)
            finally:
                raise EnvironmentFault("the answer was lost")
        rename(self, path, to, overwrite)

    monkeypatch.setattr(NameNode, "rename", lost)
    try:
        durable.write_new(root / "1.json", "mine")
        written = True
    except FileExistsError:
        written = False
    assert (written, len(asked), (root / "1.json").read_text()) == (
        not is_taken,
        2,
        "another's" if is_taken else "mine",
    )


def test_of_eight_writers_one_replaces_a_version(root: ObjectPath) -> None:
    file = root / "locks" / "lease.json"
    version = durable.replace_version(file, b"first", "create")
    assert version is not None

    def replace(number: int) -> bool:
        return durable.replace_version(file, b"%d" % number, version) is not None

    with ThreadPoolExecutor(WRITERS) as pool:
        won = [*pool.map(replace, range(WRITERS))]
    found = durable.read_version(file)
    assert found is not None
    assert (won.count(True), found[0]) == (1, b"%d" % won.index(True))
    assert durable.replace_version(file, b"again", "create") is None


def test_stale_writer_finds_no_free_number(root: ObjectPath) -> None:
    file, versions = root / "lease.json", list[Version]()
    for number in range(4):
        version = durable.replace_version(file, b"%d" % number, versions[-1] if versions else "create")
        assert version is not None
        versions.append(version)
    assert len(names(root)) == 1
    assert [durable.replace_version(file, b"stale", each) for each in (*versions[:3], "create")] == [None] * 4
    found = durable.read_version(file)
    assert found == (b"3", versions[3])


def test_version_that_was_removed_is_not_replaced(root: ObjectPath) -> None:
    file = root / "lease.json"
    version = durable.replace_version(file, b"1", "create")
    assert version is not None
    trees.remove(file)
    assert (durable.replace_version(file, b"2", version), durable.read_version(file)) == (None, None)


def test_lease_is_refused_and_taken_over(root: ObjectPath) -> None:
    now = [0.0]
    holder, other = ObjectLease(root / "lease.json"), ObjectLease(root / "lease.json", lambda: now[0])
    assert (holder.take(), other.take(), holder.renew(), other.take()) == (True, False, None, False)
    now[0] += EXPIRES
    assert (other.take(), holder.renew()) == (True, f"{other._note.words} has taken it over")
    other.release()
    assert ObjectLease(root / "lease.json").take()


def test_letters_are_sent_once_by_one_sender(root: ObjectPath) -> None:
    first, other = (ledger.of(root / "mail", "shipping") for _ in range(2))
    first.write("a", Place(0, 7), "sending")
    first.write("a", Place(0, 7), "sent")
    first.mark_read(Place(0, 7))
    with pytest.raises(Locked, match="another process"):
        other.mark_read(Place(0, 7))
    found = ledger.of(root / "mail", "shipping")
    assert (found.is_done("a"), found.is_done("b"), found.places(), found.counts()) == (
        True,
        False,
        {0: 8},
        {"sent": 1},
    )


def test_names_with_spaces_and_letters_of_all_kinds(root: ObjectPath) -> None:
    wanted = ["a b/ü é.json", "key=a%20b/c+d.txt", "x/#1?.json"]
    for name in wanted:
        durable.write(root / name, name)
    assert names(root) == wanted
    assert [(root / name).read_text() for name in wanted] == wanted


def test_folders_are_listed_and_matched(root: ObjectPath) -> None:
    for name in ("_delta_log/1.json", "_delta_log/2.json", "a.parquet", "b/c.parquet"):
        durable.write(root / name, "text")
    (root / "b" / "c.parquet").unlink()
    (root / "b" / "c.parquet").unlink()
    assert [each.name for each in root.glob("*")] == ["_delta_log", "a.parquet", "b"]
    assert [each.name for each in root.glob("**/*.json")] == ["1.json", "2.json"]
    assert [each.name for each in (root / "none").glob("*")] == []
    assert ((root / "_delta_log").is_dir(), (root / "_delta_log").is_file(), (root / "none").exists()) == (
        True,
        False,
        False,
    )


def test_folders_are_copied_moved_and_removed(root: ObjectPath, tmp_path: Path) -> None:
    for name in ("1", "deep/2"):
        durable.write(root / "from" / name, name)
    trees.copy(root / "from", root / "copy")
    trees.copy(root / "from", tmp_path / "disk")
    trees.move(root / "from", root / "new" / "to")
    trees.move(root / "from", root / "new" / "to")
    assert names(root) == ["copy/1", "copy/deep/2", "new/to/1", "new/to/deep/2"]
    assert (tmp_path / "disk" / "deep" / "2").read_text() == "deep/2"
    for _ in range(2):
        trees.remove(root / "new")
    assert (names(root), (root / "new").exists()) == (["copy/1", "copy/deep/2"], False)


def wrote(writer: int) -> Mapping[str, Any]:
    """What tells a writer's entry from those of others."""
    return {"commitInfo": {"writer": writer}}


def test_table_is_committed_checkpointed_and_read(root: ObjectPath) -> None:
    rows = pa.table({"id": [1, 2, 3]})
    table = root / "table"
    assert [delta_tables.create_table(table, Schema.from_arrow(rows.schema), {}) for _ in range(2)] == [True, False]
    added = parquet.write(table, "part.parquet", rows).to_add()
    with ThreadPoolExecutor(WRITERS) as pool:
        written = pool.map(
            lambda n: commits.put_entry(table, 1, [{"commitInfo": {"writer": n}}, added]), range(WRITERS)
        )
        assert [*written].count(True) == 1
    delta_tables.create_checkpoint(table)
    opened = delta_tables.open_table(table)
    assert (opened.version(), commits.newest_version(table), delta_tables.is_table(table)) == (1, 1, True)
    assert [(each.name, each.rows) for each in parquet.files_in(table)] == [("table/part.parquet", 3)]
    assert opened.to_pyarrow_table() == rows


def test_large_file_is_read_in_parts(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namenode, "_CHUNK", 1000)
    data = bytes(range(256)) * 40
    root.bucket.put_large("big", data)
    assert (root.bucket.get("big"), root.bucket.get_range("big", 999, 2002)) == (data, data[999:3001])


def test_refusals_are_one_line(cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path_of(f"{cluster.url}/lake"))
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    with pytest.raises(EnvironmentFault, match="denies access: Permission denied: user=nobody") as denied:
        check(path_of(f"{cluster.url}/lake"))
    assert "\n" not in str(denied.value)


SITE = """<configuration>
  <property><name>dfs.nameservices</name><value>lake</value></property>
  <property><name>dfs.ha.namenodes.lake</name><value>one,two</value></property>
  <property><name>dfs.namenode.rpc-address.lake.one</name><value>127.0.0.1:1</value></property>
  <property><name>dfs.namenode.rpc-address.lake.two</name><value>{address}</value></property>
  <property>
    <name>dfs.client.failover.proxy.provider.lake</name>
    <value>org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider</value>
  </property>
</configuration>"""


def test_name_service_is_found_in_hadoops_configuration(
    cluster: HdfsCluster, root: ObjectPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hdfs-site.xml").write_text(SITE.format(address=cluster.url.removeprefix("hdfs://")))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    found = path_of(str(root).replace(cluster.url, "hdfs://lake"))
    assert delta_tables.create_table(found / "table", Schema.from_arrow(pa.schema([("id", pa.int64())])), {})
    assert delta_tables.is_table(found / "table") and delta_tables.open_table(root / "table").version() == 0


@pytest.mark.long  # two calls of the tool for administrators
def test_safe_mode_is_reported(cluster: HdfsCluster, root: ObjectPath) -> None:
    cluster.administer("-safemode", "enter")
    try:
        with pytest.raises(EnvironmentFault, match=r"can only be read: .*; wait until"):
            durable.write(root / "status.json", "text")
        assert names(root) == []
    finally:
        cluster.administer("-safemode", "leave")


def test_cluster_that_hangs_is_not_waited_for(cluster: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    node = NameNode(cluster.url, cluster.url, {}, deadline=0.5)
    node.listed("/")
    began = time.monotonic()
    with cluster.suspended(), pytest.raises(EnvironmentFault, match=r"no answer within 0\.5 s"):
        node.listed("/")
    assert time.monotonic() - began < 10
    assert node.listed("/") is not None


@pytest.mark.parametrize(
    ("url", "said"),
    [("hdfs://127.0.0.1:1/lake", "Connection refused"), ("hdfs://lake/path", "names no NameNode: write its port")],
)
def test_store_that_is_not_there_is_refused(url: str, said: str) -> None:
    with pytest.raises(EnvironmentFault, match=said):
        check(path_of(url))


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(EnvironmentFault, match=r"install `headrace\[hdfs\]`"):
        hdfs.HdfsFolder("hdfs://127.0.0.1:1/lake").size("x")
