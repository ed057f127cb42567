"""What the S3 server's process runs: moto, with one write at a time and a line for each request."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

HOST = "127.0.0.1"


class OneWriteAtATime:
    """Serialises writes: moto checks the condition of a put, then stores, and another put may come in between.

    A write has arrived as a whole before its turn comes, as the process that sends it may be suspended in the middle.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._writing = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in {"GET", "HEAD"}:
            return [*self._app(environ, start_response)]
        environ["wsgi.input"] = BytesIO(_body(environ))
        with self._writing:
            return [*self._app(environ, start_response)]


def _body(environ: dict[str, Any]) -> bytes:
    stream, length = environ["wsgi.input"], environ.get("CONTENT_LENGTH")
    if length:
        return bytes(stream.read(int(length)))
    return bytes(stream.read()) if environ.get("wsgi.input_terminated") else b""


class Handler(MotoRequestHandler):
    """Prints method, status and path of each request and who asks (the access key), nothing else."""

    def handle_expect_100(self) -> bool:
        """Leave `Expect: 100-continue` to werkzeug, which answers too: Netty takes a second answer for the last one."""
        return True

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        key = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        who = key[1] if key else "-"
        sys.stdout.write(f"{self.command} {int(code)} {self.path} {who}\n")  # whole, as requests run in threads
        sys.stdout.flush()

    def log(self, *_: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve on a free port; the first line of output is the port."""
    app = OneWriteAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server(HOST, 0, app, threaded=True, request_handler=Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
