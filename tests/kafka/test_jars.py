"""Jars fetched by the real Ivy, from a repository on this machine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headrace.environment import ivy, jars
from headrace.environment.kafka import HOST, choose_ports
from headrace.errors import EnvironmentFault

pytestmark = pytest.mark.kafka

CONTENT = {"org.a:one_2.13:1.0": b"first jar", "org.b:two:2.0-x": b"second jar"}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Maven repository named by HEADRACE_MAVEN_URL, with an empty cache beside it."""
    lock, root = tmp_path / "jars.lock", tmp_path / "m2"
    for coordinate, data in CONTENT.items():
        group, artifact, version = coordinate.split(":")
        folder = root.joinpath(*group.split("."), artifact, version)
        folder.mkdir(parents=True)
        (folder / f"{artifact}-{version}.jar").write_bytes(data)
    lines = [f"spark {hashlib.sha256(data).hexdigest()} {len(data)} {name}" for name, data in CONTENT.items()]
    lock.write_text("\n".join(lines))
    monkeypatch.setattr(jars, "_lock_file", lambda: lock)
    monkeypatch.setattr(jars, "user_cache_path", lambda name: tmp_path / "cache" / name)
    with ThreadingHTTPServer((HOST, 0), partial(QuietHandler, directory=root)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(ivy.MIRROR_VARIABLE, f"http://{HOST}:{server.server_port}")
        yield root
        server.shutdown()


def test_jars_come_from_the_mirror(mirror: Path) -> None:
    assert [path.read_bytes() for path in jars.resolve("spark")] == list(CONTENT.values())


def test_jar_the_mirror_lacks_is_named(mirror: Path) -> None:
    (mirror / "org" / "b" / "two" / "2.0-x" / "two-2.0-x.jar").unlink()
    with pytest.raises(EnvironmentFault, match=r"org\.b:two:2\.0-x"):
        jars.resolve("spark")


def test_no_network_is_a_fault(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ivy.MIRROR_VARIABLE, f"http://{choose_ports().bootstrap}")
    with pytest.raises(EnvironmentFault, match="Connection refused"):
        jars.resolve("spark")
