"""An S3 server on this machine, as a process of its own that ends with the one that started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psutil

from headrace.environment import guard
from tests.waiting import wait_for

HOST = "127.0.0.1"
BUCKET = "lake"


@dataclass(frozen=True)
class S3Server:
    """An empty bucket: its url, obstore's options for it, and the file that lists the requests."""

    url: str
    options: Mapping[str, str]
    log: Path
    process: psutil.Process

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """While the block lasts the server takes connections and answers nobody, as one that hangs."""
        self.process.suspend()
        try:
            yield
        finally:
            self.process.resume()

    def requests(self, key: str | None = None) -> tuple[str, ...]:
        """Each request up to now as `METHOD STATUS PATH`; only those signed with an access key, if one is given."""
        found = (line.rsplit(" ", 1) for line in self.log.read_text("utf-8").splitlines()[1:])
        return tuple(request for request, who in found if key in (None, who))


@contextmanager
def serving(folder: Path, bucket: str = BUCKET) -> Iterator[S3Server]:
    """Start a server that keeps its objects in memory, and create a bucket; its log goes to `folder`."""
    log = folder / "s3.log"
    with log.open("w") as output:
        command = [sys.executable, str(Path(__file__).with_name("serving.py"))]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    leash = guard.tie(process.pid)
    try:
        port = _port(process, log)
        _create(bucket, port)
        yield S3Server(f"s3://{bucket}", options(port), log, psutil.Process(process.pid))
    finally:
        guard.end(psutil.Process(process.pid))
        process.wait()
        leash.release()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait for the first line of output, which is the port, or the reason why there is none."""
    wait_for(lambda: process.poll() is not None or "\n" in log.read_text("utf-8"), "the S3 server")
    said = log.read_text("utf-8")
    if process.poll() is not None:
        raise RuntimeError(f"the S3 server does not start: {said}")
    return int(said.splitlines()[0])


def options(port: int) -> dict[str, str]:
    """What obstore must know of the server beside the url."""
    return {
        "aws_endpoint": f"http://{HOST}:{port}",
        "aws_allow_http": "true",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
    }


def _create(bucket: str, port: int) -> None:
    connection = HTTPConnection(HOST, port, timeout=30)
    connection.request("PUT", f"/{bucket}")
    if connection.getresponse().status != 200:
        raise RuntimeError(f"the bucket {bucket} was not created")
    connection.close()
