"""Paths of an object store, as they stand in for those of a disk."""

from __future__ import annotations

from pathlib import Path

import obstore
import pytest

from headrace.store import trees
from headrace.store.paths import ObjectPath, path_of, spark_uri
from tests import buckets

NAMES = ("log/1.json", "log/2.json", "log/old/1.json", "log/notes", "other/x")


@pytest.fixture
def root() -> ObjectPath:
    found = path_of("memory:///")
    assert isinstance(found, ObjectPath)
    for name in NAMES:
        (found / name).write_text(name)
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    "pattern", ["*", "log/*.json", "log/[0-9].json", "log/old", "log/none", "*/*", "**/*.json", "*/old/1.json"]
)
def test_pattern_finds_what_it_finds_on_a_disk(root: ObjectPath, disk: Path, pattern: str) -> None:
    assert sorted(each.key for each in root.glob(pattern)) == sorted(
        str(each.relative_to(disk)) for each in disk.glob(pattern)
    )


def test_listed_names_are_not_asked_for_again(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "head", lambda *_: pytest.fail("asked"))
    assert len([*root.glob("log/*.json")]) == 2


def test_folder_is_there_with_its_objects(root: ObjectPath) -> None:
    assert ((root / "log").is_dir(), (root / "log").is_file(), (root / "lo").exists()) == (True, False, False)
    trees.remove(root / "log")
    assert (root / "log").exists() is False
    assert (root / "other" / "x").read_text() == "other/x"


@pytest.fixture
def checkpoint() -> ObjectPath:
    """A checkpoint on Azure, with a full and an empty folder as Hadoop marks them, and an empty file."""
    found = buckets.in_memory("az") / "query"
    for name in ("offsets/0", "idle"):
        (found / name).write_text("0" if name == "offsets/0" else "")
    for name in ("offsets", "state"):
        obstore.put(found.bucket.client, f"query/{name}", b"", attributes={"hdi_isfolder": "true"}, use_multipart=False)
    return found


def test_markers_of_folders_are_no_files(checkpoint: ObjectPath, tmp_path: Path) -> None:
    assert [each.key for each in checkpoint.files()] == ["query/idle", "query/offsets/0"]
    trees.copy(checkpoint, tmp_path / "copy")
    assert (tmp_path / "copy" / "offsets" / "0").read_text() == "0"


def test_markers_of_folders_are_removed_with_them(checkpoint: ObjectPath) -> None:
    trees.remove(checkpoint)
    assert not checkpoint.exists()


def test_objects_are_deleted_where_others_are_missing(root: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obstore, "delete", buckets.deleting_only_what_is_there)
    (root / "none").unlink()
    root.bucket.delete(["none", "log/1.json", "none either", "log/2.json"])
    assert [each.key for each in (root / "log").files()] == ["log/notes", "log/old/1.json"]


def test_path_is_named_as_spark_names_it() -> None:
    options = {"azure_storage_account_name": "acme"}
    assert spark_uri(path_of("s3://lake/shop/") / "tables") == "s3a://lake/shop/tables"
    assert spark_uri(path_of("az://lake", options) / "t") == "abfss://lake@acme.dfs.core.windows.net/t"
    assert spark_uri(path_of("file:///data/a%20b") / "t") == "/data/a b/t"
