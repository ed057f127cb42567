"""Empty objects named like a folder, with a slash at the end, by which Hadoop remembers that a folder was made."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from headrace.store import trees
from headrace.store.paths import ObjectPath, path_of
from tests.s3.server import BUCKET, S3Server, serving


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectPath]:
    """The checkpoint of a query, as Spark leaves it."""
    with serving(tmp_path_factory.mktemp("s3")) as server:
        for key in ("query/", "query/offsets/", "query/offsets/0", "query/idle", "query/state/", "query/state/0/"):
            put(server, key)
        found = path_of(server.url, server.options)
        assert isinstance(found, ObjectPath)
        yield found / "query"


def put(server: S3Server, key: str) -> None:
    connection = HTTPConnection(urlsplit(server.options["aws_endpoint"]).netloc, timeout=30)
    connection.request("PUT", f"/{BUCKET}/{key}", body=b"")
    assert connection.getresponse().status == 200
    connection.close()


def test_marker_alone_is_no_folder(folder: ObjectPath) -> None:
    assert ((folder / "offsets").is_dir(), (folder / "state" / "0").is_dir()) == (True, False)
    assert [child.name for child in folder.children()] == ["idle", "offsets", "state"]
    trees.remove(folder)
    assert ((folder / "offsets").is_dir(), (folder / "idle").is_file()) == (False, False)


def test_folder_with_markers_is_moved(folder: ObjectPath) -> None:
    to = folder.parent / "retired" / "query"
    trees.move(folder, to)
    assert sorted(file.key for file in to.files()) == ["retired/query/idle", "retired/query/offsets/0"]
    assert not (folder / "offsets").is_dir()
