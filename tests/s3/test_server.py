"""The S3 server of the tests keeps the promises that commits rest on, as obstore sees them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import obstore
import psutil
import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

from tests.s3.server import BUCKET, S3Server, serving
from tests.waiting import wait_for

THREADS = 8
RACES = 25


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with serving(tmp_path_factory.mktemp("s3")) as started:
        yield started


@pytest.fixture
def store(server: S3Server, request: pytest.FixtureRequest) -> S3Store:
    """A folder of its own for each test."""
    options: Any = server.options
    return S3Store(BUCKET, prefix=request.node.name, **options)


def winners(attempt: Callable[[int], object]) -> int:
    """How many of the threads that attempt something at the same time succeed."""
    barrier = threading.Barrier(THREADS)

    def one(number: int) -> bool:
        barrier.wait()
        try:
            attempt(number)
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(one, range(THREADS)))


def test_put_if_absent_has_one_winner(store: S3Store) -> None:
    def race(entry: str) -> int:
        return winners(lambda thread: obstore.put(store, entry, b"%d" % thread, mode="create"))

    assert [race(f"{number}") for number in range(RACES)] == [1] * RACES


def test_compare_and_set_has_one_winner(store: S3Store) -> None:
    def race(number: int) -> int:
        tag = obstore.put(store, "lease", b"%d" % number)["e_tag"]
        return winners(lambda thread: obstore.put(store, "lease", b"%d %d" % (number, thread), mode={"e_tag": tag}))

    assert [race(number) for number in range(RACES)] == [1] * RACES


def test_conditions_have_their_errors(store: S3Store) -> None:
    old = obstore.put(store, "entry", b"one", mode="create")["e_tag"]
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "entry", b"two", mode="create")
    obstore.put(store, "entry", b"three", mode={"e_tag": old})
    with pytest.raises(PreconditionError):
        obstore.put(store, "entry", b"four", mode={"e_tag": old})
    assert obstore.get(store, "entry").bytes().to_bytes() == b"three"


def test_objects_are_listed_moved_and_deleted(store: S3Store) -> None:
    for name in ("log/1", "log/2", "log/old/1", "note"):
        obstore.put(store, name, b"text")
    level = obstore.list_with_delimiter(store, "log")
    assert [meta["path"] for meta in level["objects"]] == ["log/1", "log/2"]
    assert [*level["common_prefixes"]] == ["log/old"]
    assert obstore.head(store, "log/1")["size"] == 4
    obstore.copy(store, "log/1", "log/3")
    obstore.rename(store, "log/2", "log/4")
    obstore.delete(store, ["log/1", "log/old/1", "not/there"])
    assert [meta["path"] for meta in obstore.list(store).collect()] == ["log/3", "log/4", "note"]
    with pytest.raises(FileNotFoundError):
        obstore.get(store, "log/1")


def test_small_objects_take_one_request(server: S3Server, store: S3Store) -> None:
    before = len(server.requests())
    obstore.put(store, "entry", b"text", mode="create")
    obstore.get(store, "entry").bytes()
    obstore.list(store).collect()
    obstore.delete(store, ["entry", "another"])
    assert [line.split()[0] for line in server.requests()[before:]] == ["PUT", "GET", "GET", "POST"]


def test_server_ends_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, psutil, sys; from tests.s3.server import serving\n"
        "with serving(pathlib.Path(sys.argv[1])):\n"
        "    print(*[each.pid for each in psutil.Process().children() if 'serving.py' in ' '.join(each.cmdline())])\n"
        "    sys.stdout.flush(); os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (9, "")
    wait_for(lambda: not psutil.pid_exists(int(done.stdout)), "the end of the S3 server")
